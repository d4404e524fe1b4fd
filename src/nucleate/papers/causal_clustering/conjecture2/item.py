"""Conjecture 2: a multiple top of V sends every token to one point, where the first one's part in L
points."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.causal_clustering.conjectures.counterexample_search import REGIMES
from nucleate.papers.causal_clustering.conjectures.random_models import (
    ATTRACTING,
    CONJECTURE2,
    MOVING,
    NEAR,
    SLOW,
    family,
)
from nucleate.papers.causal_clustering.conjectures.search_results import leaving, search_result
from nucleate.papers.core.item import Data, Item, Numbers, Parameters, Verdict, Word
from nucleate.papers.core.numbers import Number, exact, share_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

    from nucleate.papers.core.cache import Desk

FOUND = -1e-6  # growth below this is a rest that attracts, and not rounding
LATE = 0.01  # of the runs may be on their way at the last time
# by how much a measured growth may fall short of its bound: rounding of finite sums, times the size of V
BOUND = 1e-9


def run(desk: "Desk") -> Data:
    """Random models, the search, and how pushes grow where the second token might rest."""
    p = desk.p
    data: dict[str, Any] = {}
    for i, kind in enumerate(CONJECTURE2):
        data[kind.name] = family(desk, kind, p["seed"], p["runs"])
        desk.at(0.8 * (i + 1) / len(CONJECTURE2))
    regime = next(one for one in REGIMES if one.conjecture == 2)
    data["search"] = desk.dataset(
        "search", partial(search_result, regime.name, p["seed"], p["search_rounds"])
    )
    data["leaving"] = desk.dataset("leaving", partial(leaving, p["models"], p["seed"]))
    return data


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Shares with intervals; what the search found; growth against its bound."""
    numbers: dict[str, Number] = {}
    for kind in CONJECTURE2:
        numbers |= _family(kind.name, kind.words, data[kind.name])
    search, left = data["search"], data["leaving"]
    short = left["bound"].values - left["growth"].values  # (rests,)
    about = (
        f"search, any Q and K: least growth at a rest elsewhere ({int(search['rests'])} rests of"
        f" {int(search['models'])} models)"
    )
    return numbers | {
        "search": exact(float(search["growth"]), about, "negative: it attracts"),
        "leaving_rests": exact(
            len(short),
            "random models with Gaussian Q and K: rests of the second token elsewhere than at p, of"
            f" {p['models']} models",
        ),
        "leaving_least": exact(
            left["growth"].values.min(initial=np.inf),
            "least growth of small pushes at these",
            "negative: it attracts",
        ),
        "leaving_short": exact(
            short.max(initial=-np.inf),
            "how far growth falls short of the bound derived for it, (1 − a)(λ − w) or aλ, at worst; not"
            " above 0 but for rounding",
        ),
    }


def _family(name: str, words: str, found: "Dataset") -> dict[str, Number]:
    fate, runs = found["fate"].values, int(found.sizes["run"])
    near = (fate == 0) & (found["off"].values.max(1) <= NEAR)  # (runs,)
    return {
        f"{name}_there": share_of(int(near.sum()), runs, f"{words}: runs that end within {NEAR:g} of p", 1.0),
        f"{name}_elsewhere": exact(
            np.isin(fate, (ATTRACTING, MOVING)).sum() + ((fate == 0) & ~near).sum(),
            f"{words}: runs that end elsewhere, at rest or moving",
            expected=0.0,
        ),
        f"{name}_slow": exact(
            (fate == SLOW).sum(), f"{words}: runs not there yet, but at no attracting rest", expected=0.0
        ),
        f"{name}_leaving": exact(
            ((fate == SLOW) & (found["growth"].values > 0.0)).sum(),
            f"{words}: of these, runs at a rest that repels, which they leave slowly",
        ),
    }


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    plain = [kind.name for kind in CONJECTURE2 if kind.name.startswith("identity")]
    general = [kind.name for kind in CONJECTURE2 if kind.scores != "identity" and kind.name != "leaning"]
    fine = numbers["search"].value > FOUND and numbers["leaving_least"].value > FOUND
    told = (
        f"of {numbers['leaving_rests'].value:.0f} places where the second token could rest elsewhere none"
        " attracts, and none grows slower than derived; the search finds no less growth than"
        f" {numbers['search'].value:.2g}. For two tokens and any Q, K and β we have a proof, and for more one"
        " that no other rest attracts (docs/conjectures.md)"
    )
    return (
        _verdict(
            numbers, plain, "Q = K = I: every token ends at the normalised L-component of the first", True, ""
        ),
        _verdict(
            numbers,
            general,
            "any Q and K: every token ends at the normalised L-component of the first",
            fine and numbers["leaving_short"].value <= BOUND,
            told,
        ),
        _beyond(numbers),
    )


