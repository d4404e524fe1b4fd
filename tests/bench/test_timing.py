"""Timing and memory: whose turn it is, and what is counted."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.silent import silent

from nucleate.bench import timing


@pytest.mark.parametrize(("warmed", "turns"), [(0.0, ["a", "b"]), (60.0, ["a", "a", "b", "b"])])
def test_contestants_take_turns_after_a_warm_up(
    warmed: float, turns: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "MIN_TURN_SECONDS", 0.0)  # no repetitions
    monkeypatch.setattr(timing, "MAX_WARMED_SECONDS", warmed)
    calls: list[str] = []
    timings = timing.time_in_turns(
        {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 3, silent
    )
    assert calls == ["a", "a", "b", "b"] + turns * 3
    assert len(timings["a"].rounds) == 3
    assert replace(timings["a"], rounds=(3.0, 1.0, 2.0)).best == 1.0
    assert replace(timings["a"], rounds=(3.0, 1.0, 9.0)).median == 3.0


def test_memory_counts_arrays_that_are_gone_at_the_end() -> None:
    size = 8 * 100_000
    assert size <= timing.peak_memory(lambda: np.ones(100_000).sum()) < 1.1 * size


@pytest.mark.parametrize(("platform", "unit"), [("linux", 1024), ("darwin", 1)])
def test_the_memory_of_a_process_is_in_bytes_on_every_system(
    platform: str, unit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there is no /proc, getrusage tells: kilobytes on Linux, bytes on macOS."""
    import resource

    assert 2**20 < timing.peak_process_memory() < 2**40
    monkeypatch.setattr(timing, "Path", lambda _: Path("/nowhere"))
    monkeypatch.setattr(sys, "platform", platform)
    assert timing.peak_process_memory() == unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
