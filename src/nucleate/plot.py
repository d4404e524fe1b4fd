"""One function per picture: axes in (or none, for a new figure), axes out; nothing is shown or changed elsewhere.

One colour language: a token's colour is its place in the sequence, first dark, last light (viridis, which colour-blind
readers and grey printers can follow). Black marks Renyi centers. Red is kept for strong centers and for final points.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nucleate.checks import Array, InputError, check_tokens, finite_number, whole_number
from nucleate.integrate.run import Run
from nucleate.integrate.storage import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nucleate.observe.life import Life

Indices = Sequence[int] | NDArray[np.int64]

__all__ = ["angles", "animate", "circle", "life", "picture", "strip", "trajectories"]

RED, BLACK, GREY = "#d62728", "#000000", "#b8b8b8"
MOST_LINES = 2000  # more tokens than this only make the picture heavier
MOST_FRAMES = 240  # of an animation: 12 seconds at the usual speed
BARS = " ▁▂▃▄▅▆▇█"
FIRST_TIME = 1e-2  # where an axis of powers of ten begins; t = 0 is drawn there
LIFE_SIZE = (8.4, 6.0)


def picture(run: Run, ax: "Axes | None" = None, *, which: int = 0) -> "Axes":
    """The picture that suits the dimension: angles over time on the circle, trajectories on spheres."""
    t, x = _frames(run, which)
    if x.shape[-1] > 2:
        return trajectories(run, ax, which=which)
    return angles(run, ax, which=which) if len(t) > 1 else circle(x[0], ax)


def angles(
    run: Run, ax: "Axes | None" = None, *, which: int = 0, first: int = 3, centers: Indices = (), strong: Indices = (), colorbar: bool = True
) -> "Axes":
    """d = 2: the angle of every token over time, the `first` ones thick, `centers` black, `strong` red; run `which` of several."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgba

    t, x = _frames(run, which)  # (m,), (m, n, 2)
    n = _circle_only(x).shape[1]
    ax = _axes(ax, (7.0, 4.2))
    tokens = _chosen(n, first)
    wide = np.where(np.arange(n) < first, 2.2, 0.7)  # (n,)
    marked = [(_indices(some, n), np.tile(to_rgba(colour), (n, 1)), np.full(n, 1.6)) for some, colour in ((centers, BLACK), (strong, RED))]
    for some, colours, widths in [(tokens, _colours(n), wide), *marked]:
        pairs = [(k, line) for k in some[::-1] for line in _laps(t, np.arctan2(x[:, k, 1], x[:, k, 0]))]  # early tokens last, on top
        owner = [k for k, line in pairs]
        lines = LineCollection([line for k, line in pairs], colors=colours[owner], linewidths=widths[owner], capstyle="round")
        ax.add_collection(lines, autolim=False)
    time_axis(ax, t)
    ax.set(ylim=(-np.pi, np.pi), ylabel="angle", title=_left_out(n, len(tokens)))
    ax.set_yticks([-np.pi, -np.pi / 2, 0, np.pi / 2, np.pi], ["−π", "−π/2", "0", "π/2", "π"])
    if colorbar:
        _token_bar(ax, n)
    return ax


def circle(x: ArrayLike, ax: "Axes | None" = None, *, centers: Indices = (), strong: Indices = ()) -> "Axes":
    """Tokens x (n, 2) on the circle; `centers` (indices) ringed in black, `strong` ones filled in red."""
    x = _circle_only(check_tokens("x", x))
    if x.ndim != 2:
        raise InputError(f"x must have shape (n, 2), but has shape {x.shape}. Draw one run at one time, such as run.x[-1].")
    ax = _axes(ax, (4.2, 4.2))
    _ring(ax)
    ax.scatter(x[::-1, 0], x[::-1, 1], s=14, c=_colours(len(x))[::-1], linewidths=0, zorder=2)
    for which, size, colour in ((centers, 56, BLACK), (strong, 48, RED)):
        at = x[_indices(which, len(x))]  # (centers, 2)
        ax.scatter(at[:, 0], at[:, 1], s=size, facecolors=colour if colour == RED else "none", edgecolors=colour, linewidths=1.4, zorder=3)
    return ax


