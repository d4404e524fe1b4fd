"""Tokens of a text on the sphere at several depths, with their words; centers marked.

A model's sphere has hundreds of dimensions.  The picture shows three: the principal directions of the tokens
of all frames that are drawn, first token left out of their choice.  What is drawn of a token is its
projection onto them, shorter than 1 by what is lost; every panel says which share of squared length is kept.

Tokens of a deep layer lie close together.  So each panel shows the part of the globe where they are, as
large as it gets, and a small globe in its corner says where that part is.  The first token, a sink, may lie
outside.  Words stand beside their tokens where there is room, with a thin line where it is farther off, and
never on each other.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array, InputError, whole_number
from nucleate.integrate.run import Run
from nucleate.observe.capture import design_capture, word_numbers
from nucleate.plot.styles import SMALL_POINTS, Palette, as_written, palette_of
from nucleate.plot.tokens import frames

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "SHOWN_DIRECTIONS",
    "depth_globes",
    "place_words",
    "principal_frame",
    "project_each_layer",
    "project_layers",
    "token_sphere",
]

SHOWN_DIRECTIONS = 3  # of a model's hundreds
LANCZOS_FROM = 100  # rows of a matrix of which three eigenvectors come faster than all
PANEL_INCHES, TITLE_INCHES = 3.4, 0.42
MOST_WORDS = 40  # written; more cannot be read
MAX_LETTERS = 40  # of a word
WORD_POINTS = 7.5  # the size of letters
LETTER_WIDTH, LINE_HEIGHT = 0.62, 1.25  # of a letter and a line, in sizes of letters
AZIMUTH, HEIGHT = np.radians(35.0), np.radians(22.0)  # of the eye
MARGIN = 0.22  # around the tokens, of the width they take
SMALLEST_WIDTH = 0.05  # of a panel, where the whole globe has 2
GLOBE_SHARE = 0.27  # of a panel's width has the small globe
WORD_DISTANCES = (5.0, 11.0, 18.0, 26.0, 36.0)  # points from a token to its word, in the order they are tried
WORD_ANGLES = 16
GLOBES, WORDS_ON_A_GLOBE = 4, 24  # of a run over depth


def principal_frame(x: Array) -> tuple[Array, Array]:
    """Three orthonormal directions (d, 3) that carry most of x (..., d), and the share of squared length that
    each frame (...,) of tokens keeps in them: x (frames, n, d) -> (frames,).  Where d is 2, the third is
    0."""
    rows = x.reshape(-1, x.shape[-1])  # (all, d)
    d = rows.shape[-1]
    basis, there = np.zeros((d, SHOWN_DIRECTIONS)), min(d, SHOWN_DIRECTIONS)
    if len(rows) >= d:
        basis[:, :there] = _leading(rows.T @ rows)
    else:  # the same directions from fewer products; where there are less than three, QR adds any others
        found = rows.T @ _leading(rows @ rows.T)  # (d, at most 3)
        basis[:, : found.shape[1]] = found[:, :there]
        basis[:, :there] = np.linalg.qr(basis[:, :there])[0]
    kept = ((x @ basis) ** 2).sum((-1, -2)) / (x**2).sum((-1, -2))
    return basis, np.asarray(kept)


def _leading(products: Array) -> Array:
    """The eigenvectors of the three largest eigenvalues of a symmetric matrix (k, k), the largest first:
    (k, at most 3)."""
    from scipy.linalg import eigh
    from scipy.sparse.linalg import ArpackError, eigsh

    k = len(products)
    if k >= LANCZOS_FROM:
        try:
            values, found = eigsh(products, SHOWN_DIRECTIONS, v0=np.random.default_rng(0).standard_normal(k))
            return np.asarray(found[:, np.argsort(-values)])
        except ArpackError:  # it did not converge
            pass
    return np.asarray(eigh(products, subset_by_index=[max(k - SHOWN_DIRECTIONS, 0), k - 1])[1][:, ::-1])


def project_layers(x: Array) -> tuple[Array, Array]:
    """Tokens x (layers, n, d) in the three principal directions of all layers together, (layers, n, 3), and
    the share of squared length kept at each layer (layers,).  The first token is left out of both, where
    there is another; the mean of the others in the last layer has positive coordinates."""
    others = _others(x)
    basis, kept = principal_frame(others)  # (d, 3), (layers,)
    sign = np.where((others[-1] @ basis).mean(0) < 0.0, -1.0, 1.0)  # (3,)
    return x @ (basis * sign), kept


def project_each_layer(x: Array) -> tuple[Array, Array]:
    """The same in three directions of each layer's own, turned so that tokens move as little as they can from
    one layer to the next; what they seem to move is partly the turning of the directions."""
    before = project_layers(x[:1])[0][0]  # (n, 3)
    places, kept = np.empty((*x.shape[:2], SHOWN_DIRECTIONS)), np.empty(len(x))
    for layer, (tokens, others) in enumerate(zip(x, _others(x), strict=True)):
        basis, share = principal_frame(others[None])  # (d, 3), (1,)
        y = tokens @ basis  # (n, 3)
        u, _, v = np.linalg.svd(_others(y[None])[0].T @ _others(before[None])[0])  # (3, 3) each
        before = places[layer] = y @ (u @ v)  # the rotation nearest to the layer before (Procrustes)
        kept[layer] = share[0]
    return places, kept


def _others(x: Array) -> Array:
    """All tokens but the first, if there are any: (layers, n, .) -> (layers, n - 1, .)."""
    return x[:, 1:] if x.shape[1] > 1 else x


def token_sphere(
    rows: Mapping[str, tuple[Array, Sequence[str], NDArray[np.bool_]]], layers: Sequence[int]
) -> "Figure":
    """A row of panels for each run, a panel for each of the layers.

    rows     name -> (directions (layers, n, d) at these layers, words (n,), centers (n,)); every row has
             three directions of its own
    layers   their numbers, for the titles
    """
    from matplotlib.figure import Figure

    if not rows or not layers:
        raise InputError("token_sphere needs a run and a layer to draw, but has none.")
    wide, high = PANEL_INCHES * len(layers), (PANEL_INCHES + TITLE_INCHES) * len(rows)
    figure = Figure(figsize=(wide, high), layout=cast(Any, "none"))  # the stubs lack it
    for r, (name, (x, words, center)) in enumerate(rows.items()):
        if x.shape[0] != len(layers) or x.shape[1] != len(words) or len(words) != len(center):
            raise InputError(
                f"{name} must have {len(layers)} layers and one word and mark per token, but has shapes"
                f" {x.shape}, {len(words)} and {len(center)}."
            )
        flat, kept = project_layers(x)  # (layers, n, 3), (layers,)
        for c, layer in enumerate(layers):
            left, bottom = c * PANEL_INCHES, high - (r + 1) * (PANEL_INCHES + TITLE_INCHES)
            box = (left + 0.05, bottom + 0.03, PANEL_INCHES - 0.1, PANEL_INCHES - 0.1)  # inches
            ax: Any = figure.add_axes((box[0] / wide, box[1] / high, box[2] / wide, box[3] / high))
            width = _draw_panel(ax, flat[c], words, center)
            share = GLOBE_SHARE * PANEL_INCHES
            corner = (box[0] / wide, box[1] / high, share / wide, share / high)
            _draw_small_globe(figure.add_axes(corner, projection="3d"), flat[c], center)
            ax.set_title(
                f"{as_written(name)}, after block {layer}\nkept {kept[c]:.0%} of squared length;"
                f" magnified {2.0 / width:.1f}\N{MULTIPLICATION SIGN}",
                fontsize=SMALL_POINTS,
                pad=3.0,
            )
    return figure


def depth_globes(
    run: Run, layers: Sequence[int] | None = None, *, tokens: int = WORDS_ON_A_GLOBE, which: int = 0
) -> "Figure":
    """The first tokens of a run over depth (of several texts number `which`) on the sphere.

    layers   after which blocks, 0 for the embedding; four from the first to the last unless given
    tokens   how many; marked are the Renyi centers of the first layer, a quarter of them
    """
    t, x = frames(run, which)
    words = run.tokens[which] if run.tokens is not None and run.x.ndim == 4 else run.tokens
    n = min(x.shape[1], whole_number("tokens", tokens, least=4, help="It is a number of tokens."))
    if n < 4 or x.shape[2] < SHOWN_DIRECTIONS:
        raise InputError(
            f"The picture of a run over depth needs 4 tokens and d of at least 3, but there are {x.shape[1]}"
            f" and d = {x.shape[2]}. Give a longer text."
        )
    if layers is None:
        at = np.unique(np.linspace(0, len(t) - 1, GLOBES).round().astype(np.int64))  # (globes,)
    else:
        at = np.array([whole_number("layers", one, least=0) for one in layers], dtype=np.int64)
        if at.size and at.max() >= len(t):
            raise InputError(f"layers must be at most {len(t) - 1}, but {at.max()} is among them.")
    shown = [str(word) for word in (words or range(1, n + 1))[:n]]
    center = design_capture(x[:1, :n], word_numbers([shown])).center[0]  # (n,)
    return token_sphere({"text": (x[at, :n], shown, center)}, t[at].astype(int).tolist())


def place_words(
    places: Array, widths: Array, order: Sequence[int], room: float
) -> dict[int, tuple[float, float]]:
    """The middles of words beside their tokens at `places` (n, 2), all in points, in a square from 0 to
    `room`; of those in `order` for which there is a place that no other word and no token covers."""
    high = WORD_POINTS * LINE_HEIGHT
    around = 2.0 * np.pi * np.arange(WORD_ANGLES) / WORD_ANGLES
    taken: list[tuple[float, float, float]] = []  # middle and half the width of words that have a place
    placed: dict[int, tuple[float, float]] = {}
    for k in order:
        half = 0.5 * float(widths[k])
        for far, angle in ((far, angle) for far in WORD_DISTANCES for angle in around):
            x = float(places[k, 0] + (far + half) * np.cos(angle))
            y = float(places[k, 1] + (far + 0.5 * high) * np.sin(angle))
            if not (half <= x <= room - half and 0.5 * high <= y <= room - 0.5 * high):
                continue
            dots = (np.abs(places[:, 0] - x) < half + 2.0) & (np.abs(places[:, 1] - y) < 0.5 * high + 1.0)
            if dots.any() or any(abs(x - u) < half + w + 1.0 and abs(y - v) < high for u, v, w in taken):
                continue
            taken.append((x, y, half))
            placed[k] = x, y
            break
    return placed


def _seen(y: Array) -> Array:
    """Places (n, 3) as the eye sees them, to the right and up: (n, 2)."""
    right = [-np.sin(AZIMUTH), np.cos(AZIMUTH), 0.0]
    up = [-np.sin(HEIGHT) * np.cos(AZIMUTH), -np.sin(HEIGHT) * np.sin(AZIMUTH), np.cos(HEIGHT)]
    return np.asarray(y @ np.array([right, up]).T)


def _draw_panel(ax: Any, y: Array, words: Sequence[str], center: NDArray[np.bool_]) -> float:
    """Tokens y (n, 3) with their words, as large as they fit; the width of what is shown."""
    palette, flat = palette_of(ax), _seen(y)  # (n, 2)
    others = flat[1:] if len(flat) > 1 else flat
    low, high = others.min(0), others.max(0)  # (2,)
    width = float(np.clip((high - low).max() * (1.0 + 2.0 * MARGIN), SMALLEST_WIDTH, 2.1))
    corner = 0.5 * (low + high) - 0.5 * width  # (2,)
    around = np.linspace(0.0, 2.0 * np.pi, 361)
    ax.plot(np.cos(around), np.sin(around), color=palette.grey(0.3), linewidth=0.8, zorder=1)
    inside = ((flat >= corner) & (flat <= corner + width)).all(-1)  # (n,) the first may lie far off
    _draw_tokens(ax, palette, flat, center, 20.0, inside)
    ax.set(xlim=(corner[0], corner[0] + width), ylim=(corner[1], corner[1] + width), xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set(visible=True, color=palette.grey(0.25), linewidth=0.6)
    _write_words(ax, palette, (flat - corner) / width, words, center, inside)
    return width


def _write_words(
    ax: Any,
    palette: Palette,
    share: Array,
    words: Sequence[str],
    center: NDArray[np.bool_],
    inside: NDArray[np.bool_],
) -> None:
    """Words beside tokens at shares (n, 2) of the panel: the first token's, those of centers, the others."""
    room = 72.0 * (PANEL_INCHES - 0.1)
    shown = [word.strip()[:MAX_LETTERS] for word in words]
    widths = np.array([max(len(word), 1) * WORD_POINTS * LETTER_WIDTH for word in shown])  # (n,)
    ranks = np.where(center, 0, 1)  # (n,)
    ranks[0] = -1
    order = [int(k) for k in np.argsort(ranks, kind="stable") if inside[k] and shown[k]][:MOST_WORDS]
    corner = GLOBE_SHARE * room  # the small globe is no place for words
    places = np.concatenate(
        [share * room, np.stack(np.meshgrid(*2 * [np.arange(0.0, corner, 4.0)]), -1).reshape(-1, 2)]
    )
    for k, (x, y) in place_words(places, widths, order, room).items():
        colour = palette.red if k == 0 else palette.ink if center[k] else palette.grey(0.65)
        text = ax.annotate(
            as_written(shown[k]),
            share[k],
            (x / room, y / room),
            xycoords="axes fraction",
            textcoords="axes fraction",
            ha="center",
            va="center",
            fontsize=WORD_POINTS,
            fontweight="bold" if center[k] else "normal",
            color=colour,
            arrowprops={"arrowstyle": "-", "color": palette.grey(0.4), "linewidth": 0.4, "shrinkA": 0.0},
            zorder=8,
        )
        text.set_in_layout(False)


