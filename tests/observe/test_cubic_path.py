"""Cubics between two frames against careful reruns: how far they stray, and that they hide no meeting."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from nucleate.attention import Attention, Frozen, Window
from nucleate.checks import Array
from nucleate.integrate.run import Run
from nucleate.integrate.simulate import simulate
from nucleate.observe.cubic_path import CubicPath, cubic_paths
from nucleate.sphere import uniform

_RNG = np.random.default_rng(3)
MODELS = {
    "circle": (2, Attention(16.0)),
    "sphere": (3, Attention(36.0)),
    "d = 4": (4, Attention(9.0)),
    "Q and K": (3, Attention(4.0, *_RNG.standard_normal((2, 3, 3)))),
    "V": (3, Attention(9.0, V=np.eye(3) + 0.3 * _RNG.standard_normal((3, 3)))),
    "window": (3, Attention(16.0, mask=Window(5))),
    "frozen": (3, Attention(9.0, frozen=Frozen(uniform(2, 3, 8), [1.5, 2.0]))),
    "full mask": (2, Attention(9.0, mask="full")),
}


@cache
def stepwise(name: str) -> Run:
    d, model = MODELS[name]
    return simulate(model, uniform(30, d, 1), 20.0, save="steps")


def careful(model: Attention, x: Array, times: Array) -> Array:
    """The tokens (times, n, d), at rtol 1e-12, which began as x (n, d) at the first of the times."""
    t = times - times[0]
    return simulate(model, x, t[-1], save=t, rtol=1e-12, atol=1e-14, threads=1).x


@pytest.mark.parametrize("name", MODELS)
def test_a_cubic_strays_as_far_as_it_says(name: str) -> None:
    run = stepwise(name)
    paths = cubic_paths(run.model, run.t, run.x, 1e-2)
    shares = []
    for i in range(0, len(paths), 5):
        path = paths[i]
        if path is None or path.error < 1e-7:  # the frames themselves are good to 1e-8
            continue
        times = np.linspace(run.t[i], run.t[i + 1], 17)
        strayed = np.linalg.norm(path.at(times) - careful(run.model, run.x[i], times), axis=-1).max()
        shares.append(strayed / path.error)
    assert len(shares) >= 5
    # what the estimate leaves out is of the next order; at() goes back to the sphere, which the cubic leaves
    assert max(shares) <= 1.1
    assert np.median(shares) >= 0.5


@pytest.mark.parametrize("name", ["sphere", "Q and K"])
def test_half_the_time_divides_the_error_of_the_cubic_and_its_estimate_by_sixteen(name: str) -> None:
    run = stepwise(name)
    strayed, estimates = [], []
    for span in (0.04, 0.02, 0.01):
        times = np.linspace(0.0, span, 33)
        x = careful(run.model, run.x[0], times)
        (path,) = cubic_paths(run.model, times[[0, -1]], x[[0, -1]], np.inf)
        assert path is not None
        strayed.append(np.linalg.norm(path.at(times) - x, axis=-1).max())
        estimates.append(path.error)
    for errors in (strayed, estimates):
        assert all(14.0 < before / after < 18.0 for before, after in pairwise(errors)), errors


def test_there_is_no_cubic_where_the_equation_does_not_lead_from_one_frame_to_the_other() -> None:
    run = stepwise("sphere")
    t, x = run.t[:5], run.x[:5]
    assert None not in cubic_paths(run.model, t, x, 1e-3)
    moved = x.copy()
    moved[2, 7] = -moved[2, 7]  # one token of 30 in one frame
    paths = cubic_paths(run.model, t, moved, 1e-3)
    assert [path is None for path in paths] == [False, True, True, False]
    assert cubic_paths(run.model, t[[0, 0]], x[:2], np.inf) == [None]  # no time passes
    sparse = simulate(run.model, run.x[0], 20.0, save=5)
    assert cubic_paths(run.model, sparse.t, sparse.x, 1e-3)[0] is None


def test_times_near_the_end_of_doubles_overflow_nowhere() -> None:
    # A token at an eigenvector of V stays there; between two of them it does not, and squares overflow.
    axes = np.eye(2)[:, None]  # (2, 1, 2)
    for x in (axes, np.stack([uniform(3, 2, 0)] * 2)):
        assert cubic_paths(Attention(4.0, V=np.diag([1.0, 2.0])), np.array([0.0, 1e300]), x, 1e-3) == [None]


# Meetings


def places(path: CubicPath, s: Array) -> Array:
    """The cubic at the parts s (m,), (m, n, d), in Bernstein's form."""
    p, q, v, w = path.ends  # (n, d)
    first, second = p + v / 3.0, q - w / 3.0
    b = ((1 - s) ** 3, 3 * s * (1 - s) ** 2, 3 * s**2 * (1 - s), s**3)
    return np.asarray(sum(np.multiply.outer(a, y) for a, y in zip(b, (p, first, second, q), strict=True)))


def slowly_meets(x: Array, k: int, leads: Array, reach: float) -> bool:
    """Whether in one of the frames x (m, n, d) links of at most `reach` lead from k to one that leads."""
    apart = np.linalg.norm(x[:, : k + 1, None] - x[:, None, : k + 1], axis=-1)  # (m, k + 1, k + 1)
    far = np.linalg.matrix_power((apart <= reach).astype(float), k)[:, k, :k]  # (m, k)
    return bool((far * leads > 0).any())


def test_no_meeting_on_a_cubic_is_missed() -> None:
    rng = np.random.default_rng(2)
    s = np.linspace(0.0, 1.0, 2001)
    n, reach, met, said = 5, 0.05, 0, 0
    for _ in range(400):
        near = 0.3 * rng.standard_normal((4, n, 3)) * rng.uniform(0.1, 3.0, (4, 1, 1))
        path = CubicPath(np.array([0.0, 1.0]), near, 0.0)
        leads = np.array([True, False, rng.random() < 0.5, False])
        really = slowly_meets(places(path, s), n - 1, leads, reach)
        may = path.may_meet(n - 1, leads, reach)
        assert may or not really
        met, said = met + really, said + may
    assert 20 < met <= said < 300, "and not always is one thought possible"


def test_a_meeting_between_two_points_is_seen_even_if_the_link_bends_there() -> None:
    # Found by chance: the link comes to 4e-4, and would to 17e-4 if it went straight from point to point.
    link = np.array([[1.3578, 0.1031], [0.0451, -0.0759], [-0.0951, 1.5271], [1.1375, -1.4219]])  # (4, d)
    path, leads = CubicPath(np.array([0.0, 1.0]), np.stack([0.0 * link, link], axis=1), 0.0), np.array([True])
    assert slowly_meets(places(path, np.linspace(0.0, 1.0, 2001)), 1, leads, 6e-4)
    assert path.may_meet(1, leads, 6e-4)


def test_a_cubic_that_strays_may_hide_a_meeting() -> None:
    ends = np.zeros((4, 2, 2))
    ends[:2, 1, 0] = 0.05  # at rest, so far apart
    path, leads = CubicPath(np.array([0.0, 1.0]), ends, 0.0), np.array([True])
    assert [path.may_meet(1, leads, reach) for reach in (0.049, 0.051)] == [False, True]
    assert path._replace(error=0.001).may_meet(1, leads, 0.049)
