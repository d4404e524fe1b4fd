"""Controls of one text for the page: the same tokens in random order, and the same text under weights drawn
anew in every layer.

They need the model, which a stored run has not: they are run when a page is asked for, and go into the notes
of the run, so that whatever is stored or shown of it later has them.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from nucleate.explorer.trace_view import MAX_TRACE_TOKENS, TraceReading, parse_reading, read_trace
from nucleate.integrate.hidden_states import from_hidden_states
from nucleate.integrate.run import Run
from nucleate.tracing.controls import CONTROLS, block_shuffle, full_shuffle, random_weights

if TYPE_CHECKING:
    from nucleate.models.trace import Reading

__all__ = ["SHOWN_CONTROLS", "noted_controls", "with_controls"]

SHOWN_CONTROLS = ("shuffled", "re-drawn weights")
NOTE = "controls"  # the name of the note


def with_controls(
    run: Run, reading: "Reading", seed: int = 0, progress: Callable[[int, int], object] | None = None
) -> Run:
    """The run of `reading` with the controls of its first text in its notes; progress(done, passes) is called
    after each forward pass."""
    ids = np.atleast_2d(reading.ids)[0, :MAX_TRACE_TOKENS]  # (n,)
    tokens = reading.tokens if reading.ids.ndim == 1 else reading.tokens[0]
    kept = 0 if reading.tokenizer.first_token is None else 1
    found = []
    for done, key in enumerate(SHOWN_CONTROLS, 1):
        control, order = CONTROLS[key], np.arange(len(ids))
        if control.text == "shuffled":
            order = block_shuffle(order, full_shuffle(len(ids)), seed, kept)
        states = reading.model.run(ids[order], change=random_weights(control, seed)).states  # (L+1, n, d)
        words = [tokens[k] for k in order.tolist()]
        found.append(read_trace(from_hidden_states(states, words), key).plain())
        if progress is not None:
            progress(done, len(SHOWN_CONTROLS))
    return replace(run, notes={**run.notes, NOTE: found})


def noted_controls(run: Run) -> tuple[TraceReading, ...]:
    """The controls in the notes of a run; what is none is left out."""
    noted = run.notes.get(NOTE)
    each = [parse_reading(one, len(run.t)) for one in noted] if isinstance(noted, list) else []
    known = {one.name: one for one in each if one is not None}
    return tuple(known[name] for name in SHOWN_CONTROLS if name in known)
