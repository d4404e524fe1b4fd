"""How many principal directions the value matrices of trained heads have: d₁ of the paper's conjecture, by
several definitions, beside heads drawn at random; the picture images/effective-dimension.png.

    python docs/effective_dimension.py docs/images/effective-dimension.png NAME=PATH_TO_MODEL [...]

NAME is the title of the model's panel; those of the page are MiniLM and SmolLM2-135M.
The paper conjectures β^{(d₁−1)/2} clusters, d₁ the number of principal directions of V, and does not say
which directions count.  Here, for heads with λ_max > 0:

    dim L       eigenvalues with the largest real part: 1, or 2 where they are complex
    d₁(s)       eigenvalues with real part at least s λ_max
    spread      (Σ μ)² / Σ μ² over the positive real parts μ
"""

import sys
from pathlib import Path

import matplotlib
import numpy as np
from numpy.typing import NDArray

matplotlib.use("Agg")
from matplotlib.figure import Figure

import nucleate as nc
from nucleate import plot
from nucleate.checks import Array
from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

SHARES = (0.9, 0.5)
RESAMPLES, SEED, DPI = 2000, 0, 110


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


def median(values: Array) -> str:
    """With a 95 % interval from heads drawn again."""
    drawn = np.random.default_rng(SEED).integers(len(values), size=(RESAMPLES, len(values)))
    low, high = np.quantile(np.median(values[drawn], axis=1), [0.025, 0.975])
    return f"{np.median(values):.3g} [{low:.3g}, {high:.3g}]"


def _named(model: str) -> tuple[str, str]:
    name, _, path = model.rpartition("=")
    return name or Path(path).stem, path


def main(target: str, *models: str) -> None:
    """Print a table, draw the picture."""
    names, paths = zip(*(_named(one) for one in models), strict=True)
    with plot.style("light"):
        figure = Figure(figsize=(4.2 * len(paths), 3.6), layout="constrained")
        axes = figure.subplots(1, len(paths), squeeze=False)[0]
        for ax, name, path in zip(axes, names, paths, strict=True):
            found = nc.spectra(path, draws=1, partners=0)
            trained = [head.eigenvalues for head in found.heads if head.lambda_max > 0.0]
            kinds = {"trained": trained, "random": random_heads(found.d, found.head_dim, len(trained))}
            beta = float(np.median([head.beta for head in found.heads]))
            print(
                f"{name}: {len(trained)} of {len(found.heads)} heads with λ_max > 0, d_head {found.head_dim}"
            )
            palette = tidy(ax)
            for (kind, heads), colour in zip(
                kinds.items(), (CLUSTER_COLOURS[0], palette.grey(0.5)), strict=True
            ):
                counts = {
                    share: np.array([principal(one, share) for one in heads], float) for share in SHARES
                }
                ratio = np.array([spread(one) for one in heads])
                dims = np.array([dominant(one) for one in heads], float)
                words = "; ".join(
                    f"d₁({share}) {median(counts[share])}, from {counts[share].min():.0f} to"
                    f" {counts[share].max():.0f}"
                    for share in SHARES
                )
                print(f"  {kind:8} dim L mean {dims.mean():.2f}; {words}; spread {median(ratio)}")
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
            ax.set(xlabel="eigenvalues that count, d₁", ylabel="share of heads", title=name, xlim=(0.0, None))
            ax.legend(fontsize=SMALL_POINTS - 1, frameon=False, loc="lower right")
        figure.savefig(target, dpi=DPI)


if __name__ == "__main__":
    main(sys.argv[1], *sys.argv[2:])
