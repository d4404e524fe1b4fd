"""Lemma A.1: the shape of the interaction function h and its slope g; proved on whole intervals, seen on a
grid, with the hypotheses it needs."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import Array
from nucleate.papers.causal_clustering.lemmaA1.proofs import PROOFS, far_threshold, proofs
from nucleate.papers.core.figure_layout import sheet
from nucleate.papers.core.item import Data, Item, Numbers, Parameters, Slip, Verdict
from nucleate.papers.core.numbers import Number, exact

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

    from nucleate.papers.core.cache import Desk

# of a bound, in units of the sizes that cancel in it: some ten roundings, and beta x^2 <= 700 of them in the
# exponent do not count
ROUNDING = 1e-14
BOUNDS = ("lower_h", "upper_h", "near_g", "far_g")
WORDS = {
    "lower_h": "h(x) > e^{−βx²/2}(x − x³/6)",
    "upper_h": "h(x) < x e^{−βx²/2 + βx⁴/24}",
    "near_g": "g(x) > e^{−βx²/2}(1 − x²/2 − βx²)",
    "far_g": "g(x) > −βx² e^{−βx²/2 + βx⁴/24}",
}
BEYOND = 1.5 * np.pi + 2.0 * np.pi * np.arange(40)  # (40,) where sin x = -1


def run(desk: "Desk") -> Data:
    """Proofs on intervals; margins on a grid; where the bounds cease to hold."""
    data = {"proofs": desk.dataset("proofs", proved)}
    desk.at(0.4)
    data["grid"] = desk.dataset("grid", lambda: grid(desk.p["betas"], desk.p["points"]))
    return data


def proved() -> "Dataset":
    """What `shapes` proves, in the order of PROOFS, and between which two beta the second bound on g begins
    to hold for every x."""
    import xarray

    found = list(proofs().values())
    false, true = far_threshold()
    return xarray.Dataset(
        {
            "holds": ("claim", np.array([one.holds for one in found], dtype=np.int8)),
            "least": ("claim", np.array([one.least for one in found])),
            "pieces": ("claim", np.array([one.pieces for one in found])),
            "undecided": ("claim", np.array([one.undecided for one in found])),
            "far_false": ((), false, {"long_name": "a beta at which the second bound on g is refuted"}),
            "far_true": (
                (),
                true,
                {"long_name": "a beta at which it is proved for every x > 0, and so for all larger beta"},
            ),
        }
    )


def distances(beta: float, points: int) -> Array:
    """Half of them evenly over (0, pi], half by powers of ten from 0.02 of the natural length on."""
    least = 0.02 * min(1.0, beta**-0.5)
    return np.unique(
        np.concatenate(
            [np.linspace(0.0, np.pi, points // 2 + 1)[1:], np.geomspace(least, np.pi, points - points // 2)]
        )
    )


def margins(x: Array, beta: float) -> Array:
    """(4, x): by how much each of the BOUNDS holds, over the size of what is compared; as printed, with no
    regard to hypotheses."""
    from nucleate.theory.interaction import interaction, interaction_slope

    h, g = interaction(x, beta), interaction_slope(x, beta)
    with np.errstate(under="ignore"):
        low, high = np.exp(-beta * x**2 / 2.0), np.exp(-beta * x**2 / 2.0 * (1.0 - x**2 / 12.0))
        parts = [
            (h, low * (x - x**3 / 6.0)),
            (x * high, h),
            (g, low * (1.0 - x**2 / 2.0 - beta * x**2)),
            (g, -beta * x**2 * high),
        ]
        sizes = [x * high, x * high, high * (1.0 + beta * x**2), high * (1.0 + beta * x**2)]
        return np.array(
            [
                (above - below) / np.maximum(size, 1e-300)
                for (above, below), size in zip(parts, sizes, strict=True)
            ]
        )


def grid(betas: int, points: int) -> "Dataset":
    """Over many beta: how often each bound fails within its hypotheses, how often h turns, and how far the
    first bound on g reaches."""
    import xarray

    from nucleate.theory.interaction import interaction, strongest_distance

    beta = np.geomspace(1e-2, 1e4, betas)  # (betas,)
    fails, turns, reach = np.zeros((4, betas)), np.zeros(betas), np.zeros(betas)
    for i, b in enumerate(beta):
        x = distances(b, points)
        held = margins(x, b) > -ROUNDING  # (4, x)
        where = [np.ones_like(x, dtype=bool)] * 2 + [x < (b + 0.5) ** -0.5, np.full(x.shape, b >= 1.0)]
        fails[:, i] = [(~ok & here).sum() for ok, here in zip(held, where, strict=True)]
        h = interaction(x, b)
        rising = np.diff(h[h > 1e-290]) > 0.0
        turns[i] = (rising[1:] != rising[:-1]).sum()
        reach[i] = x[np.argmin(held[2])] if not held[2].all() else np.inf
    X = np.linspace(np.pi / 2, np.pi, 402)[1:]  # (401,) cos is negative
    return xarray.Dataset(
        {
            "fails": (
                ("bound", "beta"),
                fails,
                {"long_name": "points at which the bound fails within its hypotheses"},
            ),
            "turns": ("beta", turns, {"long_name": "times that h turns on (0, pi)"}),
            "reach": (
                "beta",
                reach,
                {"long_name": "first x at which the first bound on g fails; infinity for none up to pi"},
            ),
            "tau": ("beta", strongest_distance(beta), {"long_name": "tau*"}),
            "beyond": (
                ("beta", "turn"),
                np.array([_beyond(b) for b in beta]),
                {"long_name": "1 where the lower bound on h fails at (2k + 3/2) pi"},
            ),
            "far_beta": (
                "X",
                [_far_beta(x) for x in X],
                {"long_name": "beta from which the second bound on g holds at this x"},
            ),
        },
        {"beta": beta, "X": X},
    )


def _beyond(beta: float) -> Array:
    """Where the printed lower bound on h fails beyond pi, at x = (2k + 3/2) pi, by logarithms: e^{-beta} >
    e^{-beta x^2/2} (x^3/6 - x)."""
    # (40,)
    return np.asarray(-beta > -beta * BEYOND**2 / 2.0 + np.log(BEYOND**3 / 6.0 - BEYOND), dtype=np.int8)


def _far_beta(x: float) -> float:
    """The beta at which F(beta, x) = beta (x^2 e^{beta r} - sin^2 x) + cos x is 0; F rises with beta."""
    from scipy.optimize import brentq

    r = x**4 / 24.0 - x**2 / 2.0 + 1.0 - np.cos(x)
    return float(brentq(lambda beta: beta * (x**2 * np.exp(beta * r) - np.sin(x) ** 2) + np.cos(x), 0.0, 2.0))


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """What is proved, what the grid shows, and from where on."""
    known, seen = data["proofs"], data["grid"]
    numbers: dict[str, Number] = {}
    for i, (name, (words, _, _)) in enumerate(PROOFS.items()):
        told = (
            f"on {int(known['pieces'][i])} pieces, {int(known['undecided'][i])} undecided; 1 is proved, 0"
            " is not"
        )
        numbers[name] = exact(float(known["holds"][i]), words, told, 1.0)
    beta, reach = seen["beta"].values, seen["reach"].values
    large = beta >= 10.0
    for bound, fails in zip(BOUNDS, seen["fails"].values, strict=True):
        numbers[f"{bound}_fails"] = exact(
            fails.sum(), f"grid points within its hypotheses at which {WORDS[bound]} fails", expected=0.0
        )
    return numbers | {
        "grid_points": exact(
            sum(len(distances(b, p["points"])) for b in beta),
            f"points of the grid, β from {beta[0]:g} to {beta[-1]:g}",
        ),
        "turns": exact(
            np.abs(seen["turns"].values - 1.0).max(),
            "largest difference from 1 of the number of times h turns on (0, π)",
            expected=0.0,
        ),
        "far_threshold": Number(
            float(known["far_true"]),
            "β from which the second bound on g holds for every x > 0",
            float(known["far_false"]),
            float(known["far_true"]),
            "refuted at the lower end, proved at the upper",
        ),
        "near_reach": exact(
            (reach * beta**0.5)[large].min(),
            "x/β^(−1/2) up to which the first bound on g holds, least over β ≥ 10",
            expected=3.0,
        ),
        "near_reach_over_hypothesis": exact(
            (reach * (beta + 0.5) ** 0.5).min(),
            "the same over the printed limit (β + ½)^(−1/2), least over all β",
        ),
        "beyond_pi": exact(
            seen["beyond"].values.any(1).mean(),
            "share of the β of the grid at which the printed lower bound on h fails for some x > π",
            expected=0.0,
        ),
    }


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    n = {name: number.value for name, number in numbers.items()}
    shape = n["tau_above"] == n["tau_below"] == 1 and n["turns"] == 0
    series = all(n[name] == 1 for name in ("sine_below", "sine_above", "cosine_above", "cosine_below"))
    on_h, near, far = n["lower_h_fails"] + n["upper_h_fails"], n["near_g_fails"], n["far_g_fails"]
    points = f"of {n['grid_points']:.0f} grid points"
    return (
        Verdict(
            "h rises to τ* and then falls, (β+½)^(−1/2) < τ* < β^(−1/2), every β > 0",
            "agrees" if shape else "disagrees",
            (
                "both bounds are proved on whole intervals; that h turns once follows from g ∝ (cos x − cos"
                " τ*)(1 + cos x cos τ*), and it does at every β of the grid"
                if shape
                else "a bound is not proved, or h turns more than once at some β of the grid"
            ),
        ),
        Verdict(
            "both bounds on h, 0 < x ≤ π, every β",
            "agrees" if series and on_h == 0 else "disagrees",
            f"{'proved factor by factor' if series else 'not proved'}; {on_h:.0f} {points} speak against it",
        ),
        Verdict(
            "first lower bound on g, 0 < x < (β+½)^(−1/2), every β",
            "agrees" if series and near == 0 else "disagrees",
            f"{'proved factor by factor' if series else 'not proved'}; {near:.0f} {points} speak against it."
            f" It holds farther than printed: to {n['near_reach_over_hypothesis']:.2f} times that limit at"
            f" least, to {n['near_reach']:.3f} β^(−1/2) for β ≥ 10",
        ),
        Verdict(
            "second lower bound on g, β ≥ 1",
            "agrees" if n["slope_far"] == 1 and far == 0 else "disagrees",
            f"{'proved for every x > 0' if n['slope_far'] == 1 else 'not proved'}; {far:.0f} {points} speak"
            f" against it. β ≥ 1 is more than it needs: it holds from β = {n['far_threshold']:.5f} on, and"
            " fails for some x below",
        ),
    )


def slips(numbers: Numbers) -> tuple[Slip, ...]:
    """Where the lemma needs a condition that is not printed."""
    return (*lower_slips(numbers), *far_slips(numbers))


def lower_slips(numbers: Numbers) -> tuple[Slip, ...]:
    """The lower bound on h."""
    share = numbers["beyond_pi"].value
    if share == 0.0:
        return ()
    evidence = (
        f"it fails for some x > π at {share:.0%} of the β tried, 0.01 to 10,000: h comes again every 2π, and"
        " where sin x = −1 it is below the bound, which decays"
    )
    return (Slip("Lemma A.1: the lower bound on h without a limit on x", "it needs x ≤ π", evidence),)


def far_slips(numbers: Numbers) -> tuple[Slip, ...]:
    """The second bound on g."""
    threshold = numbers["far_threshold"]
    if not threshold.low:
        return ()
    evidence = (
        f"at β = {threshold.low:.6f} an x ≤ π is found, by interval arithmetic, at which it fails; from β ="
        f" {threshold.value:.6f} on it is proved for every x > 0"
    )
    right = f"it needs β ≥ {np.ceil(1e4 * threshold.value) / 1e4:.4f}; β ≥ 1 is enough"
    return (Slip("Lemma A.1: the second lower bound on g for every β", right, evidence),)


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """Margins of the four bounds; tau* between its bounds; where the bounds hold."""
    figure = sheet(11.0, 4.2)
    held, top, where = figure.subplots(1, 3, width_ratios=[1.15, 0.9, 1.15])
    _draw_margins(held)
    _draw_tau(top, data)
    _draw_where(where, data, numbers)
    return {"lemmaA1": figure}


def _draw_margins(ax: Any) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette, beta = tidy(ax), 10.0
    x = np.linspace(0.0, np.pi, 2001)[1:]
    names = {
        "lower_h": "below h",
        "upper_h": "above h",
        "near_g": "first, below g",
        "far_g": "second, below g",
    }
    for i, (bound, margin) in enumerate(zip(BOUNDS, margins(x, beta), strict=True)):
        shown = np.where(margin > 0.0, margin, np.nan)
        ax.plot(
            x * beta**0.5,
            shown,
            color=CLUSTER_COLOURS[(0, 2, 3, 5)[i]],
            linewidth=1.8,
            label=names[bound],
            linestyle=("-", "--", "-.", ":")[i],
        )
    limit = (beta / (beta + 0.5)) ** 0.5
    ax.axvline(limit, color=palette.grey(0.45), linewidth=0.9)
    ax.text(
        limit + 0.12,
        2e-6,
        "the first bound on g\nis printed up to here",
        fontsize=SMALL_POINTS,
        color=palette.grey(0.7),
        ha="left",
        va="center",
    )
    ax.set(
        yscale="log",
        xlim=(0.0, np.pi * beta**0.5),
        ylim=(1e-8, 3.0),
        xlabel=r"$x\,/\,\beta^{-1/2}$",
        ylabel="margin, relative",
    )
    ax.set_title("how tight the bounds are, β = 10", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="lower right")


def _draw_tau(ax: Any, data: Data) -> None:
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette, seen = tidy(ax), data["grid"]
    beta, tau = seen["beta"].values, seen["tau"].values
    ax.fill_between(
        beta,
        (1.0 + 0.5 / beta) ** -0.5,
        1.0,
        color=palette.grey(0.18),
        linewidth=0,
        label="between the bounds",
    )
    ax.plot(beta, tau * beta**0.5, color=palette.red, linewidth=1.8, label="τ*")
    ax.set(
        xscale="log",
        xlim=(beta[0], beta[-1]),
        ylim=(0.0, 1.05),
        xlabel="β",
        ylabel=r"in units of $\beta^{-1/2}$",
    )
    ax.set_title("where h is largest", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="lower right")


def _draw_where(ax: Any, data: Data, numbers: Numbers) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette, seen = tidy(ax), data["grid"]
    beta, reach = seen["beta"].values, np.minimum(seen["reach"].values, np.pi)
    x = np.linspace(np.pi, 2.0 * np.pi, 401)[1:-1]
    # beta above which the lower bound on h fails here
    lower = np.log((x**3 / 6.0 - x) / -np.sin(x)) / (x**2 / 2.0 - 1.0 + np.cos(x))
    ax.fill_between(x, lower, beta[-1], color=CLUSTER_COLOURS[0], alpha=0.4, linewidth=0)
    ax.text(
        4.75,
        20.0,
        "the bound\nbelow h\nfails",
        fontsize=SMALL_POINTS,
        color=palette.ink,
        ha="center",
        va="center",
    )
    ax.fill_betweenx(beta, reach, np.pi, color=CLUSTER_COLOURS[3], alpha=0.4, linewidth=0)
    ax.text(
        1.85,
        90.0,
        "the first\nbelow g\nfails",
        fontsize=SMALL_POINTS,
        color=palette.ink,
        ha="center",
        va="center",
    )
    ax.plot((beta + 0.5) ** -0.5, beta, color=palette.ink, linewidth=1.0, linestyle=(0, (3, 2)))
    ax.text(
        0.12,
        0.06,
        "printed\nlimit of\nthe first",
        fontsize=SMALL_POINTS,
        color=palette.grey(0.75),
        ha="left",
        va="center",
    )
    ax.fill_between(
        seen["X"].values, beta[0], seen["far_beta"].values, color=CLUSTER_COLOURS[5], alpha=0.55, linewidth=0
    )
    ax.annotate(
        f"the second fails\nbelow β = {numbers['far_threshold'].value:.4f}",
        (2.6, 0.09),
        (4.0, 0.03),
        fontsize=SMALL_POINTS,
        color=palette.ink,
        ha="left",
        va="center",
        arrowprops={"arrowstyle": "-", "lw": 0.8, "color": palette.ink},
    )
    ax.axvline(np.pi, color=palette.grey(0.45), linewidth=0.9)
    ax.set(yscale="log", xlim=(0.0, 2.0 * np.pi), ylim=(beta[0], beta[-1]), xlabel="x", ylabel="β")
    ax.set_xticks([0, np.pi, 2 * np.pi], ["0", "π", "2π"])
    ax.set_title("where the bounds fail", fontsize=SMALL_POINTS + 1)


ITEM = Item(
    key="lemmaA.1",
    title="Lemma A.1: the shape of the interaction function",
    statement=(
        "h(x) = e^{β(cos x − 1)} sin x rises up to τ* with cos τ* = (−1 + √(4β² + 1))/(2β), then falls to π,"
        " and (β+½)^(−1/2) < τ* < β^(−1/2). e^{−βx²/2}(x − x³/6) < h(x) < x e^{−βx²/2 + βx⁴/24}; its slope g"
        " is above e^{−βx²/2}(1 − x²/2 − βx²) for 0 < x < (β+½)^(−1/2), and above −βx² e^{−βx²/2 + βx⁴/24}."
    ),
    parameters={"betas": 241, "points": 2000},
    quick={"betas": 61, "points": 800},
    choices=(
        (
            "Each bound is taken apart so that β drops out. The bounds on h and the first on g are products"
            " of sin x < x, sin x > x − x³/6, cos x > 1 − x²/2 and cos x < 1 − x²/2 + x⁴/24. τ* solves β ="
            " cos x/sin² x, so its bounds are inequalities in x. The second bound on g says β(x²e^{βr} − sin²"
            " x) + cos x > 0 with r = x⁴/24 − x²/2 + 1 − cos x ≥ 0; its left side rises with β."
        ),
        (
            "These inequalities in x alone are proved on whole intervals by arithmetic on pieces, rounded"
            " outwards, with sine and cosine as series with their remainders. Beyond π, x² − sin² x ≥ π², so"
            " β ≥ 1/π² is enough for the second bound on g."
        ),
        (
            "The grid: β by powers of ten from 0.01 to 10,000; x evenly and by powers of ten. It holds our"
            " own functions h, g and τ* against the lemma."
        ),
    ),
    criteria=(
        "Agrees if the inequalities are proved on their whole intervals, with no piece undecided, and no"
        " point of the grid within the hypotheses speaks against the bound by more than rounding"
        f" ({ROUNDING:g} of the sizes compared); and, for the shape, if h turns once at every β."
    ),
    captions={
        "lemmaA1": (
            "Left: margins of the four bounds at β = 10, relative to what is compared; a line ends where its"
            " bound fails. Middle: τ* and its two bounds. Right: where bounds fail, which is where the"
            " hypotheses matter."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
    slips=slips,
)
