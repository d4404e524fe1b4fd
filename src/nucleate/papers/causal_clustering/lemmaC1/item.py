"""Lemma C.1, the number of strong centers, and Rényi's constant and what takes its place in higher
dimensions."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.causal_clustering.lemmaC1.data import jammed, renyi_data, strong_data
from nucleate.papers.core.figure_layout import sheet
from nucleate.papers.core.item import Data, Item, Numbers, Parameters, Slip, Verdict
from nucleate.papers.core.line_fits import CAUTION, both_errors, half_of, line, sigmas, told, value_of
from nucleate.papers.core.numbers import Number, exact, mean_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from nucleate.papers.core.cache import Desk

# Density at which random sequential addition of equal balls in flat space of d - 1 dimensions ends, by d:
# Rényi's integral, then Zhang and
# Torquato, Physical Review E 88 (2013) 053312, who give the last digits to within 3, 2 and 4.
SATURATED = {3: 0.5470735, 4: 0.3841307, 5: 0.2600781}
MIDDLE = 2  # of the numbers of tokens: where lines of the right power are drawn through
# how infinitely many tokens are reached: numbers of tokens used and degree; and to see how much that matters
CURVE, STRAIGHT = (6, 2), (4, 1)


def run(desk: "Desk") -> Data:
    """Counts of strong centers, then of Rényi centers."""
    p, data = desk.p, {}
    jobs = [("strong", *at) for at in p["strong_at"]] + [("renyi", *at) for at in p["renyi_at"]]
    for i, (kind, d, delta) in enumerate(jobs):
        data[_name(kind, d, delta)] = (strong_data if kind == "strong" else renyi_data)(desk, d, delta)
        desk.at((i + 1) / len(jobs))
    return data


def _name(kind: str, d: int, delta: float) -> str:
    return f"{kind}_{d}_{delta:.3f}"


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Means against the lemma; and the share of the sphere that jammed caps of half the radius cover."""
    from nucleate.theory.counts import expected_centers

    numbers: dict[str, Number] = {}
    for d, delta in p["strong_at"]:
        found = data[_name("strong", d, delta)]
        for i, n in enumerate(found["tokens"].values):
            about = f"d = {d}, δ = {delta:.3g}: mean number of strong centers among {n} tokens"
            numbers[f"strong_d{d}_{delta:.3g}_n{n}"] = mean_of(
                found["count"].values[:, i], about, expected_centers(delta, d, int(n), strong=True)
            )
    worst = max(sigmas(number) for number in numbers.values())
    numbers["strong_worst"] = exact(
        worst, "largest distance of these means from the lemma, in standard errors"
    )
    for d in sorted({d for d, _ in p["renyi_at"]}):
        numbers |= _constant(data, p, d)
    return numbers


