"""The sphere kernel: it equals the equation, and the sum over pairs where harmonics are not enough."""

import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support.kernel_models import MASKS, Mask, pairwise_bound, velocities_of

import nucleate as nc
from nucleate.attention import Attention, Frozen, Window
from nucleate.block import Block
from nucleate.checks import EPS, Array, InputError
from nucleate.kernels.block_shape import block_shape
from nucleate.kernels.circle import TOLERANCE
from nucleate.kernels.dispatch import choose_kernel, harmonics_pay, make_system
from nucleate.kernels.harmonics import coefficients, count_of_degree, degrees
from nucleate.kernels.model_shape import model_shape
from nucleate.kernels.sphere import (
    MAX_SPHERE_Z,
    Sphere,
    has_harmonics,
    sphere_roundoff,
    sphere_system,
    sphere_truncation,
    usual_sphere_ratio,
)
from nucleate.kernels.team import Team
from nucleate.kernels.threads import Stopped, stopped_by

ROTATION = {d: np.linalg.qr(np.random.default_rng(3).standard_normal((d, d)))[0] for d in (3, 4)}
VALUE = {d: np.random.default_rng(4).standard_normal((d, d)) / 3.0 for d in (3, 4)}
both_dimensions = pytest.mark.parametrize("d", [3, 4])


def _models(mask: Mask, d: int) -> dict[str, Attention]:
    """One of each kind that the kernel treats apart."""
    frozen = Frozen(nc.uniform(11, d, 5), np.random.default_rng(5).uniform(1.0, 20.0, 11))
    rotation, V = ROTATION[d], VALUE[d]
    with_alibi = {
        "ALiBi": Attention(6.0, mask=mask, position=nc.ALiBi(0.01)),
        "ALiBi, everything": Attention(2.0, Q=-1.5 * rotation, V=V, mask=mask, position=nc.ALiBi(1e-4)),
        "ALiBi, steep": Attention(9.0, mask=mask, position=nc.ALiBi(1e300)),
    }
    return ({} if mask == "full" else with_alibi) | {
        "plain": Attention(6.0, mask=mask),
        "repulsion": Attention(6.0, V=-2.0 * np.eye(d), mask=mask, frozen=frozen),
        "everything": Attention(2.0, Q=-1.5 * rotation, V=V, mask=mask, frozen=frozen),
        "beta 0": Attention(0.0, V=V, mask=mask),
        "Q 0": Attention(9.0, Q=np.zeros((d, d)), mask=mask, frozen=frozen),
        "sharp": Attention(300.0 if d == 3 else MAX_SPHERE_Z[4], mask=mask),
    }


def _bound(model: Attention, d: int) -> float:
    """What sphere.py states, and the equation's own rounding."""
    z = model_shape(model, 1, d).z
    of_a_sum = sphere_roundoff(z, d) + sphere_truncation(z, d, TOLERANCE)
    stated = max(TOLERANCE, of_a_sum * usual_sphere_ratio(z, d))
    return stated * max(1.0, float(np.abs(model.parameters(d)[3]).max())) + pairwise_bound(model, d)


def _in_tiles(model: Attention, x: Array, tile: int = 32) -> Array:
    """The velocities of tokens x (n, d) in tiles so small that nearly all of what a token sees is summed over
    harmonics: the usual ones, of up to thousands, would leave these tests to pairs."""
    return velocities_of(sphere_system(model_shape(model, *x.shape), tile=tile), x)


def _clustered(n: int, d: int) -> Array:
    """(n, d): clusters, two of them at the poles, where harmonics have a power of 0, and a few strays."""
    rng = np.random.default_rng(1)
    pole = np.eye(d)[-1]
    centres = np.concatenate([[pole, -pole], nc.uniform(2, d, seed=9)])
    x = centres[rng.integers(0, 4, n)] + 0.01 * rng.standard_normal((n, d))
    x[rng.choice(n, 12, replace=False)] = rng.standard_normal((12, d))
    return nc.retract(x)


