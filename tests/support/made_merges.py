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


def random_merges(seed: int, n: int) -> Merges:
    """n leaders that all merge into earlier ones but one or a few."""
    rng = np.random.default_rng(seed)
    leaders = np.unique(rng.integers(1, 5 * n, n - 1)).tolist()
    alive, events, time = [0, *leaders], [], 5.0
    while len(alive) > 1 + seed % 3 and len(alive) > 1:
        lost = alive.pop(int(rng.integers(1, len(alive))))
        time *= float(np.exp(rng.exponential(2.0)))
        events.append((time, lost, int(rng.choice([k for k in alive if k < lost]))))
    return merged((0, *leaders), tuple(events), t_f=4.0)
