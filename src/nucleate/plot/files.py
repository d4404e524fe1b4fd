"""The picture of a run, and pictures as files."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import InputError
from nucleate.integrate.run import Run
from nucleate.integrate.storage import replacing
from nucleate.observe.capture import design_capture
from nucleate.observe.cosines import mean_cosine
from nucleate.plot.animation import animate
from nucleate.plot.depth import depth_lines, line_of
from nucleate.plot.merges import LIFE_INCHES, life, life_axes
from nucleate.plot.on_circle import angles, circle
from nucleate.plot.on_sphere import trajectories
from nucleate.plot.styles import GLOBE_INCHES, WIDE_INCHES
from nucleate.plot.token_sphere import token_sphere
from nucleate.plot.tokens import frames

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nucleate.observe.life import Life

GLOBES, WORDS_ON_A_GLOBE = 4, 24  # of a run over depth
SHARE_OF_CENTERS = 0.25


def picture(run: Run, ax: "Axes | None" = None, *, which: int = 0) -> "Axes":
    """The picture that suits the dimension: angles over time on the circle, trajectories on spheres; of a run
    over depth the mean cosine of its tokens, the first left out."""
    t, x = frames(run, which)
    if run.over_depth and x.shape[1] > 2:
        return depth_lines({"mean cosine": line_of(t, mean_cosine(x[:, 1:]))}, ax, ylabel="mean cosine")
    if x.shape[-1] > 2:
        return trajectories(run, ax, which=which)
    return angles(run, ax, which=which) if len(t) > 1 else circle(x[0], ax)


def write_run(run: Run, path: Path, progress: Callable[[int, int], object] | None = None) -> None:
    """The picture or the animation of `run` into a file, without a screen."""
    from matplotlib.figure import Figure

    if path.suffix.lower() in (".gif", ".mp4"):
        return animate(run, path, progress=progress)
    if run.over_depth:
        return save_figure(_globes(run), path)
    flat = run.x.shape[-1] == 2
    figure = Figure(figsize=WIDE_INCHES if flat else GLOBE_INCHES, layout="constrained")
    picture(run, figure.add_subplot(projection=None if flat else "3d"))
    save_figure(figure, path)


def _globes(run: Run) -> "Figure":
    """The first tokens of a run over depth, of several texts of the first, on globes at four depths; marked
    are Rényi centers of the first layer, a quarter of the tokens."""
    t, x = frames(run, 0)
    words = run.tokens[0] if run.tokens is not None and run.x.ndim == 4 else run.tokens
    n, d = min(x.shape[1], WORDS_ON_A_GLOBE), x.shape[2]
    if n < 4 or d < 3:
        raise InputError(
            f"The picture of a run over depth needs 4 tokens and d of at least 3, but there are {x.shape[1]}"
            f" and d = {d}. Give a longer text."
        )
    at = np.unique(np.linspace(0, len(t) - 1, GLOBES).round().astype(np.int64))
    shown = [str(word) for word in (words or range(1, n + 1))[:n]]
    kinds = np.unique(shown, return_inverse=True)[1].reshape(1, n)  # (1, n)
    center = design_capture(x[:1, :n], kinds, SHARE_OF_CENTERS).center[0]  # (n,)
    figure = token_sphere({"text": (x[at, :n], shown, center)}, t[at].astype(int).tolist())
    figure.subplots_adjust(top=0.88)  # room for titles of two lines
    return figure


def write_life(life_: "Life", path: Path) -> None:
    """The picture of a life into a file, without a screen."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=LIFE_INCHES, layout="constrained")
    life(life_, life_axes(figure))
    save_figure(figure, path)


def save_figure(figure: "Figure", path: Path) -> None:
    """Write `figure` in one piece; the same picture gives the same file."""
    from matplotlib import rc_context

    kind = path.suffix.lower()[1:]
    no_date: dict[str, Any] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(kind, {})
    # without a salt, the names inside an SVG are random
    with replacing(path) as part, rc_context({"svg.hashsalt": "nucleate"}):
        figure.savefig(part, format=kind, dpi=200, metadata=no_date)