def _verdict(numbers: Numbers, names: list[str], part: str, fine: bool, told: str) -> Verdict:
    there, runs, elsewhere, late, leaving = _sums(numbers, names)
    kinds = [kind for kind in CONJECTURE2 if kind.name in names]
    ends = (
        f"{there} of {runs} random runs do (at least {share_of(there, runs, '').low or 0.0:.2%} with 95 %"
        f" confidence), with β up to {max(kind.beta for kind in kinds):g} and up to"
        f" {max(kind.n for kind in kinds)} tokens, and where ⟨Vz, z⟩ is close to λ|z|², too"
    )
    word: Word = (
        "evidence against"
        if elsewhere or not fine
        else "evidence for"
        if late == leaving <= LATE * runs
        else "not testable here"
    )
    return Verdict(
        part,
        word,
        "; ".join(
            [
                ends,
                *(
                    [
                        (
                            f"not there yet: {late}, of which {leaving} at a rest that repels so weakly"
                            " that it takes longer to leave"
                        )
                    ]
                    if late
                    else []
                ),
                *([told] if told else []),
            ]
        ),
    )


def _beyond(numbers: Numbers) -> Verdict:
    there, runs, elsewhere, _, _ = _sums(numbers, ["leaning"])
    told = (
        f"{there} of {runs} runs with leaning eigenvectors and Gaussian Q and K end at the normalised"
        f" spectral projection of the first token onto L, {elsewhere} elsewhere"
    )
    return Verdict(
        "beyond the statement: V need not keep L^⊥",
        "evidence for" if there == runs else "evidence against",
        told,
    )


