"""The sphere kernel: it equals the equation, and the sum over pairs where harmonics are not enough."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support.kernel_models import MASKS, Mask, pairwise_bound, velocities_of

import nucleate as nc
from nucleate.attention import Attention, Frozen, Window
from nucleate.block import Block
from nucleate.checks import Array, InputError
from nucleate.kernels.block_shape import block_shape
from nucleate.kernels.circle import TOLERANCE
from nucleate.kernels.dispatch import make_system
from nucleate.kernels.model_shape import model_shape
from nucleate.kernels.sphere import MAX_SPHERE_Z, Sphere, has_harmonics, sphere_system, usual_sphere_ratio

ROTATION = np.linalg.qr(np.random.default_rng(3).standard_normal((3, 3)))[0]  # (3, 3)
V = np.random.default_rng(4).standard_normal((3, 3)) / 3.0


def _models(mask: Mask) -> dict[str, Attention]:
    """One of each kind that the kernel treats apart."""
    frozen = Frozen(nc.uniform(11, 3, 5), np.random.default_rng(5).uniform(1.0, 20.0, 11))
    with_alibi = {
        "ALiBi": Attention(6.0, mask=mask, position=nc.ALiBi(0.01)),
        "ALiBi, everything": Attention(2.0, Q=-1.5 * ROTATION, V=V, mask=mask, position=nc.ALiBi(1e-4)),
        "ALiBi, steep": Attention(9.0, mask=mask, position=nc.ALiBi(1e300)),
    }
    return ({} if mask == "full" else with_alibi) | {
        "plain": Attention(6.0, mask=mask),
        "repulsion": Attention(6.0, V=-2.0 * np.eye(3), mask=mask, frozen=frozen),
        "everything": Attention(2.0, Q=-1.5 * ROTATION, V=V, mask=mask, frozen=frozen),
        "beta 0": Attention(0.0, V=V, mask=mask),
        "Q 0": Attention(9.0, Q=np.zeros((3, 3)), mask=mask, frozen=frozen),
        "sharp": Attention(300.0, mask=mask),
    }


def _bound(model: Attention) -> float:
    """What sphere.py states, and the equation's own rounding."""
    return TOLERANCE * max(1.0, float(np.abs(model.parameters(3)[3]).max())) + pairwise_bound(model, 3)


def _clustered(n: int) -> Array:
    """(n, 3): clusters, two of them at the poles, and a few strays."""
    rng = np.random.default_rng(1)
    centres = np.concatenate([[[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]], nc.uniform(2, 3, seed=9)])
    x = centres[rng.integers(0, 4, n)] + 0.01 * rng.standard_normal((n, 3))
    x[rng.choice(n, 12, replace=False)] = rng.standard_normal((12, 3))
    return nc.retract(x)


@pytest.mark.parametrize("mask", MASKS, ids=str)
def test_sphere_equals_the_equation(mask: Mask) -> None:
    for name, model in _models(mask).items():
        for n in (1, 2, 9, 200):
            x = nc.uniform(n, 3, seed=n)
            error = np.abs(nc.drift(model, x, kernel="sphere") - nc.drift(model, x, kernel="reference")).max()
            assert error <= _bound(model), (name, n, error)


@pytest.mark.parametrize(
    "mask", ["causal", "full", *(Window(w) for w in (31, 32, 33, 95, 96, 97, 700))], ids=str
)
def test_sphere_equals_pairwise_across_tiles_with_clusters_and_strays(mask: Mask) -> None:
    for x in (nc.uniform(1100, 3, seed=3), _clustered(1100)):
        for name, model in _models(mask).items():
            error = np.abs(nc.drift(model, x, kernel="sphere") - nc.drift(model, x, kernel="pairwise")).max()
            assert error <= _bound(model), (name, error)


@pytest.mark.parametrize("mask", ["causal", "full", Window(50)], ids=str)
def test_a_heavy_frozen_token_does_not_drown_the_tokens_far_from_it(mask: Mask) -> None:
    # Harmonics are good to eps times the sum of the weights, while a token at the far side has Z of order 1.
    x = nc.uniform(100, 3, seed=0)
    for weight in (1e4, 1e12):
        model = Attention(64.0, mask=mask, frozen=Frozen([[0.0, 1.0, 0.0]], weight))
        error = np.abs(nc.drift(model, x, kernel="sphere") - nc.drift(model, x, kernel="reference")).max()
        assert error <= _bound(model), (weight, error)


def test_an_isolated_token_behind_a_cluster_of_20000_is_exact() -> None:
    rng = np.random.default_rng(0)
    x = nc.retract(np.array([0.0, 0.0, 1.0]) + 0.02 * rng.standard_normal((20_001, 3)))
    x[-1] = math.sin(1.1), 0.0, math.cos(1.1)
    w = np.exp(-32.0 * ((x[:-1] - x[-1]) ** 2).sum(1))  # about e^-35 each
    expected = w @ (x[:-1] - x[-1]) / (1.0 + w.sum())  # (3,)
    expected -= (expected @ x[-1]) * x[-1]
    velocity = nc.drift(Attention(64.0), x, kernel="sphere")[-1]
    # The pairwise kernel's bound, against the force itself, far below the 1e-11 of harmonics.
    assert np.linalg.norm(velocity - expected) <= 1e-9 * np.linalg.norm(expected) + 1e-16


