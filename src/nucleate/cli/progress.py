"""How far a command is, on stderr: a bar on a terminal, elsewhere a line now and then; nothing if quiet."""

import sys
import threading
import time
from types import TracebackType
from typing import Any

__all__ = ["ProgressBar"]

SECONDS_BEFORE_BAR = 2.0
SECONDS_BETWEEN_LINES = 5.0
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
        self.last_line = 0.0  # time
        self.bar: Any = None

    def start(self) -> "ProgressBar":
        """Begin; on a terminal the bar appears if the work takes longer than two seconds."""
        self.last_line = time.perf_counter()
        if not self.quiet:
            from rich.console import Console

            console = Console(stderr=True)
            if console.is_terminal:
                self._prepare_bar(console)
        return self

    def stop(self) -> None:
        """End; the bar vanishes."""
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
        self.done, self.total = done, total
        if self.first is None:
            self.first = time.perf_counter(), done
        self._show(self.words)

    def say(self, words: str) -> None:
        """What is being done now, where nothing is counted."""
        self._show(words)

    def _show(self, words: str) -> None:
        if self.bar is not None:
            self.bar.update(
                self.task,
                description=words,
                completed=self.done,
                total=self.total or None,
                reached=self._reached(),
            )
        elif not self.quiet and time.perf_counter() - self.last_line >= SECONDS_BETWEEN_LINES:
            self.last_line = time.perf_counter()
            print(": ".join(filter(None, (words, self._reached()))), file=sys.stderr, flush=True)

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