def trajectories(run: Run, ax: "Axes | None" = None, *, which: int = 0) -> "Axes":
    """d >= 3: the way of every token on the sphere, start as a small dot, end in red; d > 3 through the three main directions."""
    from mpl_toolkits.mplot3d.art3d import Line3DCollection

    t, x = _frames(run, which)  # (m,), (m, n, d)
    if x.shape[-1] < 3:
        raise InputError("trajectories need dimension 3 or more, but this run has 2. Use angles(run).")
    ax3: Any = _axes(ax, (5.6, 5.6), projection="3d")
    y, names = _three(x)
    n = y.shape[1]
    tokens = _chosen(n, 0)
    _globe(ax3)
    if len(t) > 1:
        ways, _ = _three(x, _arcs(x[:, tokens]))  # (many, tokens, 3)
        ax3.add_collection(Line3DCollection(list(ways.transpose(1, 0, 2)), colors=_colours(n)[tokens], linewidths=0.9, alpha=0.8))
    ax3.scatter(*y[0, tokens].T, s=7, c=_colours(n)[tokens], linewidths=0, depthshade=False)
    ax3.scatter(*y[-1, tokens].T, s=22, color=RED, edgecolors="white", linewidths=0.4, depthshade=False, zorder=5)
    ax3.set_title(_left_out(n, len(tokens)))
    _show_ball(ax3, names)
    return ax3


def life(life: "Life", axes: "tuple[Axes, Axes] | None" = None) -> "tuple[Axes, Axes]":
    """A whole life over powers of ten of time: above, every token's angle (d = 2) or overlap with the first token, with a ring where a
    cluster joins an earlier one; below, the number of clusters from t_f on."""
    if axes is None:
        from matplotlib import pyplot

        axes = _life_axes(pyplot.figure(figsize=LIFE_SIZE, layout="constrained"))
    top, bottom = axes
    times, counts = life.staircase
    end = max(float(times[-1]), 1.0) if len(times) and life.merges.left == 1 else float(life.run.t[-1])
    end = min(end * (end / FIRST_TIME) ** 0.04, max(float(life.run.t[-1]), 1.0))  # a margin on the right
    shown = _thinned(life.run, end)
    if shown.x.shape[-1] == 2:
        angles(shown, top, first=0, colorbar=False)
    else:
        _overlaps(shown, top)
    _token_bar(top, shown.x.shape[1])
    for merge in life.merges:
        x = life.run.x[np.searchsorted(life.run.t, merge.time)]  # (n, d) the first frame after, or the first of the same time
        at = np.arctan2(*x[merge.into, ::-1]) if x.shape[-1] == 2 else x[merge.into] @ x[0]
        top.plot(merge.time, at, "o", markersize=8, markerfacecolor="none", markeredgecolor=BLACK, markeredgewidth=1.1, zorder=4)
        for ax in axes:
            ax.axvline(merge.time, color="0.6", linewidth=0.7, linestyle=":", zorder=0)
    _stairs(bottom, times, counts, end)
    for ax in axes:
        _powers_of_ten(ax, end)
    top.set_xlabel("")
    top.tick_params(labelbottom=False)
    words = f"n = {shown.x.shape[1]}, d = {shown.x.shape[-1]}, β = {float(shown.model.beta):g}"
    top.set_title(words if life.whole else f"{words}; {life.ending}", fontsize=11)
    return axes


def animate(run: Run, path: str | Path, *, fps: float = 20.0, which: int = 0, progress: Callable[[int, int], object] | None = None) -> None:
    """The run as a film (.gif or .mp4), one picture per saved frame; progress(frames drawn, frames in all)."""
    from matplotlib.animation import FFMpegWriter, PillowWriter

    path, fps = Path(path), finite_number("fps", fps, above=0.0, help="It is the number of frames shown per second.")
    if path.suffix.lower() not in (".gif", ".mp4"):
        raise InputError(f"{path} has the ending {path.suffix or '(none)'}, but animations are .gif or .mp4.")

    class Encoder(FFMpegWriter):
        @classmethod
        def bin_path(cls) -> str:
            return ffmpeg()

    t, x = _frames(run, which)
    shown = np.unique(np.linspace(0, len(t) - 1, min(len(t), MOST_FRAMES)).round().astype(int))
    writer = (PillowWriter if path.suffix.lower() == ".gif" else Encoder)(fps=fps)  # type: ignore[arg-type]  # the stubs want whole frames a second
    figure, draw = _film(t, x)
    with _quiet_encoder(path), replacing(path) as part, writer.saving(figure, str(part), dpi=120):
        for count, i in enumerate(shown, start=1):
            draw(int(i))
            writer.grab_frame()
            if progress is not None:
                progress(count, len(shown))


