"""The explorer's player inside a notebook: a run and the page that plays it, in a frame, offline."""

import os
from dataclasses import dataclass
from html import escape

from nucleate.checks import InputError, as_path, whole_number
from nucleate.explorer.built_page import page_text
from nucleate.explorer.export import MAX_EXPORTED_NUMBERS, check_html, page_with_recording, recording
from nucleate.explorer.prepared_run import compute, prepare_stored, thinned
from nucleate.explorer.prepared_trace import prepare_trace_view, trace_message
from nucleate.integrate.run import Run
from nucleate.integrate.storage import replacing
from nucleate.observe.life import Life

__all__ = ["Player", "explore"]

DEFAULT_HEIGHT_PIXELS = 720


@dataclass(frozen=True, repr=False)
class Player:
    """A page that plays one run and needs neither server nor network.  The last line of a notebook's cell
    shows it; save(path) writes it as .html."""

    page: str
    title: str
    height: int  # pixels

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page, .html, to open in a browser or to send to somebody."""
        path = check_html(as_path("path", path))
        with replacing(path) as part:
            part.write_text(self.page, encoding="utf-8")

    def __repr__(self) -> str:
        return (
            f"Player({self.title}; {len(self.page) / 1e6:.1f} MB; a notebook shows it, save(path) writes it)"
        )

    def _repr_html_(self) -> str:
        """The page in a frame that may run its scripts, and can reach neither the notebook nor a network."""
        return (
            f'<iframe title="{escape(self.title, quote=True)}" sandbox="allow-scripts allow-downloads"'
            f' width="100%" height="{self.height}" style="border:1px solid #8884;border-radius:6px"'
            f' srcdoc="{escape(self.page, quote=True)}"></iframe>'
        )


def explore(run: Run | Life, which: int = 0, height: int = DEFAULT_HEIGHT_PIXELS) -> Player:
    """The explorer's player of a run (of b runs number `which`) or of a life, inside a notebook, offline:
    every view, a slider for time, clusters and centers; `height` in pixels.  Hidden states are played over
    layers, with the words of their text.

    Frames beyond five million numbers are thinned, evenly.  `nucleate explore` starts new runs from the page.
    """
    run = run.run if isinstance(run, Life) else run
    if not isinstance(run, Run):
        raise InputError(
            f"explore plays a Run or a Life, but got {type(run).__name__}. Make one:"
            " nucleate.simulate(model, x0, t=10.0)."
        )
    which = whole_number("which", which, least=0, help="Runs are counted from 0.")
    height = whole_number("height", height, least=200, help="It is in pixels; 720 shows all views.")
    title = run.summary.partition(";")[0]
    if run.over_depth:
        begun = trace_message(prepare_trace_view(run, which, title), 0)
        return Player(page_with_recording(page_text(), {"begun": begun}), title, height)
    prepared = prepare_stored(run, which, title)
    shown = thinned(compute(prepared), MAX_EXPORTED_NUMBERS)
    return Player(page_with_recording(page_text(), recording(prepared, shown)), title, height)
