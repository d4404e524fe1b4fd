"""Tokens of a text on the sphere at several depths, with their words; centers marked.

A model's sphere has hundreds of dimensions.  The picture shows three: the principal directions of the tokens
of all frames that are drawn, first token left out of their choice.  What is drawn of a token is its
projection onto them, shorter than 1 by what is lost; every panel says which share of squared length is kept.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array, InputError
from nucleate.plot.styles import SMALL_POINTS, as_written, palette_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["SHOWN_DIRECTIONS", "principal_frame", "project_each_layer", "project_layers", "token_sphere"]

SHOWN_DIRECTIONS = 3  # of a model's hundreds
PANEL_INCHES = 3.4
MOST_WORDS = 40  # written; more cannot be read


def principal_frame(x: Array) -> tuple[Array, Array]:
    """Three orthonormal directions (d, 3) that carry most of x (..., d), and the share of squared length that
    each frame (...,) of tokens keeps in them: x (frames, n, d) -> (frames,).  Where d is 2, the third is
    0."""
    from scipy.linalg import eigh

    rows = x.reshape(-1, x.shape[-1])  # (all, d)
    d = rows.shape[-1]
    fewest = max(d - SHOWN_DIRECTIONS, 0)
    directions = eigh(rows.T @ rows, subset_by_index=[fewest, d - 1])[1]  # (d, at most 3), increasing
    basis = np.zeros((d, SHOWN_DIRECTIONS))
    basis[:, : d - fewest] = directions[:, ::-1]
    kept = ((x @ basis) ** 2).sum((-1, -2)) / (x**2).sum((-1, -2))
    return basis, np.asarray(kept)


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
    """A row of globes for each run, a globe for each of the layers.

    rows     name -> (directions (layers, n, d) at these layers, words (n,), centers (n,)); every row has
             three directions of its own
    layers   their numbers, for the titles
    """
    from matplotlib.figure import Figure

    from nucleate.plot.globe import draw_globe, fit_globe

    if not rows or not layers:
        raise InputError("token_sphere needs a run and a layer to draw, but has none.")
    size = PANEL_INCHES * len(layers), (PANEL_INCHES + 0.15) * len(rows)
    figure = Figure(figsize=size, layout=cast(Any, "none"))  # the stubs lack it
    for r, (name, (x, words, center)) in enumerate(rows.items()):
        if x.shape[0] != len(layers) or x.shape[1] != len(words) or len(words) != len(center):
            raise InputError(
                f"{name} must have {len(layers)} layers and one word and mark per token, but has shapes"
                f" {x.shape}, {len(words)} and {len(center)}."
            )
        flat, kept = project_layers(x)  # (layers, n, 3), (layers,)
        for c, layer in enumerate(layers):
            ax: Any = figure.add_subplot(len(rows), len(layers), r * len(layers) + c + 1, projection="3d")
            palette = palette_of(ax)
            draw_globe(ax, palette)
            colours = palette.tokens(len(words))
            _draw_tokens(ax, palette, flat[c], words, center, colours)
            fit_globe(ax, palette, [])
            ax.view_init(elev=22.0, azim=35.0)
            ax.set_title(
                f"{as_written(name)}, after block {layer}\nkept {kept[c]:.0%} of squared length",
                fontsize=SMALL_POINTS,
                pad=-4.0,
            )
    figure.subplots_adjust(0.0, 0.0, 1.0, 0.95, wspace=0.0, hspace=0.12)
    return figure


def _draw_tokens(
    ax: Any, palette: Any, y: Array, words: Sequence[str], center: NDArray[np.bool_], colours: Array
) -> None:
    """Tokens y (n, 3): dots, rings around centers, the first token red; words beside them."""
    ax.scatter(*y.T, s=12, c=colours, linewidths=0, depthshade=False, zorder=5)
    if center.any():
        ring = {"s": 46, "facecolors": "none", "edgecolors": [palette.ink], "linewidths": 0.9}
        ax.scatter(*y[center].T, depthshade=False, zorder=6, **ring)
    ax.scatter(*y[:1].T, s=30, color=palette.red, linewidths=0, depthshade=False, zorder=7)
    for k, word in enumerate(words[:MOST_WORDS]):
        ax.text(
            *(1.04 * y[k]),
            as_written(word.strip()),
            fontsize=SMALL_POINTS - 3.5,
            color=palette.red if k == 0 else palette.ink if center[k] else palette.grey(0.65),
            zorder=8,
        )