def _constant(data: Data, p: Parameters, d: int) -> dict[str, Number]:
    """Rényi centers in one dimension: jammed at each radius, then for radii towards 0."""
    from nucleate.theory.counts import cap_share, expected_centers, renyi_constant

    numbers, rows = {}, []
    for delta in [delta for one, delta in p["renyi_at"] if one == d]:
        found = data[_name("renyi", d, delta)]
        count, tokens, half_cap = found["count"].values, found["tokens"].values, cap_share(delta / 2.0, d)
        ends = jammed(count, tokens, d, *CURVE)  # (runs,)
        statistical = ends.std(ddof=1) / np.sqrt(len(ends))
        systematic = (ends.mean() - jammed(count, tokens, d, *STRAIGHT).mean()) / 2.0
        error = both_errors(statistical, systematic)
        expected = expected_centers(delta, 2) if d == 2 else None
        about = f"d = {d}, δ = {delta:.3g}: mean number of Rényi centers after infinitely many tokens"
        numbers[f"jammed_d{d}_{delta:.3g}"] = value_of(
            float(ends.mean()), error, about, "95 % interval with that of the extrapolation", expected
        )
        about = f"d = {d}, δ = {delta:.3g}: the same among {tokens[-1]} tokens, counted"
        numbers[f"counted_d{d}_{delta:.3g}"] = mean_of(count[:, -1], about)
        rows.append((delta**2, ends.mean() * half_cap, error * half_cap))
    square, share, errors = (np.array(column) for column in zip(*rows, strict=True))  # each (radii,)
    about = f"d = {d}: share of the sphere in caps of radius δ/2 about jammed Rényi centers, as δ → 0"
    if d == 2:  # the circle is flat: every δ has the same share
        weight = errors**-2.0
        mean, error = weight @ share / weight.sum(), weight.sum() ** -0.5
        numbers["constant_d2"] = value_of(
            mean, error, about, f"95 % interval of the mean over {len(rows)} radii", renyi_constant()
        )
    else:
        fit = line(square, share, errors)
        how = f"95 % interval of a line in δ² through {len(rows)} radii"
        numbers[f"constant_d{d}"] = value_of(fit.at0, fit.at0_error, about, how, SATURATED[d])
    return numbers


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    strong = [name for name in numbers if name.startswith("strong_d")]
    worst, limit = numbers["strong_worst"].value, _limit(len(strong))
    jam = [numbers[name] for name in numbers if name.startswith("jammed_d2")]
    two = [*jam, numbers["constant_d2"]]
    higher = {d: numbers[f"constant_d{d}"] for d in SATURATED}
    each = ", ".join(
        f"{told(number, 4)} for d = {d} (known {number.expected_text})" for d, number in higher.items()
    )
    return (
        Verdict(
            "Lemma C.1: 1/σ strong centers, (1 − (1 − σ)^{n})/σ among n tokens",
            "agrees" if worst <= limit else "disagrees",
            f"{len(strong)} means over {p['strong_runs']} starts, d = 2 to 5, differ from it by at most"
            f" {worst:.1f} standard errors",
        ),
        Verdict(
            "d = 2: 1 + M(2π/δ − 1) Rényi centers, and Rényi's constant .7475979",
            "agrees" if all(sigmas(number) <= CAUTION for number in two) else "disagrees",
            f"the constant is measured as {told(two[-1], 5)}; {_jams(jam)}",
        ),
        Verdict(
            "d = 3, 4, 5: Rényi centers (open in the paper) jam like balls in flat space, c_d/σ(B_{δ/2}) as δ"
            " → 0 (ours)",
            (
                "evidence for"
                if all(sigmas(number) <= CAUTION for number in higher.values())
                else "evidence against"
            ),
            f"the share of the sphere covered by their caps tends to {each}",
        ),
    )


def _limit(means: int) -> float:
    """Standard errors that the worst of so many means exceeds less than once in a thousand times, if all are
    right."""
    from scipy.stats import norm

    return float(norm.isf(0.0005 / means))


def _jams(jam: list[Number]) -> str:
    return "jammed counts are " + ", ".join(f"{told(number)} for {number.expected:.3f}" for number in jam)


def slips(numbers: Numbers) -> tuple[Slip, ...]:
    """The factor 3 in the example d = 3."""
    found = [(name, number) for name, number in numbers.items() if name.startswith("strong_d3_1.33")]
    if not found:
        return ()
    _, number = max(found, key=lambda pair: int(pair[0].rsplit("n", 1)[1]))
    printed = 1.0 / (3.0 * np.sin(2.0 / 3.0) ** 2)
    if number.low is None or number.low <= printed or sigmas(number) > CAUTION:
        return ()
    evidence = (
        f"δ = 4/3: {number!s} strong centers are counted; 1/sin²(δ/2) is {1 / np.sin(2 / 3) ** 2:.4f}, the"
        f" print gives {printed:.4f}"
    )
    return (Slip("Strong centers for d = 3: (3 sin²(δ/2))^(−1)", "1/sin²(δ/2)", evidence),)


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """Left, strong centers against the lemma; middle, the way to jamming; right, the constants."""
    figure = sheet(11.0, 4.4)
    left, middle, right = figure.subplots(1, 3, width_ratios=[1.0, 1.0, 0.9])
    _draw_strong(left, data, p)
    _draw_jamming(middle, data, p)
    _draw_constants(right, numbers)
    return {"lemmac1": figure}


