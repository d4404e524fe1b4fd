"""The circle kernel on a grid, for large beta: it equals the equation and the sum over pairs."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from support.kernel_models import Mask, pairwise_bound, velocities_of

import nucleate as nc
from nucleate.attention import Attention, Frozen, Window
from nucleate.checks import Array
from nucleate.kernels.circle import TOLERANCE
from nucleate.kernels.circle_grid import (
    FAR,
    GRIDS,
    MAX_GRID_Z,
    MIN_GRID_Z,
    NEAR,
    POINTS,
    CircleGrid,
    grid_density,
    grid_system,
    has_grid,
    interpolation,
)
from nucleate.kernels.dispatch import choose_kernel, make_system
from nucleate.kernels.model_shape import model_shape

TURN = np.linalg.qr(np.random.default_rng(3).standard_normal((2, 2)))[0]  # (2, 2)
V = np.random.default_rng(4).standard_normal((2, 2))
Extended = NDArray[np.longdouble]
CAUSAL_AND_FULL: list[Mask] = ["causal", "full"]


def _models(z: float, mask: Mask) -> dict[str, Attention]:
    """One of each kind that the kernel treats apart."""
    frozen = Frozen(nc.uniform(11, 2, 5), np.random.default_rng(5).uniform(1.0, 20.0, 11))
    return {
        "plain": Attention(z, mask=mask),
        "repulsion": Attention(z, V=-2.0 * np.eye(2), mask=mask, frozen=frozen),
        "V": Attention(z, V=V, mask=mask),
        "everything": Attention(z / 2.0, Q=-2.0 * TURN, V=V, mask=mask, frozen=frozen),
    }


def _bound(model: Attention) -> float:
    """What circle_grid.py states, and the sum over pairs' own rounding."""
    return TOLERANCE * max(1.0, float(np.abs(model.parameters(2)[3]).max())) + pairwise_bound(model, 2)


def _by_grid(model: Attention, x: Array, tolerance: float = TOLERANCE) -> Array:
    """The velocities (n, 2) of tokens x, whatever kernel is faster."""
    system = grid_system(model_shape(model, *x.shape), tolerance)
    turning = velocities_of(system, np.arctan2(x[:, 1], x[:, 0]))  # (n,)
    return np.stack([-x[:, 1], x[:, 0]], axis=1) * turning[:, None]


def _clustered(n: int, width: float) -> Array:
    """(n, 2): clusters, one of them across angle 0 and one across pi, and a few strays at every distance."""
    rng = np.random.default_rng(1)
    angle = np.array([0.0, np.pi, 1.0, -2.0])[rng.integers(0, 4, n)] + 0.2 * width * rng.standard_normal(n)
    strays = rng.choice(n, 40, replace=False)
    angle[strays] += width * np.linspace(-12.0, 12.0, 40)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


@pytest.mark.parametrize("mask", CAUSAL_AND_FULL)
@pytest.mark.parametrize("z", [MIN_GRID_Z, 3e3, 1e6, MAX_GRID_Z])
def test_the_grid_equals_the_equation(mask: Mask, z: float) -> None:
    for name, model in _models(z, mask).items():
        for n in (1, 2, 9, 300):
            for x in (nc.uniform(n, 2, seed=n), _clustered(n, 1.0 / np.sqrt(z)) if n == 300 else None):
                if x is not None:
                    error = np.abs(_by_grid(model, x) - nc.drift(model, x, kernel="reference")).max()
                    assert error <= _bound(model), (name, n, error)


@pytest.mark.parametrize("mask", CAUSAL_AND_FULL)
def test_the_grid_equals_pairwise_across_blocks_with_clusters_and_strays(mask: Mask) -> None:
    for x in (nc.uniform(9000, 2, seed=3), _clustered(9000, 0.01)):
        for name, model in _models(1e4, mask).items():
            error = np.abs(_by_grid(model, x) - nc.drift(model, x, kernel="pairwise")).max()
            assert error <= _bound(model), (name, error)


@pytest.mark.parametrize("mask", CAUSAL_AND_FULL)
def test_a_heavy_frozen_token_does_not_drown_the_tokens_far_from_it(mask: Mask) -> None:
    x = nc.uniform(200, 2, seed=0)
    for weight in (1e4, 1e12, 1e20):
        model = Attention(1e4, mask=mask, frozen=Frozen([[0.0, 1.0]], weight))
        error = np.abs(_by_grid(model, x) - nc.drift(model, x, kernel="reference")).max()
        assert error <= _bound(model), (weight, error)


def test_the_first_token_stands_still_and_tokens_in_one_point_to_rounding() -> None:
    model = Attention(1e4)
    assert (_by_grid(model, nc.uniform(300, 2, seed=1))[0] == 0.0).all()
    assert np.abs(_by_grid(model, np.repeat(nc.uniform(1, 2, seed=2), 300, axis=0))).max() <= TOLERANCE


@pytest.mark.parametrize("mask", CAUSAL_AND_FULL)
def test_two_threads_give_the_bits_of_one(mask: Mask) -> None:
    x = nc.uniform(30_000, 2, seed=4)
    model = Attention(5e3, Q=2.0 * TURN, V=V, mask=mask)
    system = make_system(model_shape(model, 30_000, 2), "circle")
    assert isinstance(system, CircleGrid)
    assert system.blocks > 1
    one = nc.drift(model, x, kernel="circle", threads=1)
    assert np.array_equal(one, nc.drift(model, x, kernel="circle", threads=3))
    assert np.array_equal(one, nc.drift(model, np.stack([x, x]), kernel="circle", threads=2)[1])


