"""What must hold for every run: the sphere, the first token, prefixes, rotations, the rate of consensus; many
by random examples."""

import math
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import special_ortho_group

import nucleate as nc
from nucleate.attention import Attention, Frozen, Window
from nucleate.checks import EPS, Array

Mask = Literal["causal", "full"] | Window
TIGHT: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-12}


def values(d: int) -> dict[str, Array]:
    """Attraction, repulsion, and V in general position."""
    return {"I": np.eye(d), "-I": -np.eye(d), "random": np.random.default_rng(d).standard_normal((d, d))}


def off_sphere(x: Array) -> float:
    """The largest | |x| - 1 |; the norm in extended precision, so that the measurement adds nothing."""
    return float(np.abs(np.sqrt((x.astype(np.longdouble) ** 2).sum(-1)) - 1.0).max())


# The sphere


@pytest.mark.parametrize("value", ["I", "-I", "random"])
@pytest.mark.parametrize(("n", "d"), [(32, 2), (32, 3), (12, 7), (70, 16)])
def test_tokens_stay_on_the_sphere_to_1e_15_up_to_time_5000(n: int, d: int, value: str) -> None:
    t = 5000.0 if d <= 3 else 500.0
    run = nc.simulate(
        Attention(9.0, V=values(d)[value]), nc.uniform(n, d, seed=0), t, save=64, rtol=1e-6, atol=1e-8
    )
    assert run.status == "done"
    assert off_sphere(run.x) <= 1e-15  # some units of rounding: every step ends with y / |y|


@pytest.mark.parametrize("value", ["I", "-I", "random"])
def test_batches_stay_on_the_sphere_to_1e_15(value: str) -> None:
    x0 = np.stack([nc.uniform(20, 2, seed) for seed in range(10)])
    run = nc.simulate(Attention(9.0, V=values(2)[value]), x0, 2000.0, save=16, rtol=1e-6, atol=1e-8)
    assert run.done
    assert off_sphere(run.x) <= 1e-15


@pytest.mark.parametrize("method", ["euler", "heun", "rk4"])
@pytest.mark.parametrize("d", [2, 3])
def test_fixed_steps_stay_on_the_sphere_even_when_far_too_long(
    method: Literal["euler", "heun", "rk4"], d: int
) -> None:
    for V in values(d).values():
        run = nc.simulate(
            Attention(9.0, V=V), nc.uniform(10, d, seed=1), 50.0, save=21, method=method, dt=3.0
        )
        assert run.status == "done"
        assert off_sphere(run.x) <= 1e-15


@given(
    d=st.sampled_from([2, 3, 7]),
    n=st.integers(1, 12),
    beta=st.floats(0.0, 30.0),
    seed=st.integers(0, 10**6),
    mask=st.sampled_from(["causal", "full", Window(1), Window(2)]),
    frozen=st.booleans(),
)
@settings(max_examples=60)
def test_any_run_stays_on_the_sphere_and_begins_at_its_start(
    d: int, n: int, beta: float, seed: int, mask: Mask, frozen: bool
) -> None:
    rng = np.random.default_rng(seed)
    Q, K, V = rng.standard_normal((3, d, d))
    x0 = nc.uniform(n, d, seed)
    model = Attention(
        beta,
        Q=Q,
        K=K,
        V=V,
        mask=mask,
        frozen=Frozen(nc.uniform(2, d, seed + 1), [1.0, 4.0]) if frozen else None,
    )
    run = nc.simulate(model, x0, 3.0, save=[0.0, 0.7, 3.0], rtol=1e-5, atol=1e-7)
    assert run.status == "done"
    assert np.array_equal(run.x[0], x0)
    assert off_sphere(run.x) <= 1e-15


# The first token


@pytest.mark.parametrize("value", ["I", "-I"])
@pytest.mark.parametrize(
    ("n", "d"), [(1, 2), (30, 2), (400, 2), (1, 3), (30, 3), (30, 7), (20, 16), (70, 16)]
)
def test_the_first_token_never_moves_a_bit(n: int, d: int, value: str) -> None:
    x0 = nc.uniform(n, d, seed=n)
    run = nc.simulate(Attention(9.0, V=values(d)[value]), x0, 200.0, save=20, rtol=1e-5, atol=1e-7)
    assert (run.x[:, 0] == x0[0]).all()


