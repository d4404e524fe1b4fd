"""What is said before work that takes long."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import nucleate

import nucleate as nc
from nucleate.cli import cost


@pytest.mark.parametrize(("power", "known"), [(2.0, True), (1.0, False)])
def test_the_time_of_many_tokens_is_found_from_fewer(
    power: float, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program whose time is known: n^power microseconds, by a clock that it moves itself."""
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(time, "process_time", lambda: now[0])
    tried = []

    def part(x0: Any, *, progress: Any, max_steps: int | None, time_limit: float | None) -> None:
        tried.append(len(x0))
        now[0] += 1e-6 * len(x0) ** power

    x0 = np.zeros((20_000, 3 if known else 2))
    seconds = cost.tried_seconds(part, x0, 1.0, power if known else None)
    assert seconds == pytest.approx(1e-6 * 20_000**power, rel=1e-6)
    assert max(tried) < 20_000


def test_a_try_that_is_cut_short_counts_by_the_share_that_was_done(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def part(x0: Any, *, progress: Any, max_steps: int | None, time_limit: float | None) -> None:
        if time_limit is not None:
            progress(1, 4)
            now[0] += time_limit

    assert cost.tried_seconds(part, np.zeros((64, 3)), 1.0, 2.0) == pytest.approx(4.0 * cost.TRIED_LIMIT)


def test_a_life_of_any_number_of_tokens_can_be_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(time, "process_time", lambda: now[0])

    def lived(n: int, progress: Any, time_limit: float | None) -> None:
        progress(1.0, 1.0)
        now[0] += n**2

    for n in range(1, 1101):
        # halves are whole numbers, which for few tokens changes the power
        seconds, _ = cost.seconds_of_fewer(lived, n)
        assert seconds == pytest.approx(n**2, rel=0.5 if n > 2 else 2.0)


def test_a_life_that_is_cut_short_is_said_to_take_at_least_so_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(time, "process_time", lambda: now[0])

    def lived(n: int, progress: Any, time_limit: float | None) -> None:
        if time_limit is not None:
            progress(1.0, 20.0)
            now[0] += time_limit

    assert cost.seconds_of_fewer(lived, 300) == (20.0 * cost.TRIED_LIMIT, True)
    cost.announce(100.0, "a life", dry_run=True, at_least=True)
    assert capsys.readouterr().out.startswith("a life: at least 1.7 min on this machine\n")


def test_on_the_sphere_time_is_linear_where_harmonics_are_summed(monkeypatch: pytest.MonkeyPatch) -> None:
    """1e5 tokens whose time would be 400 times as long by pairs."""
    many = cost.linear_from(nc.Attention(9.0), 1e-8, 100_000, 3, 10.0)
    assert many is not None
    assert many < 3000
    assert cost.linear_from(nc.Attention(9.0), 1e-8, many, 3, 10.0) is None
    assert cost.linear_from(nc.Attention(9.0, Q=np.diag([1.0, 1.0, 2.0])), 1e-8, 100_000, 3, 10.0) is None
    assert cost.linear_from(nc.Attention(9.0, position=nc.ALiBi(0.1)), 1e-8, 100_000, 3, 10.0) == many
    assert cost.linear_from(nc.Attention(9.0), 1e-8, 100_000, 4, 10.0) == 4 * many
    assert cost.linear_from(nc.Attention(9.0), 1e-8, 100_000, 5, 10.0) is None
    rough = [cost.rough_seconds(1, n, 3, 10.0, many) for n in (50_000, 100_000)]
    assert rough[1] == pytest.approx(2.0 * rough[0])
    now, tried, compiled = [0.0], [], set()
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def part(x0: Any, *, progress: Any, max_steps: int | None, time_limit: float | None) -> None:
        tried.append(len(x0))
        kernel = "sphere" if len(x0) >= many else "pairwise"
        if kernel not in compiled:
            assert time_limit is None, "what is timed must not compile"
            compiled.add(kernel)
            now[0] += 20.0
        now[0] += len(x0) * min(len(x0), many) * 1e-9

    seconds = cost.tried_seconds(part, np.zeros((100_000, 3)), 10.0, cost.BY_MODES, many)
    assert seconds == pytest.approx(1e-4 * many, rel=0.6)
    assert 2 * many <= max(tried) < 20_000
    assert sorted(tried)[-2] >= many  # what is compiled and fetched once is not counted


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["simulate", "-n", "40", "-d", "3", "-t", "1"], "40 tokens, d = 3, to t = 1: a few seconds"),
        (["life", "-n", "40"], "a life of 40 tokens, d = 2, beta = 64: a few seconds"),
        (["reproduce"], "21 items, with a first report of all after about 3 min: about 25 min"),
        (["reproduce", "--only", "figure4"], "1 item: a few seconds"),
    ],
    ids=" ".join,
)
def test_a_dry_run_says_what_it_costs_and_does_nothing(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = nucleate(*words, "--dry-run")
    assert done.exit_code == 0
    assert done.stdout.startswith(said)
    assert done.stdout.endswith("leave out --dry-run.\n")
    assert list(tmp_path.iterdir()) == []
