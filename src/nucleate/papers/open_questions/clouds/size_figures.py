"""The picture of general V by d and number of tokens: late exponents of every V."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from nucleate.papers.open_questions.clouds.sizes import (
    SIZE_TABLES,
    size_late,
    size_limit,
    size_long,
    size_null,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from xarray import Dataset

__all__ = ["draw_sizes"]

LOWEST = -0.05  # exponents below are drawn here


def draw_sizes(found: "Mapping[str, Dataset]") -> "Figure":
    """Left: 128 tokens, by d; right: the V with 256 tokens, each a line over the number of first tokens."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.6, 4.0), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    _draw_dimensions(left, found)
    _draw_tokens(right, found)
    top = max(
        0.013, *(float(size_late(found, d, 128).max()) for d in (4, 8)), float(size_long(found, 256).max())
    )
    left.set(ylabel="exponent of late tokens", ylim=(LOWEST * 1.1, 1.25 * top))
    return figure


def _draw_dimensions(ax: "Axes", found: "Mapping[str, Dataset]") -> None:
    from nucleate.plot.styles import tidy

    palette, rng = tidy(ax), np.random.default_rng(0)
    ax.axhline(0.0, color=palette.ink, linewidth=0.6)
    names: list[str] = []
    for d in (4, 8):
        limit, null = size_limit(found, d, 128), size_null(found, d, 128).min(1)
        for name, value in (("cannot be\nchaotic", null), ("general V", size_late(found, d, 128))):
            place, beyond = len(names), value > limit
            names.append(f"{name},\nd = {d}")
            edges = (place - 0.5, place + 0.5)
            ax.fill_between(edges, LOWEST * 1.1, limit, color=palette.grey(0.1), linewidth=0)
            x = place + rng.uniform(-0.28, 0.28, len(value))
            for some, colour, size in ((beyond, palette.red, 4), (~beyond, palette.grey(0.55), 3)):
                ax.plot(x[some], np.maximum(value[some], LOWEST), "o", color=colour, markersize=size)
            _count(ax, place, f"{beyond.sum()} of {len(value)}")
    ax.set_xticks(range(len(names)), names, fontsize=8)
    ax.set(xlim=(-0.5, len(names) - 0.5), title="128 tokens, β = 16")


def _draw_tokens(ax: "Axes", found: "Mapping[str, Dataset]") -> None:
    from nucleate.plot.styles import tidy

    palette, tokens = tidy(ax), SIZE_TABLES["d8-long"]["late"]["n"]
    late = np.stack([size_long(found, m) for m in tokens], axis=1)  # (V, numbers of tokens)
    limits, places = np.array([size_limit(found, 8, m) for m in tokens]), np.arange(len(tokens))
    beyond = late > limits
    ax.axhline(0.0, color=palette.ink, linewidth=0.6)
    for place, limit in enumerate(limits):
        edges = (place - 0.5, place + 0.5)
        ax.fill_between(edges, LOWEST * 1.1, limit, color=palette.grey(0.1), linewidth=0)
        _count(ax, place, f"{beyond[:, place].sum()} of {len(late)}")
    drawn = np.maximum(late, LOWEST)
    for own, hits in zip(drawn, beyond, strict=True):
        ax.plot(places, own, color=palette.grey(0.35), linewidth=0.7)
        for some, colour, size in ((hits, palette.red, 4), (~hits, palette.grey(0.55), 3)):
            ax.plot(places[some], own[some], "o", color=colour, markersize=size)
    ax.set_xticks(places, [f"first {m}" for m in tokens[:-1]] + [f"all {tokens[-1]}"], fontsize=8)
    ax.set(xlim=(-0.5, len(tokens) - 0.5), xlabel="tokens", title="d = 8, β = 16, the same V and starts")


def _count(ax: "Axes", place: int, words: str) -> None:
    at = ("data", "axes fraction")
    ax.annotate(words, (place, 1.0), xycoords=at, ha="center", va="top", fontsize=9)
