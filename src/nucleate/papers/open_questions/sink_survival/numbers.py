"""What is measured: shares of runs won, thresholds, how they hang on beta, and runs held out."""

from collections.abc import Iterator

import numpy as np

from nucleate.checks import Array
from nucleate.papers.core.item import Data, Parameters
from nucleate.papers.core.numbers import Number, exact
from nucleate.papers.open_questions.sink_survival.measures import (
    RADIUS,
    Law,
    axis_values,
    interval,
    line,
    shares,
    thresholds,
    wins,
)

__all__ = ["NAMES", "OTHER_RADII", "measure"]

STARTS_AGAIN = "95 % interval, starts drawn again 2000 times"
HOW = f"{STARTS_AGAIN}, out to the edges of the grid's cells"
CLEAR = np.log(2.0)  # held-out runs nearer to the predicted threshold than this factor do not count
OTHER_RADII = (15.0, 60.0)
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
    """Shares of runs won, thresholds and their dependence on beta, the strengths at which the null catches
    up, and runs held out."""
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
    rising, scale = p["cases"][ingredient]["rising"], _scale(p, ingredient)
    found = thresholds(first & ~other, axis_values(p, ingredient), rising)
    for beta, one in zip(p["betas"], found, strict=True):
        about = (
            f"{NAMES[ingredient]}, β = {beta:g}: {scale} {'from' if rising else 'up to'} which in half the"
            " starts x_1 wins and another token in its place does not"
        )
        yield f"{ingredient}_alone_beta{beta:g}", Number(one.value, about, one.low, one.high, HOW)


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
    rising, scale = p["cases"][ingredient]["rising"], _scale(p, ingredient)
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
            words = f"{NAMES[ingredient]}: {{}} of the threshold's {scale} against β"
            words += f", within {radius:g}°" * bool(mark)
            yield (
                f"{ingredient}_slope{mark}",
                Number(law.slope, words.format("slope"), *law.slope_interval, HOW),
            )
            yield (
                f"{ingredient}_bend{mark}",
                Number(law.bend, words.format("coefficient of β²"), *law.bend_interval, HOW),
            )
            if not mark:
                yield f"{ingredient}_level", exact(law.level, f"{NAMES[ingredient]}: the same line at β = 0")
                if f"{ingredient}_held" in data:
                    yield from _held_out(data, p, ingredient, law)
                    yield _falls(data, p, ingredient)


def _scale(p: Parameters, ingredient: str) -> str:
    label = p["cases"][ingredient]["label"]
    return label if ingredient == "alibi" else f"ln {label}"


def _held_out(data: Data, p: Parameters, ingredient: str, law: Law) -> Iterator[tuple[str, Number]]:
    """Starts and beta that took no part in the line: who wins, by the side of it a run is on."""
    won = wins(data[f"{ingredient}_held"]["overlap"].values[..., 0, :])  # (start, value, beta)
    at = law.level + law.slope * np.array(p["held_betas"])  # (beta,)
    away = axis_values(p, ingredient)[:, None] - at  # (value, beta)
    rising = p["cases"][ingredient]["rising"]
    clear = np.abs(away) >= CLEAR  # (value, beta)
    right = (won == ((away > 0.0) == rising))[:, clear]  # (start, points)
    words = f"{NAMES[ingredient]}, starts and β held out, away from the line by a factor of 2"
    yield f"{ingredient}_held", _share_by_start(right, f"{words}: the winner is as predicted")
    usual = max(won[:, clear].mean(), 1.0 - won[:, clear].mean())
    yield f"{ingredient}_held_null", exact(usual, f"{words}: the same, by the commoner outcome always")


def _falls(data: Data, p: Parameters, ingredient: str) -> tuple[str, Number]:
    """By how much the threshold of held-out starts falls from the least to the largest beta held out, which
    does not hang on the line."""
    won = wins(data[f"{ingredient}_held"]["overlap"].values[..., 0, :])  # (start, value, beta)
    found = thresholds(won, axis_values(p, ingredient), p["cases"][ingredient]["rising"])
    first, last = found[0], found[-1]
    ends = interval(first.below - last.above, first.above - last.below)
    value = 0.0 if first.value == last.value else first.value - last.value
    about = (
        f"{NAMES[ingredient]}: the {_scale(p, ingredient)} by which the threshold of held-out starts falls"
        f" from β = {p['held_betas'][0]:g} to {p['held_betas'][-1]:g}"
    )
    return f"{ingredient}_held_falls", Number(value, about, *ends, HOW)


def _share_by_start(right: Array, about: str) -> Number:
    """The share of right predictions, (start, points); its interval draws starts again."""
    each = right.mean(1)  # (starts,)
    drawn = np.random.default_rng(2).integers(len(each), size=(2000, len(each)))
    low, high = np.quantile(each[drawn].mean(1), [0.025, 0.975])
    return Number(float(each.mean()), about, float(low), float(high), STARTS_AGAIN)
