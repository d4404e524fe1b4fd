"""A stored text over depth, ready to be shown: its readings, and what the page is told of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from nucleate.explorer.trace_controls import noted_controls
from nucleate.explorer.trace_view import TraceReading, one_text, read_trace
from nucleate.integrate.run import Run

__all__ = ["PreparedTrace", "prepare_trace_view", "trace_message"]

TOO_SHORT = {  # by view, why it is empty where the text is too short for it
    "cosine": "The mean cosine needs two tokens after the first. Trace a longer text.",
    "rank": "The effective rank needs a token after the first. Trace a longer text.",
    "sink": "The first token needs another to be compared with. Trace a longer text.",
    "cover": "No token has four earlier centers of another word. Trace a longer text.",
}
NO_CONTROLS = (
    "not in this run: they need the model. nucleate trace MODEL --text … --out trace.zarr --out page.html"
    " runs them, and stores them in both."
)


@dataclass(frozen=True, eq=False)
class PreparedTrace:
    """One text of a run over depth, with its controls."""

    run: Run  # as it was stored
    readings: tuple[TraceReading, ...]  # the text, then its controls
    facts: tuple[tuple[str, str], ...]  # name and value
    title: str
    file: str = "nucleate-trace"  # the name, without its ending, under which its data are saved


def prepare_trace_view(run: Run, which: int, title: str) -> PreparedTrace:
    """Text number `which` of a run over depth."""
    text = one_text(run, which)
    controls = noted_controls(run) if which == 0 else ()  # they are those of the first text
    n, all_tokens = text.x.shape[1], run.x.shape[-2]
    texts = f", text {which + 1} of {len(run.x)}" if run.x.ndim == 4 and len(run.x) > 1 else ""
    cut = f"the first {n} of {all_tokens}" if n < all_tokens else str(n)
    facts = [("Model", str(run.model)), ("Dimension", str(run.x.shape[-1])), ("Tokens", cut + texts)]
    facts.append(("Controls", ", ".join(one.name for one in controls) or NO_CONTROLS))
    notes = run.notes.get("notes")
    if isinstance(notes, list):
        facts += [("Note", str(note)[:500]) for note in notes[:5]]
    return PreparedTrace(run, (read_trace(text), *controls), tuple(facts), title)


def trace_message(prepared: PreparedTrace, id: int) -> dict[str, Any]:
    """What the page is told: all there is to see, in one message."""
    text = prepared.readings[0]
    return {
        "say": "begun",
        "id": id,
        "scene": None,
        "recorded": True,
        "title": prepared.title,
        "file": prepared.file,
        "n": len(text.words),
        "d": int(prepared.run.x.shape[-1]),
        "frames": len(prepared.run.t),
        "lengths": True,
        "missing": {view: why for view, why in TOO_SHORT.items() if not _measured(text, view)},
        "trace": {
            "facts": [list(fact) for fact in prepared.facts],
            "layers": prepared.run.t.tolist(),
            "readings": [one.plain() for one in prepared.readings],
        },
    }


def _measured(reading: TraceReading, curve: str) -> bool:
    return curve in reading.curves and bool(np.isfinite(reading.curves[curve]).any())