def _draw_strong(ax: Any, data: Data, p: Parameters) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy
    from nucleate.theory.counts import cap_share

    palette = tidy(ax)
    at = np.geomspace(1.0, p["sizes"][-1], 200)
    for i, (d, delta) in enumerate(p["strong_at"]):
        found, colour = data[_name("strong", d, delta)], CLUSTER_COLOURS[(0, 3, 2, 5)[d - 2]]
        sigma = cap_share(delta, d)
        ax.plot(
            at, -np.expm1(at * np.log1p(-sigma)) / sigma, color=palette.grey(0.45), linewidth=0.9, zorder=1
        )
        label = f"d = {d}" if (i == 0 or p["strong_at"][i - 1][0] != d) else None
        count = found["count"].values.mean(0)  # errors are smaller than the marks
        ax.plot(
            found["tokens"].values,
            count,
            "osD^"[d - 2],
            color=colour,
            markersize=4.5,
            linestyle="none",
            label=label,
            zorder=2,
        )
    ax.set(xscale="log", yscale="log", xlabel="tokens", ylabel="strong centers, mean")
    ax.set_title("Lemma C.1 (lines) and counts", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="upper left")


def _draw_jamming(ax: Any, data: Data, p: Parameters) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    tidy(ax)
    for d in range(2, 6):
        delta = min(delta for one, delta in p["renyi_at"] if one == d)
        found = data[_name("renyi", d, delta)]
        count, tokens = found["count"].values, found["tokens"].values
        missing = 1.0 - count.mean(0) / jammed(count, tokens, d, *CURVE).mean()  # (tokens,)
        x, colour = np.array(p["per_cap"]), CLUSTER_COLOURS[(0, 3, 2, 5)[d - 2]]
        shown = missing > 5e-4
        ax.plot(x[shown], missing[shown], "osD^"[d - 2], color=colour, markersize=4.5, linestyle="none")
        power = missing[MIDDLE] * (x / x[MIDDLE]) ** (-1.0 / (d - 1))  # (tokens,)
        ax.plot(x, power, color=colour, linewidth=1.0)
        named = "$n^{-1}$" if d == 2 else f"$n^{{-1/{d - 1}}}$"
        ax.annotate(
            named, (x[-1], power[-1]), (4, 0), textcoords="offset points", color=colour, fontsize=SMALL_POINTS
        )
    ax.set(xscale="log", yscale="log", xlabel="tokens per cap of radius δ")
    ax.set_xlim(right=2.6 * p["per_cap"][-1])
    ax.set_title("share of Rényi centers still missing", fontsize=SMALL_POINTS + 1)


def _draw_constants(ax: Any, numbers: Numbers) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette = tidy(ax)
    for d in range(2, 6):
        number = numbers[f"constant_d{d}"]
        assert number.expected is not None
        apart, half = (
            100.0 * (number.value / number.expected - 1.0),
            100.0 * half_of(number) / number.expected,
        )
        ax.errorbar(
            [d],
            [apart],
            [half],
            fmt="osD^"[d - 2],
            color=CLUSTER_COLOURS[(0, 3, 2, 5)[d - 2]],
            markersize=5,
            capsize=3,
            linewidth=1.2,
        )
        ax.annotate(
            f"{number.value:.4f}",
            (d, apart + half),
            (0, 5),
            textcoords="offset points",
            ha="center",
            fontsize=SMALL_POINTS,
            color=palette.ink,
        )
    ax.axhline(0.0, color=palette.grey(0.5), linewidth=1.0, zorder=0)
    reach = 1.35 * max(abs(bound) for bound in ax.get_ylim())
    ax.set(xlim=(1.5, 5.5), ylim=(-reach, reach), xlabel="d", ylabel="measured / known − 1, in %")
    ax.set_xticks([2, 3, 4, 5])
    ax.set_title("share covered when jammed, δ → 0", fontsize=SMALL_POINTS + 1)


