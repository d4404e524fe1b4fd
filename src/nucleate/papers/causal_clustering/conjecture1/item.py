"""Conjecture 1: V with distinct positive eigenvalues sends every token to the dominant eigenvector or its
opposite."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.papers.causal_clustering.conjecture1.data import REGIMES_1, run
from nucleate.papers.causal_clustering.conjecture1.figures import draw
from nucleate.papers.causal_clustering.conjectures.adversarial_starts import LOOK_TIME
from nucleate.papers.causal_clustering.conjectures.counterexamples import (
    OFF_POLES_DISTANCE,
    Counterexample,
    files_mark,
    stored_counterexamples,
)
from nucleate.papers.causal_clustering.conjectures.defective_eigenvalue import (
    MAX_LEAD,
    RULE_BETA,
    lead,
)
from nucleate.papers.causal_clustering.conjectures.equilibria import equilibria_in_plane, plane_of
from nucleate.papers.causal_clustering.conjectures.random_models import (
    ATTRACTING_ELSEWHERE,
    FAMILIES_1,
    NO_EQUILIBRIUM,
    NOT_YET_THERE,
    model_of,
)
from nucleate.papers.causal_clustering.conjectures.search_results import (
    CRITERION_BETAS,
)
from nucleate.papers.causal_clustering.shared.classify_end import END_DISTANCE
from nucleate.papers.core.item import Data, Item, Numbers, Parameters, Slip, Verdict
from nucleate.papers.core.numbers import Number, exact, share_of

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = ["ITEM"]

ATTRACTING_GROWTH = -1e-6  # growth below this is that of an attracting equilibrium, and not rounding
CRITERION_DISTANCE = 1e-5  # of token 2's end from an equilibrium that the criterion predicts
SAME_END = 0.01  # relative difference of ends that count as the same
BESIDE_POLE_DISTANCE = 0.1  # from -xi: a token that ends beside it is nearer, and one at xi is not


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Shares with intervals; counterexamples with their rates."""
    numbers: dict[str, Number] = {}
    for family in FAMILIES_1:
        numbers |= _family_numbers(family.name, family.words, data[family.name])
    far, unpredicted = _distances_from_criterion(data, p["seed"])
    adversary = data["adversary"]
    numbers |= {
        "second_far": exact(
            max(far, default=0.0),
            "second tokens that end off ±ξ: largest distance from an equilibrium that the criterion predicts",
            expected=0.0,
        ),
        "second_unpredicted": exact(
            unpredicted,
            "second tokens that end off ±ξ where the criterion predicts nothing within"
            f" {CRITERION_DISTANCE:g}, of {len(far)}",
            expected=0.0,
        ),
        "adversary_random": exact(
            np.median(adversary["random"].values),
            f"distance from ±ξ at t = {LOOK_TIME:g}, random starts, median over models",
        ),
        "adversary_evolved": exact(
            np.median(adversary["evolved"].values), "the same for starts evolved to stay away"
        ),
        "adversary_end": share_of(
            int((adversary["end"].values <= END_DISTANCE).sum()),
            adversary.sizes["run"],
            f"evolved starts that end within {END_DISTANCE:g} of ±ξ all the same",
            1.0,
        ),
    }
    for regime in REGIMES_1:
        found = data[f"search-{regime.name}"]
        about = (
            f"search, {regime.words}: least growth at an equilibrium off ±ξ ({int(found['equilibria'])}"
            f" equilibria of {int(found['models'])} models)"
        )
        numbers[f"search_{regime.name}"] = exact(float(found["growth"]), about, "negative: it attracts")
    outside = _defective_numbers(data["defective"]) | _rule_numbers(data["rule"])
    return (
        numbers
        | _first_found_numbers(data["first_found"])
        | _counterexample_numbers(data["counterexamples"])
        | outside
        | _diagonal_numbers(data["criterion"])
    )


