"""Runs as animations, .gif or .mp4."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import (
    Array,
    FileError,
    InputError,
    MissingPackageError,
    as_path,
    finite_number,
    function_or_none,
)
from nucleate.integrate.run import Run
from nucleate.integrate.storage import replacing
from nucleate.plot.on_circle import draw_circle
from nucleate.plot.on_sphere import principal_directions
from nucleate.plot.styles import palette_of
from nucleate.plot.tokens import frames, tokens_to_draw

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_ANIMATION_FRAMES = 240  # 12 seconds at the usual 20 frames per second


def animate(
    run: Run,
    path: str | Path,
    *,
    fps: float = 20.0,
    which: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> None:
    """The run as an animation (.gif or .mp4), one picture per saved frame; progress(frames drawn, all)."""
    from matplotlib.animation import FFMpegWriter, PillowWriter

    path, fps = (
        as_path("path", path),
        finite_number("fps", fps, least=0.01, help="It is the number of frames shown per second."),
    )
    function_or_none("progress", progress, of="(frames, all)")
    if path.suffix.lower() not in (".gif", ".mp4"):
        raise InputError(f"{path} has the ending {path.suffix or '(none)'}, but animations are .gif or .mp4.")

    class Encoder(FFMpegWriter):
        @classmethod
        def bin_path(cls) -> str:
            return ffmpeg()

    t, x = frames(run, which)
    shown = np.unique(np.linspace(0, len(t) - 1, min(len(t), MAX_ANIMATION_FRAMES)).round().astype(int))
    writer = (PillowWriter if path.suffix.lower() == ".gif" else Encoder)(fps=fps)  # type: ignore[arg-type]  # the stubs want whole frames a second
    figure, draw = _animated_figure(t, x)
    with _encoder_errors(path), replacing(path) as part, writer.saving(figure, str(part), dpi=120):
        for count, i in enumerate(shown, start=1):
            draw(int(i))
            writer.grab_frame()
            if progress is not None:
                progress(count, len(shown))


def ffmpeg() -> str:
    """The ffmpeg program: from the PATH, or from the package imageio_ffmpeg."""
    if found := shutil.which("ffmpeg"):
        return found
    try:
        from imageio_ffmpeg import get_ffmpeg_exe

        return str(get_ffmpeg_exe())
    except (ImportError, RuntimeError):
        raise MissingPackageError(
            "mp4 needs the program ffmpeg, but it is not on the PATH. Install it (or: pip install"
            " imageio-ffmpeg), or write a .gif."
        ) from None


def _time_label(t: float, end: float) -> str:
    return f"t = {t:.2e}" if end > 1e3 else f"t = {t:.{1 if end >= 10 else 2}f}"


def _animated_figure(t: Array, x: Array) -> tuple["Figure", Callable[[int], None]]:
    """A figure, and a function that makes it show frame i."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.0, 5.0), layout="constrained")
    FigureCanvasAgg(figure)
    flat = x.shape[-1] == 2
    ax: Any = figure.add_subplot(projection=None if flat else "3d")
    palette, tokens = palette_of(ax), tokens_to_draw(x.shape[1], 3)[::-1]
    colours = palette.tokens(x.shape[1])[tokens]
    if flat:
        y = x  # (m, n, 2)
        draw_circle(ax, palette)
        shown_time = ax.text(0, 0, "", ha="center", va="center", fontsize=14)
    else:
        from nucleate.plot.globe import draw_globe, fit_globe

        basis, names = principal_directions(x)  # (d, 3)
        y = x @ basis  # (m, n, 3)
        draw_globe(ax, palette)
        fit_globe(ax, palette, names)
        # beside the globe
        shown_time = ax.text2D(0.02, 0.98, "", ha="left", va="top", fontsize=14, transform=ax.transAxes)
    dots: list[Any] = []

    def draw(i: int) -> None:
        while dots:
            dots.pop().remove()
        dots.append(ax.scatter(*y[i, tokens].T, s=28, c=colours, linewidths=0, zorder=4))
        shown_time.set_text(_time_label(t[i], t[-1]))

    return figure, draw


@contextmanager
def _encoder_errors(path: Path) -> Iterator[None]:
    """Turns a failure of ffmpeg into an InputError that names the file."""
    from subprocess import CalledProcessError

    try:
        yield
    except CalledProcessError as error:
        raise FileError(
            f"{path} cannot be written: ffmpeg ended with code {error.returncode}. Write a .gif instead."
        ) from error