@both_dimensions
@pytest.mark.parametrize("mask", MASKS, ids=str)
def test_sphere_equals_the_equation(mask: Mask, d: int) -> None:
    for name, model in _models(mask, d).items():
        for n in (1, 2, 9, 200):
            x = nc.uniform(n, d, seed=n)
            exact = nc.drift(model, x, kernel="reference")
            for velocity in (nc.drift(model, x, kernel="sphere"), _in_tiles(model, x)):
                error = np.abs(velocity - exact).max()
                assert error <= _bound(model, d), (name, n, error)


@both_dimensions
@pytest.mark.parametrize(
    "mask", ["causal", "full", *(Window(w) for w in (31, 32, 33, 95, 96, 97, 700))], ids=str
)
def test_sphere_equals_pairwise_across_tiles_with_clusters_and_strays(mask: Mask, d: int) -> None:
    for x in (nc.uniform(1100, d, seed=3), _clustered(1100, d)):
        for name, model in _models(mask, d).items():
            exact = nc.drift(model, x, kernel="pairwise")
            for velocity in (nc.drift(model, x, kernel="sphere"), _in_tiles(model, x)):
                error = np.abs(velocity - exact).max()
                assert error <= _bound(model, d), (name, error)


@both_dimensions
@pytest.mark.parametrize("mask", ["causal", "full", Window(50)], ids=str)
def test_a_heavy_frozen_token_does_not_drown_the_tokens_far_from_it(mask: Mask, d: int) -> None:
    # Harmonics are good to eps times the sum of the weights, while a token at the far side has Z of order 1.
    x = nc.uniform(100, d, seed=0)
    for weight in (1e4, 1e12):
        model = Attention(64.0, mask=mask, frozen=Frozen(np.eye(d)[1:2], weight))
        error = np.abs(nc.drift(model, x, kernel="sphere") - nc.drift(model, x, kernel="reference")).max()
        assert error <= _bound(model, d), (weight, error)


@both_dimensions
def test_steep_alibi_leaves_a_token_that_is_far_from_its_own_score_to_its_neighbours(d: int) -> None:
    # With Q = -I a token's own weight is e^(-2 beta), below what a slope of 101 leaves of the one before it.
    x = nc.uniform(5000, d, seed=0)  # so many that in d = 3 harmonics are taken up to a slope of 100
    for slope in (99.0, 101.0, 1e3, 1e300):
        model = Attention(64.0, Q=-np.eye(d), position=nc.ALiBi(slope))
        exact = nc.drift(model, x[:300], kernel="reference")
        assert np.abs(nc.drift(model, x)[:300] - exact).max() <= _bound(model, d), slope
        if slope > 100.0:
            with pytest.raises(InputError, match="slopes up to 100"):
                nc.drift(model, x, kernel="sphere")
        else:
            assert np.abs(nc.drift(model, x, kernel="sphere")[:300] - exact).max() <= _bound(model, d)


def test_weights_of_turned_scores_with_alibi_do_not_underflow() -> None:
    x = nc.uniform(300, 3, seed=0)
    model = Attention(300.0, Q=-np.eye(3), position=nc.ALiBi(0.1))
    exact = nc.drift(model, x, kernel="reference")
    assert np.abs(nc.drift(model, x, kernel="sphere") - exact).max() <= _bound(model, 3)
    sharper = Attention(301.0, Q=-np.eye(3), position=nc.ALiBi(0.1))
    with pytest.raises(InputError, match="up to 300, but"):
        nc.drift(sharper, x, kernel="sphere")
    assert np.isfinite(nc.drift(sharper, x)).all()


