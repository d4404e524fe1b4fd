"""How far a command is, on stderr: a bar on a terminal, elsewhere, as in a log, a line a minute; nothing if
quiet."""

import sys
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import Any

from nucleate.printable import printable

__all__ = ["ProgressBar"]

SECONDS_BEFORE_BAR = 2.0
SECONDS_BEFORE_LINE = 5.0  # where there is no terminal
SECONDS_BETWEEN_LINES = 60.0
REDRAWS_PER_SECOND = 2.0  # drawing takes time from the work, and bench measures that


class ProgressBar:
    """One piece of work, shown from `start` to `stop`, or as a context. Call it as progress(done, total).

    words    what is being done
    unit     what is counted; without it the share that is done is shown, in percent
    before   said as long as nothing is done
    """

    def __init__(self, words: str, quiet: bool = False, *, unit: str = "", before: str = "") -> None:
        self.words, self.quiet, self.unit, self.before = words, quiet, unit, before
        self.done: float = 0
        self.total: float = 0
        self.first: tuple[float, float] | None = None  # time and `done` of the first call
        self.began = self.next_line = 0.0  # times
        self.shown = before or words  # what is being done now
        self.bar: Any = None
        self.stopped: threading.Event | None = None  # set at the end, where lines are written

    def start(self) -> "ProgressBar":
        """Begin; on a terminal the bar appears if the work takes longer than two seconds."""
        self.began = time.perf_counter()
        self.next_line = self.began + SECONDS_BEFORE_LINE
        if not self.quiet:
            from rich.console import Console

            console = Console(stderr=True)
            if console.is_terminal:
                self._prepare_bar(console)
            else:
                self.stopped = threading.Event()
                threading.Thread(target=self._write_lines, args=(self.stopped,), daemon=True).start()
        return self

    def stop(self) -> None:
        """End; the bar vanishes."""
        if self.stopped is not None:
            self.stopped.set()
        if self.bar is not None:
            self.timer.cancel()
            self.timer.join()
            if self.bar.live.is_started:
                self.bar.stop()
            self.bar = None

    def __enter__(self) -> "ProgressBar":
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __call__(self, done: float, total: float) -> None:
        """So much of so much is done."""
        if self.before and not done:
            return self._show(self.before)
        if self.first is None:  # before there is a total: another thread may write a line between
            self.first = time.perf_counter(), done
        self.done, self.total = done, total
        self._show(self.words)

    def say(self, words: str) -> None:
        """What is being done now, where nothing is counted."""
        self._show(words)

    def _show(self, words: str) -> None:
        words = printable(words)
        self.shown = words
        if self.bar is not None:
            self.bar.update(
                self.task,
                description=words,
                completed=self.done,
                total=self.total or None,
                reached=self._reached(),
            )
        else:
            self._write_line()

    def _write_lines(self, stopped: threading.Event) -> None:
        """Lines also while nobody calls: a single step, or a picture, may take minutes."""
        while not stopped.wait(min(SECONDS_BETWEEN_LINES, threading.TIMEOUT_MAX)):
            self._write_line()

    def _write_line(self) -> None:
        """A line, if it is time for one."""
        now = time.perf_counter()
        if self.quiet or now < self.next_line:
            return
        self.next_line = now + SECONDS_BETWEEN_LINES
        so_far = "" if self.unit and self.total else f"{_clock(now - self.began)} so far"
        reached = ", ".join(filter(None, (self._reached(), so_far)))
        with suppress(OSError, ValueError):  # nobody reads it any more, or it is closed
            print(f"{self.shown}: {reached}", file=sys.stderr, flush=True)

    def _reached(self) -> str:
        """How much is done; of what is counted also how fast it goes and how long it will take."""
        if not self.total:
            return ""
        if not self.unit:
            return f"{self.done / self.total:.0%}"
        assert self.first is not None  # there is a total only once there was a call
        began, before = self.first  # what was done before the first call took no time of ours
        seconds = time.perf_counter() - began
        text = f"{self.done:.0f} of {self.total:.0f} {self.unit}"
        if self.done <= before or seconds <= 0.0:
            return text
        rate = (self.done - before) / seconds
        return f"{text}, {rate:.3g} {self.unit}/s, {_clock((self.total - self.done) / rate)} left"

    def _prepare_bar(self, console: Any) -> None:
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as RichBar

        self.bar = RichBar(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[reached]}", markup=False),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            refresh_per_second=REDRAWS_PER_SECOND,
        )
        self.task = self.bar.add_task(self.before or self.words, total=None, reached="")
        self.timer = threading.Timer(SECONDS_BEFORE_BAR, self.bar.start)
        self.timer.daemon = True
        self.timer.start()


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
