"""The picture of a run, and pictures as files."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nucleate.integrate.run import Run
from nucleate.integrate.storage import replacing
from nucleate.observe.cosines import mean_cosine
from nucleate.plot.animation import animate
from nucleate.plot.depth import depth_lines, line_of
from nucleate.plot.merges import LIFE_INCHES, life, life_axes
from nucleate.plot.on_circle import angles, circle
from nucleate.plot.on_sphere import trajectories
from nucleate.plot.styles import GLOBE_INCHES, WIDE_INCHES
from nucleate.plot.token_sphere import depth_globes
from nucleate.plot.tokens import frames

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nucleate.observe.life import Life


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
        return save_figure(depth_globes(run), path)
    flat = run.x.shape[-1] == 2
    figure = Figure(figsize=WIDE_INCHES if flat else GLOBE_INCHES, layout="constrained")
    picture(run, figure.add_subplot(projection=None if flat else "3d"))
    save_figure(figure, path)


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
