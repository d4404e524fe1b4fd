"""Whole lives: merge times against the exact formula, what must not change them, and what a person gets to
see."""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.backends.backend_agg import FigureCanvasAgg
from support.exact_systems import two_token_time
from support.made_runs import many_runs

from nucleate.attention import Attention, Frozen, Window
from nucleate.checks import Array, InputError
from nucleate.integrate.run import Run
from nucleate.integrate.simulate import simulate
from nucleate.integrate.storage import load
from nucleate.observe.life import Life, life, life_time
from nucleate.observe.merges import merges
from nucleate.sphere import uniform

SEEDS = range(6)
unchecked: Any = life  # for calls that a type checker would refuse


@cache
def alive(seed: int, n: int = 60, beta: float = 36.0, d: int = 2) -> Life:
    return life(beta, n, d, seed)


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    yield
    pyplot.close("all")


# Merge times


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize(
    ("beta", "u0"),
    [(4.0, -0.9), (9.0, 0.0), (9.0, -0.9), (20.0, 0.5), (20.0, -0.9), (64.0, 0.5), (64.0, -0.5)],
)
def test_two_tokens_merge_when_the_formula_says(beta: float, u0: float, d: int) -> None:
    x0 = np.eye(2, d) * [[1.0], [0.0]] + np.array([[0.0] * d, [u0, np.sqrt(1 - u0**2)] + [0.0] * (d - 2)])
    run = simulate(Attention(beta), x0, life_time(beta, 2), save="steps")
    for radius in (None, 0.03 / beta**0.5):
        found = merges(run, radius)
        assert [(event.lost, event.into, event.left) for event in found] == [(1, 0, 1)]
        # The formula leaves the tolerance 1e-8 and the interpolation between two steps: 1e-8 seen at most,
        # from times of 1e3 to 1e40.
        assert found.events[0].time == pytest.approx(
            two_token_time(u0, float(np.cos(found.radius)), beta), rel=1e-6
        )


def test_tokens_farther_than_a_radius_that_never_meet_have_no_merge() -> None:
    run = simulate(Attention(20.0), np.array([[1.0, 0.0], [0.0, 1.0]]), 10.0, save="steps")
    found = merges(run)
    assert (found.t_f, found.leaders.tolist(), found.events, found.left) == (0.0, [0, 1], (), 2)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_count_only_falls_and_the_first_token_is_left(seed: int) -> None:
    one = alive(seed)
    times, counts = one.staircase
    assert one.whole
    assert (np.diff(times) >= 0).all()
    assert times[0] == one.t_f > 0.0
    assert (np.diff(counts) == -1).all()
    assert (counts[-1], [event.left for event in one.merges]) == (1, counts[1:].tolist())
    assert {*one.merges.leaders} - {event.lost for event in one.merges} == {0}
    lost: set[int] = set()
    for event in one.merges:
        assert event.into < event.lost
        assert event.into not in lost
        lost.add(event.lost)
    assert np.linalg.norm(one.run.x[-1] - one.run.x[0, 0], axis=-1).max() < 1e-9