@both_dimensions
def test_frozen_tokens_of_several_tiles_are_summed_as_pairs_are(d: int) -> None:
    n, beta = 150, 4.0
    rng = np.random.default_rng(0)
    x, frozen = nc.uniform(n, d, seed=0), nc.uniform(2500, d, seed=1)
    assert len(frozen) > 2 * sphere_system(model_shape(Attention(beta), n, d)).T
    masks: tuple[Mask, ...] = ("causal", "full", Window(40))
    for mask in masks:
        model = Attention(beta, mask=mask, frozen=Frozen(frozen, rng.uniform(0.5, 2.0, len(frozen))))
        exact = nc.drift(model, x, kernel="pairwise")
        for velocity in (nc.drift(model, x, kernel="sphere"), _in_tiles(model, x)):
            assert np.abs(velocity - exact).max() <= _bound(model, d), mask


def test_sums_of_frozen_tokens_are_left_off_when_the_work_is_stopped() -> None:
    shape = model_shape(Attention(16.0, frozen=Frozen(nc.uniform(10, 3, seed=0))), 5, 3)
    with stopped_by(lambda: True), pytest.raises(Stopped):
        sphere_system(shape)


@both_dimensions
def test_frozen_tokens_count_in_the_choice_of_the_kernel(d: int) -> None:
    def pays(n: int, frozen: int) -> bool:
        some = None if frozen == 0 else Frozen(nc.uniform(frozen, d, seed=0))
        return harmonics_pay(model_shape(Attention(16.0, frozen=some), n, d), TOLERANCE)

    least = {3: 1000, 4: 6000}[d]  # tokens that see too few others, but with the frozen ones enough
    assert not pays(least, 0)
    assert pays(least, least)
    assert not pays(8, 100_000)  # for which the frozen ones would be summed


def test_frozen_tokens_too_heavy_for_sums_go_over_pairs() -> None:
    x, axes = nc.uniform(700, 3, seed=0), np.eye(3)
    model = Attention(16.0, frozen=Frozen(axes, [1e101, 1e200, 1e300]))
    assert np.isfinite(nc.drift(model, x)).all()
    with pytest.raises(InputError, match="largest frozen weight 1e"):
        nc.drift(model, x, kernel="sphere")


@both_dimensions
@pytest.mark.parametrize("slope", [0.0, 1e-5])
def test_an_isolated_token_behind_a_cluster_of_20000_is_exact_also_with_alibi(slope: float, d: int) -> None:
    rng, (x_1, *_, pole) = np.random.default_rng(0), np.eye(d)
    x = nc.retract(pole + 0.02 * rng.standard_normal((20_001, d)))
    x[-1] = math.sin(1.1) * x_1 + math.cos(1.1) * pole
    w = np.exp(-32.0 * ((x[:-1] - x[-1]) ** 2).sum(1) - slope * np.arange(20_000.0, 0.0, -1.0))  # about e^-35
    expected = w @ (x[:-1] - x[-1]) / (1.0 + w.sum())  # (d,)
    expected -= (expected @ x[-1]) * x[-1]
    velocity = nc.drift(Attention(64.0, position=nc.ALiBi(slope)), x, kernel="sphere")[-1]
    # The pairwise kernel's bound, against the force itself, far below the 1e-11 of harmonics.
    assert np.linalg.norm(velocity - expected) <= 1e-9 * np.linalg.norm(expected) + 1e-16


@both_dimensions
def test_a_run_with_alibi_is_that_of_scipy_with_sums_over_pairs(d: int) -> None:
    model, x0 = Attention(2.0, position=nc.ALiBi(1e-3)), nc.uniform(2000, d, seed=8)
    assert isinstance(make_system(block_shape(Block(model), 2000, d)), Sphere)  # chosen, as it is faster
    run = nc.simulate(model, x0, t=1.0, save=2)

    def velocity(_t: float, y: Array) -> Array:
        return nc.drift(model, nc.retract(y.reshape(-1, d)), kernel="pairwise").ravel()

    found = solve_ivp(velocity, (0.0, 1.0), x0.ravel(), method="DOP853", rtol=1e-9, atol=1e-11)
    assert np.abs(run.x[-1] - found.y[:, -1].reshape(-1, d)).max() <= 1e-7