def write(run: Run, path: Path, progress: Callable[[int, int], object] | None = None) -> None:
    """The picture or the film of `run` into a file, without a screen."""
    from matplotlib.figure import Figure

    if path.suffix.lower() in (".gif", ".mp4"):
        return animate(run, path, progress=progress)
    flat = run.x.shape[-1] == 2
    figure = Figure(figsize=(7.0, 4.2) if flat else (5.6, 5.6), layout="constrained")
    picture(run, figure.add_subplot(projection=None if flat else "3d"))
    save_figure(figure, path)


def write_life(life_: "Life", path: Path) -> None:
    """The picture of a life into a file, without a screen."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=LIFE_SIZE, layout="constrained")
    life(life_, _life_axes(figure))
    save_figure(figure, path)


def save_figure(figure: "Figure", path: Path) -> None:
    """Write `figure` in one piece; the same picture gives the same file."""
    from matplotlib import rc_context

    kind = path.suffix.lower()[1:]
    no_date: dict[str, Any] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(kind, {})
    with replacing(path) as part, rc_context({"svg.hashsalt": "nucleate"}):  # else every SVG gets random names inside
        figure.savefig(part, format=kind, dpi=200, metadata=no_date)


def strip(x: ArrayLike, width: int = 64) -> str:
    """How many tokens x (n, 2) point where, as one line of text from -pi to pi."""
    x = _circle_only(check_tokens("x", x))
    count = np.histogram(np.arctan2(x[..., 1], x[..., 0]), bins=width, range=(-np.pi, np.pi))[0]  # (width,)
    height = np.ceil((len(BARS) - 1) * np.sqrt(count / count.max())).astype(int)  # by area, so that a lone token still shows
    return "".join(BARS[h] for h in height)


def ffmpeg() -> str:
    """The ffmpeg program: from the PATH, or from the package imageio_ffmpeg."""
    if found := shutil.which("ffmpeg"):
        return found
    try:
        from imageio_ffmpeg import get_ffmpeg_exe

        return str(get_ffmpeg_exe())
    except (ImportError, RuntimeError):
        raise InputError(
            "mp4 needs the program ffmpeg, but it is not on the PATH. Install it (or: pip install imageio-ffmpeg), or write a .gif."
        ) from None


def time_axis(ax: "Axes", t: Array) -> None:
    """Time from left to right: evenly, or by powers of ten where the times t (m,) were saved so."""
    later = t[t > 0]
    ax.set_xlabel("time")
    if len(later) > 2 and np.ptp(np.diff(np.log(later))) < np.ptp(np.diff(later)) / later[-1] and later[-1] > 100 * later[0]:
        ax.set_xscale("symlog", linthresh=later[0], linscale=0.5)
        low, high = np.ceil(np.log10(later[0]) - 1e-9), np.floor(np.log10(later[-1]) + 1e-9)
        powers = 10.0 ** np.arange(low, high + 1, max(1.0, np.ceil((high - low) / 8)))
        ax.set_xticks([0.0, *powers] if t[0] == 0 else powers)
    ax.set_xlim(t[0], t[-1] if t[-1] > t[0] else t[0] + 1.0)


def _life_axes(figure: "Figure") -> "tuple[Axes, Axes]":
    top, bottom = figure.subplots(2, 1, height_ratios=[2.4, 1.0])
    return top, bottom


def _thinned(run: Run, end: float) -> Run:
    """`run` from FIRST_TIME to `end`, without the frames that the eye cannot tell from those before."""
    place = np.log(np.maximum(run.t, FIRST_TIME)) / np.log(end / FIRST_TIME)  # (m,) in widths of the picture
    keep = [0]
    for i in range(1, len(run.t)):
        if place[i] - place[keep[-1]] > 0.005 or np.abs(run.x[i] - run.x[keep[-1]]).max() > 0.01:
            keep += [i - 1, i] if keep[-1] < i - 1 else [i]  # a long rest ends in the frame before
    return replace(run, t=np.maximum(run.t[keep], FIRST_TIME), x=run.x[keep])


def _overlaps(run: Run, ax: "Axes") -> None:
    """<x_k, x_1> over time."""
    from matplotlib.collections import LineCollection

    tokens = _chosen(run.x.shape[1], 0)[::-1]
    overlap = np.einsum("mkd,md->mk", run.x[:, tokens], run.x[:, 0])  # (m, tokens)
    lines = [np.column_stack([run.t, one]) for one in overlap.T]
    ax.add_collection(LineCollection(lines, colors=_colours(run.x.shape[1])[tokens], linewidths=0.7, capstyle="round"), autolim=False)
    ax.set(ylim=(-1.05, 1.05), ylabel="overlap with the first token", yticks=[-1, -0.5, 0, 0.5, 1])


def _stairs(ax: "Axes", times: Array, counts: NDArray[np.int64], end: float) -> None:
    """The number of clusters; grey before counting starts."""
    from matplotlib.ticker import MaxNLocator

    begin = max(float(times[0]), FIRST_TIME) if len(times) else end
    ax.axvspan(FIRST_TIME, begin, color="0.94", linewidth=0, zorder=0)
    share = np.log(begin / FIRST_TIME) / np.log(end / FIRST_TIME)  # of the width
    words: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "ha": "center", "va": "center", "rotation": 90 if share < 0.15 else 0}
    if share > 0.03:
        ax.text(np.sqrt(FIRST_TIME * begin), 0.5, "gathering", fontsize=9, color="0.45", **words)
    if len(times):
        ax.step(np.append(np.maximum(times, FIRST_TIME), end), np.append(counts, counts[-1]), where="post", color=BLACK, linewidth=1.3)
        ax.plot(times[1:], counts[1:], "o", markersize=3.5, color=BLACK)
    if len(times) > 1:
        ax.annotate(f"t = {times[-1]:.2g}", (times[-1], counts[-2]), (0, 3), textcoords="offset points", ha="right", va="bottom", fontsize=9)
    ax.set(ylim=(0, (counts[0] if len(times) else 1) + 0.8), ylabel="clusters", xlabel="time")
    ax.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))


def _powers_of_ten(ax: "Axes", end: float) -> None:
    """Time by powers of ten from FIRST_TIME, with about eight labels."""
    from matplotlib.ticker import NullLocator

    ax.set_xscale("log")
    powers = np.log10(end / FIRST_TIME)
    every = next(step for step in (1, 2, 5, 10, 20, 50) if powers <= 8 * step)
    first = int(np.ceil(np.log10(FIRST_TIME) / every)) * every
    ax.set_xticks(10.0 ** np.arange(first, np.log10(end), every))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlim(FIRST_TIME, end)


def _frames(run: Run, which: int) -> tuple[Array, Array]:
    """The times (m,) and tokens (m, n, d) of one run, frames that were never reached left out."""
    runs = run.x.shape[0] if run.x.ndim == 4 else 1
    which = whole_number("which", which, least=0, help="It counts the runs from 0.")
    if which >= runs:
        raise InputError(f"which must be below the number of runs, {runs}, but is {which}. It counts from 0.")
    x = run.x[which] if run.x.ndim == 4 else run.x  # (m, n, d)
    there = np.isfinite(x).all((1, 2))  # (m,)
    if not there.any():
        raise InputError("This run has no frame to draw. Look at run.status for the reason.")
    return run.t[there], x[there]


def _circle_only(x: Array) -> Array:
    if x.shape[-1] != 2:
        raise InputError(f"This picture is for tokens on the circle, d = 2, but these have d = {x.shape[-1]}. Use trajectories(run).")
    return x


def _axes(ax: "Axes | None", size: tuple[float, float], projection: str | None = None) -> Any:
    if ax is None:
        from matplotlib import pyplot

        return pyplot.figure(figsize=size, layout="constrained").add_subplot(projection=projection)
    if projection == "3d" and not hasattr(ax, "get_zlim"):
        raise InputError('trajectories need axes made with projection="3d", but these are flat. Leave ax out for new ones.')
    return ax


def _colours(n: int) -> Array:
    """One colour (r, g, b, a) per place in the sequence; the palest end of the map is left out: it fades on paper."""
    from matplotlib import colormaps

    return np.asarray(colormaps["viridis"](np.linspace(0.0, 0.9, n)))  # (n, 4)


def _token_bar(ax: "Axes", n: int) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    scale = ScalarMappable(Normalize(1, max(n, 2)), ListedColormap(_colours(256).tolist()))
    ax.figure.colorbar(scale, ax=ax, label="token", ticks=[1, n] if n > 1 else [1], aspect=30, pad=0.02)


def _chosen(n: int, first: int) -> NDArray[np.int64]:
    """The tokens to draw: all, or the first few and an even choice of the others."""
    some = np.linspace(0, n - 1, min(n, MOST_LINES)).round().astype(np.int64)
    return np.union1d(np.arange(min(first, n)), some)


def _left_out(n: int, drawn: int) -> str:
    return f"{drawn} of {n} tokens drawn" if drawn < n else ""


def _laps(t: Array, angle: Array) -> list[Array]:
    """The line (t, angle) cut to one turn: the unwrapped curve, once for every turn of the circle it visits."""
    whole = np.unwrap(angle)  # (m,) without jumps
    turns = range(int(np.floor((whole.min() + np.pi) / (2 * np.pi))), int(np.floor((whole.max() + np.pi) / (2 * np.pi))) + 1)
    return [np.column_stack([t, whole - 2 * np.pi * turn]) for turn in turns]  # each (m, 2); the axes cut what sticks out


def _indices(which: Indices, n: int) -> NDArray[np.int64]:
    index = np.asarray(which, dtype=np.int64).reshape(-1)
    if index.size and (index.min() < 0 or index.max() >= n):
        raise InputError(f"Centers are indices from 0 to {n - 1}, but there are some from {index.min()} to {index.max()}.")
    return index


def _arcs(x: Array) -> Array:
    """x (m, n, d) with points between the frames, on the great circle, so that lines stay on the sphere."""
    parts = int(np.clip(2048 // len(x), 1, 8))
    s = (np.arange(parts) / parts)[:, None, None]  # (parts, 1, 1)
    y = np.concatenate([(1 - s) * a + s * b for a, b in pairwise(x)] + [x[-1:]])  # (many, n, d)
    return y / np.maximum(np.linalg.norm(y, axis=-1, keepdims=True), 1e-9)


def _three(x: Array, points: Array | None = None) -> tuple[Array, list[str]]:
    """`points` (or x itself) in the three directions that carry most of x (m, n, d), and the names of these axes."""
    points = x if points is None else points
    if x.shape[-1] == 3:
        return points, ["", "", ""]
    values, directions = np.linalg.eigh(np.einsum("mni,mnj->ij", x, x))  # increasing
    share = values[::-1][:3] / values.sum()
    return points @ directions[:, ::-1][:, :3], [f"direction {i + 1} ({s:.0%})" for i, s in enumerate(share)]


def _ring(ax: Any) -> None:
    """The circle itself."""
    around = np.linspace(0, 2 * np.pi, 361)
    ax.plot(np.cos(around), np.sin(around), color=GREY, linewidth=0.8, zorder=1)
    ax.set(xlim=(-1.15, 1.15), ylim=(-1.15, 1.15), aspect="equal")
    ax.axis("off")


def _globe(ax: Any) -> None:
    """Faint circles of latitude and longitude."""
    u, v = np.meshgrid(np.linspace(0, 2 * np.pi, 61), np.linspace(-np.pi / 2, np.pi / 2, 31))
    ax.plot_wireframe(np.cos(u) * np.cos(v), np.sin(u) * np.cos(v), np.sin(v), rstride=5, cstride=5, color=GREY, linewidth=0.4, alpha=0.6)


def _show_ball(ax: Any, names: list[str]) -> None:
    ax.set(xlim=(-1, 1), ylim=(-1, 1), zlim=(-1, 1))
    ax.set_box_aspect((1, 1, 1), zoom=1.5)
    ax.set_axis_off()
    if any(names):
        ax.text2D(0.02, 0.02, "\n".join(names), transform=ax.transAxes, fontsize=8, color="0.3")


def _time(t: float, end: float) -> str:
    return f"t = {t:.2e}" if end > 1e3 else f"t = {t:.{1 if end >= 10 else 2}f}"


def _film(t: Array, x: Array) -> tuple["Figure", Callable[[int], None]]:
    """A figure, and a function that makes it show frame i."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.0, 5.0), layout="constrained")
    FigureCanvasAgg(figure)
    tokens = _chosen(x.shape[1], 3)[::-1]
    colours = _colours(x.shape[1])[tokens]
    y, names = (x, []) if x.shape[-1] == 2 else _three(x)  # (m, n, 2) or (m, n, 3)
    if x.shape[-1] == 2:
        ax: Any = figure.add_subplot()
        _ring(ax)
        clock = ax.text(0, 0, "", ha="center", va="center", fontsize=14)
    else:
        ax = figure.add_subplot(projection="3d")
        _globe(ax)
        _show_ball(ax, names)
        clock = ax.text2D(0.5, 0.97, "", ha="center", va="top", fontsize=14, transform=ax.transAxes)
    dots: list[Any] = []

    def draw(i: int) -> None:
        while dots:
            dots.pop().remove()
        dots.append(ax.scatter(*y[i, tokens].T, s=28, c=colours, linewidths=0, zorder=2))
        clock.set_text(_time(t[i], t[-1]))

    return figure, draw


@contextmanager
def _quiet_encoder(path: Path) -> Iterator[None]:
    """ffmpeg's failures in our words."""
    from subprocess import CalledProcessError

    try:
        yield
    except CalledProcessError as error:
        raise InputError(f"{path} cannot be written: ffmpeg ended with code {error.returncode}. Write a .gif instead.") from error
