"""Merges made up without a run."""

import numpy as np

from nucleate.observe.merges import Merge, Merges


def merged(
    leaders: tuple[int, ...] = (0, 1, 4, 9),
    events: tuple[tuple[float, int, int], ...] | None = None,
    t_f: float = 12.0,
) -> Merges:
    """Four leaders, of which 9 is lost to 4, 1 to 0 and at last 4 to 0; or others, with events (time, lost,
    into)."""
    events = ((20.0, 9, 4), (3e3, 1, 0), (1e9, 4, 0)) if events is None else events
    rows = tuple(
        Merge(time, lost, into, len(leaders) - i) for i, (time, lost, into) in enumerate(events, start=1)
    )
    return Merges(0.01, t_f if leaders else np.nan, np.array(leaders, dtype=np.int64), rows)