def _family_numbers(name: str, words: str, found: "Dataset") -> dict[str, Number]:
    outcome, runs = found["outcome"].values, int(found.sizes["run"])
    # (runs,)
    elsewhere = np.isin(outcome, (ATTRACTING_ELSEWHERE, NO_EQUILIBRIUM)) | (
        (outcome == 0) & ~(found["off"].values.max(1) <= END_DISTANCE)
    )
    return {
        f"{name}_off": share_of(
            int(elsewhere.sum()),
            runs,
            f"{words}: runs that end elsewhere than at ±ξ, at equilibrium or moving",
            0.0,
        ),
        f"{name}_slow": exact(
            (outcome == NOT_YET_THERE).sum(),
            f"{words}: runs not there yet, but at no attracting equilibrium",
            expected=0.0,
        ),
        f"{name}_moving": exact(
            (outcome == NO_EQUILIBRIUM).sum(), f"{words}: runs with a token that reaches no equilibrium"
        ),
    }


def _distances_from_criterion(data: Data, seed: int) -> tuple[list[float], int]:
    """Second tokens that end off the poles: how far from an equilibrium that the criterion predicts, and
    how many farther than CRITERION_DISTANCE."""
    far = []
    for family in FAMILIES_1:
        found = data[family.name]
        for i in np.nonzero(
            (found["outcome"].values == ATTRACTING_ELSEWHERE)
            & (found["off"].values[:, 1] > OFF_POLES_DISTANCE)
        )[0]:
            model = model_of(family, seed, int(found["run"].values[i]))
            assert model.V is not None
            plane = plane_of(model.V, model.K, model.Q, family.beta)
            # token 1 may be at -xi: reflect all
            side = np.sign(found["first"].values[i] @ plane.basis[:, 0])
            places = [
                side * plane.point(equilibrium.alpha)
                for equilibrium in equilibria_in_plane(plane)
                if equilibrium.rate < 0.0
            ]
            far.append(
                min(
                    (float(np.linalg.norm(found["second"].values[i] - place)) for place in places),
                    default=2.0,
                )
            )
    return far, sum(one > CRITERION_DISTANCE for one in far)


def _first_found_numbers(found: "Dataset") -> dict[str, Number]:
    """The counterexample that was found first."""
    x = found["x"].values
    off = np.abs(x[:, 1, 1]) > OFF_POLES_DISTANCE  # (b,)
    plane = plane_of(np.diag([1.0, 0.1]), np.diag([-1.0, 1.0]), None, 10.0)
    equilibrium = min(equilibria_in_plane(plane), key=lambda one: one.rate)
    return {
        "first_found_share": share_of(
            int(off.sum()),
            len(off),
            "V = diag(1, .1), K = diag(−1, 1), β = 10: uniform starts that end off ±ξ; expected by the"
            " conjecture",
            0.0,
        ),
        "first_found_cosine": exact(
            np.abs(x[off, 1, 0]).mean() if off.any() else np.nan,
            "|cos α| of token 2 there; expected from H(α) = 0",
            expected=abs(float(np.cos(equilibrium.alpha))),
        ),
        "first_found_rate": exact(
            equilibrium.rate,
            "rate of small perturbations there, from the equation in α; expected is our own earlier value",
            expected=-6.187,
        ),
    }


def _counterexample_numbers(found: "Dataset") -> dict[str, Number]:
    numbers = {}
    for i, counterexample in enumerate(stored_counterexamples()):
        at = {name: float(found[name].values[i]) for name in ("off", "speed", "growth", "period", "holds")}
        name = counterexample.name
        left = (
            f"its orbit has the period {at['period']:.6g} and closes to {at['speed']:.0e}"
            if at["period"]
            else f"speed left {at['speed']:.0e}"
        )
        numbers[f"counterexample_{name}"] = exact(
            at["holds"],
            f"“{name}” ({counterexample.words}): 1 if it holds; a token is {at['off']:.4f} off ±ξ; {left}",
            expected=1.0,
        )
        numbers[f"counterexample_{name}_off"] = exact(
            at["off"],
            f"“{name}”: largest distance of a token from the nearer of ξ and −ξ",
            expected=0.0,
        )
        numbers[f"counterexample_{name}_growth"] = exact(
            at["growth"],
            f"“{name}”: largest real part of the rates of small perturbations; negative: attracting",
        )
    return numbers