@pytest.mark.parametrize("d", [2, 3])
def test_a_rotated_start_has_the_same_merges(d: int) -> None:
    beta = {2: 36.0, 3: 12.0}[d]
    one = alive(1, 60, beta, d)
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((d, d)))[0]
    other = merges(simulate(one.run.model, one.run.x[0] @ turn, float(one.run.t[-1]), save="steps"))
    assert [(event.lost, event.into) for event in other] == [(event.lost, event.into) for event in one.merges]
    # Rounding moves a start by 1e-16 and steps by less than the tolerance, 1e-8; what a merge time makes of
    # it is 1e-6 of itself.
    np.testing.assert_allclose(
        [event.time for event in other], [event.time for event in one.merges], rtol=1e-6
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_later_tokens_change_no_merge_of_earlier_ones(seed: int) -> None:
    few, many = ({event.lost: event for event in alive(seed, n).merges} for n in (30, 60))
    # The two begin to count at times of their own, so one may still count a token in flight; those that both
    # count must agree.
    common = sorted(few.keys() & many.keys())
    assert len(common) >= 3
    np.testing.assert_allclose([few[k].time for k in common], [many[k].time for k in common], rtol=1e-6)
    late = [[(k, one[k].into) for k in one if one[k].time > 100.0 and k < 30] for one in (few, many)]
    assert late[0] == late[1]


def test_merge_times_depend_little_on_radius_and_tolerance() -> None:
    one = alive(0)
    wide, fine = merges(one.run, 3 * one.radius), life(36.0, 60, 2, 0, rtol=1e-10, atol=1e-12).merges
    for other, share in ((wide, 0.01), (fine, 1e-4)):
        assert [event.lost for event in other] == [event.lost for event in one.merges]
        np.testing.assert_allclose(
            [event.time for event in other],
            [event.time for event in one.merges],
            rtol=share,
            atol=10.0 if other is wide else 0.0,
        )


def test_frames_of_one_time_are_one_moment() -> None:
    one = alive(0)
    last = one.merges.events[-1].time
    assert (np.diff(one.run.t[one.run.t > 0.9 * last]) == 0).any(), (
        "late steps are shorter than the times resolve"
    )
    assert last in one.run.t


@pytest.mark.parametrize(("beta", "n"), [(0.0, 1), (0.0, 5), (1.0, 5), (2.0, 1)])
def test_small_lives_are_whole(beta: float, n: int) -> None:
    assert life(beta, n).whole


# Models and starts of one's own


def test_a_model_and_a_start_have_the_life_of_beta_and_seed() -> None:
    one, other = alive(0), life(Attention(36.0), uniform(60, 2, 0))
    assert np.array_equal(other.run.x, one.run.x)
    assert np.array_equal(other.run.t, one.run.t)
    assert (other.radius, other.t_f, other.merges.events) == (one.radius, one.t_f, one.merges.events)
    assert other.whole
    assert "seed" not in other.run.notes
    assert other.run.notes["life"] == one.run.notes["life"]


def test_what_scales_beta_or_time_alone_changes_no_merge() -> None:
    one, x0 = alive(0), uniform(60, 2, 0)
    sharper = life(Attention(9.0, Q=2.0 * np.eye(2), K=2.0 * np.eye(2)), x0)
    faster = life(Attention(36.0, V=3.0 * np.eye(2)), x0)
    for other, pace in ((sharper, 1.0), (faster, 3.0)):
        assert other.whole
        assert other.radius == pytest.approx(one.radius, rel=1e-15)
        assert float(other.run.t[-1]) == pytest.approx(float(one.run.t[-1]) / pace, rel=1e-15)
        late = [[event for event in one.merges if event.time > 100.0]]
        late += [[event for event in other.merges if event.time > 100.0 / pace]]
        assert [(e.lost, e.into) for e in late[1]] == [(e.lost, e.into) for e in late[0]]
        # the tolerance of a step is 1e-8, and what a merge time makes of it 1e-6 of itself
        np.testing.assert_allclose([pace * e.time for e in late[1]], [e.time for e in late[0]], rtol=1e-6)


def test_under_a_window_too_one_cluster_is_left() -> None:
    found = life(Attention(16.0, mask=Window(10)), uniform(40, 2, seed=2))
    assert found.whole
    assert np.linalg.norm(found.run.x[-1] - found.run.x[0, 0], axis=-1).max() < 1e-9


def test_a_life_stops_at_the_time_asked_for_and_says_how_many_clusters_there_are() -> None:
    V = np.diag([1.0, 0.5])  # two points: a life never becomes whole
    found = life(Attention(20.0, V=V), uniform(30, 2, seed=0), t=1e6)
    assert (found.run.t[-1], found.merges.left, found.whole) == (1e6, 2, False)
    assert "Not a whole life: 2 clusters at t = 1e+06." in str(found)
    short = life(36.0, 60, t=1e6)
    assert short.run.t[-1] == 1e6
    early = [event for event in alive(0).merges if event.time < 9e5]
    assert [(event.lost, event.into) for event in short.merges] == [(e.lost, e.into) for e in early]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: life(Attention(4.0, mask="full"), x), 'the mask is "full"'),
        (lambda x: unchecked(Attention(4.0)), r"x0 must be tokens \(n, d\), but is 200"),
        (lambda x: life(Attention(4.0), np.stack([x, x])), "one run, but was given 2"),
        (lambda x: life(Attention([4.0, 5.0, 6.0]), x), "one run, but was given 3"),
        (lambda x: life(Attention(4.0, V=np.eye(3)), x), "V acts on dimension 3"),
        (lambda x: unchecked(Attention(4.0), x, 3), "takes no d and no seed"),
        (lambda x: unchecked(Attention(4.0), x, 2, 7), "takes no d and no seed"),
        (lambda x: life(Attention(4.0, V=-np.eye(2)), x), "t must be given, .* another V than cI"),
        (lambda x: life(Attention(4.0, V=np.diag([1.0, 2.0])), x), "t must be given, .* another V than cI"),
        (lambda x: life(Attention(4.0, frozen=Frozen(x[:1])), x), "t must be given, .* frozen tokens"),
        (lambda x: life(Attention(4.0), x, t=-1.0), "t must be finite and greater than 0"),
        (lambda x: life(4.0, x), "n must be a whole number"),
    ],
)
def test_a_model_whose_life_cannot_be_followed_is_refused_in_words(call: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        call(uniform(5, 2, seed=0))


def test_the_words_of_life_stand_on_their_own() -> None:
    with pytest.raises(TypeError, match="unexpected keyword"):
        unchecked(Attention(4.0), uniform(5, 2, seed=0), tolerence=1e-3)


# What cannot be


def test_several_runs_at_once_are_refused() -> None:
    with pytest.raises(InputError, match="one run, but this record holds 3"):
        merges(many_runs())


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ({"beta": -1.0}, "beta must be"),
        ({"n": 0}, "n must be"),
        ({"d": 1}, "d must be"),
        ({"seed": -1}, "seed must be"),
        ({"radius": 4.0}, "radius must be"),
        ({"rtol": 9.0}, "rtol . atol must"),
    ],
)
def test_bad_input_is_refused(words: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        life(**{"beta": 4.0, "n": 5} | words)


def test_a_life_cut_short_says_so() -> None:
    whole = alive(0)
    short = replace(whole, run=replace(whole.run, status="time limit"))
    assert not short.whole
    assert "Not a whole life: the run ended early, at t = 1.12e+34 (time limit), with 1 cluster." in str(
        short
    )
    apart = replace(whole, merges=replace(whole.merges, events=whole.merges.events[:-1]))
    assert not apart.whole
    assert "Not a whole life: 2 clusters at t = " in str(apart)
    never = merges(replace(whole.run, t=whole.run.t[:1], x=whole.run.x[:1]))
    assert np.isnan(never.t_f)
    assert (never.left, len(never.staircase[0])) == (0, 0)
    assert "never gathered" in str(Life(whole.run, never))


def test_the_longest_life_ends_before_doubles_do() -> None:
    assert life_time(1e6, 10**6) == 1e300
    assert life_time(64.0, 200) > 1e57


# What a person sees


def test_the_table_has_a_line_for_every_merge() -> None:
    one = alive(0)
    lines = str(one).splitlines()
    table = [
        line.split() for line in lines[lines.index("      time  leader lost  to leader  clusters left") + 1 :]
    ]
    assert [(float(time), int(lost), int(into), int(left)) for time, lost, into, left in table] == [
        (float(f"{event.time:.4g}"), event.lost, event.into, event.left) for event in one.merges
    ]


def dark(ax: Any) -> float:
    canvas: Any = FigureCanvasAgg(ax.figure)
    canvas.draw()
    pixels: Array = np.asarray(canvas.buffer_rgba())[..., :3]  # (height, width, 3)
    return float((pixels < 250).any(-1).mean())


@pytest.mark.parametrize(("seed", "n", "beta", "d"), [(0, 60, 36.0, 2), (1, 60, 12.0, 3)])
def test_the_picture_shows_tokens_stairs_and_merges(seed: int, n: int, beta: float, d: int) -> None:
    one = alive(seed, n, beta, d)
    top, bottom = one.plot()
    assert dark(top) > 0.02
    assert top.get_ylabel() == ("angle" if d == 2 else "overlap with the first token")
    assert top.get_xlim() == bottom.get_xlim()
    assert top.get_xlim()[1] > one.merges.events[-1].time
    rings = sorted(float(np.asarray(line.get_xdata())[0]) for line in top.lines if line.get_marker() == "o")
    assert rings == sorted(event.time for event in one.merges)
    steps = next(line for line in bottom.lines if line.get_drawstyle() == "steps-post")
    assert np.asarray(steps.get_ydata())[:-1].tolist() == one.staircase[1].tolist()


def test_a_life_that_is_not_whole_can_be_drawn(tmp_path: Path) -> None:
    whole = alive(0)
    never = Life(
        replace(whole.run, t=whole.run.t[:3], x=whole.run.x[:3], status="max steps"),
        merges(replace(whole.run, t=whole.run.t[:1], x=whole.run.x[:1])),
    )
    for name in ("never.png", "never.svg"):
        never.save(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 5000


@pytest.mark.parametrize("name", ["life.npz", "life.zarr"])
def test_data_on_disk_hold_run_and_merges(name: str, tmp_path: Path) -> None:
    one = alive(0)
    one.save(tmp_path / name)
    run = load(tmp_path / name)
    np.testing.assert_array_equal(run.x, one.run.x)
    again = merges(run, run.notes["life"]["radius"])
    assert again.events == one.merges.events
    assert run.notes["life"]["merges"] == json.loads(json.dumps([vars(event) for event in one.merges]))
    assert (run.notes["seed"], run.notes["life"]["t_f"]) == (0, one.t_f)
    np.testing.assert_array_equal(run.x[0], uniform(60, 2, 0))


def interrupted(*args: Any, **options: Any) -> Run:
    return replace(simulate(*args, **options), status="interrupted")


def test_ctrl_c_while_merges_are_looked_for_is_not_taken_for_a_record_without_an_equation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = simulate(Attention(64.0), uniform(30, 2, seed=0), 1e6, save=64)
    monkeypatch.setattr("nucleate.observe.refine.simulate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        merges(run)


def test_an_interrupted_life_ends_at_once_without_merges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[life.__module__], "simulate", interrupted)
    monkeypatch.setattr(
        sys.modules[life.__module__], "merges", lambda *_: pytest.fail("nobody waits for these")
    )
    found = life(9.0, n=20)
    assert not found.whole
    assert len(found.merges) == 0
    assert np.isnan(found.t_f)
    assert "interrupted at t =" in found.ending
    assert "merges were not looked for" in str(found)
