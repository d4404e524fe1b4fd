"""The picture of Lemma 5.1: displacement against the bound, and true against guaranteed lifetimes."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.causal_clustering.lemma51.data import CHORD, FOLLOWED_TIMES, ensemble_name
from nucleate.papers.causal_clustering.lemma51.measures import guaranteed_product, lower_quartile
from nucleate.papers.core.figure_layout import spaced_figure
from nucleate.papers.core.item import Data, Numbers, Parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """Displacement against the bound; lifetimes over the index; how much longer than guaranteed."""
    figure = spaced_figure(11.0, 4.4)
    moved, index, ratio = figure.subplots(1, 3, width_ratios=[1.0, 1.1, 1.0])
    _draw_displacement(moved, data, p)
    _draw_index(index, data, p)
    _draw_ratio(ratio, data, p)
    return {"lemma5.1": figure, "lemma5.1-sphere": _sphere_figure(data)}


def _sphere_figure(data: Data) -> "Figure":
    """Paths of the start with a chord, and displacements of all such centers."""
    figure = spaced_figure(8.4, 4.0)
    above, time = figure.subplots(1, 2, width_ratios=[1.0, 1.15])
    _draw_chord(above, data)
    _draw_chord_displacement(time, data)
    return figure


def _draw_chord(ax: Any, data: Data) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette, x = tidy(ax), data["chords"]["path"].values  # (time, shown, 3)
    polar = np.arccos(np.clip(x[..., 2], -1.0, 1.0)) * CHORD["beta"] ** 0.5
    along = x[..., :2] / np.maximum(np.linalg.norm(x[..., :2], axis=-1, keepdims=True), 1e-300)
    flat = polar[..., None] * along  # (time, shown, 2) distances from the center's first place are kept
    ring = np.exp(2j * np.pi * np.linspace(0.0, 1.0, 400))
    edge, allowed = CHORD["separation"], float(data["chords"]["allowed"])
    ax.plot(edge * ring.real, edge * ring.imag, color=palette.ink, linewidth=1.0, linestyle=(0, (4, 2)))
    ax.fill(allowed * ring.real, allowed * ring.imag, color=palette.grey(0.35), linewidth=0)
    for i, (words, colour) in enumerate(
        (
            ("the two on the edge", CLUSTER_COLOURS[0]),
            (None, CLUSTER_COLOURS[0]),
            (f"the {CHORD['tokens']} between them", CLUSTER_COLOURS[3]),
            ("the center", palette.red),
        )
    ):
        ax.plot(flat[:, i, 0], flat[:, i, 1], color=colour, linewidth=1.6)
        ax.plot(*flat[0, i], "o", color=colour, markersize=5, markerfacecolor="none")
        ax.plot(*flat[-1, i], "o", color=colour, markersize=9 if i < 2 else 5, label=words)
    ax.set(aspect="equal", xlim=(-6.2, 6.2), ylim=(-5.6, 5.6), xlabel=r"in units of $\beta^{-1/2}$")
    ax.set_title("one start (rings), and at $T_j$ (dots)", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="lower center", bbox_to_anchor=(0.4, 0.14))


def _draw_chord_displacement(ax: Any, data: Data) -> None:
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette, found = tidy(ax), data["chords"]
    t = found["time"].values / found["time"].values[-1]
    for moved in found["moved"].values:
        ax.plot(t, moved, color=palette.red, linewidth=0.9, alpha=0.8)
    ax.axhline(1.0, color=palette.ink, linewidth=1.0, linestyle=(0, (4, 2)))
    ax.text(0.02, 1.08, "allowed", fontsize=SMALL_POINTS, color=palette.ink, va="bottom")
    ax.set(xlim=(0.0, 1.0), xlabel=r"time over the $T_j$ of the lemma", ylabel="displacement over the bound")
    ax.set(yscale="log", ylim=(0.01, 100.0))
    ax.set_title(f"all {found.sizes['run']} starts", fontsize=SMALL_POINTS + 1)


def _draw_displacement(ax: Any, data: Data, p: Parameters) -> None:
    """Displacements of the strong centers of uniform starts, each over its own guaranteed time."""
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette, found = tidy(ax), data["starts"]
    product = guaranteed_product(p["beta"], p["separation"])
    at = np.geomspace(0.05, FOLLOWED_TIMES / 10.0, 160)  # in guaranteed times
    t, rows = found["time"].values, []
    for s, moved in zip(found["index"].values, found["moved"].values, strict=True):
        time = at * product / s
        rows.append(np.where(time <= t[-1], np.interp(time, t, moved), np.nan))
    way = np.array(rows)  # (centers, at)
    for low, high, share in ((0.1, 0.9, 0.18), (0.25, 0.75, 0.35)):
        band = np.nanquantile(way, [low, high], axis=0)
        ax.fill_between(
            at,
            np.maximum(band[0], 1e-9),
            np.maximum(band[1], 1e-9),
            color=palette.grey(share),
            linewidth=0,
            label=f"{low:.0%} to {high:.0%} of centers",
        )
    ax.plot(at, np.nanmedian(way, axis=0), color=palette.ink, linewidth=1.6, label="median")
    ax.plot(at, np.nanmax(way, axis=0), color=palette.red, linewidth=1.2, label="farthest")
    ax.plot([at[0], 1.0, 1.0], [1.0, 1.0, 1e-6], color=palette.ink, linewidth=1.0, linestyle=(0, (4, 2)))
    ax.text(0.07, 1.5, "allowed", fontsize=SMALL_POINTS, color=palette.ink)
    ax.set(
        xscale="log",
        yscale="log",
        xlim=(at[0], at[-1]),
        ylim=(1e-6, 1e3),
        xlabel=r"time over the guaranteed $T_j$",
        ylabel="displacement over the bound",
    )
    ax.set_title(
        f"uniform starts, β = {p['beta']:g}, δ = {p['separation']:g}β$^{{-1/2}}$", fontsize=SMALL_POINTS + 1
    )
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="upper left", borderaxespad=0.1)


def _draw_index(ax: Any, data: Data, p: Parameters) -> None:
    """Lower quartiles of lifetimes over the index, in guaranteed lifetimes of a first token, beside the worst
    placement and the lemma."""
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette, indices = tidy(ax), np.array(p["indices"])
    pairs = [pair for pair in p["ensembles"] if pair[0] == p["beta"]]
    for i, (beta, separation) in enumerate(pairs):
        key, colour = ensemble_name(beta, separation), CLUSTER_COLOURS[(0, 2, 3, 5)[i % 4]]
        ratio = np.array([data[f"{key}-{s}"]["ratio"].values for s in indices])  # (indices, runs)
        middle = lower_quartile(ratio) / indices
        seen = np.isfinite(middle)
        ax.plot(
            indices[seen],
            middle[seen],
            "osD^"[i % 4] + "-",
            color=colour,
            markersize=5,
            linewidth=1.3,
            label=f"{separation:g} β$^{{-1/2}}$ apart",
        )
        ax.plot(
            indices, ratio.min(1) / indices, "osD^"[i % 4], color=colour, markersize=5, markerfacecolor="none"
        )
        ax.plot(
            indices,
            data[f"{key}-point"]["exact"].values / indices,
            color=colour,
            linewidth=0.9,
            linestyle=(0, (1, 1.5)),
        )
    ax.plot(indices, 1.0 / indices, color=palette.ink, linewidth=1.4, linestyle=(0, (4, 2)))
    ax.text(1.1 * indices[0], 0.12, "guaranteed", fontsize=SMALL_POINTS, color=palette.ink, va="top")
    ax.set(
        xscale="log", yscale="log", xlabel=r"index $s_j$", ylabel=r"lifetime over the guaranteed $T_j s_j$"
    )
    ax.set_title(f"lifetimes, β = {p['beta']:g}: lower quartile, shortest", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="upper right", borderaxespad=0.1)


def _draw_ratio(ax: Any, data: Data, p: Parameters) -> None:
    """Lifetime over guaranteed lifetime: shortest, lower quartile, and in the worst placement, at every beta
    and separation."""
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette = tidy(ax)
    for i, (beta, separation) in enumerate(p["ensembles"]):
        key = ensemble_name(beta, separation)
        ratio = np.array([data[f"{key}-{s}"]["ratio"].values for s in p["indices"]])  # (indices, runs)
        quartile = np.minimum(lower_quartile(ratio), FOLLOWED_TIMES)
        ax.plot(
            [quartile.min(), quartile.max()],
            [i, i],
            color=palette.grey(0.35),
            linewidth=5.0,
            solid_capstyle="butt",
            zorder=1,
        )
        ax.plot([ratio.min()], [i], "o", color=palette.ink, markersize=6)
        ax.plot([data[f"{key}-point"]["exact"].values.min()], [i], "D", color=palette.red, markersize=6)
        ax.text(
            1.35,
            i - 0.22,
            f"β = {beta:g}, {separation:g} β$^{{-1/2}}$ apart",
            fontsize=SMALL_POINTS,
            color=palette.ink,
        )
    ax.plot([], [], "D", color=palette.red, markersize=6, label="all earlier at one point")
    ax.plot([], [], "o", color=palette.ink, markersize=6, label="shortest of all runs")
    ax.plot([], [], color=palette.grey(0.35), linewidth=5.0, label="lower quartiles, by index")
    ax.axvline(1.0, color=palette.ink, linewidth=1.0, linestyle=(0, (4, 2)))
    ax.set(
        xscale="log",
        xlim=(0.5, 2.0 * FOLLOWED_TIMES),
        ylim=(len(p["ensembles"]) - 0.4, -2.1),
        xlabel="lifetime over guaranteed lifetime",
    )
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.set_title("how much longer centers stay", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="upper right", borderaxespad=0.1)
