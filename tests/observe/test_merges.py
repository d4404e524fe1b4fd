"""Merges: whole lives at the paper's size, a slow twin, any choice of frames, lifetimes and trees."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from support.made_runs import many_runs, one_run, walking
from support.places import on_circle
from support.slow_twins import slow_clusters
from support.soak import SOAK

from nucleate.attention import Attention
from nucleate.checks import Array, InputError
from nucleate.integrate.run import Run
from nucleate.integrate.simulate import simulate
from nucleate.observe import refine
from nucleate.observe.close_approach import first_touch, next_approach, touching_part
from nucleate.observe.clusters import count_clusters
from nucleate.observe.life import Life, life, life_time
from nucleate.observe.merges import Branch, Merge, Merges, cluster_width, merges
from nucleate.sphere import distance, uniform

STARTS = range(20 if SOAK else 8)


@cache
def alive(seed: int, n: int = 40, beta: float = 36.0, d: int = 2) -> Life:
    return life(beta, n, d, seed)


# Whole lives, n = 200


def check_agreement(one: Merges, other: Merges, share: float, more: float) -> None:
    """The same leaders lost, each at the same time up to `share` of it and `more` time units."""
    mine, theirs = ({event.lost: event.time for event in some} for some in (one, other))
    assert other.leaders.tolist() == one.leaders.tolist()
    assert theirs.keys() == mine.keys()
    for k, time in mine.items():
        assert abs(theirs[k] - time) <= share * time + more, f"leader {k}: {time:g} and {theirs[k]:g}"


@pytest.mark.soak(starts=len(STARTS))
@pytest.mark.parametrize("beta", [36.0, 64.0])
@pytest.mark.parametrize("seed", STARTS)
def test_whole_lives_end_with_the_first_token_whatever_radius_and_tolerance(seed: int, beta: float) -> None:
    one = life(beta, 200, 2, seed)
    times, counts = one.staircase
    assert one.whole, one.ending
    assert (np.diff(times) >= 0.0).all()
    assert (np.diff(counts) == -1).all()
    assert counts[-1] == 1
    assert {*one.merges.leaders.tolist()} - {event.lost for event in one.merges} == {0}, (
        "the last leader is the first token"
    )
    # The leaders' count against all tokens', half-way between two merges by logarithm: late enough that none
    # is in flight.
    middle = np.sqrt(times * np.append(times[1:], one.run.t[-1]))  # (merges + 1,)
    for time, count in zip(middle[times > 1e3], counts[times > 1e3], strict=True):
        assert count_clusters(one.run.x[np.searchsorted(one.run.t, time)], cluster_width(beta)) == count
    check_agreement(one.merges, merges(one.run, 3.0 * one.radius), 0.01, 10.0)
    fine = life(beta, 200, 2, seed, rtol=1e-10, atol=1e-12).merges
    check_agreement(one.merges, fine, 0.01, 0.0)
    assert fine.t_f == pytest.approx(one.t_f, rel=0.01)


# The definition, slowly


def share_in_compact(x: Array, width: float) -> float:
    """The share of tokens in components, with steps of at most `width`, of diameter below it."""
    label = np.array(slow_clusters(x, width))
    apart = distance(x[:, None], x[None])  # (n, n)
    return float(np.mean([apart[np.ix_(label == c, label == c)].max() < width for c in label]))


def slow_losses(run: Run, first: int, leaders: list[int], radius: float) -> dict[int, tuple[int, set[int]]]:
    """For every leader that is lost from frame `first` on: the frame, and the leaders in the components it
    touches."""
    lost = {}
    for frame in range(first, len(run.t)):
        for k in leaders:
            if k not in lost and (met := slowly_met(run.x[frame], k, leaders, radius)):
                lost[k] = (frame, met)
    return lost


def slowly_met(x: Array, k: int, leaders: list[int], radius: float) -> set[int]:
    """The earlier leaders in the components of earlier tokens that token k touches."""
    touching = [j for j in range(k) if distance(x[j], x[k]) <= radius]
    label = slow_clusters(x[:k], radius) if touching else []
    return {j for j in leaders if j < k and touching and label[j] in {label[i] for i in touching}}


@pytest.mark.parametrize(("seed", "beta", "d"), [(0, 16.0, 2), (1, 16.0, 2), (2, 6.0, 3)])
def test_merges_equal_the_slow_definition(seed: int, beta: float, d: int) -> None:
    one = alive(seed, 24, beta, d)
    run, found, width = one.run, one.merges, cluster_width(beta)
    early = np.flatnonzero(run.t < 0.999 * found.t_f)
    assert max(share_in_compact(run.x[i], width) for i in early) < 0.95
    at = simulate(run.model, run.x[0], found.t_f, save=[found.t_f]).x[-1]  # (n, d)
    assert share_in_compact(at, width) >= 0.95
    leaders = [k for k in range(24) if all(distance(at[j], at[k]) > width for j in range(k))]
    assert found.leaders.tolist() == leaders
    slow = slow_losses(run, int(np.searchsorted(run.t, found.t_f)), leaders, found.radius)
    assert {event.lost for event in found} == slow.keys()
    gone: dict[int, int] = {}
    for event in found:
        frame, met = slow[event.lost]
        assert run.t[frame - 1] <= event.time <= run.t[frame]
        into = min(met)
        while into in gone:
            into = gone[into]
        assert event.into == into
        gone[event.lost] = into


@pytest.mark.parametrize("save", ["steps", 200])
def test_a_leader_is_lost_when_it_first_comes_near_even_if_it_leaves_again_between_two_frames(
    save: str | int,
) -> None:
    # Leader 18 is within the radius of 4 for 0.23 time units, less than a step of 0.35, and later again; 11
    # is near a token that joins 4.
    run = simulate(Attention(4.0), uniform(20, 4, 0), 400.0, save=save)
    found = merges(run)
    times, leaders = {event.lost: event.time for event in found}, found.leaders.tolist()
    for k, about in ((18, 3.99), (11, 6.52)):
        assert times[k] == pytest.approx(about, abs=0.01)
        early = np.arange(found.t_f, 0.999 * times[k], 0.01)
        looked = simulate(
            run.model,
            run.x[0],
            7.0,
            save=[*early, times[k] * (1 - 1e-5), times[k] * (1 + 1e-5)],
            rtol=1e-11,
            atol=1e-13,
        ).x
        assert [bool(slowly_met(x, k, leaders, found.radius)) for x in looked] == [False] * (
            len(early) + 1
        ) + [True]


def slow_approach(
    t: Array, x: Array, frame: int, k: int, leads: NDArray[np.bool_], reach: float, room: float, speed: float
) -> int:
    """The first frame up to which a leader is among the tokens that can be reached from k, link by link."""
    for i in range(frame, len(x)):
        apart = x[i - 1 : i + 1, : k + 1, None] - x[i - 1 : i + 1, None, : k + 1]  # (2, k + 1, k + 1, d)
        way = np.linalg.norm(apart[1] - apart[0], axis=-1)  # (k + 1, k + 1)
        touch = np.linalg.norm(apart, axis=-1).min(0) <= reach + np.minimum(
            room + way, speed * (t[i] - t[i - 1])
        )
        if (np.linalg.matrix_power(touch.astype(float), k)[k, :k] * leads > 0).any():
            return i
    return len(x)


def test_where_to_look_closer_equals_its_slow_twin() -> None:
    rng = np.random.default_rng(5)
    found = []
    for _ in range(300):
        x = uniform(9, 3, rng) + rng.uniform(0.0, 0.3) * rng.standard_normal((6, 9, 3)).cumsum(0)  # (m, n, d)
        # reach, room, speed
        leads, sizes = rng.random(8) < 0.15, (*rng.uniform(0.05, 0.15, 2), rng.uniform(0.0, 0.5))
        found.append(next_approach(np.arange(6.0), x, 1, 8, leads, *sizes))
        assert found[-1] == slow_approach(np.arange(6.0), x, 1, 8, leads, *sizes)
    assert {1, 2, 3, 6} <= {*found}, "at once, later, and never"


def test_who_touches_equals_its_slow_twin() -> None:
    rng = np.random.default_rng(6)
    found = []
    for _ in range(300):
        x = uniform(9, 3, rng) + 0.2 * rng.standard_normal((6, 9, 3)).cumsum(0)  # (m, n, d)
        leads, reach = rng.random(8) < 0.3, rng.uniform(0.1, 0.9)
        apart = np.linalg.norm(x[:, :, None] - x[:, None], axis=-1)  # (m, n, n)
        linked = np.linalg.matrix_power((apart <= reach).astype(float), 8)[:, 8, :8]  # (m, k)
        touches = (linked * leads > 0).any(1)  # (m,)
        found.append(first_touch(x, 8, leads, reach))
        assert found[-1] == (touches.argmax() if touches.any() else 6)
    assert {0, 1, 2, 3, 6} <= {*found}, "at once, later, and never"


@pytest.mark.parametrize("i", [1, 2, 3])
def test_the_moment_of_touching_is_found_along_a_bent_way(i: int) -> None:
    # On the circle token 1 comes to token 0, and slows down: a straight line between two frames misses the
    # part by 1e-2, a cubic by what is of the fourth order.
    def angle(s: float) -> float:
        return 0.3 + 0.05 * (i - 1 + 0.4 - s) + 0.004 * (i - 1 + 0.4 - s) ** 2

    x = on_circle([[0.0, angle(s)] for s in range(4)])
    reach = 2.0 * np.sin(0.15)
    part, then = touching_part(x, i, 1, np.array([True]), reach, 40)
    assert part == pytest.approx(0.4, abs=3e-4)
    assert np.linalg.norm(then[1] - then[0]) == pytest.approx(reach, abs=1e-9)
    straight, _ = touching_part(x[i - 1 : i + 1], 1, 1, np.array([True]), reach, 40)
    assert abs(straight - 0.4) > 0.01


@pytest.mark.parametrize(("gathered", "formed"), [(94, False), (95, True)])
def test_counting_starts_with_95_percent_in_compact_components_and_a_chain_has_one_leader_in_the_lead(
    gathered: int, formed: bool
) -> None:
    width = cluster_width(100.0)
    # each within a width of the next, but not of the one after
    chain = [2.0 + 0.9 * width * i for i in range(100 - gathered)]
    found = merges(walking([0.0] * gathered + chain, beta=100.0))
    assert found.leaders.tolist() == ([0, gathered] if formed else [])
    assert found.t_f == (0.0 if formed else pytest.approx(np.nan, nan_ok=True))


def test_counting_may_start_just_before_the_last_frame() -> None:
    width = cluster_width(20.0)
    # from 2.7 widths to just below one
    chain = [[step * i for i in range(4)] for step in (0.9 * width, 0.332 * width)]
    run = walking(*chain)
    assert np.isnan(merges(replace(run, x=run.x[[0, 0]])).t_f)
    for end in (0.003, 1.0, 2.3):
        assert 0.98 * end < merges(replace(run, t=np.array([0.0, end]))).t_f < end


def test_a_leader_is_not_lost_to_a_token_in_flight() -> None:
    # Token 1 leads nothing, being near token 0; token 2 is within the radius of it from t = 1 on, but lost
    # when token 1 comes to token 0.
    (event,) = merges(walking([0.0, 0.05, 1.0], [0.0, 0.05, 0.06], [0.0, 0.015, 0.03]), 0.02)
    assert (event.lost, event.into) == (2, 0)
    assert event.time == pytest.approx(1.0 + (0.05 - 0.02) / (0.05 - 0.015), abs=1e-4), (
        "chords go evenly, and angles nearly so"
    )


def test_a_cluster_that_joined_another_is_not_joined_again() -> None:
    # Token 2 comes to token 1 after token 1 came to token 0; at the frame where it does, the two are no
    # longer within the radius.
    found = merges(walking([0.0, 1.0, 2.0], [0.0, 0.01, 1.0], [0.0, 0.3, 0.31]), 0.02)
    assert [(event.lost, event.into) for event in found] == [(1, 0), (2, 0)]


# Frames


@pytest.mark.parametrize("save", [200, 1000])
@pytest.mark.parametrize(("seed", "beta", "d"), [(1, 36.0, 2), (2, 36.0, 2), (1, 12.0, 3), (0, 6.0, 4)])
def test_merges_are_the_same_for_any_frames(seed: int, beta: float, d: int, save: int) -> None:
    one = alive(seed, 40, beta, d)
    run = simulate(one.run.model, one.run.x[0], life_time(beta, 40), save=save, method="causal")
    other = merges(run)
    assert other.leaders.tolist() == one.merges.leaders.tolist()
    assert [(event.lost, event.into) for event in other] == [(event.lost, event.into) for event in one.merges]
    # Both runs have the tolerance 1e-8, of which an unstable balance may make a hundred times as much.
    np.testing.assert_allclose(
        [event.time for event in other], [event.time for event in one.merges], rtol=1e-5
    )
    assert other.t_f == pytest.approx(one.t_f, rel=1e-4)


LIVES = [
    (seed, n, beta, d)
    for d, n, betas in ((2, 40, (4.0, 16.0, 36.0, 64.0)), (3, 30, (4.0, 9.0, 16.0)), (4, 24, (4.0, 6.0, 9.0)))
    for beta in betas
    for seed in range(2)
]


@pytest.mark.parametrize(("seed", "n", "beta", "d"), LIVES)
def test_long_steps_rerun_by_the_causal_solver_show_the_merges_that_any_rerun_shows(
    seed: int, n: int, beta: float, d: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = alive(seed, n, beta, d).run
    one = alive(seed, n, beta, d).merges
    monkeypatch.setattr(refine, "LONGEST_EXPLICIT_STEP", np.inf)  # all reruns begin with explicit steps
    other = merges(run)
    assert other.t_f == one.t_f
    assert other.leaders.tolist() == one.leaders.tolist()
    assert [(event.lost, event.into) for event in other] == [(event.lost, event.into) for event in one]
    np.testing.assert_allclose([event.time for event in other], [event.time for event in one], rtol=1e-6)


@pytest.mark.parametrize(("seed", "n", "beta", "d"), LIVES[1::2])
def test_cubics_show_the_merges_that_reruns_alone_show(
    seed: int, n: int, beta: float, d: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = alive(seed, n, beta, d)
    monkeypatch.setattr(refine, "cubic_paths", lambda _model, t, _x, _most: [None] * (len(t) - 1))
    other = merges(one.run)
    assert other.t_f == one.merges.t_f
    assert other.leaders.tolist() == one.merges.leaders.tolist()
    assert [(event.lost, event.into) for event in other] == [(event.lost, event.into) for event in one.merges]
    # a rerun by steps begins anew, at 1e-10, where each step ends
    np.testing.assert_allclose(
        [event.time for event in other], [event.time for event in one.merges], rtol=1e-8
    )


def test_paths_that_were_not_kept_are_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    one = alive(0)
    monkeypatch.setattr(refine, "MAX_KEPT", 0)
    assert merges(one.run).events == one.merges.events


@pytest.mark.parametrize(("seed", "n", "beta", "d"), [(0, 40, 36.0, 2), (1, 30, 16.0, 3), (0, 24, 6.0, 4)])
def test_merge_times_are_those_of_a_careful_simulation_from_the_frame_before(
    seed: int, n: int, beta: float, d: int
) -> None:
    run, found = alive(seed, n, beta, d).run, alive(seed, n, beta, d).merges
    early = [event for event in found if found.t_f < event.time < 100.0]
    assert early
    for event in early:
        before = int(np.searchsorted(run.t, event.time)) - 1
        about = event.time * (1.0 + np.array([-1e-9, 1e-9])) - run.t[before]  # (2,)
        x = simulate(run.model, run.x[before], about[1], save=about, rtol=1e-13, atol=1e-15, threads=1).x
        met = [bool(slowly_met(y, event.lost, found.leaders.tolist(), found.radius)) for y in x]
        assert met == [False, True], event


@pytest.mark.parametrize(("seed", "n", "beta", "d"), LIVES[::4])
def test_t_f_is_as_good_as_its_comment_says(
    seed: int, n: int, beta: float, d: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = alive(seed, n, beta, d)
    monkeypatch.setitem(merges.__globals__, "FORMING_ROUNDS", 4)
    finer = merges(one.run).t_f
    assert finer <= one.merges.t_f <= finer * (1.0 + 2.2e-5)


def test_a_run_with_a_full_mask_has_merges_too() -> None:
    run = simulate(Attention(9.0, mask="full"), uniform(12, 2, 3), 500.0, save="steps")
    coarse = simulate(Attention(9.0, mask="full"), uniform(12, 2, 3), 500.0, save=60)
    found, other = merges(run), merges(coarse)
    assert len(found) >= 1
    assert [(event.lost, event.into) for event in found] == [(event.lost, event.into) for event in other]
    np.testing.assert_allclose([event.time for event in found], [event.time for event in other], rtol=1e-5)


def test_a_record_that_follows_no_equation_is_read_along_straight_lines() -> None:
    # Token 1 walks evenly from 1 to 0.01 in log distance between the frames at 2 and 3; the model knows
    # nothing of it.
    run = walking([0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 0.01], [0.0, 0.01])
    for settings in ({}, {"method": "explicit", "rtol": 1e-8, "atol": 1e-10}):
        found = merges(replace(run, settings=settings), 0.1)
        chord = 2.0 * np.sin(np.array([1.0, 0.1, 0.01]) / 2.0)
        expected = 2.0 + np.log(chord[0] / chord[1]) / np.log(chord[0] / chord[2])
        assert [(event.lost, event.into) for event in found] == [(1, 0)]
        assert found.events[0].time == pytest.approx(expected, rel=1e-12)


# Lifetimes and trees

MADE = Merges(
    0.1,
    5.0,
    np.array([0, 2, 3, 7, 9]),
    (Merge(6.0, 9, 7, 4), Merge(8.0, 7, 3, 3), Merge(20.0, 2, 0, 2), Merge(1e9, 3, 0, 1)),
)


def test_lifetimes_run_from_t_f_to_the_loss_and_the_last_is_infinite() -> None:
    assert MADE.lifetimes.tolist() == [np.inf, 15.0, 1e9 - 5.0, 3.0, 1.0]
    one = alive(0).merges
    assert np.isinf(one.lifetimes[0])
    assert sorted(one.lifetimes[1:]) == sorted(event.time - one.t_f for event in one)


def test_the_tree_holds_every_leader_once_under_the_one_it_joined() -> None:
    seven = Branch(7, 5.0, 8.0, (Branch(9, 5.0, 6.0, ()),))
    assert MADE.tree == (Branch(0, 5.0, np.inf, (Branch(2, 5.0, 20.0, ()), Branch(3, 5.0, 1e9, (seven,)))),)
    cut = replace(MADE, events=MADE.events[:2])
    assert [branch.leader for branch in cut.tree] == [0, 2, 3]

    def leaders(branch: Branch) -> list[int]:
        return [branch.leader, *(k for one in branch.joined for k in leaders(one))]

    (root,) = alive(0).merges.tree
    assert sorted(leaders(root)) == alive(0).merges.leaders.tolist()


def test_the_linkage_is_one_that_scipy_understands() -> None:
    from scipy.cluster.hierarchy import dendrogram, fcluster, is_valid_linkage

    assert MADE.linkage.tolist() == [[3, 4, 6, 2], [2, 5, 8, 3], [0, 1, 20, 2], [7, 6, 1e9, 5]]
    one = alive(0).merges
    assert is_valid_linkage(one.linkage)
    assert sorted(dendrogram(one.linkage, no_plot=True)["leaves"] or []) == list(range(len(one.leaders)))
    times, counts = one.staircase
    for time, count in zip(times, counts, strict=True):
        assert len({*fcluster(one.linkage, time, "distance").tolist()}) == count
    assert replace(MADE, events=()).linkage.shape == (0, 4)


# What cannot be


def test_several_runs_at_once_are_refused() -> None:
    with pytest.raises(InputError, match="one run, but this record holds 3"):
        merges(many_runs())
    with pytest.raises(InputError, match="run must be a Run, but is ndarray"):
        merges(many_runs().x)  # type: ignore[arg-type]  # that is what is refused


def test_a_run_without_frames_is_refused() -> None:
    run = one_run()
    with pytest.raises(InputError, match="at least one frame"):
        merges(replace(run, t=run.t[:0], x=run.x[:0]))


@pytest.mark.parametrize("radius", [0.0, -1.0, np.nan, 3.2])
def test_a_radius_that_is_no_distance_is_refused(radius: float) -> None:
    with pytest.raises(InputError, match="radius must be"):
        merges(one_run(), radius)
