"""All slips in the print, each with its evidence computed here: those that other items find, found again by
their own rules, and one more."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers import lemma53, lemmaa1, table1, theorem52
from nucleate.papers.causal_clustering.theorem52.data import made, sweep
from nucleate.papers.core.figure_layout import sheet
from nucleate.papers.core.item import Data, Item, Numbers, Parameters, Slip, Verdict
from nucleate.papers.core.numbers import Number, exact, mean_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

    from nucleate.papers.core.cache import Desk

LEAST = 1e-6  # how much of the centers among infinitely many tokens n tokens may lack


def run(desk: "Desk") -> Data:
    """Centers on the sphere, counted; and what the other slips need."""
    from nucleate.papers.causal_clustering.table1.data import counter_example

    p = desk.p
    makers: dict[str, Callable[[], Dataset]] = {
        "sphere": lambda: sphere(p["deltas"], p["starts"], p["seed"]),
        "sweep": lambda: sweep(np.geomspace(0.5, 1e3, p["sweep_betas"]), p["sweep_c"], p["sweep_eps"]),
        "made": made,
        "identity": lambda: lemma53.identity(p["betas"], p["configurations"], p["n"]),
        "proofs": lemmaa1.proved,
        "grid": lambda: lemmaa1.grid(p["grid_betas"], p["grid_points"]),
        "counter": lambda: counter_example(p["seed"], p["starts"]),
    }
    data = {}
    for i, (name, make) in enumerate(makers.items()):
        data[name] = desk.dataset(name, make)
        desk.at((i + 1) / len(makers))
    return data


def sphere(deltas: list[float], starts: int, seed: int) -> "Dataset":
    """Strong centers among uniform tokens on the sphere, d = 3, enough of them that more would add none:
    counts (delta, start)."""
    import xarray

    from nucleate.observe.centers import renyi_centers
    from nucleate.sphere import uniform
    from nucleate.studies.points import stream
    from nucleate.theory.counts import cap_share

    counts = []
    for i, delta in enumerate(deltas):
        n = max(1, int(np.ceil(np.log(LEAST) / np.log1p(-min(cap_share(delta, 3), 1.0 - 1e-9)))))
        counts.append(
            [
                len(renyi_centers(uniform(n, 3, stream(seed, start, i)), delta, strong=True))
                for start in range(starts)
            ]
        )
    return xarray.Dataset({"count": (("delta", "start"), np.array(counts))}, {"delta": np.array(deltas)})


def printed_count(delta: float) -> float:
    """The number of strong centers for d = 3 as it is printed."""
    return float(1.0 / (3.0 * np.sin(delta / 2.0) ** 2))


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Numbers under the names that the items which find a slip give them, for their own rules to judge."""
    found: dict[str, Number] = {}
    for delta, counts in zip(data["sphere"]["delta"].values, data["sphere"]["count"].values, strict=True):
        about = f"strong centers on the sphere, δ = {delta:.4g}, mean; expected is what is printed"
        found[f"sphere_{delta:.4g}"] = mean_of(counts, about, printed_count(delta))
        found[f"sphere_{delta:.4g}_right"] = exact(
            1.0 / np.sin(delta / 2.0) ** 2, "1/sin²(δ/2), which is right"
        )
    found |= (
        theorem52.sign_numbers(data)
        | theorem52.example_numbers()
        | lemma53.identity_numbers(data["identity"])
    )
    found |= lemmaa1.measure(data, {"points": p["grid_points"]})
    return found | table1._counter(data["counter"])


def sphere_slips(numbers: Numbers) -> tuple[Slip, ...]:
    """The number of strong centers on the sphere: a slip if some mean excludes what is printed."""
    means = {
        name: number
        for name, number in numbers.items()
        if name.startswith("sphere_") and number.expected is not None
    }
    off = {
        name: one
        for name, one in means.items()
        if one.low is not None and one.high is not None and not one.low <= (one.expected or 0.0) <= one.high
    }
    if not off:
        return ()
    told = "; ".join(
        f"δ = {name.removeprefix('sphere_')}: {one!s} counted, printed {one.expected_text}, right"
        f" {numbers[f'{name}_right'].value:.4g}"
        for name, one in off.items()
    )
    return (
        Slip("Strong centers for d = 3: (3 sin²(δ/2))^(−1)", "1/sin²(δ/2)", f"{told}. δ = π must leave one"),
    )


