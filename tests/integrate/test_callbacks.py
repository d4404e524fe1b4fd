"""What `progress` and `on_frames` are told, how often, and what their answers do."""

import threading
import time
from functools import partial
from typing import Any

import numpy as np
import pytest
from support.long_runs import ENDLESS, endless_start
from support.time_limits import check_wall_seconds, patient, within_wall_seconds

import nucleate as nc
from nucleate.attention import Attention
from nucleate.checks import Array


@pytest.mark.parametrize("no", [False, np.False_], ids=["False", "numpy False"])
@patient
def test_returning_false_cancels_and_keeps_what_was_computed(no: Any) -> None:
    calls = 0

    def on_frames(t: Array, x: Array) -> Any:
        nonlocal calls
        calls += 1
        return no if calls == 3 else None

    assert nc.simulate(Attention(9.0), endless_start(), 1.0).done  # compiled
    with within_wall_seconds(2.0):
        run = nc.simulate(Attention(9.0), endless_start(), on_frames=on_frames, time_limit=50.0, **ENDLESS)
    assert run.status == "cancelled"
    assert len(run.t) > 1
    again = nc.simulate(
        Attention(9.0),
        endless_start(),
        **{**ENDLESS, "t": ENDLESS["t"], "save": run.t, "max_steps": run.steps + 1000},
    )
    assert np.array_equal(again.x[: len(run.t)], run.x)


def _say(answer: object, first: object, second: object) -> object:
    return answer


def test_only_false_cancels() -> None:
    answers: list[object] = [None, True, 0, "", []]
    for answer in answers:
        for name in ("progress", "on_frames"):
            callback: Any = {name: partial(_say, answer)}
            run = nc.simulate(Attention(9.0), endless_start(), 5.0, **callback)
            assert run.status == "done", (name, answer)


@pytest.mark.parametrize("name", ["progress", "on_frames"])
def test_a_batch_can_be_cancelled(name: str) -> None:
    x0 = np.stack([endless_start(2)] * 20)
    no: Any = {name: lambda *_: False}
    run = nc.simulate(Attention(9.0), x0, time_limit=50.0, **{**ENDLESS, "save": 10}, **no)
    assert run.ending == "cancelled"
    assert run.x.shape == (20, 10, 24, 2)


@patient
def test_an_exception_in_the_callback_comes_through_and_stops_the_run() -> None:
    class Mishap(Exception):
        pass

    def on_frames(t: Array, x: Array) -> None:
        raise Mishap("mine")

    for x0 in (endless_start(), np.stack([endless_start(2)] * 9)):
        before = threading.active_count()
        with within_wall_seconds(2.0), pytest.raises(Mishap, match="mine"):
            nc.simulate(Attention(9.0), x0, on_frames=on_frames, **ENDLESS)
        assert threading.active_count() <= before + 2  # the pool of a team may stay; nothing runs on


@pytest.mark.parametrize("d", [2, 3])
@patient
def test_on_frames_sees_every_frame_once_and_at_least_every_fifth_of_a_second(d: int) -> None:
    times: list[float] = []
    seen_t: list[Array] = []
    seen_x: list[Array] = []

    def on_frames(t: Array, x: Array) -> None:
        times.append(time.monotonic())
        seen_t.append(t)
        seen_x.append(x)

    run = nc.simulate(
        Attention(9.0),
        endless_start(d),
        6e5,
        save=500,
        on_frames=on_frames,
        **{k: ENDLESS[k] for k in ("rtol", "atol", "max_steps", "method")},
    )
    assert run.status == "done"
    assert np.array_equal(np.concatenate(seen_t), run.t)
    assert np.array_equal(np.concatenate(seen_x), run.x)
    gaps = np.diff(times)
    assert len(gaps) >= 2  # the run is long enough to say something
    check_wall_seconds(float(np.median(gaps)), 0.2)
    check_wall_seconds(float(gaps.max()), 0.5)  # this machine may be busy; 0.2 is the promise on a free one


def test_on_frames_sees_every_step_once() -> None:
    seen: list[Array] = []

    def on_frames(t: Array, x: Array) -> None:
        assert len(t) == len(x)
        seen.append(t)

    run = nc.simulate(
        Attention(9.0),
        endless_start(),
        9000.0,
        save="steps",
        rtol=1e-6,
        atol=1e-8,
        method="explicit",
        on_frames=on_frames,
    )
    assert run.status == "done"
    assert np.array_equal(np.concatenate(seen), run.t)
    assert len(run.t) == run.steps + 1 > 512  # room for frames was made twice


def _keep(seen: list[Array], t: Array, x: Array) -> None:
    seen.append(x)


def test_on_frames_sees_every_run_of_a_batch_once() -> None:
    for d in (2, 3):
        x0 = np.stack([nc.uniform(12, d, seed) for seed in range(30)])
        seen: list[Array] = []
        run = nc.simulate(
            Attention(9.0), x0, 300.0, save=5, rtol=1e-6, atol=1e-8, on_frames=partial(_keep, seen)
        )
        together = np.concatenate(seen)
        assert together.shape == run.x.shape
        assert {x.tobytes() for x in together} == {x.tobytes() for x in run.x}


def told(x0: Array, t: float, save: Any) -> tuple[list[float], set[float]]:
    """What `progress` is told: what is done, call by call, and of how much."""
    seen: list[tuple[float, float]] = []
    run = nc.simulate(
        Attention(9.0), x0, t, save=save, rtol=1e-6, atol=1e-8, progress=lambda *both: seen.append(both)
    )
    assert run.done
    return [done for done, _ in seen], {total for _, total in seen}


def test_progress_counts_frames_of_one_run_times_where_steps_are_kept_and_runs_of_several() -> None:
    for x0, save, total in (
        (endless_start(), 500, 500.0),
        (endless_start(), "steps", 9000.0),
        (np.stack([endless_start(2)] * 20), 5, 20.0),
    ):
        done, totals = told(x0, 9000.0, save)
        assert totals == {total}
        assert done == sorted(done)
        assert done[-1] == total


@patient
def test_callbacks_are_called_while_one_drift_takes_long() -> None:
    # 40,000 tokens in four dimensions: one drift is about a second's work; no frame is new, but the caller
    # must hear of it.
    calls: list[float] = []

    def on_frames(t: Array, x: Array) -> Any:
        calls.append(time.monotonic())
        return len(calls) < 8

    run = nc.simulate(Attention(9.0), nc.uniform(40_000, 4, seed=0), 1.0, save=2, on_frames=on_frames)
    assert run.status == "cancelled"
    check_wall_seconds(float(np.median(np.diff(calls))), 0.2)