@both_dimensions
def test_the_first_token_and_tokens_in_one_point_stand_still(d: int) -> None:
    for model in (Attention(16.0), Attention(16.0, position=nc.ALiBi(0.1))):
        assert (nc.drift(model, nc.uniform(300, d, seed=1), kernel="sphere")[0] == 0.0).all()
    one_point = np.repeat(nc.uniform(1, d, seed=2), 300, axis=0)
    assert np.abs(nc.drift(Attention(16.0), one_point, kernel="sphere")).max() <= TOLERANCE


@both_dimensions
@pytest.mark.parametrize("mask", ["causal", "full", Window(900)], ids=str)
def test_two_threads_give_the_bits_of_one(mask: Mask, d: int) -> None:
    x = nc.uniform(9000, d, seed=4)
    for position in (None,) if mask == "full" else (None, nc.ALiBi(1e-3)):
        model = Attention(3.0, Q=ROTATION[d], V=VALUE[d], mask=mask, position=position)
        one = nc.drift(model, x, kernel="sphere", threads=1)
        assert np.array_equal(one, nc.drift(model, x, kernel="sphere", threads=3))
        assert np.array_equal(one, nc.drift(model, np.stack([x, x]), kernel="sphere", threads=2)[1])


@both_dimensions
def test_looser_velocities_need_fewer_harmonics_and_keep_their_tolerance(d: int) -> None:
    x, model = nc.uniform(400, d, seed=6), Attention(16.0)
    exact = nc.drift(model, x, kernel="reference")
    count = []
    for tolerance in (1e-4, 1e-8, 1e-11):
        system = sphere_system(model_shape(model, 400, d), tolerance, tile=64)
        assert np.abs(velocities_of(system, x) - exact).max() <= tolerance
        count.append(system.L)
    assert count[0] < count[1] < count[2]


@both_dimensions
def test_the_usual_ratio_leaves_room_for_eight_times_that_of_uniform_tokens(d: int) -> None:
    for z in (16.0, 64.0, 200.0):
        mean_weight = coefficients(z, 1, d)[0]
        assert usual_sphere_ratio(z, d) == pytest.approx(8.0 / mean_weight, rel=0.05)


def test_the_pages_have_the_numbers_of_harmonics_and_where_they_are_taken() -> None:
    pages = Path(__file__).parents[2] / "docs"
    numerics, performance = ((pages / f"{name}.md").read_text() for name in ("numerics", "performance"))
    for z in (16.0, 64.0):
        cells = []
        for d in (3, 4):
            L = degrees(z, d, sphere_truncation(z, d, TOLERANCE))
            cells.append(f"{int(count_of_degree(np.arange(L + 1), d).sum()):,} (L = {L})")
        assert f"| {' | '.join(cells)} |" in numerics
    for d, z in ((3, 97.0), (4, 68.0)):
        assert harmonics_pay(model_shape(Attention(z), 10**9, d), TOLERANCE)
        assert not harmonics_pay(model_shape(Attention(z + 1.0), 10**9, d), TOLERANCE)
    assert "| z = 97 | z = 68 |" in numerics
    for beta, n in ((4.0, 1700), (16.0, 8200), (64.0, 48_000)):
        assert f"{n:,}" in performance
        for share, kernel in ((0.97, "pairwise"), (1.03, "sphere")):
            assert choose_kernel(model_shape(Attention(beta), round(share * n), 4)) == kernel


@both_dimensions
def test_threads_share_no_scratch(d: int) -> None:
    members = Team(sphere_system(model_shape(Attention(3.0), 300, d)), 3).members
    for one, other in combinations(members, 2):
        assert isinstance(one, Sphere)
        assert isinstance(other, Sphere)
        assert not np.shares_memory(one.pair.work, other.pair.work)
        for name in ("field", "sums", "powers", "room", "few"):
            assert not np.shares_memory(getattr(one, name), getattr(other, name)), name


