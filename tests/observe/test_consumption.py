"""Consumption and lost centers, against token-by-token loops."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.made_runs import many_runs, one_run, paths, walking

from nucleate.attention import Attention
from nucleate.checks import Array, InputError
from nucleate.integrate.run import Run
from nucleate.integrate.simulate import simulate
from nucleate.observe.centers import renyi_centers
from nucleate.observe.consumption import Loss, consumed, consumption, lost_centers
from nucleate.sphere import distance, uniform


def slow_share(x: Array, centers: list[int], radius: float) -> float:
    """One frame (n, d), token by token."""
    return sum(any(distance(token, x[c]) <= radius for c in centers) for token in x) / len(x)


@given(
    n=st.integers(1, 30),
    d=st.sampled_from([2, 3, 4, 9]),
    radius=st.floats(0.01, np.pi),
    seed=st.integers(0, 2**32),
)
def test_consumption_equals_the_double_loop(n: int, d: int, radius: float, seed: int) -> None:
    x = np.stack([uniform(n, d, seed), uniform(n, d, seed + 1)])  # (2, n, d)
    centers = np.flatnonzero(np.random.default_rng(seed).random(n) < 0.3)
    share = consumed(x, centers, radius)
    assert share.tolist() == [slow_share(one, centers.tolist(), radius) for one in x]
    assert consumed(x[0], centers, radius).shape == ()


@pytest.mark.parametrize("d", [2, 3])
def test_every_run_of_a_block_has_centers_of_its_own(d: int) -> None:
    x = np.stack([paths(6, 20, d, seed) for seed in range(3)])  # (3, 6, 20, d)
    ragged = [[0, 4, 7], [2], []]
    share = consumed(x, ragged, 0.5)
    assert share.shape == (3, 6)
    for run, frame in np.ndindex(3, 6):
        assert share[run, frame] == slow_share(x[run, frame], ragged[run], 0.5)
    np.testing.assert_array_equal(consumed(x, np.array([[0, 4, 7], [2, -1, -1], [-1, -1, -1]]), 0.5), share)
    np.testing.assert_array_equal(consumed(x, [3, 5], 0.5), [consumed(one, [3, 5], 0.5) for one in x])
    # more axes in front
    np.testing.assert_array_equal(consumed(x[:, None], [3, 5], 0.5)[:, 0], consumed(x, [3, 5], 0.5))


def test_centers_themselves_are_consumed_and_move_with_their_tokens() -> None:
    run = one_run()
    assert (consumption(run, [2, 5], 1e-9) == 2 / 9).all()
    assert (consumption(run, range(9), 1e-9) == 1.0).all()
    assert (consumption(run, [], 1.0) == 0.0).all()


def test_frames_never_reached_are_nan() -> None:
    run = many_runs()
    share = consumption(run, [0, 2], 0.4)
    assert np.isnan(share[1, 4:]).all()
    assert np.isfinite(share).sum() == share.size - 2
    for one, frame in ((0, 5), (1, 3), (2, 0)):
        assert share[one, frame] == slow_share(run.x[one, frame], [0, 2], 0.4)
    np.testing.assert_array_equal(consumption((run.t, run.x), [0, 2], 0.4), share)


def test_tokens_gather_around_the_centers() -> None:
    run = simulate(Attention(64.0), uniform(200, 2, 0), 150.0, save=16)
    centers, strong = (renyi_centers(run.x[0], 0.5, strong=kind) for kind in (False, True))
    share, less = consumption(run, centers, 0.0625), consumption(run, strong, 0.0625)
    assert share[0] < 0.5 < 0.9 < share[-1]
    assert (less <= share).all()
    assert less[-1] < share[-1]


# Lost centers


def test_a_center_is_lost_to_the_nearest_earlier_one_where_the_line_crosses_the_radius() -> None:
    run = walking([0.0, 1.0, 0.4, 3.0], [0.0, 0.9, 0.4, 3.0], [0.0, 0.5, 0.4, 3.0], [0.0, 0.05, 0.1, 3.0])
    (one,) = lost_centers(run, [0, 1, 3], 0.1)
    assert (one.token, one.to) == (1, 0)
    assert one.time == pytest.approx(2 + 0.4 / 0.45)
    same, other = lost_centers(run, [0, 1, 2, 3], 0.1)
    assert same == one
    assert (other.token, other.to) == (2, 1)
    assert other.time == pytest.approx(2.0)
    assert lost_centers(run, [3, 0], 0.1) == ()


def test_a_center_that_begins_within_the_radius_is_lost_at_once() -> None:
    assert lost_centers(walking([0.0, 0.05], [0.0, 0.3]), [0, 1], 0.1) == (Loss(1, 0, 0.0),)


def test_a_center_named_twice_is_one_center() -> None:
    run = walking([0.0, 1.0, 3.0], [0.0, 0.05, 3.0])
    assert lost_centers(run, [0, 1, 1, 2, 2], 0.1) == lost_centers(run, [0, 1, 2], 0.1)


def test_lost_centers_equal_the_loop_over_frames() -> None:
    run = simulate(Attention(64.0), uniform(200, 2, 2), 1000.0, save=401)
    centers = renyi_centers(run.x[0], 0.5)
    found = {loss.token: loss for loss in lost_centers(run, centers, 0.05)}
    slow = {}
    for i, k in enumerate(centers.tolist()):
        for frame in range(len(run.t)):
            apart = [distance(run.x[frame, j], run.x[frame, k]) for j in centers[:i]]
            if apart and min(apart) <= 0.05:
                slow[k] = (frame, int(centers[int(np.argmin(apart))]))
                break
    assert len(found) >= 2
    assert found.keys() == slow.keys()
    for k, (frame, to) in slow.items():
        assert found[k].to == to
        apart = [distance(run.x[i, to], run.x[i, k]) for i in (frame - 1, frame)]
        assert found[k].time == pytest.approx(
            np.interp(-0.05, [-apart[0], -apart[1]], run.t[frame - 1 : frame + 1]), rel=1e-12
        )


def test_runs_side_by_side_lose_their_own() -> None:
    one, other = walking([0.0, 1.0, 2.0], [0.0, 0.05, 2.0]), walking([0.0, 1.0, 2.0], [0.0, 1.0, 1.05])
    both = replace(one, x=np.stack([one.x, other.x]), status=("done", "done"))
    assert lost_centers(both, [0, 1, 2], 0.1) == (
        lost_centers(one, [0, 1, 2], 0.1),
        lost_centers(other, [0, 1, 2], 0.1),
    )
    assert [[loss.token for loss in some] for some in lost_centers(both, [[0, 1], [0, 1]], 0.1)] == [[1], []]
    cut = many_runs()
    assert len(lost_centers(cut, [0, 1], 3.0)) == 3


# What cannot be


@pytest.mark.parametrize("radius", [0.0, -1.0, np.nan, 3.2, "half"])
def test_a_radius_that_is_no_distance_is_refused(radius: float) -> None:
    for measure in (consumption, lost_centers):
        with pytest.raises(InputError, match="radius must be"):
            measure(one_run(), [0], radius)


@pytest.mark.parametrize(
    ("centers", "reason"),
    [
        ([9], "9 is among them"),
        ([-2], "-2 is among them"),
        ([0.5], "whole numbers"),
        ("first", "whole numbers"),
        (3, "whole numbers"),
        ([[0], [1]], "one for each of 1, but there are 2"),
        ([0, [1]], "whole numbers|there are 2"),
    ],
)
def test_what_are_no_centers_is_refused(centers: list[int], reason: str) -> None:
    for measure in (consumption, lost_centers):
        with pytest.raises(InputError, match=reason):
            measure(one_run(), centers, 0.1)


@pytest.mark.parametrize(
    "run",
    [
        "run",
        (np.zeros(2), np.ones((3, 4, 2)) / 2**0.5),
        (np.zeros(1), uniform(3, 2, 0)),
        ([1.0, 0.0], paths(2, 3, 2)),
        ([np.nan], paths(1, 3, 2)),
        ([0.0], np.full((1, 3, 2), np.nan)),
        ([0.0], "tokens"),
        ([0.0, 1.0], paths(2, 3, 2) * 2),
    ],
)
def test_what_is_no_run_is_refused(run: Run) -> None:
    with pytest.raises(InputError, match="must"):
        consumption(run, [0], 0.1)


def test_no_tokens_are_refused() -> None:
    with pytest.raises(InputError, match="at least one token"):
        consumed(np.empty((0, 2)), [0], 0.1)


def test_tokens_off_the_sphere_are_refused_and_not_counted() -> None:
    good = uniform(4, 3, seed=0)
    for bad, words in ((np.zeros(3), "length 0"), (np.full(3, 1e200), "length"), ([np.inf, 0.0, 0.0], "inf")):
        x = np.stack([good, good])
        x[1, 2] = bad
        for tokens in (x, x[1], x[None]):
            with pytest.raises(InputError, match=words):
                consumed(tokens, [0], 0.3)
    x[1, 2] = np.nan
    assert np.isnan(consumed(x, [0], 0.3)).tolist() == [False, True]
    with pytest.raises(InputError, match=r"row .* has length 0"):
        consumed(np.zeros((4, 2)), [0], 0.3)
