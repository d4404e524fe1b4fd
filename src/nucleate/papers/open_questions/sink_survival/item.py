"""Does the sink survive: with which ingredients of a transformer, and up to which strength, do all tokens
still end at the first one?"""

from collections.abc import Iterator

import numpy as np

from nucleate.checks import Array
from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number, exact
from nucleate.papers.open_questions.sink_survival.data import run
from nucleate.papers.open_questions.sink_survival.figures import draw
from nucleate.papers.open_questions.sink_survival.measures import (
    MOST,
    RADIUS,
    axis_values,
    line,
    phase,
    shares,
    thresholds,
    wins,
)

__all__ = ["ITEM"]

HOW = "95 % interval, starts drawn again 2000 times"
MIN_RIGHT = 0.8  # of held-out runs
CLEAR = np.log(2.0)  # held-out runs nearer to the predicted threshold than this factor do not count
OTHER_RADII = (15.0, 60.0)
ROUNDING = 1e-9  # a slope that is smaller is none
FALLING = ("mlp", "heads", "layers", "noise", "alibi")
NAMES = {
    "none": "nothing else",
    "sqrt": "norm sqrt",
    "ngpt": "norm nGPT",
    "pre": "Pre-LN",
    "peri": "Peri-LN",
    "mix": "Mix-LN",
    "rope": "RoPE",
    "alibi": "ALiBi",
    "mlp": "an MLP",
    "heads": "four heads with V = I + sG",
    "layers": "V = I + sG that changes with depth",
    "noise": "noise",
}


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Shares of runs won, thresholds and their dependence on beta, and runs held out."""
    numbers: dict[str, Number] = {}
    for ingredient in p["cases"]:
        numbers |= dict(_shares(data, p, ingredient))
        numbers |= dict(_thresholds(data, p, ingredient))
        numbers |= dict(_one_alone(data, p, ingredient))
    return numbers


def _one_alone(data: Data, p: Parameters, ingredient: str) -> Iterator[tuple[str, Number]]:
    """Runs in which x_1 wins and the other token does not, or the other way round."""
    won = wins(data[ingredient]["overlap"].values[..., :2, :])  # (start, value, beta, 2)
    first, other = won[..., 0], won[..., 1]  # (start, value, beta)
    for name, some, words in (
        ("first_alone", first & ~other, "x_1 wins and another token in its place does not"),
        ("other_alone", other & ~first, "another token in the place of x_1 wins and x_1 does not"),
    ):
        about = f"{NAMES[ingredient]}: runs at all points in which {words}"
        yield f"{ingredient}_{name}", exact(int(some.sum()), about, f"of {some.size} runs")


def _shares(data: Data, p: Parameters, ingredient: str) -> Iterator[tuple[str, Number]]:
    overlap = data[ingredient]["overlap"].values  # (start, value, beta, kind, token)
    case = p["cases"][ingredient]
    for i, value in enumerate(case["values"]):
        for b, beta in enumerate(p["betas"]):
            words = f"{NAMES[ingredient]}, {case['label']} = {value:g}, β = {beta:g}"
            for name, number in shares(overlap[:, i, b], words).items():
                yield f"{ingredient}_{value:g}_beta{beta:g}_{name}", number


def _thresholds(data: Data, p: Parameters, ingredient: str) -> Iterator[tuple[str, Number]]:
    overlap = data[ingredient]["overlap"].values[..., 0, :]  # (start, value, beta, token)
    axis, betas = axis_values(p, ingredient), np.array(p["betas"])
    rising, label = p["cases"][ingredient]["rising"], p["cases"][ingredient]["label"]
    scale = label if ingredient == "alibi" else f"ln {label}"
    for radius in (RADIUS, *OTHER_RADII):
        found = thresholds(wins(overlap, radius), axis, rising)
        mark = "" if radius == RADIUS else f"_within{radius:g}"
        for beta, one in zip(betas, found, strict=True):
            about = f"{NAMES[ingredient]}, β = {beta:g}: {scale} at which half the starts change"
            about += f", within {radius:g}°" * bool(mark)
            yield (
                f"{ingredient}_threshold_beta{beta:g}{mark}",
                Number(one.value, about, one.low, one.high, HOW),
            )
        law = line(found, betas)
        if law is not None:
            level, slope, low, high = law
            about = f"{NAMES[ingredient]}: slope of the threshold's {scale} against β"
            about += f", within {radius:g}°" * bool(mark)
            yield f"{ingredient}_slope{mark}", Number(slope, about, low, high, HOW)
            if not mark:
                yield f"{ingredient}_level", exact(level, f"{NAMES[ingredient]}: the same line at β = 0")
                if f"{ingredient}_held" in data:
                    yield from _held_out(data, p, ingredient, level, slope)
                    yield _falls(data, p, ingredient)


def _held_out(
    data: Data, p: Parameters, ingredient: str, level: float, slope: float
) -> Iterator[tuple[str, Number]]:
    """Starts and beta that took no part in the line: who wins, by the side of it a run is on."""
    won = wins(data[f"{ingredient}_held"]["overlap"].values[..., 0, :])  # (start, value, beta)
    away = axis_values(p, ingredient)[:, None] - (level + slope * np.array(p["held_betas"]))  # (value, beta)
    rising = p["cases"][ingredient]["rising"]
    clear = np.abs(away) >= CLEAR  # (value, beta)
    right = (won == ((away > 0.0) == rising))[:, clear]  # (start, points)
    words = f"{NAMES[ingredient]}, starts and β held out, away from the line by a factor of 2"
    yield f"{ingredient}_held", _share_by_start(right, f"{words}: the winner is as predicted")
    usual = max(won[:, clear].mean(), 1.0 - won[:, clear].mean())
    yield f"{ingredient}_held_null", exact(usual, f"{words}: the same, by the commoner outcome always")


def _falls(data: Data, p: Parameters, ingredient: str) -> tuple[str, Number]:
    """Whether the threshold of a held-out start falls from the least to the largest beta held out, which does
    not hang on the line: 1, -1 if it rises, 0 if it is the same."""
    won = wins(data[f"{ingredient}_held"]["overlap"].values[..., 0, :])  # (start, value, beta)
    found = thresholds(won, axis_values(p, ingredient), p["cases"][ingredient]["rising"])
    first, last = found[0].each, found[-1].each  # (starts,)
    falls = np.asarray((first > last) * 1.0 - (first < last) * 1.0, dtype=np.float64)  # (starts,)
    about = f"{NAMES[ingredient]}: held-out starts whose threshold falls with β, less those whose rises"
    return f"{ingredient}_held_falls", _share_by_start(falls[:, None], about)


def _share_by_start(right: Array, about: str) -> Number:
    """The share of right predictions, (start, points); its interval draws starts again."""
    each = right.mean(1)  # (starts,)
    drawn = np.random.default_rng(2).integers(len(each), size=(2000, len(each)))
    low, high = np.quantile(each[drawn].mean(1), [0.025, 0.975])
    return Number(float(each.mean()), about, float(low), float(high), HOW)


def _cells(numbers: Numbers, p: Parameters, ingredient: str) -> list[list[str]]:
    """The phase at every value (rows) and beta."""
    return [
        [
            phase(
                {
                    name: numbers[key]
                    for name in ("first", "other", "full")
                    if (key := f"{ingredient}_{value:g}_beta{beta:g}_{name}") in numbers
                }
            )
            for beta in p["betas"]
        ]
        for value in p["cases"][ingredient]["values"]
    ]


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    found = [_everywhere(numbers, p)]
    found += [_falling(numbers, p, one) for one in FALLING if one in p["cases"]]
    if {"none", "sqrt", "ngpt", "pre", "peri"} <= set(p["cases"]):
        found.append(_depths(numbers, p))
    return tuple(found)


def _tenths(share: float) -> str:
    return {0.8: "eight", 0.9: "nine"}[share]


def _everywhere(numbers: Numbers, p: Parameters) -> Verdict:
    """RoPE at every base; nothing else, sqrt and nGPT at the largest depth."""
    some = [one for one in ("none", "sqrt", "ngpt", "rope") if one in p["cases"]]
    told, good = [], True
    for one in some:
        cells = _cells(numbers, p, one)
        cells = cells if one == "rope" else cells[-1:]
        flat = [cell for row in cells for cell in row]
        good &= all(cell == "x_1" for cell in flat)
        told.append(f"{NAMES[one]} {flat.count('x_1')} of {len(flat)}")
    return Verdict(
        f"with V = I the sink stays, {_tenths(MOST)} tenths of the tokens within {RADIUS:g}° of x_1(0): with"
        " RoPE at every base, and by the largest depth under the norms sqrt and nGPT as without, at every β"
        " tried",
        "observed" if good else "not observed",
        f"points at which x_1 wins: {', '.join(told)}",
    )


def _falling(numbers: Numbers, p: Parameters, ingredient: str) -> Verdict:
    label = p["cases"][ingredient]["label"]
    slope, held = numbers.get(f"{ingredient}_slope"), numbers.get(f"{ingredient}_held")
    null, falls = (numbers.get(f"{ingredient}_held_{name}") for name in ("null", "falls"))
    weakest = _cells(numbers, p, ingredient)[0]
    good = (
        slope is not None
        and held is not None
        and null is not None
        and falls is not None
        and all(cell == "x_1" for cell in weakest)
        and (0.0 if slope.high is None else slope.high) < -ROUNDING
        and held.value >= MIN_RIGHT
        and (held.low or 0.0) > null.value
        and (falls.low or 0.0) > 0.0
    )
    at = []
    for beta in p["betas"]:
        one = numbers[f"{ingredient}_threshold_beta{beta:g}"]
        at.append(f"{_strength(one.value, ingredient)} at β = {beta:g}")
    law = "no line" if slope is None else f"slope {slope.value:.2f} [{slope.low:.2f}, {slope.high:.2f}]"
    alone = [int(numbers[f"{ingredient}_{name}"].value) for name in ("first_alone", "other_alone")]
    test = (
        "none held out"
        if held is None or null is None or falls is None
        else f"{held.value:.0%} [{held.low:.0%}, {held.high:.0%}] of held-out runs as predicted,"
        f" {null.value:.0%} by the commoner outcome; the threshold falls from β ="
        f" {p['held_betas'][0]:g} to {p['held_betas'][-1]:g} in {falls.value:.0%} [{falls.low:.0%},"
        f" {falls.high:.0%}] more of the held-out starts than it rises in"
    )
    decay = f"{label} falls linearly" if ingredient == "alibi" else f"{label} falls exponentially"
    return Verdict(
        f"with {NAMES[ingredient]} x_1 wins below a strength only, and this {decay} with β",
        "observed" if good else "not observed",
        f"half the starts change at {label} = {', '.join(at)}; {law}; {test}; x_1 alone wins {alone[0]}"
        f" runs, the other alone {alone[1]}; at the weakest strength x_1 wins at {weakest.count('x_1')} of"
        f" {len(weakest)} β",
    )


def _strength(value: float, ingredient: str) -> str:
    if not np.isfinite(value):
        return "above all tried" if value > 0 else "below all tried"
    return f"{value:.1f}" if ingredient == "alibi" else f"{np.exp(value):.2g}"


def _depths(numbers: Numbers, p: Parameters) -> Verdict:
    """Pre- and Peri-LN have not decided at the largest beta; nGPT decides no later than without."""
    last = {one: _cells(numbers, p, one)[-1] for one in ("none", "pre", "peri", "ngpt")}
    at = {
        one: [numbers[f"{one}_threshold_beta{beta:g}"] for beta in p["betas"]]
        for one in ("none", "sqrt", "ngpt", "pre", "peri")
    }
    earlier = all(a.value <= b.value for a, b in zip(at["ngpt"], at["none"], strict=True))
    good = (
        earlier
        and last["none"][-1] == "x_1"
        and all(last[one][0] == "x_1" and last[one][-1] == "not" for one in ("pre", "peri"))
    )
    listed = "; ".join(
        f"{NAMES[one]} {', '.join(_strength(number.value, one) for number in found)}"
        for one, found in at.items()
    )
    return Verdict(
        "norms only change the depth at which x_1 has won: nGPT needs no more than none, Pre-LN and Peri-LN"
        " so much more that at the largest β it has not happened where it has without",
        "observed" if good else "not observed",
        f"depth by which half the starts are won, for β = {', '.join(f'{beta:g}' for beta in p['betas'])}:"
        f" {listed}",
    )


DEPTHS = [1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0]
STRENGTHS = [0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0]


def _by_depth() -> dict[str, object]:
    return {"axis": "depth", "label": "t", "values": DEPTHS, "rising": True}


def _by_strength(
    label: str, values: list[float], depth: float = 1000.0, rising: bool = False
) -> dict[str, object]:
    return {"axis": "strength", "label": label, "values": values, "depth": depth, "rising": rising}


ITEM = Item(
    key="sink-survival",
    title="Does the sink survive",
    cost=Cost(quick=36.0, full=180.0),
    source="section 6: MLP layers, other normalisations, several heads, noise; Theorem 4.1 without them",
    statement=(
        "Theorem 4.1: with V = I and any Q, K, all tokens tend to x_1(0) from almost every start. Of MLPs,"
        " norms, several heads, positions, noise and weights that change with depth the paper makes no"
        " claim."
    ),
    ours=(
        "With V = I token k is pulled by a positive mean of earlier tokens and by nothing else, so that"
        " positions and norms, which change weights and speeds but not their signs, should leave the end as"
        " it is and change only the depth at which it is reached; sqrt is the run without it at the time"
        " 2√(t+1) − 2. What pulls by itself (an MLP, V ≠ I, noise, or ALiBi, whose self-weight grows)"
        " competes with pulls that are e^{β(⟨x_k,x_j⟩−1)} between distant tokens: it should win from a"
        " strength on that falls exponentially with β."
    ),
    parameters={
        "n": 32,
        "d": 4,
        "Q, K": "I, but for heads",
        "betas": [0.5, 1.0, 2.0, 3.0],
        "starts": 12,
        "held_betas": [1.5, 2.5],
        "held_starts": 8,
        "held_seed": 1000,
        "cases": {
            "none": _by_depth(),
            "sqrt": _by_depth(),
            "ngpt": _by_depth(),
            "pre": _by_depth(),
            "peri": _by_depth(),
            "mix": _by_strength("τ", [1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0], 10000.0, True),
            "rope": _by_strength("1/base", [1e-8, 1e-4, 1e-2, 1e-1, 1.0]),
            "alibi": _by_strength("slope", [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0]),
            "mlp": _by_strength("s", STRENGTHS),
            "heads": _by_strength("s", [0.1, 0.3, 1.0, 3.0, 10.0]),
            "layers": _by_strength("s", [0.01, 0.03, 0.1, 0.3, 1.0, 3.0], 500.0),
            "noise": _by_strength("1/κ", [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1], 250.0),
        },
    },
    quick={"betas": [0.5, 1.5, 3.0], "starts": 4, "held_betas": [1.0, 2.0], "held_starts": 2},
    choices=(
        (
            f"x_1 has won a run if at least {MOST:.0%} of the other tokens are within {RADIUS:g}° of x_1(t)"
            f" at its"
            " end; 15° and 60° are given beside it. x_1 sees itself alone and moves as if nobody else were"
            " there."
        ),
        (
            "Nulls: the same with another token j in the place of x_1, drawn at random, and where j would be"
            " were it the first; and, at the weakest strength, the full mask, where there is no first token,"
            " with the place where x_1 would be alone. Where these win as often, all end there whoever comes"
            " first, and x_1 has not won."
        ),
        (
            "Strengths: an MLP of four neurons per dimension, relu, with normal weights, scaled to length s"
            " in the mean square over the sphere; four heads with normal Q, K and V = (I + sG)/(4√(1+s²));"
            " layers of V = (I + sG)/√(1+s²) that act for 2 units of time each, to t = 500; noise 1/κ, to t"
            " = 250; ALiBi's slope; all others to t = 1000. Norms have no strength, so their axis is depth,"
            " that of Mix-LN the time τ of its change, to 10⁴."
        ),
        (
            "The threshold is the median over starts of the strength at which x_1 first fails to win, half"
            " way between two values tried in ln s (in the slope itself for ALiBi). A line through it"
            " against β is fitted on seeds 0 to 11 at four β and tried on seeds 1000 to 1007 at two other β."
        ),
        (
            "The strengths tried were set after a trial on three starts, seeds 5000 to 5002, not used again."
            " After the first run three things were changed: a slope below rounding no longer counts as"
            " falling, which turns the verdict on noise to not observed; the runs that x_1 or the other token"
            " wins alone are counted; and a threshold must fall on held-out starts by itself, for without"
            " that ALiBi's, which falls by one step of the grid, was observed where one threshold at every β"
            " would have named the same winners. The thresholds of held-out starts had not been measured."
        ),
    ),
    criteria=(
        "x_1 wins at a point if the 95 % interval of its share of runs is above one half and above those of"
        " both nulls. First: observed if it wins with RoPE at every point, and at the largest depth without"
        " norm, with sqrt and with nGPT at every β. Second to sixth: observed if x_1 wins at the weakest"
        " strength at every β, the 95 % interval of the slope of the threshold against β is below 0, at"
        " least"
        f" {MIN_RIGHT:.0%} of the held-out runs away from the line by a factor of 2 (ALiBi: by 0.7 in the"
        f" slope)"
        " are as predicted, their interval is above the share of the commoner outcome, and that of the"
        " share of held-out starts whose threshold falls from the least to the largest β held out, less"
        " those in which it rises, is above 0 (the last added after the first run). Seventh: observed"
        " if at every β the depth of nGPT is at most that without norm, and under Pre- and Peri-LN x_1 wins"
        " by the largest depth at the least β and does not at the largest, where it does without norm."
    ),
    captions={
        "sink-survival": (
            "The share of runs in which all tokens end at the first one (green, of 12 starts), over the"
            " strength of each ingredient, or depth, and β. Crosses: another token in the place of the"
            " first, or the full mask, does as well within intervals; dots: not decided by these starts."
            " Line: the strength at which half the starts change."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
