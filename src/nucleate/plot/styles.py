"""One style for all pictures: what the colours mean, settings for screen and paper, and axes without clutter.

A token's colour is its position in the sequence, first dark, last light (viridis, which colour-blind
readers and grey printers can follow). Black marks Rényi centers, red strong centers and whatever is final.
Black means the colour of the text: on a dark page it is white. Clusters have the eight colours of the
explorer's page, which has others on a dark ground. Lines of several kinds in one picture have eight colours
that can be seen on white and on black. The colour-blind can tell all of them apart.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nucleate.checks import Array, InputError, shortened
from nucleate.printable import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RED = "#d62728"
RED_ON_DARK = "#ff6255"
# Of clusters, as web/src/colours.ts has them: 3:1 or more on their ground.
CLUSTERS_ON_LIGHT = (
    "#0836b9",
    "#20a474",
    "#9e9108",
    "#7f1064",
    "#5098d1",
    "#974f70",
    "#4d68cd",
    "#891c3a",
)
CLUSTERS_ON_DARK = (
    "#70deff",
    "#cef58e",
    "#a484f8",
    "#b9ac13",
    "#4ead94",
    "#c80064",
    "#0064d7",
    "#97f2d5",
)
# Of lines of several kinds: one choice for light and dark, so that a picture means the same on both.
CLUSTER_COLOURS = ("#3366cc", "#ccbb44", "#009e73", "#aa3377", "#33bbee", "#8c6d31", "#cc79a7", "#6f4e9c")

# figures over time, in a plane, and of a sphere
WIDE_INCHES, SQUARE_INCHES, GLOBE_INCHES = (7.0, 4.2), (4.6, 4.6), (5.6, 5.6)
THIN_POINTS = 0.6  # spines and ticks
SMALL_POINTS = 9  # notes and legends

Colour = tuple[float, float, float]


def _settings(ink: str, paper: str, more: Mapping[str, Any] = MappingProxyType({})) -> Mapping[str, Any]:
    coloured = (
        "text.color",
        "axes.labelcolor",
        "axes.titlecolor",
        "axes.edgecolor",
        "xtick.color",
        "ytick.color",
        "legend.labelcolor",
    )
    rc: dict[str, Any] = dict.fromkeys(coloured, ink) | dict.fromkeys(
        ("figure.facecolor", "axes.facecolor"), paper
    )
    rc |= {
        "axes.linewidth": THIN_POINTS,
        "xtick.major.width": THIN_POINTS,
        "ytick.major.width": THIN_POINTS,
        "lines.linewidth": 1.4,
        "lines.solid_capstyle": "round",
    }
    # these fonts come with matplotlib
    rc |= {"font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"], "mathtext.fontset": "dejavusans"}
    rc |= {
        "font.size": 10.0,
        "axes.titlesize": 11.0,
        "axes.labelsize": 10.0,
        "xtick.labelsize": 9.0,
        "ytick.labelsize": 9.0,
        "legend.fontsize": 9.0,
    }
    rc |= {
        "axes.spines.top": False,
        "axes.spines.right": False,
        "legend.frameon": False,
        "image.cmap": "viridis",
    }
    rc |= {
        "axes.prop_cycle": f"cycler('color', {list(CLUSTER_COLOURS)})",
        "pdf.fonttype": 42,
        "figure.constrained_layout.use": True,
        "savefig.facecolor": "auto",
    }
    return MappingProxyType(rc | dict(more))


STYLES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "light": _settings("black", "white"),
        "dark": _settings("#e6e6e6", "#14171c"),
        "print": _settings(
            "black",
            "white",
            {
                "font.family": "STIXGeneral",
                "mathtext.fontset": "stix",
                "savefig.dpi": 300.0,
                "lines.linewidth": 1.1,
            },
        ),
    }
)


def style(name: str = "light") -> AbstractContextManager[None]:
    """Settings of matplotlib for pictures on a "light" or "dark" screen or in "print": `with
    plot.style("dark"): run.plot()`.

    Outside the `with` nothing is changed.  STYLES[name] holds the settings themselves, for
    matplotlib.rcParams.update.
    """
    from matplotlib import rc_context

    if not isinstance(name, str) or name not in STYLES:
        raise InputError(f"style must be one of {', '.join(STYLES)}, but is {shortened(name)}.")
    rc: Any = dict(STYLES[name])  # Any: the stubs of matplotlib want literal names
    return rc_context(rc)


@dataclass(frozen=True)
class Palette:
    """The colours that fit certain axes."""

    ink: Colour  # "black": what stands out most
    paper: Colour  # behind the picture
    red: Colour

    @property
    def dark(self) -> bool:
        """Whether the picture is light on dark."""
        return luminance(self.ink) > luminance(self.paper)

    def grey(self, share: float) -> Colour:
        """Ink thinned with paper: 0 is paper, 1 is ink."""
        r, g, b = (share * i + (1.0 - share) * p for i, p in zip(self.ink, self.paper, strict=True))
        return r, g, b

    def colour(self, name: Any) -> Colour:
        """ "black" and "red" in the sense of these pictures; any other colour as it is."""
        from matplotlib.colors import to_rgb

        own = {"black": self.ink, "red": self.red}
        try:
            return own[name] if isinstance(name, str) and name in own else to_rgb(name)
        except Exception:  # whatever matplotlib says of what is no colour
            raise InputError(
                f'colour must be a colour of matplotlib, but is {shortened(name)}. Use "black" or "red", say.'
            ) from None

    def tokens(self, n: int) -> Array:
        """One colour (r, g, b, a) per position in the sequence, (n, 4), without the end of viridis that fades
        into the paper."""
        from matplotlib import colormaps

        low, high = (0.35, 1.0) if self.dark else (0.0, 0.9)
        return np.asarray(colormaps["viridis"](np.linspace(low, high, n)))

    def clusters(self, label: NDArray[np.int64]) -> Array:
        """One colour per token from the number of its cluster, (n, 4), as on the page of the explorer; after
        eight clusters the colours come again."""
        from matplotlib.colors import to_rgba_array

        colours = np.asarray(to_rgba_array(CLUSTERS_ON_DARK if self.dark else CLUSTERS_ON_LIGHT))  # (8, 4)
        return colours[label % len(colours)]


def palette_of(ax: "Axes") -> Palette:
    """The colours that fit `ax`: ink is the colour of its labels, or black or white where those could not be
    read."""
    from matplotlib.colors import to_rgb, to_rgba

    check_axes(ax)
    root: Any = ax.get_figure(root=True)
    ink = to_rgb(ax.xaxis.label.get_color())
    behind = [
        colour for colour in (to_rgba(ax.get_facecolor()), to_rgba(root.get_facecolor())) if colour[3] > 0.5
    ]
    paper: Colour = behind[0][:3] if behind else (1.0, 1.0, 1.0) if luminance(ink) < 0.2 else (0.0, 0.0, 0.0)
    if contrast(ink, paper) < 2.0:
        ink = (0.0, 0.0, 0.0) if luminance(paper) > 0.2 else (1.0, 1.0, 1.0)
    return Palette(ink, paper, to_rgb(RED_ON_DARK if luminance(ink) > luminance(paper) else RED))


def luminance(colour: ArrayLike) -> float:
    """Relative luminance of an sRGB colour, 0 to 1 (WCAG 2)."""
    c = np.asarray(colour, dtype=np.float64)[:3]
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)  # (3,)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one: ArrayLike, other: ArrayLike) -> float:
    """Contrast of two colours, 1 to 21 (WCAG 2)."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def axes_or_new(ax: "Axes | None", size: tuple[float, float], projection: str | None = None) -> Any:
    """`ax`, or axes of a new figure of this size in inches."""
    if ax is not None:
        check_axes(ax)
    if projection == "3d" and ax is not None and not hasattr(ax, "get_zlim"):
        raise InputError(
            'trajectories need axes made with projection="3d", but these are flat. Leave ax out for new ones.'
        )
    if ax is None:
        from matplotlib import pyplot

        return pyplot.figure(figsize=size, layout="constrained").add_subplot(projection=projection)
    return ax


def check_axes(ax: Any) -> None:
    """Refuse what are no axes of matplotlib."""
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise InputError(f"ax must be axes of matplotlib, but is {shortened(ax)}. Leave it out for new ones.")


def tidy(ax: "Axes") -> Palette:
    """Thin lines on the left and below, none above and on the right; the palette of these axes."""
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_linewidth(THIN_POINTS)
    ax.tick_params(width=THIN_POINTS, length=3.0)
    return palette_of(ax)


def legend_above(ax: "Axes", title: str = "", columns: int = 3) -> None:
    """The legend over the axes, on the left, where it covers no data."""
    handles, labels = ax.get_legend_handles_labels()
    if handles:
        ax.legend(
            handles,
            labels,
            title=title or None,
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            borderaxespad=0.3,
            ncols=columns,
            frameon=False,
            fontsize=SMALL_POINTS,
            title_fontsize=SMALL_POINTS,
            alignment="left",
        )


def as_written(text: object) -> str:
    """Text from outside, such as a name of a file or a study, for a picture: its dollars begin no formula,
    and control characters, which no font has, are spelled out."""
    return printable(str(text)).replace("$", r"\$")
