"""Ctrl-C during a simulation ends the item it belongs to."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nucleate.integrate.run import Run

__all__ = ["uninterrupted"]


def uninterrupted(run: "Run") -> "Run":
    """`run`; but if Ctrl-C cut it short, KeyboardInterrupt, so that nothing unfinished is kept."""
    statuses = (run.status,) if isinstance(run.status, str) else run.status
    if any(status in ("interrupted", "cancelled") for status in statuses):
        raise KeyboardInterrupt
    return run
