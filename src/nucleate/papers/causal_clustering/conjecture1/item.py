"""Conjecture 1: V with distinct positive eigenvalues sends every token to the top eigenvector or its
opposite."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.papers.causal_clustering.conjecture1.figures import draw
from nucleate.papers.causal_clustering.conjectures.adversarial_starts import LOOK, adversarial
from nucleate.papers.causal_clustering.conjectures.counterexample_search import REGIMES
from nucleate.papers.causal_clustering.conjectures.counterexamples import OFF, Example, examples, kept_mark
from nucleate.papers.causal_clustering.conjectures.defective_top import (
    EDGE,
    RULE_BETA,
    ahead,
    defective,
    rule,
)
from nucleate.papers.causal_clustering.conjectures.equilibria import plane_of, resting
from nucleate.papers.causal_clustering.conjectures.random_models import (
    ATTRACTING,
    CONJECTURE1,
    MOVING,
    NEAR,
    SLOW,
    family,
    model_of,
)
from nucleate.papers.causal_clustering.conjectures.search_results import (
    SHARP,
    criterion,
    replays,
    reported,
    search_result,
)
from nucleate.papers.core.item import Data, Item, Numbers, Parameters, Slip, Verdict
from nucleate.papers.core.numbers import Number, exact, share_of

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import Desk

FOUND = -1e-6  # growth below this is a rest that attracts, and not rounding
FITS = 1e-5  # how near token 2 must end to a rest that the criterion foresees
REGIMES1 = tuple(regime for regime in REGIMES if regime.conjecture == 1)
PRECISE = 0.01  # ends that are the same, to this share
BESIDE = 0.1  # from -xi: a token that rests beside it is nearer, and one at xi is not


def run(desk: "Desk") -> Data:
    """Random models, adversarial starts, the search, the first counter-example from many starts, all replays,
    and defective tops."""
    p = desk.p
    data: dict[str, Any] = {}
    for i, kind in enumerate(CONJECTURE1):
        data[kind.name] = family(desk, kind, p["seed"], p["runs"])
        desk.at(0.6 * (i + 1) / len(CONJECTURE1))
    data["adversary"] = desk.dataset(
        "adversary", lambda: adversarial(CONJECTURE1[0], p["seed"], p["models"], p["rounds"])
    )
    data["reported"] = desk.dataset("reported", lambda: reported(p["starts"], p["seed"]))
    desk.at(0.7)
    for i, regime in enumerate(REGIMES1):
        data[f"search-{regime.name}"] = desk.dataset(
            f"search-{regime.name}", partial(search_result, regime.name, p["seed"], p["search_rounds"])
        )
        desk.at(0.7 + 0.2 * (i + 1) / len(REGIMES1))
    data["replays"] = desk.dataset("replays", replays)
    data["criterion"] = desk.dataset("criterion", criterion)
    data["defective"] = desk.dataset("defective", lambda: defective(p["defective_betas"]))
    data["rule"] = desk.dataset("rule", lambda: rule(p["defective_starts"], p["seed"]))
    return data


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Shares with intervals; counter-examples with their rates."""
    numbers: dict[str, Number] = {}
    for kind in CONJECTURE1:
        numbers |= _family(kind.name, kind.words, data[kind.name])
    far, unforeseen = _foreseen(data, p["seed"])
    adversary = data["adversary"]
    numbers |= {
        "second_far": exact(
            max(far, default=0.0),
            "second tokens that end off ±ξ: largest distance from a rest that the criterion foresees",
            expected=0.0,
        ),
        "second_unforeseen": exact(
            unforeseen,
            f"second tokens that end off ±ξ where the criterion foresees nothing within {FITS:g}, of"
            f" {len(far)}",
            expected=0.0,
        ),
        "adversary_random": exact(
            np.median(adversary["random"].values),
            f"distance from ±ξ at t = {LOOK:g}, random starts, median over models",
        ),
        "adversary_evolved": exact(
            np.median(adversary["evolved"].values), "the same for starts evolved to stay away"
        ),
        "adversary_end": share_of(
            int((adversary["end"].values <= NEAR).sum()),
            adversary.sizes["run"],
            f"evolved starts that end within {NEAR:g} of ±ξ all the same",
            1.0,
        ),
    }
    for regime in REGIMES1:
        found = data[f"search-{regime.name}"]
        about = (
            f"search, {regime.words}: least growth at a rest off ±ξ ({int(found['rests'])} rests of"
            f" {int(found['models'])} models)"
        )
        numbers[f"search_{regime.name}"] = exact(float(found["growth"]), about, "negative: it attracts")
    outside = _outside(data["defective"]) | _rule(data["rule"])
    return (
        numbers | _first(data["reported"]) | _kept(data["replays"]) | outside | _diagonal(data["criterion"])
    )


