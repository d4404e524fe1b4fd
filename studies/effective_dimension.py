"""How many principal directions the value matrices of trained heads have: d₁ of the paper's conjecture, by
several definitions, beside heads drawn at random; the picture images/effective-dimension.png.

    python studies/effective_dimension.py docs/images/effective-dimension.png NAME=PATH_TO_MODEL [...]

NAME is the title of the model's panel; those of the page are MiniLM, SmolLM2-135M and Gemma 3 270M.
The paper conjectures β^{(d₁−1)/2} clusters, d₁ the number of principal directions of V, and does not say
which directions count.  Here, for heads with λ_max > 0:

    dim L       eigenvalues with the largest real part: 1, or 2 where they are complex
    d₁(s)       eigenvalues with real part at least s λ_max
    spread      (Σ μ)² / Σ μ² over the positive real parts μ

What MiniLM and SmolLM2-135M have is tried on a model that took no part, Gemma 3 270M, of which no d₁
had been looked at when this was written.  Medians and spreads are over heads; all intervals, those of the
table too, draw layers again, with all their heads, since heads of a layer may share W_V, and random heads one
by one.  Where a criterion fails, but has its bound in the interval, it is undecided:

    first    d₁(0.9) is 2 in the median: observed if the interval is within 1 of 2
    second   that is as in random heads of the same size: observed if the interval of the difference of the
             two medians is within 1 of 0
    third    training spreads heads: observed if the interval of the standard deviation of ln d₁(1/2) over
             heads, less that of random ones, is above 0

In a disc the part within 10 % of its right end is 1.9 % of the area, 4.8 of 256 eigenvalues and 1.2 of 64:
the first may fail by the size of Gemma's heads alone.

It is no item of the report, since the weights are fetched apart (`make weights`): about 7 s of processor
time for each model, which it says first.  Nothing is kept: stopped, it begins anew.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import matplotlib
import numpy as np
from numpy.typing import NDArray
from study_command import arguments, ending

matplotlib.use("Agg")
from matplotlib.figure import Figure

import nucleate as nc
from nucleate import plot
from nucleate.checks import Array
from nucleate.cli.progress import ProgressBar
from nucleate.integrate.storage import check_place
from nucleate.papers.core.criteria import above, within, word_of
from nucleate.papers.core.numbers import Number
from nucleate.papers.open_questions.lifetimes.measures import resampled
from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

SHARES = (0.9, 0.5)
RESAMPLES, SEED, DPI = 2000, 0, 110
SECONDS_PER_MODEL = 7  # of processor time


def principal(values: NDArray[np.complex128], share: float) -> int:
    """d₁(share) of one head, from the eigenvalues of its small product."""
    return int((values.real >= share * values.real.max()).sum())


def spread(values: NDArray[np.complex128]) -> float:
    """The participation ratio of the positive real parts."""
    mu = values.real[values.real > 0.0]
    return float(mu.sum() ** 2 / (mu**2).sum())


def dominant(values: NDArray[np.complex128]) -> int:
    """dim L for a simple dominant eigenvalue: 2 if it is complex."""
    return 2 if values[values.real.argmax()].imag != 0.0 else 1


def random_heads(d: int, d_head: int, heads: int) -> list[NDArray[np.complex128]]:
    """Eigenvalues of products of Gaussian W_V (d_head, d) and W_O (d, d_head)."""
    rng = np.random.default_rng(SEED)
    return [
        np.linalg.eigvals(rng.standard_normal((d_head, d)) @ rng.standard_normal((d, d_head))).astype(
            np.complex128
        )
        for _ in range(heads)
    ]


def median(values: Array, layers: Array) -> str:
    """Of (heads,), with a 95 % interval from layers drawn again, each with all its heads."""
    value, low, high = resampled(layers, lambda i: float(np.median(values[i])), RESAMPLES, SEED)
    return f"{value:.3g} [{low:.3g}, {high:.3g}]"


def row(heads: list[NDArray[np.complex128]], layers: Array) -> str:
    """The numbers of the table for heads (heads,), each in its layer."""
    counts = {share: np.array([principal(one, share) for one in heads], float) for share in SHARES}
    words = "; ".join(
        f"d₁({share}) {median(counts[share], layers)}, from {counts[share].min():.0f} to"
        f" {counts[share].max():.0f}"
        for share in SHARES
    )
    ratio = np.array([spread(one) for one in heads])
    dims = np.array([dominant(one) for one in heads], float)
    return f"dim L mean {dims.mean():.2f}; {words}; spread {median(ratio, layers)}"


def held_out(trained: dict[float, Array], layers: Array, random: dict[float, Array]) -> list[str]:
    """The three verdicts of the docstring: d₁ by share of trained heads with their layers, and of random
    ones, each (heads,)."""
    # layers are drawn as in `median`, so that intervals of the same number are the same
    rng, random_rng = np.random.default_rng(SEED), np.random.default_rng(SEED + 1)
    groups = [np.flatnonzero(layers == one) for one in np.unique(layers)]
    differences = []
    for _ in range(RESAMPLES):
        own = np.concatenate([groups[i] for i in rng.integers(len(groups), size=len(groups))])
        other = random_rng.integers(len(random[0.9]), size=len(random[0.9]))
        middle, spread = np.median(trained[0.9][own]), np.log(trained[0.5][own]).std(ddof=1)
        differences.append(
            [
                middle - 2.0,
                middle - np.median(random[0.9][other]),
                spread - np.log(random[0.5][other]).std(ddof=1),
            ]
        )
    value = [
        np.median(trained[0.9]) - 2.0,
        np.median(trained[0.9]) - np.median(random[0.9]),
        np.log(trained[0.5]).std(ddof=1) - np.log(random[0.5]).std(ddof=1),
    ]
    low, high = np.quantile(differences, [0.025, 0.975], axis=0)  # (3,)
    near, same, spreads = (Number(float(v), "", a, b) for v, a, b in zip(value, low, high, strict=True))
    parts = (
        ("d₁(0.9), median, less 2", near, within(near, 0.0, 1.0)),
        ("less that of random heads", same, within(same, 0.0, 1.0)),
        ("standard deviation of ln d₁(1/2), less that of random heads", spreads, above(spreads, 0.0)),
    )
    return [
        f"{about}: {one.value:.3g} [{one.low:.3g}, {one.high:.3g}], {word_of([part])}"
        for about, one, part in parts
    ]


def _named(model: str) -> tuple[str, str]:
    name, _, path = model.rpartition("=")
    return name or Path(path).stem, path


def main(*words: str) -> None:
    """The table and the picture."""
    line = arguments(__doc__)
    line.add_argument("picture", metavar="PICTURE", type=Path, help="a file to write, such as dimension.png")
    line.add_argument("models", metavar="NAME=PATH", nargs="+", help="the title of a panel, and a checkpoint")
    asked = line.parse_args(words)
    with ending("Nothing is kept: the same command begins anew."):
        draw(asked.picture, asked.models)


def draw(picture: Path, models: Sequence[str]) -> None:
    """Print a table, draw the picture."""
    check_place(picture)
    names, paths = zip(*(_named(one) for one in models), strict=True)
    print(f"about {SECONDS_PER_MODEL * len(paths)} s of processor time", flush=True)
    with plot.style("light"):
        figure = Figure(figsize=(4.2 * len(paths), 3.6), layout="constrained")
        axes = figure.subplots(1, len(paths), squeeze=False)[0]
        for ax, name, path in zip(axes, names, paths, strict=True):
            with ProgressBar(name):
                found = nc.spectra(path, draws=1, partners=0)
            trained = [head.eigenvalues for head in found.heads if head.lambda_max > 0.0]
            kinds = {"trained": trained, "random": random_heads(found.d, found.head_dim, len(trained))}
            beta = float(np.median([head.beta for head in found.heads]))
            print(
                f"{name}: {len(trained)} of {len(found.heads)} heads with λ_max > 0, d_head {found.head_dim}"
            )
            layers = np.array([head.layer for head in found.heads if head.lambda_max > 0.0])
            groups = {"trained": layers, "random": np.arange(len(trained))}
            every = {}
            palette = tidy(ax)
            for (kind, heads), colour in zip(
                kinds.items(), (CLUSTER_COLOURS[0], palette.grey(0.5)), strict=True
            ):
                counts = {
                    share: np.array([principal(one, share) for one in heads], float) for share in SHARES
                }
                every[kind] = counts
                print(f"  {kind:8} {row(heads, groups[kind])}")
                shown = np.sort(counts[0.5])
                ax.step(
                    shown,
                    (np.arange(len(shown)) + 0.5) / len(shown),
                    color=colour,
                    label=f"{kind}, real part ≥ half the largest",
                )
                shown = np.sort(counts[0.9])
                ax.step(
                    shown,
                    (np.arange(len(shown)) + 0.5) / len(shown),
                    color=colour,
                    linestyle=(0, (3, 2)),
                    label=f"{kind}, ≥ 0.9 of the largest",
                )
            print(f"  effective β, median {beta:.0f}")
            for line in held_out(every["trained"], layers, every["random"]):
                print(f"  {line}")
            ax.set(xlabel="eigenvalues that count, d₁", ylabel="share of heads", title=name, xlim=(0.0, None))
        axes[0].legend(fontsize=SMALL_POINTS - 1, frameon=False, loc="lower right")  # the same in all panels
        figure.savefig(picture, dpi=DPI)


if __name__ == "__main__":
    main(*sys.argv[1:])