SLIPS: dict[str, tuple[str, Callable[[Numbers], tuple[Slip, ...]]]] = {
    "1": ("1, section 5: the number of strong centers for d = 3, as printed", sphere_slips),
    "2": ("2, Theorem 5.2: the second condition, as printed", theorem52.sign_slips),
    "3": ("3, Lemma 5.3: the energies, as printed", lemma53.slips),
    "4a": ("4a, Lemma A.1: the lower bound on h for all x > 0, as printed", lemmaa1.lower_slips),
    "4b": ("4b, Lemma A.1: the second lower bound on g for all β, as printed", lemmaa1.far_slips),
    "5": ("5, Theorem 5.2: the values of the example, as printed", theorem52.example_slips),
    "6": ("6, Conjecture 1 for arbitrary Q and K, as it reads", table1.slips),
}


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """One for each: the print disagrees with what is computed, or it does not."""
    found = []
    for part, finder in SLIPS.values():
        seen = finder(numbers)
        told = "; ".join(f"{slip.evidence}. Right: {slip.right}" for slip in seen)
        found.append(
            Verdict(part, "disagrees" if seen else "agrees", told or "no evidence against the print is found")
        )
    return tuple(found)


def slips(numbers: Numbers) -> tuple[Slip, ...]:
    """All of them."""
    return tuple(slip for _, finder in SLIPS.values() for slip in finder(numbers))


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """Three that have no picture of their own: centers on the sphere, the example, the counter-example."""
    figure = sheet(11.0, 4.0)
    counted, example, counter = figure.subplots(1, 3)
    _draw_sphere(counted, numbers, p)
    _draw_example(example, numbers)
    _draw_counter(counter, data)
    return {"slips": figure}


def _draw_sphere(ax: Any, numbers: Numbers, p: Parameters) -> None:
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette = tidy(ax)
    delta = np.linspace(0.9 * min(p["deltas"]), np.pi, 200)
    ax.plot(
        delta, 1.0 / np.sin(delta / 2.0) ** 2, color=palette.red, linewidth=1.6, label=r"$1/\sin^2(\delta/2)$"
    )
    ax.plot(
        delta,
        1.0 / (3.0 * np.sin(delta / 2.0) ** 2),
        color=palette.grey(0.6),
        linewidth=1.6,
        linestyle=(0, (4, 2)),
        label="as printed",
    )
    for at in p["deltas"]:
        mean = numbers[f"sphere_{at:.4g}"]
        ax.errorbar(
            [at],
            [mean.value],
            [(mean.high or mean.value) - mean.value],
            fmt="o",
            color=palette.ink,
            markersize=5,
            capsize=3,
        )
    ax.plot([], [], "o", color=palette.ink, markersize=5, label="counted")
    ax.set(yscale="log", xlim=(0.0, 1.02 * np.pi), xlabel="δ", ylabel="strong centers")
    ax.set_xticks([0, np.pi / 2, np.pi], ["0", "π/2", "π"])
    ax.set_title("1: strong centers on the sphere", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False)