def _draw_small_globe(ax: Any, y: Array, center: NDArray[np.bool_]) -> None:
    from nucleate.plot.globe import draw_globe, fit_globe

    palette = palette_of(ax)
    draw_globe(ax, palette)
    _draw_tokens(ax, palette, y, center, 2.5, np.ones(len(y), dtype=bool))
    fit_globe(ax, palette, [])
    ax.patch.set_alpha(0.0)
    ax.view_init(elev=float(np.degrees(HEIGHT)), azim=float(np.degrees(AZIMUTH)))


def _draw_tokens(
    ax: Any,
    palette: Palette,
    y: Array,
    center: NDArray[np.bool_],
    size: float,
    inside: NDArray[np.bool_],
) -> None:
    """Tokens y (n, 2 or 3): dots, rings around centers, the first token red."""
    flat = {} if y.shape[1] == 2 else {"depthshade": False}
    colours = palette.tokens(len(y))
    ax.scatter(*y[inside].T, s=size, c=colours[inside], linewidths=0, zorder=5, **flat)
    ringed = center & inside
    if ringed.any() and y.shape[1] == 2:
        ring = {"s": 3.2 * size, "facecolors": "none", "edgecolors": [palette.ink], "linewidths": 0.9}
        ax.scatter(*y[ringed].T, zorder=6, **ring)
    if inside[0]:
        ax.scatter(*y[:1].T, s=1.6 * size, color=palette.red, linewidths=0, zorder=7, **flat)