def _defective_numbers(found: "Dataset") -> dict[str, Number]:
    """Defective eigenvalues, which the conjecture leaves out: one start that ends beside -xi, and one that
    slips through."""
    beta, (exact_q, slipped), simulated = (
        found["beta"].values,
        found["exact"].values,
        found["simulated"].values[..., 0],
    )
    agree = (np.abs(simulated / exact_q[:, None] - 1.0) < SAME_END).all(1)  # (betas,)
    bad = beta[~agree]
    return {
        "defective_exact": exact(
            (exact_q * np.exp(2.0 * beta)).mean(),
            "defective eigenvalue, two tokens from a = 1, q = ½: where the second ends beside −ξ, times"
            " e^{2β}, from the equation in the small angle",
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


def _rule_numbers(found: "Dataset") -> dict[str, Number]:
    """Which starts end beside -xi if the eigenvalue is defective, against D = cot q - cot a."""
    D = lead(*found["angles"].values.T)  # (starts,)
    beside = np.abs(found["end"].values) < BESIDE_POLE_DISTANCE
    wrong = (beside & (D > MAX_LEAD)) | (~beside & (np.abs(D) < MAX_LEAD))
    through = ~beside & (D > -MAX_LEAD)
    about = f"defective eigenvalue, uniform starts on opposite sides, β = {RULE_BETA:g}"
    return {
        "rule_wrong": exact(
            wrong.sum(),
            f"{about}: ends against the rule, which is to end beside −ξ only if D < 2, and always if |D| < 2",
            expected=0.0,
        ),
        "rule_through": share_of(
            int(through.sum()),
            len(D),
            f"{about}: the second token slips through −ξ; expected for large β",
            0.25,
        ),
        "rule_near": share_of(
            int((~beside & (D < -MAX_LEAD)).sum()),
            len(D),
            f"{about}: it goes straight to ξ, drawn by a first token near it",
        ),
    }


def _diagonal_numbers(found: "Dataset") -> dict[str, Number]:
    wrong = int((found["there"].values.astype(bool) != (found["a"].values > 1.5)).sum())
    about = (
        f"KᵀQ = diag(1, a), {len(found['a'])} values of a, β from {CRITERION_BETAS[0]:g} to"
        f" {CRITERION_BETAS[-1]:g}: values for which F does not rise exactly if a > 3/2"
    )
    return {"diagonal_wrong": exact(wrong, about, expected=0.0)}


def _holding(numbers: Numbers, kind: str) -> list[str]:
    """Names of the stored counterexamples of a kind that hold."""
    names = [one.name for one in stored_counterexamples() if _kind(one) == kind]
    return [name for name in names if numbers[f"counterexample_{name}"].value == 1.0]


def _kind(counterexample: Counterexample) -> str:
    return "non_normal" if counterexample.model.Q is None and counterexample.model.K is None else "scores"


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    plain = [family.name for family in FAMILIES_1 if family.name.startswith("identity")]
    counts = [numbers[f"{name}_off"].count or (1, 1) for name in plain]
    off, runs = sum(count[0] for count in counts), sum(count[1] for count in counts)
    slow = sum(int(numbers[f"{name}_slow"].value) for name in plain)
    most = share_of(off, runs, "").high or 0.0
    evolved, growth = numbers["adversary_end"], numbers["search_identity"].value
    good = off == 0 and slow == 0 and evolved.value == 1.0 and growth > ATTRACTING_GROWTH
    non_normal, scores = _holding(numbers, "non_normal"), _holding(numbers, "scores")
    low_beta, beta_1 = (numbers[f"non-normal{name}_off"] for name in ("-low-beta", ""))
    definite, gaussian, through = numbers["definite_off"], numbers["gaussian_off"], numbers["rule_through"]
    return (
        Verdict(
            "Q = K = I, V symmetric: every token ends at ξ or −ξ",
            "evidence for" if good else "evidence against",
            f"{runs - off} of {runs} random runs do (elsewhere: at most {most:.2%} with 95 % confidence),"
            " with β from 0.1 to 4, up to 128 tokens, nearly equal eigenvalues, and eigenvalues at the edge"
            f" of stability; {evolved.count[0] if evolved.count else 0} of"
            f" {evolved.count[1] if evolved.count else 0} starts evolved to stay away end there too; of all"
            f" equilibria the search finds off ±ξ the least unstable grows like e^({growth:.2g} t). Each"
            " token then climbs an energy whose only maxima are ±ξ: we have a proof (docs/conjectures.md)",
        ),
        Verdict(
            "Q = K = I, V diagonalisable but not normal: every token ends at ξ or −ξ",
            "disagrees" if non_normal else "evidence for",
            (
                f"{len(non_normal)} counterexamples hold ({', '.join(non_normal)}), two tokens on the circle"
                f" being enough; of Gaussian V with positive eigenvalues {low_beta.value:.1%}"
                f" [{low_beta.low or 0:.1%}, {low_beta.high or 0:.1%}] of runs end off ±ξ at β = 0.1 and"
                f" {beta_1.value:.1%} [{beta_1.low or 0:.1%}, {beta_1.high or 0:.1%}] at β = 1"
                if non_normal
                else "no counterexample holds"
            ),
        ),
        Verdict(
            "any Q and K: every token ends at ξ or −ξ",
            "disagrees" if scores else "evidence for",
            (
                f"{len(scores)} counterexamples hold ({', '.join(scores)}), with KᵀQ positive definite, too,"
                f" and as near to the identity as one likes; with V symmetric, {definite.value:.1%}"
                f" [{definite.low or 0:.1%}, {definite.high or 0:.1%}] of runs end off ±ξ for random positive"
                f" definite KᵀQ and {gaussian.value:.1%} [{gaussian.low or 0:.1%}, {gaussian.high or 0:.1%}]"
                " for Gaussian Q and K at β = 3; in “periodic_orbit” a token follows an attracting periodic"
                f" orbit. The one found first is reached from {numbers['first_found_share'].value:.1%}"
                f" [{numbers['first_found_share'].low or 0:.1%},"
                f" {numbers['first_found_share'].high or 0:.1%}] of uniform starts, at |cos α| ="
                f" {numbers['first_found_cosine'].value:.5f}; where second tokens end is predicted by the"
                f" criterion to {numbers['second_far'].value:.0e}"
                if scores
                else "no counterexample holds"
            ),
        ),
        Verdict(
            "defective dominant eigenvalues",
            "not testable here",
            "the conjecture leaves them out. Measured for V = (1 1; 0 1), two tokens: from one start the"
            f" second ends beside −ξ, at {numbers['defective_exact'].value:.3f} e^(−2β), coming there like"
            f" 1/t; from another it slips through −ξ and ends {numbers['defective_slipped'].value:.0e} from"
            " ξ. It slips if it is ahead of the first by a time of more than 2 (docs/conjectures.md):"
            f" {numbers['rule_wrong'].value:.0f} of {through.count[1] if through.count else 0} uniform starts"
            f" on opposite sides end against that rule, and {through.value:.1%} [{through.low or 0:.1%},"
            f" {through.high or 0:.1%}] slip. In coordinates this end is lost beyond β ="
            f" {numbers['defective_agree'].value:g}: that angle and the force that holds it there, at most"
            " e^(−4β)/4, sink below tolerance and then below rounding, and where a simulation ends depends on"
            " both: the end in Figure 1, at β = 9, means nothing",
        ),
    )


def slips(numbers: Numbers) -> tuple[Slip, ...]:
    """Conjecture 1 for V that is not normal."""
    if "non_normal" not in _holding(numbers, "non_normal"):
        return ()
    growth, off = (numbers[f"counterexample_non_normal_{what}"].value for what in ("growth", "off"))
    return (
        Slip(
            "Conjecture 1, for every diagonalisable V with distinct positive eigenvalues, even with Q = K ="
            " I",
            "for symmetric V and KᵀQ = cI, c ≥ 0, it is true (docs/conjectures.md); for V that is not normal"
            " it can fail",
            f"V = (1 −2; 0 ½), Q = K = I, β = 0.1, two tokens: token 2 has an equilibrium {off:.4f} away from"
            f" ±ξ, and perturbations decay like e^({growth:.4f} t)",
        ),
    )


ITEM = Item(
    key="conjecture1",
    title="Conjecture 1: two points",
    source="Conjecture 1",
    statement=(
        "If V is diagonalisable with d distinct positive real eigenvalues, every token converges to ξ or −ξ,"
        " the dominant eigenvector of V or its opposite, from almost every start (with nothing asked of Q and"
        " K)."
    ),
    parameters={
        "families": {
            family.name: f"d {family.d}, n {family.n}, β {family.beta:g}, t {family.t:g}"
            for family in FAMILIES_1
        },
        "runs": 1000,
        "starts": 4000,
        "models": 40,
        "rounds": 30,
        "search_rounds": 15,
        "defective_betas": [3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0],
        "defective_starts": 1000,
        "counterexamples": files_mark(),
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
            "Random V: symmetric with dominant eigenvalue 1 and others uniform on [0.05, 0.95]; or, not"
            " normal, with Gaussian entries, drawn again until all eigenvalues are real and positive."
            " Gaussian Q and K have entries N(0, 1/d); positive definite KᵀQ means K = Q, Gaussian. Every run"
            " has its own model and its own uniform start."
        ),
        (
            f"A run that does not end within {END_DISTANCE:g} of ±ξ is refined by Newton’s method. It counts"
            " as ending elsewhere if it is at an equilibrium there and all rates of small perturbations are"
            " negative, or if it reaches no equilibrium; otherwise it is called not there yet."
        ),
        (
            "At the edge of stability: the second eigenvalue within 5 % of 1 − m e^{−2β}, where the first"
            " token at −ξ, after m at ξ, loses its stability."
        ),
        (
            "The search: differential evolution over models for the equilibrium of a last token, off ±ξ, with"
            " the least growth (conjectures/counterexample_search.py; conjectures/make_counterexamples.py"
            " made the stored ones by a longer search). Counterexamples are stored in the package to the last"
            " bit; `python -m nucleate.papers.causal_clustering.conjectures.counterexamples` follows and"
            " checks them alone."
        ),
        (
            "Adversarial starts: evolved by random changes to be as far from ±ξ as possible at t ="
            f" {LOOK_TIME:g}, then followed to the end."
        ),
    ),
    criteria=(
        "V symmetric, Q = K = I: evidence for if every random run and every adversarial start ends within"
        f" {END_DISTANCE:g} of ±ξ and the search finds no attracting equilibrium off ±ξ; else evidence"
        " against. The other two: disagrees if a counterexample holds: followed from its start, a token ends"
        f" more than {OFF_POLES_DISTANCE:g} off ±ξ; at its refined end speeds are below 1e-12 and all rates"
        " of small perturbations negative, or, for a periodic orbit, it closes to 1e-6 and perturbations"
        " decay from period to period."
    ),
    captions={
        "conjecture1": (
            "When a token has an equilibrium off the poles: log F at the angle φ from −ξ, where F ="
            " e^{βg}(cos φ + ℓ sin φ), ℓ the non-normality of V. After m tokens at ξ a token has an"
            " equilibrium wherever F = m r, r = λ_1/(λ_1 − λ_2), and it attracts where F rises away from φ ="
            " 0 (red). For Q = K = I and symmetric V it never does; the marks are stored counterexamples."
        ),
        "conjecture1-ends": (
            "Left: runs that end elsewhere than at ±ξ, with 95 % intervals, by family. Right: an attracting"
            " periodic orbit, “periodic_orbit”, seen from the side of the first two eigenvectors, and the"
            " tokens before it, at equilibrium."
        ),
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
    slips=slips,
)
