"""What happened between two frames of a run: the solver goes from one to the other again, more carefully.

A record that the equation does not lead from frame to frame, such as one taken from a real transformer, has
nothing between its frames but straight lines.
"""

from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from nucleate.attention import Attention
from nucleate.checks import Array
from nucleate.integrate.family import is_ordinary
from nucleate.integrate.run import Run
from nucleate.integrate.simulate import Method, simulate
from nucleate.observe.cubic_path import CubicPath, cubic_paths
from nucleate.sphere import retract

__all__ = ["Stretch", "positions_at", "positions_near", "refine"]

REFINED_RTOL, REFINED_ATOL = 1e-10, 1e-12
LONGEST_EXPLICIT_STEP = 8.0  # in units of 1/|V|: stability does not allow half of that
PATHS_AT_ONCE = 7  # of few tokens, whose velocities at eight frames take no longer than at two
FEW_TOKENS = 1000
MAX_KEPT = 3 * 10**6  # coordinates of paths that are kept, of four doubles each
SAME_DISTANCE = 1e-3  # a rerun that ends so near to the record, for every token, is the same motion


def refine(run: Run, t: Array, x: Array, tokens: int, parts: int = 0) -> tuple[Array, Array]:
    """From the first of two moments t (2,) with tokens x (2, n, d) to the second: times (m,) and the first
    `tokens` tokens, with all they see, (m, seen, d).

    At the steps of the solver, or in so many equal parts; just the two moments if the equation does not lead
    from one to the other.
    """
    span = float(t[1] - t[0])
    again = _rerun(
        run,
        x[0],
        x[1],
        span,
        tokens,
        np.linspace(0.0, span, parts + 1) if parts else "steps",
        method="causal" if _is_causal_step(run, span) else "auto",
    )
    return (t, x) if again is None else (t[0] + again.t, again.x)


class Stretch:
    """Frames t (m,), x (m, n, d) of a run, and from each to the next the path of the first `tokens` tokens,
    with all they see, where a cubic strays from it by at most `stray`."""

    def __init__(self, run: Run, t: Array, x: Array, tokens: int, stray: float) -> None:
        self.model, self.t, self.x, self.stray = _equation(run), t, x, stray
        self.seen = x.shape[1] if self.model is None else _seen(self.model, x, tokens)
        self.at_once = PATHS_AT_ONCE if self.seen <= FEW_TOKENS else 1
        self.known: dict[int, CubicPath | None] = {}

    def two(self, frame: int) -> tuple[Array, Array]:
        """The one before a frame, and itself: times (2,), tokens (2, n, d)."""
        return self.t[frame - 1 : frame + 1], self.x[frame - 1 : frame + 1]

    def path(self, frame: int) -> CubicPath | None:
        """The path to a frame >= 1 from the one before, kept, for many leaders ask for the same."""
        if self.model is None:
            return None
        if frame not in self.known:
            if len(self.known) * self.seen * self.x.shape[2] > MAX_KEPT:
                self.known.clear()
            some = slice(frame - 1, frame + self.at_once)
            paths = cubic_paths(self.model, self.t[some], self.x[some, : self.seen], self.stray)
            self.known.update(enumerate(paths, frame))
        return self.known[frame]


def positions_at(run: Run, frames: NDArray[np.integer[Any]], times: Array) -> Array:
    """All tokens (times, n, d) at increasing times, each between the frame of that number and the one before:
    frames (times,) >= 1."""
    first, last = int(frames[0]), int(frames[-1])
    begin, end = float(run.t[first - 1]), float(run.t[last])
    inside = times - begin < end - begin  # (times,) the rest is the end itself
    again = _rerun(
        run,
        run.x[first - 1],
        run.x[last],
        end - begin,
        run.x.shape[1],
        np.append(times[inside] - begin, end - begin),
    )
    if again is not None:
        return again.x[np.minimum(np.arange(len(times)), inside.sum())]
    if first < last:  # the equation leads astray over many frames, but perhaps not from one to the next
        each = [frames == frame for frame in np.unique(frames)]  # (times,) each
        return np.concatenate([positions_at(run, frames[here], times[here]) for here in each])
    s = ((times - begin) / max(end - begin, 1e-300))[:, None, None]  # (times, 1, 1)
    return retract((1.0 - s) * run.x[first - 1] + s * run.x[first])


def positions_near(run: Run, frames: NDArray[np.integer[Any]], times: Array, stretch: Stretch) -> Array:
    """The same as `positions_at`, but along cubics, which cost less than a rerun, where the run's whole
    `stretch` has them."""
    x = np.empty((len(times), *run.x.shape[1:]))
    rest = np.ones(len(times), dtype=bool)
    for frame in np.unique(frames).tolist():
        if (path := stretch.path(frame)) is not None:
            here = frames == frame
            x[here], rest[here] = path.at(times[here]), False
    if rest.any():
        x[rest] = positions_at(run, frames[rest], times[rest])
    return x


def _equation(run: Run) -> Attention | None:
    """The head that led from frame to frame; None if the record is from elsewhere."""
    simulated = run.settings.get("method") in get_args(Method)
    return run.model if isinstance(run.model, Attention) and simulated else None


def _seen(model: Attention, x: Array, tokens: int) -> int:
    """How many of the tokens x (..., n, d) the first `tokens` of them see."""
    return x.shape[-2] if model.mask == "full" else tokens


def _is_causal_step(run: Run, span: float) -> bool:
    """Whether the time lies within a step longer than an explicit one can be: then nothing is in flight, and
    "auto", which would begin with a thousand time units of explicit steps, takes a hundred times as long."""
    model, every_step = run.model, run.steps == len(run.t) - 1
    if not (isinstance(model, Attention) and every_step) or model.mask == "full" or not is_ordinary(model):
        return False
    return span * float(np.linalg.norm(model.parameters(run.x.shape[-1])[3], 2)) > LONGEST_EXPLICIT_STEP


def _rerun(
    run: Run,
    begin: Array,
    end: Array,
    span: float,
    tokens: int,
    save: str | Array,
    method: Method = "auto",
) -> Run | None:
    """From `begin` (n, d) on for a time `span`, the first `tokens` tokens and those they see; None if they do
    not come to `end` (n, d)."""
    model = _equation(run)
    if model is None or span == 0.0:
        return None
    again = simulate(
        model,
        begin[: _seen(model, begin, tokens)],
        span,
        save=save,
        rtol=REFINED_RTOL,
        atol=REFINED_ATOL,
        method=method,
        threads=1,
    )
    # simulate keeps what it has; here it would be taken for a record without an equation
    if again.status == "interrupted":
        raise KeyboardInterrupt
    agree = again.done and np.linalg.norm(again.x[-1, :tokens] - end[:tokens], axis=-1).max() < SAME_DISTANCE
    return again if agree else None
