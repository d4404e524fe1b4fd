"""What a notebook shows while it waits: a bar, for work that takes longer than two seconds."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

__all__ = ["shown_progress", "vanishing"]

SECONDS_BEFORE_BAR = 2.0
SECONDS_BETWEEN_UPDATES = 0.5  # every one is a message to the browser


def shown_progress(progress: Callable[..., Any] | None, words: str) -> Callable[..., Any] | None:
    """`progress` itself if it is given; else, in a notebook, a bar; else None.

    Only the main thread gets a bar: the threads of a study simulate too, and the study has one of its own.
    """
    if progress is not None or not _in_notebook():
        return progress
    if threading.current_thread() is not threading.main_thread():
        return None
    return _Bar(words)


@contextmanager
def vanishing(progress: Callable[..., Any] | None) -> Iterator[None]:
    """A bar of ours is gone behind this, also where the work ends early; what was given is left alone."""
    try:
        yield
    finally:
        if isinstance(progress, _Bar):
            progress.close()


def _in_notebook() -> bool:
    """Whether a Jupyter kernel runs this; IPython in a terminal has none.  Nothing is imported for it."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


class _Bar:
    """Call it as bar(done, total).  It appears after two seconds and vanishes when all is done."""

    def __init__(self, words: str) -> None:
        self.words = words
        self.handle: Any = None
        self.began = self.last = time.monotonic()

    def __call__(self, done: float, total: float) -> None:
        from IPython.display import HTML, display

        now, over = time.monotonic(), done >= total
        if self.handle is None:
            if now - self.began >= SECONDS_BEFORE_BAR and not over:
                self.handle, self.last = display(HTML(self._html(done, total)), display_id=True), now
        elif over:
            self.close()
        elif now - self.last >= SECONDS_BETWEEN_UPDATES:
            self.handle.update(HTML(self._html(done, total)))
            self.last = now

    def close(self) -> None:
        """It vanishes, if it had appeared."""
        if self.handle is not None:
            from IPython.display import HTML

            self.handle.update(HTML(""))
            self.handle = None

    def _html(self, done: float, total: float) -> str:
        share = done / total if total > 0 else 0.0
        return (
            f"{escape(self.words)} <progress value='{share:.4f}' max='1' style='width:16em'></progress>"
            f" {share:.0%}, {time.monotonic() - self.began:.0f} s"
        )