@pytest.mark.parametrize("z", [MIN_GRID_Z, 1e5])
def test_looser_velocities_need_fewer_points_and_keep_their_tolerance(z: float) -> None:
    x, model = nc.uniform(2000, 2, seed=6), Attention(z)
    exact = nc.drift(model, x, kernel="reference")
    found = []
    for tolerance in (1e-5, 1e-8, 1e-11):
        assert np.abs(_by_grid(model, x, tolerance) - exact).max() <= tolerance
        found.append(grid_density(z, tolerance) or 0)
    assert 0 < found[0] < found[1] < found[2]
    assert grid_density(z, 1e-17) is None


@pytest.mark.parametrize("row", GRIDS, ids=str)
@pytest.mark.parametrize("z", [MIN_GRID_Z, 1e8])
def test_to_read_a_bell_off_costs_no_more_than_stated(
    row: tuple[int, float, float, float, float], z: float
) -> None:
    # in extended precision, so that rounding does not hide what is asked for
    density, a_value, a_slope, b_value, b_slope = row
    width = 1.0 / (np.longdouble(density) * np.sqrt(np.longdouble(z)))  # the angle between two points
    nodes = _nodes()
    counts, slopes = _lagrange(nodes)
    for away in np.linspace(-FAR, FAR, 65):  # widths
        for f in np.linspace(-0.5, 0.5, 11):
            bell = np.exp(-2.0 * z * np.sin((nodes - f - away * density) * width / 2) ** 2)
            w = np.exp(-2.0 * z * np.sin(away * density * width / 2) ** 2)
            slope = np.sqrt(z) * np.sin(away * density * width) * w
            powers = np.longdouble(f) ** np.arange(POINTS)
            value_error = abs(powers @ counts @ bell - w)
            slope_error = abs(powers @ slopes @ bell * density - slope)
            near = abs(away) <= NEAR
            assert value_error <= (a_value * w if near else b_value), (away, f)
            assert slope_error <= (a_slope * w if near else b_slope), (away, f)


def _nodes() -> Extended:
    """Where the points stand that are read off from, the middle of them at 0."""
    return np.arange(POINTS, dtype=np.longdouble) - (POINTS - 1) / 2


def _lagrange(nodes: Extended) -> tuple[Extended, Extended]:
    """(powers upwards, points) of the polynomials that are 1 at one node and 0 at the others, and of their
    derivatives."""
    counts = np.zeros((POINTS, POINTS), dtype=np.longdouble)
    for i, node in enumerate(nodes):
        polynomial = np.ones(1, dtype=np.longdouble)
        for other in np.delete(nodes, i):
            polynomial = np.convolve(polynomial, [1.0, -other]) / (node - other)
        counts[:, i] = polynomial[::-1]
    slopes = np.zeros_like(counts)
    slopes[:-1] = counts[1:] * np.arange(1, POINTS)[:, None]
    return counts, slopes


def test_the_table_is_that_of_lagranges_polynomials() -> None:
    exact, _ = _lagrange(_nodes())
    f = np.linspace(-0.5, 0.5, 21)
    powers = f[:, None] ** np.arange(POINTS - 1.0, -1.0, -1.0)
    assert np.abs(powers @ interpolation() - powers @ exact[::-1]).max() <= 1e-15


def test_it_is_chosen_where_it_is_fastest_and_for_what_it_is_made_for() -> None:
    def kind(model: Attention, n: int) -> type:
        return type(make_system(model_shape(model, n, 2)))

    assert kind(Attention(1e5), 100_000) is CircleGrid
    assert kind(Attention(1e5, Q=TURN, K=3.0 * TURN, V=V, mask="full"), 100_000) is CircleGrid
    assert kind(Attention(64.0), 100_000) is not CircleGrid  # modes are faster
    assert choose_kernel(model_shape(Attention(1e5), 200, 2)) == "pairwise"
    for model in (
        Attention(1e5, Q=np.diag([1.0, 1.1])),
        Attention(1e5, mask=Window(50_000)),
        Attention(1e5, position=nc.ALiBi(0.1)),
        Attention(2.0 * MAX_GRID_Z),
    ):
        assert not has_grid(model_shape(model, 100_000, 2))


def test_a_run_on_the_grid_is_that_of_scipy_with_sums_over_pairs() -> None:
    x0, model, t = nc.uniform(2000, 2, seed=8), Attention(1e5), 2.0
    assert isinstance(make_system(model_shape(model, 2000, 2), tolerance=1e-8), CircleGrid)

    def velocity(_: float, y: Array) -> Array:
        x = np.stack([np.cos(y), np.sin(y)], axis=1)
        v = nc.drift(model, x, kernel="pairwise")
        return x[:, 0] * v[:, 1] - x[:, 1] * v[:, 0]

    exact = solve_ivp(velocity, (0.0, t), np.arctan2(x0[:, 1], x0[:, 0]), "DOP853", rtol=1e-9, atol=1e-11).y[
        :, -1
    ]
    run = nc.simulate(model, x0, t, save=[0.0, t], rtol=1e-6, atol=1e-8)
    assert np.abs(run.x[-1] - np.stack([np.cos(exact), np.sin(exact)], axis=1)).max() <= 5e-6
