"""The equation in NumPy against two independent writings of it: plain loops, and 50 digits; and what its
records accept."""

import math
from typing import Any, Literal

import numpy as np
import pytest
from support.exact_systems import drift_to_50_digits

from nucleate.attention import Attention, Frozen, Window, drift
from nucleate.checks import Array, InputError
from nucleate.sphere import tangent, uniform

EPS = float(np.finfo(float).eps)
Mask = Literal["causal", "full"] | Window


def drift_by_loops(model: Attention, x: Array) -> Array:
    """The equation as a double loop over pairs, one number at a time."""
    n, d = x.shape
    Q, K, V = (np.eye(d) if M is None else M for M in (model.Q, model.K, model.V))
    velocity = np.zeros((n, d))
    for k in range(n):
        pairs = [] if model.frozen is None else list(zip(model.frozen.weight, model.frozen.x, strict=True))
        for j in range(n):
            if (
                model.mask == "full"
                or (model.mask == "causal" and j <= k)
                or (isinstance(model.mask, Window) and k - model.mask.w < j <= k)
            ):
                pairs.append((1.0, x[j]))
        Z, total = 0.0, np.zeros(d)
        for a, y in pairs:
            w = a * math.exp(float(model.beta) * sum((Q @ x[k])[c] * (K @ y)[c] for c in range(d)))
            Z += w
            total = total + w * (V @ y)
        mean = total / Z
        velocity[k] = mean - sum(mean[c] * x[k][c] for c in range(d)) * x[k]
    return velocity


def model_of(d: int, mask: Mask, frozen: bool, matrices: bool, beta: float = 1.7) -> Attention:
    """A model with everything switched on that is asked for, drawn from a fixed seed."""
    rng = np.random.default_rng(d)
    Q, K, V = rng.standard_normal((3, d, d)) if matrices else (None, None, None)
    return Attention(
        beta,
        Q=Q,
        K=K,
        V=V,
        mask=mask,
        frozen=Frozen(uniform(3, d, 77), [1.0, 2.5, 700.0]) if frozen else None,
    )


@pytest.mark.parametrize("matrices", [False, True])
@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("mask", ["causal", "full", Window(1), Window(2), Window(4), Window(99)], ids=str)
@pytest.mark.parametrize("d", [2, 3, 7])
def test_the_equation_equals_a_double_loop_and_50_digits(
    d: int, mask: Mask, frozen: bool, matrices: bool
) -> None:
    model, x = model_of(d, mask, frozen, matrices), uniform(9, d, seed=d)
    velocity = drift(model, x)
    # Rounding of a score is some units of beta |K^T Q| eps, and moves a softmax mean of vectors of length |V|
    # by as much of |V|; what else is rounded, at most nine tokens summed, stays below 16 units of eps.
    _, Q, K, V = model.parameters(d)
    bound = (
        16
        * max(1.0, float(model.beta) * float(np.linalg.norm(K.T @ Q, 2)))
        * float(np.linalg.norm(V, 2))
        * EPS
    )
    assert np.abs(velocity - drift_to_50_digits(model, x)).max() <= bound
    assert np.abs(velocity - drift_by_loops(model, x)).max() <= 2 * bound


def test_velocities_are_tangent() -> None:
    x = uniform(20, 5, seed=1)
    along = (drift(model_of(5, "full", True, True), x) * x).sum(-1)
    assert np.abs(along).max() <= 16 * EPS * 5  # |V| is about 4.5; P_x takes the radial part out to rounding


def test_run_axes_mean_one_system_per_run() -> None:
    b, n, d = 4, 6, 3
    rng = np.random.default_rng(5)
    beta, (Q, K, V) = rng.uniform(0.5, 3.0, b), rng.standard_normal((3, b, d, d))
    frozen_x, weight = np.stack([uniform(2, d, 40 + run) for run in range(b)]), rng.uniform(1.0, 5.0, (b, 2))
    x = np.stack([uniform(n, d, 30 + run) for run in range(b)])
    whole = Attention(beta, Q=Q, K=K, V=V, mask=Window(3), frozen=Frozen(frozen_x, weight))
    assert whole.runs == b
    for run in range(b):
        alone = Attention(
            beta[run], Q=Q[run], K=K[run], V=V[run], mask=Window(3), frozen=Frozen(frozen_x[run], weight[run])
        )
        assert alone.runs is None
        # the same operations, batched: matmul may sum in another order
        assert np.abs(drift(whole, x)[run] - drift(alone, x[run])).max() <= 64 * EPS
    # each may carry the axis alone, with the others shared
    for name, one in {"beta": beta, "Q": Q, "K": K, "V": V}.items():
        shared: dict[str, Any] = {"beta": 1.0, "Q": Q[0], "K": K[0], "V": V[0]}
        batch = drift(Attention(**{**shared, name: one}), x)
        for run in range(b):
            assert (
                np.abs(batch[run] - drift(Attention(**{**shared, name: one[run]}), x[run])).max() <= 64 * EPS
            ), name