@both_dimensions
@pytest.mark.parametrize("z", [0.1, 16.0, 200.0])
def test_the_error_of_harmonics_alone_is_below_what_is_stated(z: float, d: int) -> None:
    """No token goes by pairs; the error of velocities times Z, per token that is seen, beside the equation in
    extended precision.  Tokens where one power of the coordinates is 0 or hardly above it are no special
    ones."""
    n, rng = 640, np.random.default_rng(1)
    x, centre = nc.uniform(n, d, seed=3), nc.uniform(1, d, seed=4)
    widths = {f"width {w:g}": w for w in (0.0, 1e-3, 0.3 / np.sqrt(z), 0.1)}
    starts = {name: nc.retract(centre + w * rng.standard_normal((n, d))) for name, w in widths.items()}
    starts["uniform"] = x
    starts["first powers"] = nc.retract(x * np.where(np.arange(d) < 2, 1.0, 1e-9))
    starts["last powers"] = nc.retract(x * np.where(np.arange(d) < 2, 1e-9, 1.0))
    stated = sphere_roundoff(z, d) + sphere_truncation(z, d, TOLERANCE)
    for name, tokens in starts.items():
        system = sphere_system(model_shape(Attention(z, mask="full"), n, d))._replace(ratio=np.inf)
        y = tokens.astype(np.longdouble)
        y /= np.sqrt((y**2).sum(1, keepdims=True))
        w = np.exp(z * (y @ y.T - 1.0))  # (n, n)
        exact = nc.tangent(y, w @ y)  # times Z
        error = np.linalg.norm(velocities_of(system, tokens) * w.sum(1, keepdims=True) - exact, axis=1) / n
        assert error.max() <= stated, (name, float(error.max() / EPS))


def test_matrices_it_is_not_made_for_are_refused() -> None:
    x = nc.uniform(5, 3, seed=0)
    for d in (3, 4):
        assert has_harmonics(model_shape(Attention(1.0, Q=ROTATION[d], K=-2.0 * ROTATION[d]), 5, d))
        with pytest.raises(InputError, match=f"up to {MAX_SPHERE_Z[d]:g} for d = {d}"):
            nc.drift(Attention(2.0 * MAX_SPHERE_Z[d]), nc.uniform(5, d, seed=0), kernel="sphere")
    with pytest.raises(InputError, match="a multiple of an orthogonal matrix"):
        nc.drift(Attention(1.0, Q=np.diag([1.0, 1.0, 1.1])), x, kernel="sphere")
    for other in (
        Attention(1.0, mask="full", position=nc.ALiBi(0.1)),
        Attention(1.0, weights="exponential"),
        Attention(2.0 * MAX_SPHERE_Z[3], position=nc.ALiBi(0.1)),
        Attention(1.0, Q=np.diag([1.0, 1.0, 1.1]), position=nc.ALiBi(0.1)),
        Block([Attention(1.0), Attention(2.0)]),
        Block(Attention(1.0), norm="ngpt"),
        Block(Attention(1.0), exclude_self=True),
        Block(Attention(1.0), mlp=nc.Potential([1.0], np.ones((1, 3)))),
    ):
        with pytest.raises(InputError, match="one softmax head with nothing beside it"):
            nc.drift(other, x, kernel="sphere")
    for d in (2, 5):
        with pytest.raises(InputError, match=f"needs d = 3 or 4, but x has d = {d}"):
            nc.drift(Attention(1.0), nc.uniform(5, d, seed=0), kernel="sphere")


@pytest.mark.parametrize("size", [1e-170, 1e160])
def test_matrices_of_any_size_are_told_from_multiples_of_orthogonal_ones(size: float) -> None:
    for Q, expected in ((np.diag([1.0, 2.0, 0.5]), False), (ROTATION[3], True)):
        shape = model_shape(Attention(1.0 / size, Q=size * Q), 9, 3)
        assert has_harmonics(shape) is expected
        if expected:
            assert sphere_system(shape).z == pytest.approx(1.0)