def _family(name: str, words: str, found: "Dataset") -> dict[str, Number]:
    fate, runs = found["fate"].values, int(found.sizes["run"])
    # (runs,)
    elsewhere = np.isin(fate, (ATTRACTING, MOVING)) | ((fate == 0) & ~(found["off"].values.max(1) <= NEAR))
    return {
        f"{name}_off": share_of(
            int(elsewhere.sum()), runs, f"{words}: runs that end elsewhere than at ±ξ, at rest or moving", 0.0
        ),
        f"{name}_slow": exact(
            (fate == SLOW).sum(), f"{words}: runs not there yet, but at no attracting rest", expected=0.0
        ),
        f"{name}_round": exact((fate == MOVING).sum(), f"{words}: runs with a token that never rests"),
    }


def _foreseen(data: Data, seed: int) -> tuple[list[float], int]:
    """Second tokens that end off the poles: how far from a rest that the criterion foresees, and how many
    farther than FITS."""
    far = []
    for kind in CONJECTURE1:
        found = data[kind.name]
        for i in np.nonzero((found["fate"].values == ATTRACTING) & (found["off"].values[:, 1] > OFF))[0]:
            model = model_of(kind, seed, int(found["run"].values[i]))
            assert model.V is not None
            plane = plane_of(model.V, model.K, model.Q, kind.beta)
            # token 1 may be at -xi: turn all round
            side = np.sign(found["first"].values[i] @ plane.basis[:, 0])
            places = [side * plane.point(rest.alpha) for rest in resting(plane) if rest.rate < 0.0]
            far.append(
                min(
                    (float(np.linalg.norm(found["second"].values[i] - place)) for place in places),
                    default=2.0,
                )
            )
    return far, sum(one > FITS for one in far)


def _first(found: "Dataset") -> dict[str, Number]:
    """The counter-example that was found first."""
    x = found["x"].values
    off = np.abs(x[:, 1, 1]) > OFF  # (b,)
    plane = plane_of(np.diag([1.0, 0.1]), np.diag([-1.0, 1.0]), None, 10.0)
    rest = min(resting(plane), key=lambda one: one.rate)
    return {
        "reported_share": share_of(
            int(off.sum()),
            len(off),
            "V = diag(1, .1), K = diag(−1, 1), β = 10: uniform starts that end off ±ξ; expected by the"
            " conjecture",
            0.0,
        ),
        "reported_cosine": exact(
            np.abs(x[off, 1, 0]).mean() if off.any() else np.nan,
            "|cos α| of token 2 there; expected from H(α) = 0",
            expected=abs(float(np.cos(rest.alpha))),
        ),
        "reported_rate": exact(
            rest.rate,
            "rate of small pushes there, from the equation in α; expected is our own earlier value",
            expected=-6.187,
        ),
    }


def _kept(found: "Dataset") -> dict[str, Number]:
    numbers = {}
    for i, example in enumerate(examples()):
        at = {name: float(found[name].values[i]) for name in ("off", "speed", "growth", "period", "holds")}
        key, words = example.name.replace("-", "_"), f"“{example.name}” ({example.words})"
        left = (
            f"comes round every {at['period']:.6g} and closes to {at['speed']:.0e}"
            if at["period"]
            else f"speed left {at['speed']:.0e}"
        )
        numbers[f"kept_{key}"] = exact(
            at["holds"], f"{words}: 1 if it holds; a token is {at['off']:.4f} off ±ξ; {left}", expected=1.0
        )
        numbers[f"kept_{key}_off"] = exact(
            at["off"],
            f"“{example.name}”: largest distance of a token from the nearer of ξ and −ξ",
            expected=0.0,
        )
        numbers[f"kept_{key}_growth"] = exact(
            at["growth"],
            f"“{example.name}”: largest real part of the rates of small pushes; negative: attracting",
        )
    return numbers


