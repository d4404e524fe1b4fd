"""Conjecture 2: if the dominant eigenvalue of V is multiple, every token goes to one point, where the first
one's part in L points."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.papers.causal_clustering.conjecture2.data import run
from nucleate.papers.causal_clustering.conjecture2.figures import draw
from nucleate.papers.causal_clustering.conjectures.random_models import (
    ATTRACTING_ELSEWHERE,
    FAMILIES_2,
    NO_EQUILIBRIUM,
    NOT_YET_THERE,
)
from nucleate.papers.causal_clustering.shared.classify_end import END_DISTANCE
from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Verdict, Word
from nucleate.papers.core.numbers import Number, exact, share_of

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = ["ITEM"]

ATTRACTING_GROWTH = -1e-6  # growth below this is that of an attracting equilibrium, and not rounding
MAX_LATE_SHARE = 0.01  # of the runs that may be on their way at the last time
# by which a measured growth may fall short of its bound: of finite sums, times the size of V
GROWTH_ROUNDING = 1e-9
PROVED_FOR_ANY_NUMBER = ("identity-symmetric", "gaussian-circle")  # families


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Shares with intervals; what the search found; growth against its bound."""
    numbers: dict[str, Number] = {}
    for family in FAMILIES_2:
        numbers |= _family_numbers(family.name, family.words, data[family.name])
    numbers |= _two_token_numbers(data)
    search, elsewhere_growth = data["search"], data["growth_elsewhere"]
    short = elsewhere_growth["bound"].values - elsewhere_growth["growth"].values  # (equilibria,)
    about = (
        f"search, any Q and K: least growth at an equilibrium elsewhere ({int(search['equilibria'])}"
        f" equilibria of {int(search['models'])} models)"
    )
    return numbers | {
        "search": exact(float(search["growth"]), about, "negative: it attracts"),
        "elsewhere_equilibria": exact(
            len(short),
            "random models with Gaussian Q and K: equilibria of the second token elsewhere than at p, of"
            f" {p['models']} models",
        ),
        "elsewhere_least_growth": exact(
            elsewhere_growth["growth"].values.min(initial=np.inf),
            "least growth of small perturbations at these",
            "negative: it attracts",
        ),
        "elsewhere_short": exact(
            short.max(initial=-np.inf),
            "how far growth falls short of the bound derived for it, (1 − a)(λ − w) or aλ, at worst; not"
            " above 0 but for rounding",
        ),
    }


def _family_numbers(name: str, words: str, found: "Dataset") -> dict[str, Number]:
    outcome, runs = found["outcome"].values, int(found.sizes["run"])
    near = (outcome == 0) & (found["off"].values.max(1) <= END_DISTANCE)  # (runs,)
    return {
        f"{name}_there": share_of(
            int(near.sum()), runs, f"{words}: runs that end within {END_DISTANCE:g} of p", 1.0
        ),
        f"{name}_elsewhere": exact(
            np.isin(outcome, (ATTRACTING_ELSEWHERE, NO_EQUILIBRIUM)).sum() + ((outcome == 0) & ~near).sum(),
            f"{words}: runs that end elsewhere, at equilibrium or moving",
            expected=0.0,
        ),
        f"{name}_slow": exact(
            (outcome == NOT_YET_THERE).sum(),
            f"{words}: runs not there yet, but at no attracting equilibrium",
            expected=0.0,
        ),
        f"{name}_leaving": exact(
            ((outcome == NOT_YET_THERE) & (found["growth"].values > 0.0)).sum(),
            f"{words}: of these, runs at an equilibrium that repels, which they leave slowly",
        ),
    }