def _sums(numbers: Numbers, names: list[str]) -> tuple[int, int, int, int, int]:
    """Runs that end at p, all runs, runs that end elsewhere, runs not there yet, and those of them that leave
    a rest that repels."""
    counts = [numbers[f"{name}_there"].count or (0, 1) for name in names]
    elsewhere, late, leaving = (
        sum(int(numbers[f"{name}_{what}"].value) for name in names)
        for what in ("elsewhere", "slow", "leaving")
    )
    return sum(count[0] for count in counts), sum(count[1] for count in counts), elsewhere, late, leaving


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """Shares on the left; growth against its bound on the right."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.5, 4.3), layout="constrained")
    shares, growth = figure.subplots(1, 2, width_ratios=[1.35, 1.0])
    _draw_shares(shares, numbers)
    _draw_growth(growth, data["leaving"])
    return {"conjecture2": figure}


def _draw_shares(ax: Any, numbers: Numbers) -> None:
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette = tidy(ax)
    for i, kind in enumerate(CONJECTURE2):
        share = numbers[f"{kind.name}_there"]
        low, high = share.low or 0.0, share.high if share.high is not None else 1.0
        colour = palette.ink if numbers[f"{kind.name}_elsewhere"].value == 0.0 else palette.red
        ax.plot([low, high], [i, i], color=colour, linewidth=3.0, solid_capstyle="butt")
        ax.plot([share.value], [i], "o", color=colour, markersize=5.5, clip_on=False)
    ax.set_yticks(
        range(len(CONJECTURE2)),
        [kind.words.replace("KᵀQ", r"$K^{\top}Q$").replace("L^⊥", r"$L^{\perp}$") for kind in CONJECTURE2],
        fontsize=SMALL_POINTS,
    )
    least = min(numbers[f"{kind.name}_there"].low or 0.0 for kind in CONJECTURE2)
    ax.set(
        ylim=(len(CONJECTURE2) - 0.4, -0.6),
        xlim=(least - 0.1 * (1.0 - least), 1.0),
        xlabel="share of runs that end at p, with 95 % intervals",
    )
    ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.4g}%")
    ax.locator_params(axis="x", nbins=5)


def _draw_growth(ax: Any, found: "Dataset") -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette = tidy(ax)
    opposite = found["opposite"].values.astype(bool)
    for mask, words, mark, colour in (
        (opposite, "at −p", "o", CLUSTER_COLOURS[0]),
        (~opposite, "with a part across L", "D", CLUSTER_COLOURS[3]),
    ):
        ax.scatter(
            found["bound"].values[mask],
            found["growth"].values[mask],
            s=13,
            marker=mark,
            color=colour,
            linewidths=0,
            alpha=0.7,
            label=words,
        )
    low = float(min(found["bound"].values.min(initial=1.0), found["growth"].values.min(initial=1.0)))
    ends = [0.7 * max(low, 1e-12), 1.5]
    ax.plot(ends, ends, color=palette.grey(0.5), linewidth=1.0, zorder=0)
    ax.set(
        xscale="log",
        yscale="log",
        xlim=ends,
        ylim=(ends[0], 4.0),
        xlabel=r"bound: $(1-a)(\lambda-w)$ or $a\lambda$",
        ylabel="measured growth of small pushes",
    )
    ax.legend(
        fontsize=SMALL_POINTS,
        frameon=False,
        loc="lower right",
        title="rests of token 2",
        title_fontsize=SMALL_POINTS,
    )


ITEM = Item(
    key="conjecture2",
    title="Conjecture 2: one point",
    statement=(
        "If λ_max > 0 is real and semisimple with an eigenspace L of dimension 2 or more, V keeps L^⊥, and"
        " ⟨Vz, z⟩ < λ_max |z|² there, every token converges to p, the normalised L-component of x_1(0), from"
        " almost every start (nothing is asked of Q and K)."
    ),
    parameters={
        "families": {
            kind.name: f"d {kind.d}, n {kind.n}, β {kind.beta:g}, t {kind.t:g}" for kind in CONJECTURE2
        },
        "dim L": 2,
        "runs": 1000,
        "models": 300,
        "search_rounds": 6,
        "seed": 0,
    },
    quick={"runs": 20, "models": 20, "search_rounds": 1},
    choices=(
        (
            "Random V in four dimensions: 1 twice, and on L^⊥ a matrix W that is not symmetric, ⟨Wz, z⟩ below"
            " |z|² by 0.1 to 1.5 times |z|², or by 0.01 to 0.05 where it is called close. Gaussian Q and K"
            " have entries N(0, 1/d); positive definite KᵀQ means K = Q, Gaussian."
        ),
        (
            f"A run that does not end within {NEAR:g} of p is refined by Newton’s method; it counts as ending"
            " elsewhere if it rests there and all rates are negative, or never rests."
        ),
        (
            "Rests elsewhere: all that Newton’s method finds for a second token, the first at p; β = 2."
            " Bounds: at a rest with a part across L, W having the eigenvalue w there, a push along L grows"
            " like (1 − a)(λ − w), and at −p like aλ, a the share of attention that goes to p."
        ),
        (
            "The search: differential evolution over V, KᵀQ, β and the number of tokens at p for the rest"
            " with the least growth."
        ),
    ),
    criteria=(
        f"Q = K = I: evidence for if every run ends within {NEAR:g} of p, but for at most {LATE:.0%} that are"
        " leaving a rest at which small pushes grow; evidence against if one ends elsewhere; otherwise not"
        " testable here. Any Q and K: the same, and evidence against also if the search or the rests of"
        " random models show one that attracts, or growth below its bound. Beyond: evidence for if every run"
        " ends there."
    ),
    captions={
        "conjecture2": (
            "Left: runs that end at p, with 95 % intervals, by family. Right: places where a second token"
            " could rest elsewhere, for random Q and K: measured growth of small pushes against the bound"
            " derived for it; none is below the line, so all repel."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