def _outside(found: "Dataset") -> dict[str, Number]:
    """Defective tops, which the conjecture leaves out: one start that rests beside -xi, and one that slips
    through."""
    beta, (exact_q, slipped), simulated = (
        found["beta"].values,
        found["exact"].values,
        found["simulated"].values[..., 0],
    )
    agree = (np.abs(simulated / exact_q[:, None] - 1.0) < PRECISE).all(1)  # (betas,)
    bad = beta[~agree]
    return {
        "defective_exact": exact(
            (exact_q * np.exp(2.0 * beta)).mean(),
            "defective top, two tokens from a = 1, q = ½: where the second rests beside −ξ, times e^{2β},"
            " from the equation in the small angle",
            expected=1.0,
        ),
        "defective_slipped": exact(
            (np.pi - np.abs(slipped)).max(),
            "the same from a = 2, q = ½, where the second slips through: largest angle from ξ at the end",
            expected=0.0,
        ),
        "defective_agree": exact(
            max(beta[agree & (beta < bad.min() if len(bad) else True)], default=np.nan),
            "largest β up to which three tolerances of a simulation all end there, to 1 %",
        ),
        "defective_force": exact(
            np.exp(-4.0 * bad.min()) / 4.0 if len(bad) else np.nan,
            "largest force that holds it there at the next β, e^{−4β}/4; rounding is 1.1e-16",
        ),
    }


def _rule(found: "Dataset") -> dict[str, Number]:
    """Which starts rest beside a defective top's opposite, against D = cot q - cot a."""
    D = ahead(*found["angles"].values.T)  # (starts,)
    rests = np.abs(found["end"].values) < BESIDE
    wrong = (rests & (D > EDGE)) | (~rests & (np.abs(D) < EDGE))
    through = ~rests & (D > -EDGE)
    about = f"defective top, uniform starts on opposite sides, β = {RULE_BETA:g}"
    return {
        "rule_wrong": exact(
            wrong.sum(),
            f"{about}: ends against the rule, which is to rest beside −ξ only if D < 2, and always if"
            " |D| < 2",
            expected=0.0,
        ),
        "rule_through": share_of(
            int(through.sum()),
            len(D),
            f"{about}: the second token slips through −ξ; expected for large β",
            0.25,
        ),
        "rule_near": share_of(
            int((~rests & (D < -EDGE)).sum()),
            len(D),
            f"{about}: it goes straight to ξ, drawn by a first token near it",
        ),
    }


def _diagonal(found: "Dataset") -> dict[str, Number]:
    wrong = int((found["there"].values.astype(bool) != (found["a"].values > 1.5)).sum())
    about = (
        f"KᵀQ = diag(1, a), {len(found['a'])} values of a, β from {SHARP[0]:g} to {SHARP[-1]:g}: values for"
        " which F does not rise exactly if a > 3/2"
    )
    return {"diagonal_wrong": exact(wrong, about, expected=0.0)}


def _holding(numbers: Numbers, start: str) -> list[str]:
    """Names of the kept counter-examples of a kind that hold."""
    names = [example.name for example in examples() if _kind(example) == start]
    return [name for name in names if numbers[f"kept_{name.replace('-', '_')}"].value == 1.0]