def _two_token_numbers(data: Data) -> dict[str, Number]:
    """The first two tokens of every run of every family: a run of two tokens, for no later one is felt."""
    runs = elsewhere = late = 0
    for family in FAMILIES_2:
        found = data[family.name]
        off = ~(found["off"].values[:, :2].max(1) <= END_DISTANCE)  # (runs,)
        waiting = off & (found["outcome"].values == NOT_YET_THERE)
        runs, elsewhere, late = runs + len(off), elsewhere + int((off & ~waiting).sum()), late + waiting.sum()
    about = "the first two tokens of all runs of all families, V that does not keep L^⊥ among them"
    return {
        "two_elsewhere": share_of(elsewhere, runs, f"{about}: one ends elsewhere than at p", 0.0),
        "two_late": exact(late, f"{about}: not there yet, but at no attracting equilibrium", expected=0.0),
    }


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    names = [
        family.name for family in FAMILIES_2 if family.name not in (*PROVED_FOR_ANY_NUMBER, "non-normal")
    ]
    plain = [name for name in names if name.startswith("identity")]
    general = [name for name in names if name not in plain]
    least = numbers["search"].value
    return (
        _verdict(
            numbers,
            plain,
            "Conjecture 2 with Q = K = I: every token ends at p, the normalised L-component of the first,"
            " from almost every start",
            True,
            "",
        ),
        _verdict(
            numbers,
            general,
            "Conjecture 2 with any Q and K: every token ends at p, the normalised L-component of the first,"
            " from almost every start",
            least > ATTRACTING_GROWTH,
            f"at the equilibria elsewhere that the search finds perturbations grow like e^({least:.2g} t) at"
            " least",
        ),
        _few_tokens(numbers),
        _any_number(numbers),
        _no_other_equilibrium(numbers),
        _beyond(numbers),
    )


def _few_tokens(numbers: Numbers) -> Verdict:
    elsewhere, late = numbers["two_elsewhere"], int(numbers["two_late"].value)
    ended, runs = elsewhere.count or (1, 1)
    return Verdict(
        "Conjecture 2 is true for at most dim L tokens, any Q, K, β (L-components linearly independent); V"
        " need not keep L^⊥ if p is the normalised spectral projection of x_1(0) onto L",
        "proved" if ended == 0 else "contradicted",
        f"two tokens (dim L = 2), the first two of {runs} random runs: {ended} end elsewhere, at most"
        f" {elsewhere.high or 0.0:.2%} with 95 % confidence"
        + (f"; not there yet, but at no attracting equilibrium: {late}" if late else ""),
        "conjectures.md#at-most-dim-l-tokens",
    )


def _any_number(numbers: Numbers) -> Verdict:
    _, runs, elsewhere, late, _ = _totals(numbers, list(PROVED_FOR_ANY_NUMBER))
    return Verdict(
        "Conjecture 2 is true for any number of tokens if d = dim L + 1, or if V is symmetric with simple"
        " lower eigenvalues and KᵀQ = cI, c ≥ 0",
        "proved" if elsewhere == 0 else "contradicted",
        f"16 tokens, {runs} random runs of these two kinds: {elsewhere} end elsewhere"
        + (f"; not there yet, but at no attracting equilibrium: {late}" if late else "")
        + ". For other V, Q and K and more than dim L tokens there is no proof",
        "conjectures.md#any-number-of-tokens",
    )


def _no_other_equilibrium(numbers: Numbers) -> Verdict:
    good = (
        numbers["search"].value > ATTRACTING_GROWTH
        and numbers["elsewhere_least_growth"].value > ATTRACTING_GROWTH
        and numbers["elsewhere_short"].value <= GROWTH_ROUNDING
    )
    return Verdict(
        "Conjecture 2, any number of tokens, any Q, K, β: at every equilibrium but those with all tokens at"
        " one point of L some perturbation along L grows, so no other attracts",
        "proved" if good else "contradicted",
        "it grows like (1 − a)(λ − w) or aλ, a the share of attention that goes to p and w a lower"
        f" eigenvalue of V; at {numbers['elsewhere_equilibria'].value:.0f} equilibria that a second token"
        f" has elsewhere growth is {numbers['elsewhere_least_growth'].value:.2g} at least and falls short"
        f" of its bound by {max(numbers['elsewhere_short'].value, 0.0):.0e} at most; the search finds none"
        f" below {numbers['search'].value:.2g}",
        "conjectures.md#no-other-equilibrium-attracts",
    )


def _verdict(numbers: Numbers, names: list[str], part: str, fine: bool, why: str) -> Verdict:
    there, runs, elsewhere, late, leaving_slowly = _totals(numbers, names)
    families = [family for family in FAMILIES_2 if family.name in names]
    ends = (
        f"{there} of {runs} random runs do (at least {share_of(there, runs, '').low or 0.0:.2%} with 95 %"
        f" confidence), with β up to {max(family.beta for family in families):g} and up to"
        f" {max(family.n for family in families)} tokens, and where ⟨Vz, z⟩ is close to λ|z|², too; all with"
        " more than dim L tokens, and runs of the two kinds for which it is proved are not among them"
    )
    word: Word = (
        "evidence against"
        if elsewhere or not fine
        else "evidence for"
        if late == leaving_slowly <= MAX_LATE_SHARE * runs
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
                            f"not there yet: {late}, of which {leaving_slowly} at an equilibrium that repels"
                            " so weakly that it takes longer to leave"
                        )
                    ]
                    if late
                    else []
                ),
                *([why] if why else []),
            ]
        ),
    )