ITEM = Item(
    key="lemmaC.1",
    title="Lemma C.1: how many centers",
    statement=(
        "Among infinitely many independent uniform tokens the mean number of strong Rényi centers is"
        " 1/σ(B_δ), with σ(B_δ) the share of the sphere in a cap of radius δ; among n tokens it is (1 − (1 −"
        " σ)^{n})/σ. On the circle the mean number of Rényi centers tends to c·2π/δ with Rényi's constant c ="
        " .7475979; for d > 2 it is open."
    ),
    parameters={
        "strong_at": [[2, 0.5], [2, 0.1], [3, 4.0 / 3.0], [3, 0.3], [4, 1.0], [4, 0.5], [5, 1.2], [5, 0.8]],
        "sizes": [10, 100, 1000, 10000],
        "strong_runs": 1000,
        "renyi_at": [
            [2, 0.4],
            [2, 0.2],
            [2, 0.1],
            [3, 0.28],
            [3, 0.2],
            [3, 0.14],
            [4, 0.5],
            [4, 0.36],
            [4, 0.26],
            [5, 0.6],
            [5, 0.45],
            [5, 0.35],
        ],
        "per_cap": [125, 250, 500, 1000, 2000, 4000],
        "renyi_counted": 12000,
        "seed": 0,
    },
    quick={
        "strong_runs": 100,
        "sizes": [10, 100, 1000],
        "renyi_at": [
            [2, 0.4],
            [2, 0.2],
            [2, 0.1],
            [3, 0.4],
            [3, 0.28],
            [3, 0.2],
            [4, 0.7],
            [4, 0.5],
            [4, 0.36],
            [5, 0.9],
            [5, 0.6],
            [5, 0.45],
        ],
        "renyi_counted": 1500,
        "per_cap": [31, 62, 125, 250, 500, 1000],
    },
    choices=(
        (
            "The dimensions 2 to 5 and the radii; d = 3 has δ = 4/3, where the printed number and the right"
            " one are far apart."
        ),
        (
            "Jammed counts: one start serves every number of tokens, up to 4000 per cap of radius δ, in as"
            " many starts as have 12000 centers in all. A parabola in n^(−1/(d − 1)) through six numbers of"
            " tokens gives infinitely many; half of the difference from a line through the last four is added"
            " to the error."
        ),
        (
            "For d > 2 the caps of radius δ/2 about Rényi centers are balls that are added one after the"
            " other and never overlap. As δ → 0 the sphere is flat to them, so that the share they cover"
            " ought to be the known saturation density of discs and balls: .5470735, .3841307, .2600781"
            " (Zhang and Torquato 2013)."
        ),
    ),
    criteria=(
        "First: agrees if no mean is farther from the lemma than the worst of so many right means is once in"
        " a thousand times. Second: agrees if every jammed count on the circle and the constant are within"
        f" {CAUTION:g} standard errors of the known values. Third: evidence for if the constants for d = 3, 4"
        f" and 5 are within {CAUTION:g} standard errors of the known saturation densities."
    ),
    captions={
        "lemmac1": (
            "Left: mean number of strong centers over tokens for two δ in each dimension, on the lines of"
            " Lemma C.1. Middle: the share of Rényi centers still missing, on lines that fall like n^(−1/(d −"
            " 1)). Right: the share of the sphere in caps of radius δ/2 about jammed centers, as δ → 0,"
            " against Rényi's constant and the saturation densities of discs and balls, with 95 % intervals."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
    slips=slips,
)