def _kind(example: Example) -> str:
    return "leaning" if example.model.Q is None and example.model.K is None else "scores"


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    plain = [kind.name for kind in CONJECTURE1 if kind.name.startswith("identity")]
    counts = [numbers[f"{name}_off"].count or (1, 1) for name in plain]
    off, runs = sum(count[0] for count in counts), sum(count[1] for count in counts)
    slow = sum(int(numbers[f"{name}_slow"].value) for name in plain)
    most = share_of(off, runs, "").high or 0.0
    stubborn, growth = numbers["adversary_end"], numbers["search_identity"].value
    good = off == 0 and slow == 0 and stubborn.value == 1.0 and growth > FOUND
    leaning, scores = _holding(numbers, "leaning"), _holding(numbers, "scores")
    soft, firm = (numbers[f"leaning{name}_off"] for name in ("-soft", ""))
    definite, gaussian, through = numbers["definite_off"], numbers["gaussian_off"], numbers["rule_through"]
    return (
        Verdict(
            "Q = K = I, V symmetric: every token ends at ξ or −ξ",
            "evidence for" if good else "evidence against",
            f"{runs - off} of {runs} random runs do (elsewhere: at most {most:.2%} with 95 % confidence),"
            " with β from 0.1 to 4, up to 128 tokens, nearly equal eigenvalues, and eigenvalues at the edge"
            f" of stability; {stubborn.count[0] if stubborn.count else 0} of"
            f" {stubborn.count[1] if stubborn.count else 0} starts evolved to stay away end there too; of all"
            f" rests the search finds off ±ξ the least unstable grows like e^({growth:.2g} t). Each token"
            " then climbs an energy whose only tops are ±ξ: we have a proof (docs/conjectures.md)",
        ),
        Verdict(
            "Q = K = I, V diagonalisable but not normal: every token ends at ξ or −ξ",
            "disagrees" if leaning else "evidence for",
            (
                f"{len(leaning)} counter-examples hold ({', '.join(leaning)}), two tokens on the circle being"
                f" enough; of Gaussian V with positive eigenvalues {soft.value:.1%} [{soft.low or 0:.1%},"
                f" {soft.high or 0:.1%}] of runs end off ±ξ at β = 0.1 and {firm.value:.1%}"
                f" [{firm.low or 0:.1%}, {firm.high or 0:.1%}] at β = 1"
                if leaning
                else "no counter-example holds"
            ),
        ),
        Verdict(
            "any Q and K: every token ends at ξ or −ξ",
            "disagrees" if scores else "evidence for",
            (
                f"{len(scores)} counter-examples hold ({', '.join(scores)}), with KᵀQ positive definite, too,"
                f" and as near to the identity as one likes; with V symmetric, {definite.value:.1%}"
                f" [{definite.low or 0:.1%}, {definite.high or 0:.1%}] of runs end off ±ξ for random positive"
                f" definite KᵀQ and {gaussian.value:.1%} [{gaussian.low or 0:.1%}, {gaussian.high or 0:.1%}]"
                " for Gaussian Q and K at β = 3; in “never-rests” a token goes round for ever. The one found"
                f" first is reached from {numbers['reported_share'].value:.1%}"
                f" [{numbers['reported_share'].low or 0:.1%}, {numbers['reported_share'].high or 0:.1%}] of"
                f" uniform starts, at |cos α| = {numbers['reported_cosine'].value:.5f}; where second tokens"
                f" end is foreseen by the criterion to {numbers['second_far'].value:.0e}"
                if scores
                else "no counter-example holds"
            ),
        ),
        Verdict(
            "defective tops",
            "not testable here",
            "the conjecture leaves them out. Measured for V = (1 1; 0 1), two tokens: from one start the"
            f" second rests beside −ξ, at {numbers['defective_exact'].value:.3f} e^(−2β), coming there like"
            f" 1/t; from another it slips through −ξ and ends {numbers['defective_slipped'].value:.0e} from"
            " ξ. It slips if it is ahead of the first by a time of more than 2 (docs/conjectures.md):"
            f" {numbers['rule_wrong'].value:.0f} of {through.count[1] if through.count else 0} uniform starts"
            f" on opposite sides end against that rule, and {through.value:.1%} [{through.low or 0:.1%},"
            f" {through.high or 0:.1%}] slip. In coordinates the rest is lost beyond β ="
            f" {numbers['defective_agree'].value:g}: that angle and the force that holds it there, at most"
            " e^(−4β)/4, sink below tolerance and then below rounding, and where a simulation ends depends"
            " on both: the end in Figure 1, at β = 9, means nothing",
        ),
    )