def test_an_isolated_token_behind_a_cluster_of_20000_is_exact_with_alibi() -> None:
    rng, slope = np.random.default_rng(0), 1e-5
    x = nc.retract(np.array([0.0, 0.0, 1.0]) + 0.02 * rng.standard_normal((20_001, 3)))
    x[-1] = math.sin(1.1), 0.0, math.cos(1.1)
    w = np.exp(-32.0 * ((x[:-1] - x[-1]) ** 2).sum(1) - slope * np.arange(20_000.0, 0.0, -1.0))
    expected = w @ (x[:-1] - x[-1]) / (1.0 + w.sum())  # (3,)
    expected -= (expected @ x[-1]) * x[-1]
    velocity = nc.drift(Attention(64.0, position=nc.ALiBi(slope)), x, kernel="sphere")[-1]
    # unlike harmonics, whose error is absolute, pairs have the force itself
    assert np.linalg.norm(velocity - expected) <= 1e-9 * np.linalg.norm(expected) + 1e-16


def test_a_run_with_alibi_is_that_of_scipy_with_sums_over_pairs() -> None:
    model, x0 = Attention(2.0, position=nc.ALiBi(1e-3)), nc.uniform(2000, 3, seed=8)
    assert isinstance(make_system(block_shape(Block(model), 2000, 3)), Sphere)  # chosen, as it is faster
    run = nc.simulate(model, x0, t=1.0, save=2)

    def velocity(_t: float, y: Array) -> Array:
        return nc.drift(model, nc.retract(y.reshape(-1, 3)), kernel="pairwise").ravel()

    found = solve_ivp(velocity, (0.0, 1.0), x0.ravel(), method="DOP853", rtol=1e-9, atol=1e-11)
    assert np.abs(run.x[-1] - found.y[:, -1].reshape(-1, 3)).max() <= 1e-7


def test_the_first_token_and_tokens_in_one_point_stand_still() -> None:
    for model in (Attention(16.0), Attention(16.0, position=nc.ALiBi(0.1))):
        assert (nc.drift(model, nc.uniform(300, 3, seed=1), kernel="sphere")[0] == 0.0).all()
    one_point = np.repeat(nc.uniform(1, 3, seed=2), 300, axis=0)
    assert np.abs(nc.drift(Attention(16.0), one_point, kernel="sphere")).max() <= TOLERANCE


@pytest.mark.parametrize("mask", ["causal", "full", Window(900)], ids=str)
def test_two_threads_give_the_bits_of_one(mask: Mask) -> None:
    x = nc.uniform(9000, 3, seed=4)
    for position in (None,) if mask == "full" else (None, nc.ALiBi(1e-3)):
        model = Attention(3.0, Q=ROTATION, V=V, mask=mask, position=position)
        one = nc.drift(model, x, kernel="sphere", threads=1)
        assert np.array_equal(one, nc.drift(model, x, kernel="sphere", threads=3))
        assert np.array_equal(one, nc.drift(model, np.stack([x, x]), kernel="sphere", threads=2)[1])


def test_looser_velocities_need_fewer_harmonics_and_keep_their_tolerance() -> None:
    x, model = nc.uniform(400, 3, seed=6), Attention(16.0)
    exact = nc.drift(model, x, kernel="reference")
    count = []
    for tolerance in (1e-4, 1e-8, 1e-11):
        system = sphere_system(model_shape(model, 400, 3), tolerance)
        assert np.abs(velocities_of(system, x) - exact).max() <= tolerance
        assert system.ratio > usual_sphere_ratio(16.0)
        count.append(system.L)
    assert count[0] < count[1] < count[2]


def test_matrices_it_is_not_made_for_are_refused() -> None:
    x = nc.uniform(5, 3, seed=0)
    assert has_harmonics(model_shape(Attention(1.0, Q=ROTATION, K=-2.0 * ROTATION), 5, 3))
    for model in (Attention(1.0, Q=np.diag([1.0, 1.0, 1.1])), Attention(2.0 * MAX_SPHERE_Z)):
        with pytest.raises(InputError, match="a multiple of an orthogonal matrix"):
            nc.drift(model, x, kernel="sphere")
    for other in (
        Attention(1.0, mask="full", position=nc.ALiBi(0.1)),
        Attention(1.0, weights="exponential"),
        Attention(1.0, Q=np.diag([1.0, 1.0, 1.1]), position=nc.ALiBi(0.1)),
        Block([Attention(1.0), Attention(2.0)]),
        Block(Attention(1.0), norm="ngpt"),
        Block(Attention(1.0), exclude_self=True),
        Block(Attention(1.0), mlp=nc.Potential([1.0], np.ones((1, 3)))),
    ):
        with pytest.raises(InputError, match="one softmax head with nothing beside it"):
            nc.drift(other, x, kernel="sphere")
    with pytest.raises(InputError, match="needs d = 3, but x has d = 2"):
        nc.drift(Attention(1.0), nc.uniform(5, 2, seed=0), kernel="sphere")


@pytest.mark.parametrize("size", [1e-170, 1e160])
def test_matrices_of_any_size_are_told_from_multiples_of_orthogonal_ones(size: float) -> None:
    for Q, expected in ((np.diag([1.0, 2.0, 0.5]), False), (ROTATION, True)):
        shape = model_shape(Attention(1.0 / size, Q=size * Q), 9, 3)
        assert has_harmonics(shape) is expected
        if expected:
            assert sphere_system(shape).z == pytest.approx(1.0)
