"""Pictures of tokens on the circle, d = 2: all of them at one time, or their angles over time."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nucleate.checks import Array, InputError, check_memory, check_tokens, true_or_false, whole_number
from nucleate.integrate.run import Run
from nucleate.plot.styles import SQUARE_INCHES, WIDE_INCHES, Palette, axes_or_new, palette_of, tidy
from nucleate.plot.time_axis import time_axis
from nucleate.plot.tokens import (
    Indices,
    check_colour,
    circle_only,
    final_clusters,
    frames,
    indices,
    title_if_thinned,
    token_colorbar,
    token_colours,
    tokens_to_draw,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BAR_LETTERS = " ▁▂▃▄▅▆▇█"  # from no tokens to the most
PI_TICKS = {-np.pi: "−π", -np.pi / 2: "−π/2", 0.0: "0", np.pi / 2: "π/2", np.pi: "π"}


def circle(x: ArrayLike, ax: "Axes | None" = None, *, centers: Indices = (), strong: Indices = ()) -> "Axes":
    """Tokens x (n, 2) on the circle; `centers` (indices) ringed in black, `strong` ones filled in red."""
    x = circle_only(check_tokens("x", x))
    if x.ndim != 2:
        raise InputError(
            f"x must have shape (n, 2), but has shape {x.shape}. Draw one run at one time, such as run.x[-1]."
        )
    # (centers, 2) each
    marked = [(x[indices(some, len(x))], colour) for some, colour in ((centers, "black"), (strong, "red"))]
    ax = axes_or_new(ax, SQUARE_INCHES)
    palette = palette_of(ax)
    draw_circle(ax, palette)
    ax.scatter(x[::-1, 0], x[::-1, 1], s=14, c=palette.tokens(len(x))[::-1], linewidths=0, zorder=2)
    for at, colour in marked:
        mark_centers(ax, palette, at, colour)
    return ax


def angles(
    run: Run,
    ax: "Axes | None" = None,
    *,
    which: int = 0,
    first: int = 3,
    centers: Indices = (),
    strong: Indices = (),
    colour: str = "token",
    radius: float | None = None,
    log: bool | None = None,
    colorbar: bool = True,
) -> "Axes":
    """d = 2: the angle of every token over time, the `first` ones thick, `centers` black, `strong` red; run
    `which` of several.

    colour   "token": place in the sequence; "cluster": the cluster of the last frame, made with steps of at
             most `radius`, beta^(-1/2) unless given
    log      time by powers of ten; unless given, if it was saved so
    """
    t, x = frames(run, which)  # (m,), (m, n, 2)
    n = circle_only(x).shape[1]
    label = final_clusters(run, which, x[-1], radius) if check_colour(colour) == "cluster" else None
    marked = [(indices(centers, n), "black", 1.4), (indices(strong, n), "red", 2.0)]
    ax = axes_or_new(ax, WIDE_INCHES)
    palette, tokens = tidy(ax), tokens_to_draw(n, first)
    _lines(ax, t, x, tokens, token_colours(palette, n, label), np.where(np.arange(n) < first, 2.2, 0.7))
    for some, name, width in marked:
        _lines(ax, t, x, some, np.tile([*palette.colour(name), 1.0], (n, 1)), np.full(n, width))
    for some, name, _ in marked:
        # (some, 2)
        start = np.column_stack([np.full(len(some), t[0]), np.arctan2(x[0, some, 1], x[0, some, 0])])
        mark_centers(ax, palette, start, name, size=26)  # shapes as well as colours, for the colour-blind
    time_axis(ax, t, log)
    ax.set(ylim=(-np.pi, np.pi), ylabel="angle")
    ax.set_yticks(list(PI_TICKS), list(PI_TICKS.values()))
    title_if_thinned(ax, n, len(tokens))
    if true_or_false("colorbar", colorbar) and label is None:
        token_colorbar(ax, palette, n)
    return ax


def text_histogram(x: ArrayLike, width: int = 64) -> str:
    """How many tokens x (n, 2) point where, as one line of text from -pi to pi."""
    x = circle_only(check_tokens("x", x))
    width = whole_number("width", width, least=1, help="It counts letters.")
    check_memory(64.0 * width, f"A histogram of {width} letters")
    count = np.histogram(np.arctan2(x[..., 1], x[..., 0]), bins=width, range=(-np.pi, np.pi))[0]  # (width,)
    # by the square root, so that a lone token still shows
    height = np.ceil((len(BAR_LETTERS) - 1) * np.sqrt(count / count.max())).astype(int)
    return "".join(BAR_LETTERS[h] for h in height)


def draw_circle(ax: Any, palette: Palette) -> None:
    """The circle itself."""
    around = np.linspace(0, 2 * np.pi, 361)
    ax.plot(np.cos(around), np.sin(around), color=palette.grey(0.3), linewidth=0.8, zorder=1)
    ax.set(xlim=(-1.12, 1.12), ylim=(-1.12, 1.12), aspect="equal")
    ax.axis("off")


def mark_centers(ax: Any, palette: Palette, at: Array, name: str, size: float = 52) -> None:
    """Rényi centers as black rings, strong centers as red dots, at the points `at` (centers, 2)."""
    face = palette.red if name == "red" else "none"
    size = size if name == "black" else 0.9 * size
    ax.scatter(
        at[:, 0],
        at[:, 1],
        s=size,
        facecolors=face,
        edgecolors=palette.colour(name),
        linewidths=1.4,
        zorder=3,
        clip_on=False,
    )


def _lines(ax: Any, t: Array, x: Array, some: NDArray[np.int64], colours: Array, widths: Array) -> None:
    """The angles of tokens `some` of x (m, n, 2) over t (m,), early tokens last, on top; colours (n, 4) and
    widths (n,) of all tokens."""
    from matplotlib.collections import LineCollection

    pairs = [
        (k, line) for k in some[::-1] for line in _shifted_by_turns(t, np.arctan2(x[:, k, 1], x[:, k, 0]))
    ]
    owner = [k for k, line in pairs]
    lines = LineCollection(
        [line for k, line in pairs], colors=colours[owner], linewidths=widths[owner], capstyle="round"
    )
    ax.add_collection(lines, autolim=False)


def _shifted_by_turns(t: Array, angle: Array) -> list[Array]:
    """The line (t, angle) without jumps at ±π: the unwrapped curve, shifted once for each turn it visits."""
    whole = np.unwrap(angle)  # (m,) without jumps
    turns = range(
        int(np.floor((whole.min() + np.pi) / (2 * np.pi))),
        int(np.floor((whole.max() + np.pi) / (2 * np.pi))) + 1,
    )
    # each (m, 2); what lies outside of [-π, π] is clipped by the axes
    return [np.column_stack([t, whole - 2 * np.pi * turn]) for turn in turns]
