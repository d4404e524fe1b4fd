"""Which tokens and frames of a run are drawn, and in which colours."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array, InputError, shortened, whole_number
from nucleate.integrate.family import as_blocks
from nucleate.integrate.run import Run
from nucleate.layers import Layers
from nucleate.observe.inputs import check_centers
from nucleate.plot.styles import THIN_POINTS, Palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Indices = Sequence[int] | NDArray[np.int64]

MAX_TOKENS_DRAWN = 2000  # more only make the file larger


def frames(run: Run, which: int) -> tuple[Array, Array]:
    """The times (m,) and tokens (m, n, d) of one run, frames that were never reached left out."""
    if not isinstance(run, Run):
        raise InputError(f"run must be a Run, but is {shortened(run)}. Make one with nucleate.simulate.")
    runs = run.x.shape[0] if run.x.ndim == 4 else 1
    which = whole_number("which", which, least=0, help="It counts the runs from 0.")
    if which >= runs:
        raise InputError(f"which must be below the number of runs, {runs}, but is {which}. It counts from 0.")
    x = run.x[which] if run.x.ndim == 4 else run.x  # (m, n, d)
    reached = np.isfinite(x).all((1, 2))  # (m,)
    if not reached.any():
        raise InputError("This run has no frame to draw. Look at run.status for the reason.")
    return run.t[reached], x[reached]


def circle_only(x: Array) -> Array:
    """x, if it lies on the circle."""
    if x.shape[-1] != 2:
        raise InputError(
            f"This picture is for tokens on the circle, d = 2, but these have d = {x.shape[-1]}. Use"
            " trajectories(run)."
        )
    return x


def final_clusters(run: Run, which: int, x: Array, radius: float | None) -> NDArray[np.int64]:
    """The cluster of every token of x (n, d), the last frame of run `which`; two tokens are in one if they
    are within `radius`, beta^(-1/2) unless given, of several heads for the largest beta."""
    from nucleate.observe.clusters import clusters
    from nucleate.observe.merges import cluster_width

    return clusters(x, cluster_width(_largest_beta(run, which)) if radius is None else radius)


def _largest_beta(run: Run, which: int) -> float:
    """beta of a run; of several heads the largest."""
    blocks = as_blocks(run.model)
    heads = (blocks.blocks[0] if isinstance(blocks, Layers) else blocks).heads
    if not heads:
        raise InputError("The model has no head, whose beta would tell how near a cluster is. Give a radius.")
    return max(float(head.beta[which] if head.beta.ndim else head.beta) for head in heads)


def token_colours(palette: Palette, n: int, label: NDArray[np.int64] | None) -> Array:
    """One colour per token, (n, 4): by position in the sequence, or by cluster where labels are given."""
    return palette.tokens(n) if label is None else palette.clusters(label)


def check_colour(colour: str) -> str:
    """`colour`, if it is a way to colour tokens."""
    if not isinstance(colour, str) or colour not in ("token", "cluster"):
        raise InputError(
            'colour must be "token" (place in the sequence) or "cluster" (where the token ends), but is'
            f" {shortened(colour)}."
        )
    return colour


def tokens_to_draw(n: int, first: int) -> NDArray[np.int64]:
    """The tokens to draw: all, or the first few and an even choice of the others."""
    first = whole_number("first", first, least=0, help="It counts tokens.")
    some = np.linspace(0, n - 1, min(n, MAX_TOKENS_DRAWN)).round().astype(np.int64)
    return np.union1d(np.arange(min(first, n)), some)


def title_if_thinned(ax: "Axes", n: int, drawn: int) -> None:
    """The title says so if not all of n tokens are drawn; otherwise it is left alone."""
    if drawn < n:
        ax.set_title(f"{drawn} of {n} tokens drawn")


def indices(which: Indices, n: int) -> NDArray[np.int64]:
    """`which` as an array of indices of n tokens."""
    index = check_centers(which, (n, 2))[0]
    if index.size and index.min() < 0:
        raise InputError(f"centers must be numbers of tokens, 0 to {n - 1}, but {index.min()} is among them.")
    return index


def token_colorbar(ax: "Axes", palette: Palette, n: int) -> None:
    """The bar that explains the colours of tokens."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    scale = ScalarMappable(Normalize(1, max(n, 2)), ListedColormap(palette.tokens(256).tolist()))
    bar = ax.figure.colorbar(scale, ax=ax, label="token", ticks=[1, n] if n > 1 else [1], aspect=40, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(width=THIN_POINTS, length=3.0)
    bar.ax.yaxis.labelpad = -8.0 if n > 1 else 4.0  # between the two numbers, not beside them