def _beyond(numbers: Numbers) -> Verdict:
    there, runs, elsewhere, _, _ = _totals(numbers, ["non-normal"])
    why = (
        f"{there} of {runs} runs of 16 tokens with eigenvectors that are not orthogonal and Gaussian Q and K"
        f" do, {elsewhere} end elsewhere"
    )
    return Verdict(
        "more than dim L tokens, V that does not keep L^⊥: every token ends at the normalised spectral"
        " projection of the first onto L",
        "observed" if there == runs else "not observed",
        why,
    )


def _totals(numbers: Numbers, names: list[str]) -> tuple[int, int, int, int, int]:
    """Runs that end at p, all runs, runs that end elsewhere, runs not there yet, and those of them that leave
    an equilibrium that repels."""
    counts = [numbers[f"{name}_there"].count or (0, 1) for name in names]
    elsewhere, late, leaving_slowly = (
        sum(int(numbers[f"{name}_{what}"].value) for name in names)
        for what in ("elsewhere", "slow", "leaving")
    )
    return (
        sum(count[0] for count in counts),
        sum(count[1] for count in counts),
        elsewhere,
        late,
        leaving_slowly,
    )


ITEM = Item(
    key="conjecture2",
    title="Conjecture 2: one point",
    cost=Cost(quick=4.5, full=64.1),
    source="Conjecture 2",
    statement=(
        "If λ_max > 0 is real and semisimple with an eigenspace L of dimension 2 or more, V keeps L^⊥, and"
        " ⟨Vz, z⟩ < λ_max |z|² there, every token converges to p, the normalised L-component of x_1(0), from"
        " almost every start (no condition on Q and K is known to be named)."
    ),
    ours=(
        "How much of it can be proved (docs/conjectures.md): all of it for at most dim L tokens, for d = dim"
        " L + 1, and for symmetric V with KᵀQ = cI; and whether V must keep L^⊥. There a is the share of a"
        " token’s attention that goes to tokens at p, and w an eigenvalue of V below λ = λ_max."
    ),
    parameters={
        "families": {
            family.name: f"d {family.d}, n {family.n}, β {family.beta:g}, t {family.t:g}"
            for family in FAMILIES_2
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
            f"A run that does not end within {END_DISTANCE:g} of p is refined by Newton’s method; it counts"
            " as ending elsewhere if it is at an equilibrium there and all rates are negative, or reaches"
            " none."
        ),
        (
            "Equilibria elsewhere: all that Newton’s method finds for a second token, the first at p; β = 2."
            " Bounds: at an equilibrium with a part across L, W having the eigenvalue w there, a perturbation"
            " along L grows like (1 − a)(λ − w), and at −p like aλ, a the share of attention that goes to p."
        ),
        (
            "The search: differential evolution over V, KᵀQ, β and the number of tokens at p for the"
            " equilibrium with the least growth."
        ),
    ),
    criteria=(
        f"The conjecture, Q = K = I: evidence for if every run ends within {END_DISTANCE:g} of p, but for at"
        f" most {MAX_LATE_SHARE:.0%} that are leaving an equilibrium at which small perturbations grow (runs"
        " of the two kinds for which it is proved for any number of tokens are not counted);"
        " evidence against if one ends elsewhere; otherwise not testable here. Any Q and K: the same, and"
        " evidence against also if the search shows an equilibrium elsewhere that attracts. At most dim L"
        " tokens, and any number: proved if no run ends elsewhere, else contradicted (late runs are counted)."
        " No other equilibrium: proved if neither the search nor the equilibria of random models show one"
        " that attracts, or growth below its bound, else contradicted. V that does not keep L^⊥: observed if"
        " every run ends there."
    ),
    captions={
        "conjecture2": (
            "Left: runs that end at p, with 95 % intervals, by family. Right: equilibria that a second token"
            " could have elsewhere, for random Q and K: measured growth of small perturbations against the"
            " bound derived for it, (1 − a)(λ − w) or aλ; none is below the line, so all repel."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