def slips(numbers: Numbers) -> tuple[Slip, ...]:
    """Conjecture 1 for V that is not normal."""
    holding = [name for name in _holding(numbers, "leaning") if name == "leaning"]
    if not holding:
        return ()
    growth, off = (numbers[f"kept_leaning_{what}"].value for what in ("growth", "off"))
    return (
        Slip(
            "Conjecture 1, for every diagonalisable V with distinct positive eigenvalues, even with Q ="
            " K = I",
            "for symmetric V and KᵀQ = cI, c ≥ 0, it is true (docs/conjectures.md); for V that is not normal"
            " it can fail",
            f"V = (1 −2; 0 ½), Q = K = I, β = 0.1, two tokens: token 2 rests {off:.4f} away from ±ξ, and"
            f" pushes decay like e^({growth:.4f} t)",
        ),
    )


ITEM = Item(
    key="conjecture1",
    title="Conjecture 1: two points",
    statement=(
        "If V is diagonalisable with d distinct positive real eigenvalues, every token converges to ξ or −ξ,"
        " the top eigenvector of V or its opposite, from almost every start (with nothing asked of Q and K)."
    ),
    parameters={
        "families": {
            kind.name: f"d {kind.d}, n {kind.n}, β {kind.beta:g}, t {kind.t:g}" for kind in CONJECTURE1
        },
        "runs": 1000,
        "starts": 4000,
        "models": 40,
        "rounds": 30,
        "search_rounds": 15,
        "defective_betas": [3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0],
        "defective_starts": 1000,
        "kept": kept_mark(),
        "seed": 0,
    },
    quick={
        "runs": 30,
        "starts": 200,
        "models": 8,
        "rounds": 8,
        "search_rounds": 1,
        "defective_betas": [4.0, 6.0, 9.0],
        "defective_starts": 200,
    },
    choices=(
        (
            "Random V: symmetric with top eigenvalue 1 and others uniform on [0.05, 0.95]; or, not normal,"
            " with Gaussian entries, drawn again until all eigenvalues are real and positive. Gaussian Q and"
            " K have entries N(0, 1/d); positive definite KᵀQ means K = Q, Gaussian. Every run has its own"
            " model and its own uniform start."
        ),
        (
            f"A run that does not end within {NEAR:g} of ±ξ is refined by Newton’s method. It counts as"
            " ending elsewhere if it is at rest there and all rates of small pushes are negative, or if it"
            " never rests; otherwise it is called not there yet."
        ),
        (
            "At the edge of stability: the second eigenvalue within 5 % of 1 − m e^{−2β}, where the first"
            " token at −ξ, after m at ξ, loses its stability."
        ),
        (
            "The search: differential evolution over models for the rest of a last token, off ±ξ, with the"
            " least growth (nucleate.papers.causal_clustering.conjectures.counterexample_search, which also made the kept ones by a longer search)."
            " Counter-examples are kept in the package to the last bit; `python -m nucleate.papers.causal_clustering.conjectures.counterexamples`"
            " follows and checks them alone."
        ),
        (
            f"Adversarial starts: evolved by random changes to be as far from ±ξ as possible at t = {LOOK:g},"
            " then followed to the end."
        ),
    ),
    criteria=(
        "V symmetric, Q = K = I: evidence for if every random run and every adversarial start ends within"
        f" {NEAR:g} of ±ξ and the search finds no rest off ±ξ that attracts; else evidence against. The other"
        f" two: disagrees if a counter-example holds: followed from its start, a token ends more than {OFF:g}"
        " off ±ξ; at its refined end speeds are below 1e-12 and all rates of small pushes negative, or, for"
        " a token that goes round, it comes back to 1e-6 and pushes decay from round to round."
    ),
    captions={
        "conjecture1": (
            "When a token rests off the poles: log F at the angle φ from −ξ, where F = e^{βg}(cos φ + lean"
            " sin φ). After m tokens at ξ a token rests wherever F = m r, r = λ_1/(λ_1 − λ_2), and the rest"
            " attracts where F rises away from φ = 0 (red). For Q = K = I and symmetric V it never does; the"
            " marks are kept counter-examples."
        ),
        "conjecture1-ends": (
            "Left: runs that end elsewhere than at ±ξ, with 95 % intervals, by family. Right: a token that"
            " never rests, “never-rests”: its way round, seen from the side of the first two eigenvectors,"
            " and the tokens before it, at rest."
        ),
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
    slips=slips,
)
