"""The picture of Figure 3: shares of tokens consumed by centers, over time."""

from typing import TYPE_CHECKING

from nucleate.papers.causal_clustering.figure3.data import observable_name
from nucleate.papers.core.item import Data, Numbers, Parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """Left, the figure of the paper; right, the mean for other radii."""
    from matplotlib.figure import Figure

    from nucleate import plot
    from nucleate.plot.styles import SMALL_POINTS, tidy

    found = data["ensemble"]
    t = found["time"].values
    figure = Figure(figsize=(11.0, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    plot.consumption(
        t,
        found[observable_name("renyi", p["radius"])].values,
        left,
        strong=found[observable_name("strong", p["radius"])].values,
    )
    random = found["near_random"].values.mean(0)  # (m, 2) of as many as there are strong and Rényi centers
    for share, name in zip(random.T, ("red", "black"), strict=True):
        left.plot(t, share, color=plot.palette_of(left).colour(name), linestyle=(0, (1, 1.5)), linewidth=1.3)
    left.text(
        t[-1], random[-1].mean(), "as many random tokens ", fontsize=SMALL_POINTS, ha="right", va="center"
    )
    note = rf"consumed: within {p['radius']:g} $\beta^{{-1/2}}$ = {p['radius'] / p['beta'] ** 0.5:g} rad"
    left.text(0.98, 0.04, note, transform=left.transAxes, ha="right", fontsize=SMALL_POINTS)
    palette = tidy(right)
    for i, radius in enumerate(p["radii"]):
        shade = 0.35 + 0.65 * i / max(len(p["radii"]) - 1, 1)
        for kind, colour, line in (("renyi", palette.ink, "-"), ("strong", palette.red, (0, (4, 1.5)))):
            mixed = tuple(shade * c + (1 - shade) * b for c, b in zip(colour, palette.paper, strict=True))
            label = rf"{radius:g} $\beta^{{-1/2}}$" if kind == "renyi" else None
            right.plot(
                t,
                found[observable_name(kind, radius)].values.mean(0),
                color=mixed,
                linestyle=line,
                linewidth=1.4,
                label=label,
            )
    right.set(xlim=(t[0], t[-1]), ylim=(0.0, 1.03), xlabel="time")
    right.set_title("means for other radii", fontsize=SMALL_POINTS + 1)
    right.legend(
        title="consumed within",
        fontsize=SMALL_POINTS,
        title_fontsize=SMALL_POINTS,
        loc="lower right",
        frameon=False,
        reverse=True,
    )
    return {"figure3": figure}
