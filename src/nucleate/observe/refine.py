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
from nucleate.sphere import retract

__all__ = ["positions_at", "refine"]

REFINED_RTOL, REFINED_ATOL = 1e-10, 1e-12
LONGEST_EXPLICIT_STEP = 8.0  # in units of 1/|V|: stability does not allow half of that
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
    model = run.model
    if not isinstance(model, Attention) or span == 0.0 or run.settings.get("method") not in get_args(Method):
        return None
    seen = len(begin) if model.mask == "full" else tokens
    again = simulate(
        model,
        begin[:seen],
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