def _draw_example(ax: Any, numbers: Numbers) -> None:
    """N over beta at the example's c and epsilon: what the formulas allow, what is printed, and what the
    conditions allow."""
    from nucleate.papers.causal_clustering.theorem52.data import limits
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette, eps, c = tidy(ax), theorem52.EXAMPLE["eps"], theorem52.EXAMPLE["c"]
    beta = np.linspace(12.0, 20.0, 161)
    both = [min(limits(float(b), c, eps)) for b in beta]
    ax.plot(beta, both, color=palette.ink, linewidth=1.4, label="both conditions")
    least, most = numbers["example_beta"], numbers["example_N"]
    for b, N, colour, style, words in (
        (
            least.value,
            most.value,
            palette.red,
            "-",
            f"formulas: β ≥ {least.value:.3f}, N ≤ {np.floor(most.value):.0f}",
        ),
        (
            least.expected or 0.0,
            most.expected or 0.0,
            palette.grey(0.6),
            (0, (4, 2)),
            f"printed: β ≥ {least.expected:g}, N ≤ {most.expected:g}",
        ),
    ):
        ax.plot([b, b, beta[-1]], [600.0, N, N], color=colour, linewidth=1.6, linestyle=style, label=words)
    ax.set(yscale="log", xlim=(13.8, 14.4), ylim=(640.0, 8000.0), xlabel="β", ylabel="N allowed")
    ax.set_yticks([700, 1000, 2000, 4000], ["700", "1000", "2000", "4000"])
    ax.minorticks_off()
    ax.set_title("5: the example of Theorem 5.2", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="upper right")


def _draw_counter(ax: Any, data: Data) -> None:
    """Where token 2 ends."""
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette = tidy(ax)
    x = data["counter"]["x"].values[:, 1]  # (b, 2)
    off = np.abs(x[:, 1]) > 0.01
    bins = np.linspace(-1.02, 1.02, 52)
    ax.hist(x[~off, 0], bins=list(bins), color=palette.grey(0.45), label="at ±ξ")
    ax.hist(x[off, 0], bins=list(bins), color=palette.red, label="elsewhere, at rest")
    ax.set(xlabel="cos α of token 2 at the end", ylabel="starts", xlim=(-1.08, 1.08))
    ax.set_title("6: Conjecture 1, K = diag(−1, 1)", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="upper center")


ITEM = Item(
    key="slips",
    title="Slips in the print",
    statement=(
        "Seven places at which the print, read as it stands, is not what its proof needs or what holds: the"
        " number of strong centers for d = 3; the sign in Theorem 5.2's second condition and the values of"
        " its example; the factor of Lemma 5.3's energies; two hypotheses of Lemma A.1; and Conjecture 1 for"
        " arbitrary Q and K. Only the last changes what is concluded."
    ),
    parameters={
        "deltas": [0.4, 0.8, 4.0 / 3.0, 2.0, float(np.pi)],
        "starts": 2000,
        "seed": 5,
        "betas": [0.1, 0.5, 2.0, 10.0, 64.0],
        "configurations": 20,
        "n": 16,
        "sweep_betas": 20,
        "sweep_c": 40,
        "sweep_eps": 400,
        "grid_betas": 61,
        "grid_points": 400,
    },
    quick={"starts": 300, "sweep_betas": 10, "grid_betas": 31},
    choices=(
        (
            "The numbers are made here, with fewer points than in the items that treat the statement itself,"
            " and judged by the rules of those items."
        ),
        "Centers on the sphere: so many tokens that more would add less than one center in a million.",
    ),
    criteria=(
        "1: disagrees if at some δ the 95 % interval of the mean number of strong centers excludes the"
        " printed one. 2: if the printed condition refuses nothing on a grid of which the one with the minus"
        " sign refuses a part, and holds in a made case in which that one fails. 3: if the gradient of the"
        " printed energy differs from the velocity by more than rounding. 4: if a bound fails somewhere"
        " outside the hypothesis that the print lacks. 5: if a printed value is farther from its formula than"
        " 0.2 %. 6: if some starts end away from ±ξ, at rest."
    ),
    captions={
        "slips": (
            "Left: strong centers on the sphere, counted with 95 % intervals, against the formula and the"
            " printed one. Middle: N and β that the example's formulas allow, those printed, and what the"
            " conditions themselves allow. Right: where token 2 ends in the counter-example to Conjecture 1"
            " with other Q and K."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
    slips=slips,
)
