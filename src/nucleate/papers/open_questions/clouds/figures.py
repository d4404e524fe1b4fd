"""Late exponents by d, beta and n, how late tokens lie, largest exponents by kind, exponents by token."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.core.item import Data, Numbers, Parameters
from nucleate.papers.open_questions.clouds.data import table
from nucleate.papers.open_questions.clouds.drawn import Draw
from nucleate.papers.open_questions.clouds.late import cells, lying, rows_of
from nucleate.papers.open_questions.clouds.late_runs import BINS, cannot_be_chaotic, late_halves, late_table
from nucleate.papers.open_questions.clouds.measures import of_runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

LABELS = {
    "circle": "general V, d = 2",
    "gradient": "V = −I",
    "symmetric": "symmetric V",
    "scores": "V = −I; Q, K drawn",
    "general": "general V",
    "all": "V, Q, K drawn",
}
SETS = ["spheres", "eight"]
LOWEST = -0.04  # exponents below are drawn here
TOKENS_PER_MEAN = 8  # smoothed over


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """All four."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.6, 8.2), layout="constrained")
    ((late, lie), (runs, tokens)) = figure.subplots(2, 2, width_ratios=[1.5, 1.0])
    _late(late, data, numbers, p)
    _lie(lie, data, numbers, p)
    _runs(runs, data, numbers, p)
    _tokens(tokens, data, numbers, p)
    return {"clouds": figure}


def _late(ax: Any, data: Data, numbers: Numbers, p: Parameters) -> None:
    """The late exponent of every V, by d, beta and the number of tokens."""
    from nucleate.plot.styles import tidy

    palette, found, ns = tidy(ax), data["late"], p["late"]["n"]
    rng = np.random.default_rng(0)
    nulls = np.flatnonzero([cannot_be_chaotic(draw) for draw in late_table(p)])
    columns = [(nulls, ns[-1], "cannot\nbe\nchaotic")]
    columns += [
        (rows_of(p, cell), m, f"n = {m}\nd = {cell.d}\nβ = {cell.beta:g}") for cell in cells(p) for m in ns
    ]
    for place, (rows, m, _) in enumerate(columns):
        limit = numbers[f"late_limit_n{m}"].value
        value = np.maximum(late_halves(found, m)[rows].min(1), LOWEST)
        x = place + rng.uniform(-0.25, 0.25, len(value))
        ax.fill_between([place - 0.45, place + 0.45], LOWEST * 1.1, limit, color=palette.grey(0.1), lw=0)
        ax.plot(x[value <= limit], value[value <= limit], "o", color=palette.grey(0.55), markersize=3)
        ax.plot(x[value > limit], value[value > limit], "o", color=palette.red, markersize=4)
        words = f"{(value > limit).sum()} of {len(value)}"
        place_at = {"xycoords": ("data", "axes fraction"), "ha": "center", "va": "top", "fontsize": 8}
        ax.annotate(words, (place, 1.0), **place_at)
    ax.axhline(0.0, color=palette.ink, linewidth=0.6)
    ax.set_xticks(range(len(columns)), [words for _, _, words in columns], fontsize=8)
    top = max(0.01, float(late_halves(found, ns[-1]).min(1).max()))
    ax.set(ylabel="exponent of late tokens", ylim=(LOWEST * 1.1, 1.25 * top), title="general V, many tokens")


def _lie(ax: Any, data: Data, numbers: Numbers, p: Parameters) -> None:
    """Inner products of late tokens in L, by their rank under the uniform law, which is flat."""
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette = tidy(ax)
    at = (np.arange(BINS) + 0.5) / BINS
    for name, colour, words in (
        ("turning", palette.red, "general V, complex"),
        ("gradient", CLUSTER_COLOURS[0], "V = −I"),
    ):
        rows, _ = lying(data, p, name)
        if not len(rows):
            continue
        density = data["late"]["one_time"].values[rows] * BINS  # (runs, BINS)
        half = 1.96 * density.std(0) / np.sqrt(len(rows))
        own, null = (numbers[f"{name}_{key}"].value for key in ("apart", "uniform"))
        label = f"{words}: distance {own:.3f}\n(of uniform tokens {null:.3f})"
        ax.step(at, density.mean(0), where="mid", color=colour, linewidth=1.2, label=label)
        ax.fill_between(
            at, density.mean(0) - half, density.mean(0) + half, step="mid", color=colour, alpha=0.2, lw=0
        )
    ax.axhline(1.0, color=palette.ink, linewidth=0.8, linestyle="--", label="uniform law on L")
    top = ax.get_ylim()[1]
    ax.set(
        xlabel="rank of the inner product of two late tokens",
        ylabel="density",
        title="in L, against the uniform law",
        ylim=(0.0, 1.6 * top),
    )
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="upper left")