def test_the_first_token_never_moves_a_bit_in_a_batch_or_under_fixed_steps() -> None:
    x0 = np.stack([nc.uniform(30, 2, seed) for seed in range(9)])
    run = nc.simulate(Attention(9.0), x0, 100.0, save=9, rtol=1e-5, atol=1e-7)
    assert (run.x[:, :, 0] == x0[:, None, 0]).all()
    for method in ("euler", "heun", "rk4"):
        for d in (2, 3, 7):
            start = nc.uniform(10, d, seed=2)
            assert (
                nc.simulate(Attention(9.0), start, 50.0, save=9, method=method, dt=0.1).x[:, 0] == start[0]
            ).all(), (method, d)


def test_the_first_token_never_feels_the_others() -> None:
    for d in (2, 3, 7):
        V = np.random.default_rng(d).standard_normal((d, d))
        x0 = nc.uniform(15, d, seed=1)
        together = nc.simulate(Attention(5.0, V=V), x0, 6.0, save=9, **TIGHT)
        alone = nc.simulate(Attention(5.0, V=V), x0[:1], 6.0, save=9, **TIGHT)
        # other steps: twice five times the tolerance
        assert np.abs(together.x[:, 0] - alone.x[:, 0]).max() <= 10 * TIGHT["rtol"]


# Prefixes


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 14),
    d=st.sampled_from([2, 3, 7]),
    mask=st.sampled_from(["causal", Window(3)]),
    cut=st.integers(1, 13),
)
@settings(max_examples=40)
def test_the_first_tokens_of_a_run_are_the_shorter_run(
    seed: int, n: int, d: int, mask: Mask, cut: int
) -> None:
    m, rng = min(cut, n - 1), np.random.default_rng(seed)
    Q, K, V = rng.standard_normal((3, d, d)) / math.sqrt(d)
    model, x0 = Attention(3.0, Q=Q, K=K, V=V, mask=mask), nc.uniform(n, d, seed)
    # velocities: the very same operations, but for the order in which BLAS sums
    for kernel in ("reference", "pairwise"):
        assert (
            np.abs(nc.drift(model, x0, kernel=kernel)[:m] - nc.drift(model, x0[:m], kernel=kernel)).max()
            <= 1e-13
        )
    whole, part = (nc.simulate(model, x, 3.0, save=4, **TIGHT) for x in (x0, x0[:m]))
    # a hundred times the tolerance: errors may grow e-fold several times on the way
    assert np.abs(whole.x[:, :m] - part.x).max() <= 1e-8


def test_the_full_mask_has_no_such_prefixes() -> None:
    x0 = nc.uniform(6, 3, seed=0)
    whole, part = (nc.simulate(Attention(3.0, mask="full"), x, 3.0, save=4, **TIGHT) for x in (x0, x0[:4]))
    assert np.abs(whole.x[:, :4] - part.x).max() > 1e-2


# Rotations and reflections


@given(
    seed=st.integers(0, 10**6),
    d=st.sampled_from([2, 3, 7]),
    mask=st.sampled_from(["causal", "full", Window(2)]),
    flip=st.booleans(),
)
@settings(max_examples=40)
def test_turning_the_start_turns_the_run(seed: int, d: int, mask: Mask, flip: bool) -> None:
    turn = np.asarray(special_ortho_group.rvs(d, random_state=seed))
    if flip:
        turn[0] *= -1.0
    x0 = nc.uniform(9, d, seed)
    model = Attention(4.0, mask=mask, frozen=Frozen(nc.uniform(2, d, seed + 1), [1.0, 3.0]))
    turned = Attention(
        4.0, mask=mask, frozen=Frozen(nc.retract(nc.uniform(2, d, seed + 1) @ turn.T), [1.0, 3.0])
    )
    for kernel in ("reference", "pairwise"):
        difference = (
            nc.drift(turned, nc.retract(x0 @ turn.T), kernel=kernel)
            - nc.drift(model, x0, kernel=kernel) @ turn.T
        )
        # rounding of d-term sums in the turn, times beta in the weights
        assert np.abs(difference).max() <= 64 * 4.0 * EPS
    a, b = (
        nc.simulate(model, x0, 2.0, save=3, **TIGHT),
        nc.simulate(turned, nc.retract(x0 @ turn.T), 2.0, save=3, **TIGHT),
    )
    assert np.abs(a.x @ turn.T - b.x).max() <= 1e-8  # as for prefixes


