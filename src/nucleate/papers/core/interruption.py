"""Ctrl-C ends the item that is being computed."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nucleate.integrate.run import Run

__all__ = ["go_on", "uninterrupted"]


def uninterrupted(run: "Run") -> "Run":
    """`run`; but if Ctrl-C cut it short, KeyboardInterrupt, so that nothing unfinished is kept."""
    statuses = (run.status,) if isinstance(run.status, str) else run.status
    if any(status in ("interrupted", "cancelled") for status in statuses):
        raise KeyboardInterrupt
    return run


def go_on() -> None:
    """For work in Python on a thread beside others: KeyboardInterrupt, if these were stopped."""
    from nucleate.kernels.threads import is_stopped

    if is_stopped():
        raise KeyboardInterrupt
