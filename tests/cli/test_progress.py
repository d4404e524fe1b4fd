"""Progress: a bar on a terminal, a line now and then elsewhere, nothing if quiet."""

import time

import pytest

from nucleate.cli import progress
from nucleate.cli.progress import ProgressBar


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stderr that rich takes for a terminal, on which bars appear at once."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(progress, "SECONDS_BEFORE_BAR", 0.05)
    monkeypatch.setattr(progress, "REDRAWS_PER_SECOND", 20.0)


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time on a clock that the test sets, with a stderr that is no terminal."""
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    seconds = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: seconds[0])
    return seconds


@pytest.mark.usefixtures("terminal")
def test_a_bar_appears_only_if_the_work_takes_long(capfd: pytest.CaptureFixture[str]) -> None:
    with ProgressBar("simulating", before="compiling") as shown:
        shown(1, 2)
    assert capfd.readouterr().err == ""
    with ProgressBar("simulating", before="compiling") as shown:
        time.sleep(0.3)
        shown(0.0, 1.0)
        time.sleep(0.3)
        shown(0.25, 1.0)
        time.sleep(0.3)
    text = capfd.readouterr().err
    assert text.index("compiling") < text.index("simulating")
    assert "25%" in text
    assert "0%" not in text.replace("100%", "").partition("simulating")[0]


@pytest.mark.usefixtures("terminal")
def test_a_bar_of_things_that_are_counted_has_rate_and_time_left(capfd: pytest.CaptureFixture[str]) -> None:
    with ProgressBar("simulating", unit="runs") as shown:
        shown(10, 300)
        time.sleep(0.3)
        shown(20, 300)
        time.sleep(0.3)
    text = capfd.readouterr().err
    assert "20 of 300 runs, " in text
    assert " runs/s, 0:0" in text


@pytest.mark.usefixtures("terminal")
def test_a_bar_vanishes_when_the_work_fails(capfd: pytest.CaptureFixture[str]) -> None:
    def work() -> None:
        time.sleep(0.3)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), ProgressBar("simulating"):
        work()
    assert capfd.readouterr().err.endswith("\x1b[2K")  # the line is erased


def test_elsewhere_a_line_comes_after_five_seconds_and_then_every_minute(
    now: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with ProgressBar("simulating", unit="runs") as shown:
        for second in range(130):
            now[0] = float(second)
            shown(100 + second, 300)
    assert capsys.readouterr().err.splitlines() == [
        "simulating: 105 of 300 runs, 1 runs/s, 3:15 left",
        "simulating: 165 of 300 runs, 1 runs/s, 2:15 left",
        "simulating: 225 of 300 runs, 1 runs/s, 1:15 left",
    ]


def test_a_log_has_lines_also_while_nobody_says_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "SECONDS_BEFORE_LINE", 0.05)
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.05)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    with ProgressBar("simulating", before="compiling, once"):
        time.sleep(0.4)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 2
    assert set(lines) == {"compiling, once: 0:00 so far"}


def test_what_is_not_counted_is_told_in_percent_and_what_went_before_in_words(
    now: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with ProgressBar("simulating", before="compiling, once") as shown:
        for second, done in ((1, 0.0), (6, 0.0), (7, 1.0), (66, 1.5), (130, 4.0)):
            now[0] = float(second)
            shown(done, 4.0)
    assert capsys.readouterr().err.splitlines() == [
        "compiling, once: 0:06 so far",
        "simulating: 38%, 1:06 so far",
        "simulating: 100%, 2:10 so far",
    ]


def test_words_alone_are_shown_where_nothing_is_counted(
    now: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with ProgressBar("bench drift") as shown:
        for second in (1, 6, 7):
            now[0] = float(second)
            shown.say(f"round {second}")
    assert capsys.readouterr().err.splitlines() == ["round 6: 0:06 so far"]


@pytest.mark.usefixtures("terminal")
def test_quiet_is_quiet_on_a_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    with ProgressBar("simulating", quiet=True) as shown:
        time.sleep(0.2)
        shown(1, 2)
    assert capfd.readouterr().err == ""
    assert (shown.done, shown.total) == (1, 2)


def test_quiet_is_quiet_elsewhere(now: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressBar("simulating", quiet=True) as shown:
        now[0] = 99.0
        shown(1, 2)
        shown.say("words")
    assert capsys.readouterr().err == ""


def test_a_line_may_be_written_at_any_moment_of_the_first_call() -> None:
    """As the thread that writes lines may: what is counted has a beginning once it has a total."""
    seen = []

    class Watched(ProgressBar):
        def __setattr__(self, name: str, value: object) -> None:
            super().__setattr__(name, value)
            if name in ("done", "total", "first") and hasattr(self, "stopped"):
                seen.append(self._reached())

    Watched("simulating", quiet=True, unit="runs")(1, 2)
    assert seen == ["", "", "1 of 2 runs"]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0:00"), (75, "1:15"), (3599.6, "1:00:00"), (86400, "24:00:00")]
)
def test_times_left_are_written_like_a_clock(seconds: float, text: str) -> None:
    assert progress._clock(seconds) == text