def _is(kind: str, one: Draw) -> bool:
    return kind == "circle" or one.kind == kind


def _runs(ax: Any, data: Data, numbers: Numbers, p: Parameters) -> None:
    from nucleate.plot.styles import tidy

    palette, floor, rng = tidy(ax), numbers["resolution"].value, np.random.default_rng(0)
    rows = ["circle", "gradient", *(kind for kind in LABELS if kind in p["sets"]["spheres"]["kinds"])]
    ax.axhspan(LOWEST * 1.1, floor, color=palette.grey(0.1), linewidth=0)
    ax.axhline(0.0, color=palette.ink, linewidth=0.6)
    for place, kind in enumerate(rows):
        names = [kind] if kind in ("circle", "gradient") else SETS
        _, values = of_runs(data, p, names, partial(_is, kind))
        x = place + rng.uniform(-0.3, 0.3, len(values))
        chaotic = values > floor
        shown = np.maximum(values, LOWEST)
        ax.plot(x[~chaotic], shown[~chaotic], "o", color=palette.grey(0.55), markersize=3)
        ax.plot(x[chaotic], shown[chaotic], "o", color=palette.red, markersize=4)
        if kind not in ("circle", "gradient"):
            found = numbers[f"{kind}_share"].count or (0, 0)
            ax.annotate(
                f"{found[0]} of {found[1]}",
                (place, 1.0),
                xycoords=("data", "axes fraction"),
                ha="center",
                va="top",
                fontsize=9,
            )
    ax.set_xticks(range(len(rows)), [LABELS[kind] for kind in rows], rotation=18, ha="right")
    ax.set(ylabel="largest exponent, held out", ylim=(LOWEST * 1.1, None))


def _tokens(ax: Any, data: Data, numbers: Numbers, p: Parameters) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette = tidy(ax)
    d = p["sets"]["long"]["d_n"][0][0]
    ax.axhspan(-1.0, numbers["resolution"].value, color=palette.grey(0.1), linewidth=0)
    ax.axhline(0.0, color=palette.ink, linewidth=0.6)
    for name, kind, colour in (
        ("long", "general", palette.red),
        ("spheres", "symmetric", CLUSTER_COLOURS[0]),
    ):
        keep = [one.kind == kind and one.d == d and one.beta == 16.0 for one in table(p, name)]
        value = data[name]["second"].values[keep]  # (runs, n)
        if not len(value):
            continue
        parts = np.array_split(np.arange(value.shape[1]), max(1, value.shape[1] // TOKENS_PER_MEAN))
        at = [part.mean() + 1 for part in parts]
        mean = np.stack([value[:, part].mean(1) for part in parts], axis=1)  # (runs, parts)
        half = 1.96 * mean.std(0) / np.sqrt(len(mean))
        ax.errorbar(
            at,
            mean.mean(0),
            half,
            color=colour,
            markersize=3,
            fmt="o-",
            linewidth=1.1,
            label=f"{LABELS[kind]}, {len(value)} runs",
        )
    long = data["long"]
    best = int(np.minimum(long["first"].values, long["second"].values).max(1).argmax())
    value = long["second"].values[best]  # (n,)
    ax.plot(
        np.arange(len(value)) + 1,
        value,
        ".",
        color=palette.grey(0.5),
        markersize=3,
        label="one run, every token",
    )
    ax.set(xlabel="token", ylabel="exponent", title=f"d = {d}, β = 16", ylim=(-0.2, None))
    ax.legend(fontsize=SMALL_POINTS, frameon=False)