@given(seed=st.integers(0, 10**6), d=st.sampled_from([2, 3, 7]))
@settings(max_examples=25)
def test_a_change_of_basis_of_tokens_and_matrices_changes_nothing(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    turn = np.asarray(special_ortho_group.rvs(d, random_state=seed))
    Q, K, V = rng.standard_normal((3, d, d))
    x0 = nc.uniform(8, d, seed)
    model = Attention(2.0, Q=Q, K=K, V=V)
    turned = Attention(2.0, Q=turn @ Q @ turn.T, K=turn @ K @ turn.T, V=turn @ V @ turn.T)
    _, A, B, C = model.parameters(d)
    bound = 64 * max(1.0, 2.0 * float(np.linalg.norm(B.T @ A, 2))) * float(np.linalg.norm(C, 2)) * EPS
    for kernel in ("reference", "pairwise"):
        difference = (
            nc.drift(turned, nc.retract(x0 @ turn.T), kernel=kernel)
            - nc.drift(model, x0, kernel=kernel) @ turn.T
        )
        assert np.abs(difference).max() <= bound


def test_on_the_circle_turning_changes_nothing_across_the_cut_at_pi() -> None:
    # Angles jump at pi; tokens do not.
    theta = np.linspace(-0.4, 0.4, 9)
    runs = []
    for offset in (0.0, math.pi, -math.pi / 2):
        x0 = np.stack([np.cos(theta + offset), np.sin(theta + offset)], axis=1)
        z = nc.simulate(Attention(9.0), x0, 4.0, save=5, **TIGHT).x @ np.array([1.0, 1j])
        runs.append(z * np.exp(-1j * offset))
    assert max(np.abs(run - runs[0]).max() for run in runs) <= 10 * TIGHT["rtol"]


def test_time_is_measured_in_units_of_the_value_matrix() -> None:
    for d in (2, 3):
        x0 = nc.uniform(9, d, seed=3)
        slow = nc.simulate(Attention(4.0), x0, 6.0, save=7, **TIGHT)
        fast = nc.simulate(Attention(4.0, V=3.0 * np.eye(d)), x0, 2.0, save=7, **TIGHT)
        assert np.abs(slow.x - fast.x).max() <= 10 * TIGHT["rtol"]


# Where it ends


@pytest.mark.parametrize("d", [2, 3])
def test_all_tokens_reach_the_first_as_e_to_minus_t_over_2(d: int) -> None:
    # Theorem 4.1, and the linearised rate -(k-1)/k: token 2 is the slowest, at 1/2; the third, at 2/3, is
    # gone by then.
    x0 = nc.retract(nc.uniform(1, d, seed=0)[0] + 0.3 * np.random.default_rng(0).standard_normal((6, d)))
    run = nc.simulate(Attention(2.0), x0, 60.0, save=[0.0, 30.0, 40.0, 50.0, 60.0], rtol=1e-13, atol=1e-14)
    apart = np.linalg.norm(run.x - x0[0], axis=-1).max(1)
    rates = np.log(apart[1:-1] / apart[2:]) / 10.0
    # (2/3 - 1/2) 30 = 5: the other tokens still hold e^-5 of the distance; the bend is below 1 % from 40 on
    assert rates[1:] == pytest.approx(0.5, rel=1e-2)
    assert apart[-1] < 1e-12


def test_with_any_query_and_key_all_tokens_reach_the_first() -> None:
    rng = np.random.default_rng(4)
    for seed in range(4):
        Q, K = rng.standard_normal((2, 3, 3))
        x0 = nc.uniform(8, 3, seed)
        run = nc.simulate(Attention(1.0, Q=Q, K=K), x0, 200.0, save=2)
        assert np.linalg.norm(run.x[-1] - x0[0], axis=-1).max() <= 1e-6


def test_full_attention_never_loses_energy() -> None:
    # (1/n^2) sum exp(beta (<x_i, x_j> - 1)) rises along full attention with Q = K = V = I.
    for d in (2, 3):
        run = nc.simulate(Attention(6.0, mask="full"), nc.uniform(20, d, seed=2), 20.0, save=80)
        energy = np.exp(6.0 * (run.x @ run.x.mT - 1.0)).mean((-2, -1))
        assert (np.diff(energy) >= -1e-7).all()  # tokens are good to 5e-8 each
        assert energy[-1] > energy[0] + 0.1


def test_frames_between_steps_join_smoothly() -> None:
    # Dense output at 2000 times: no jump where one step ends and the next begins.
    run = nc.simulate(Attention(9.0), nc.uniform(10, 3, seed=5), 20.0, save=2001, rtol=1e-6, atol=1e-8)
    bend = np.abs(run.x[2:] - 2.0 * run.x[1:-1] + run.x[:-2]).max((1, 2))
    fastest = np.abs(np.stack([nc.drift(Attention(9.0), x) for x in run.x[::50]])).max()
    # |x''| dt^2 with |x''| <= (|v| beta + 1) |v|, plus the errors of the interpolant: a jump of a hundred
    # tolerances would stand out
    assert bend.max() <= (9.0 * fastest + 1.0) * fastest * 0.01**2 + 40e-6