def test_a_window_longer_than_the_run_is_the_causal_mask() -> None:
    x = uniform(12, 3, seed=2)
    assert np.array_equal(drift(Attention(2.0, mask=Window(12)), x), drift(Attention(2.0), x))
    assert not np.array_equal(drift(Attention(2.0, mask=Window(11)), x), drift(Attention(2.0), x))


def test_a_window_of_one_leaves_each_token_alone() -> None:
    x, V = uniform(12, 3, seed=2), np.random.default_rng(0).standard_normal((3, 3))
    assert np.allclose(
        drift(Attention(2.0, V=V, mask=Window(1)), x), tangent(x, x @ V.T), rtol=0, atol=16 * EPS
    )


def test_a_frozen_token_of_weight_two_is_two_frozen_tokens() -> None:
    x, y = uniform(8, 3, seed=2), uniform(1, 3, seed=3)
    twice = drift(Attention(2.0, frozen=Frozen(np.concatenate([y, y]))), x)
    assert np.allclose(drift(Attention(2.0, frozen=Frozen(y, 2.0)), x), twice, rtol=0, atol=16 * EPS)


def test_beta_zero_is_the_plain_mean() -> None:
    x = uniform(8, 3, seed=2)
    mean = np.cumsum(x, axis=0) / np.arange(1, 9)[:, None]
    assert np.allclose(drift(Attention(0.0), x), tangent(x, mean), rtol=0, atol=16 * EPS)


def test_records_cannot_be_changed() -> None:
    V = np.eye(2)
    model = Attention(1.0, V=V, frozen=Frozen([[1.0, 0.0]]))
    V[0, 0] = 5.0
    assert model.V is not None
    assert model.V[0, 0] == 1.0
    for array in (
        model.V,
        model.beta,
        model.frozen.x if model.frozen else model.V,
        model.frozen.weight if model.frozen else model.V,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 2.0
    with pytest.raises(AttributeError):
        model.beta = np.array(2.0)  # type: ignore[misc]  # the mistake is the test


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"beta": -1.0}, "beta must be finite and non-negative, but is -1.0"),
        ({"beta": math.nan}, "beta must be finite"),
        ({"beta": math.inf}, "beta must be finite"),
        ({"beta": 1j}, "beta must be real"),
        ({"beta": "hot"}, "beta must be an array of numbers, but is 'hot'"),
        ({"beta": None}, "beta must be"),
        ({"beta": []}, "beta must be a number or one number per run"),
        ({"beta": [[1.0]]}, "beta must be a number or one number per run"),
        ({"beta": 10**400}, "beta must be"),
        ({"beta": 1.0, "V": 2.0}, "V must be a square matrix"),
        ({"beta": 1.0, "V": np.ones((2, 3))}, r"V must be a square matrix .* shape \(2, 3\)"),
        ({"beta": 1.0, "Q": np.ones((1, 1, 2, 2))}, "Q must be a square matrix"),
        ({"beta": 1.0, "K": np.full((2, 2), math.nan)}, r"K must be finite, but K\[0, 0\] is nan"),
        ({"beta": 1.0, "K": np.ones((0, 0))}, "K must be a square matrix"),
        ({"beta": 1.0, "V": [[1.0, 2.0], [3.0]]}, "V must be an array of numbers"),
        ({"beta": 1.0, "Q": np.eye(2), "K": np.eye(3)}, "same dimension, but Q has 2, K has 3"),
        ({"beta": [1.0, 2.0], "V": np.ones((3, 2, 2))}, "same number of runs, but beta has 2, V has 3"),
        ({"beta": 1.0, "mask": "casual"}, "mask must be .* but is 'casual'"),
        ({"beta": 1.0, "mask": 3}, "mask must be"),
        ({"beta": 1.0, "mask": None}, "mask must be"),
        ({"beta": 1.0, "frozen": np.ones((1, 2))}, "frozen must be a Frozen"),
    ],
)
def test_attention_says_what_is_wrong(keywords: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Attention(**keywords)


def test_an_unknown_keyword_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="betta"):
        Attention(betta=2.0)  # type: ignore[call-arg]  # the mistake is the test


@pytest.mark.parametrize("w", [0, -1, 1.5, "3", None, True, math.nan, math.inf])
def test_a_window_is_a_whole_number_of_at_least_one(w: Any) -> None:
    with pytest.raises(InputError, match="Window w must be a whole number"):
        Window(w)


@pytest.mark.parametrize(
    ("x", "weight", "words"),
    [
        (np.zeros((0, 2)), 1.0, "at least one token"),
        (np.zeros((2, 2)), 1.0, "rows of length 1"),
        ([[1.0, 0.0]], 0.0, "weight must be positive"),
        ([[1.0, 0.0]], -2.0, "weight must be positive"),
        ([[1.0, 0.0]], math.nan, "weight must be finite"),
        ([[1.0, 0.0]], [1.0, 2.0], "one number per frozen token"),
        ([1.0, 0.0], 1.0, "must have shape"),
        (np.broadcast_to([1.0, 0.0], (2, 2, 1, 2)), 1.0, "must have shape"),
        ([[1j, 0.0]], 1.0, "must be real"),
    ],
)
def test_frozen_says_what_is_wrong(x: Any, weight: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Frozen(x, weight)
