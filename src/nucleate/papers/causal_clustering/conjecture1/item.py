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
from nucleate.papers.causal_clustering.conjectures.exact_sinks import FAMILIES
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
from nucleate.papers.causal_clustering.conjectures.start_shares import CASES, SEED, STARTS
from nucleate.papers.causal_clustering.shared.classify_end import END_DISTANCE
from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Verdict, Word
from nucleate.papers.core.numbers import Number, exact, share_of

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = ["ITEM"]

ATTRACTING_GROWTH = -1e-6  # growth below this is that of an attracting equilibrium, and not rounding
CRITERION_DISTANCE = 1e-5  # of token 2's end from an equilibrium that the criterion predicts
SAME_END = 0.01  # relative difference of ends that count as the same
MIN_OFF_SHARE = 0.01  # of the runs of random models, to be called no rarity
RANDOM_MODELS = {  # kinds of random model, by the families that the verdict takes together
    "value": ("random V, Q = K = I", ("non-normal-low-beta", "non-normal")),
    "scores": (
        "V symmetric, random Q and K",
        ("definite", "gaussian-low-beta", "gaussian", "gaussian-high-beta"),
    ),
}
BESIDE_POLE_DISTANCE = 0.1  # from -xi: a token that ends beside it is nearer, and one at xi is not


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Shares with intervals; counterexamples with their rates."""
    numbers: dict[str, Number] = {}
    for family in FAMILIES_1:
        numbers |= _family_numbers(family.name, family.words, data[family.name])
    for kind, (words, names) in RANDOM_MODELS.items():
        counts = [numbers[f"{name}_off"].count or (0, 1) for name in names]
        off, runs = (sum(count[i] for count in counts) for i in range(2))
        numbers[f"random_{kind}_off"] = share_of(
            off, runs, f"{words}, all β tried together: runs that end elsewhere than at ±ξ", 0.0
        )
    far, unpredicted = _distances_from_criterion(data, p["seed"])
    adversary = data["adversary"]
    numbers |= {
        "second_far": exact(
            max(far, default=0.0),
            "second tokens that end off ±ξ: largest distance from an equilibrium that the criterion predicts",
            expected=0.0,
        ),
        "second_off": exact(len(far), "second tokens that end off ±ξ, at an attracting equilibrium"),
        "second_unpredicted": exact(
            unpredicted,
            f"of these, where the criterion predicts nothing within {CRITERION_DISTANCE:g}",
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
        | _exact_numbers(data["exact"])
        | _share_numbers(data)
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


def _exact_numbers(found: "Dataset") -> dict[str, Number]:
    """Sinks that can be checked by hand: how many assertions about each are shown in rational numbers."""
    shown = found["shown"].values  # (families, assertions)
    return {
        f"exact_{sink.name}": exact(
            shown[i].sum(),
            f"{sink.words}: tokens at (1, 0) and (−24/25, 7/25); shown in rational numbers, of: the second is"
            " a unit vector, both rest, their rates are as said, they are negative, V has distinct positive"
            " eigenvalues",
            expected=shown.shape[1],
        )
        for i, sink in enumerate(FAMILIES)
    }


def _share_numbers(data: Data) -> dict[str, Number]:
    """Shares of uniform starts that end off the poles, each beside that of the null."""
    numbers, moving = {}, 0
    for name, case in CASES.items():
        found = data[f"shares-{name}"]
        starts = found.sizes["run"]
        moving += int(found["moving"].values.sum())
        numbers[f"share_{name}"] = share_of(
            int(found["off"].values.sum()),
            starts,
            f"{case.words}: uniform starts of two tokens that end off ±ξ; expected by the conjecture",
            0.0,
        )
        numbers[f"share_{name}_null"] = share_of(
            int(found["null_off"].values.sum()),
            starts,
            "the same starts, with the symmetric V of the same eigenvalues and Q = K = I",
            0.0,
        )
    first = data["shares-first_found"]
    at = np.abs(first["second"].values[first["off"].values.astype(bool), 0])  # (hits,)
    model = CASES["first_found"].model
    assert model.V is not None
    plane = plane_of(model.V, model.K, model.Q, float(model.beta))
    equilibrium = min(equilibria_in_plane(plane), key=lambda one: one.rate)
    return numbers | {
        "share_moving": exact(moving, "of all these starts, those that have not ended", expected=0.0),
        "first_found_cosine": exact(
            at.mean() if len(at) else np.nan,
            "“first_found”: |cos α| of token 2 at its end; expected from F = m r",
            expected=abs(float(np.cos(equilibrium.alpha))),
        ),
        "first_found_rate": exact(
            equilibrium.rate, "“first_found”: rate of small perturbations of token 2 there, from F"
        ),
    }


def _counterexample_numbers(found: "Dataset") -> dict[str, Number]:
    numbers = {}
    for i, counterexample in enumerate(stored_counterexamples()):
        columns = (
            "off",
            "speed",
            "growth",
            "period",
            "holds",
            "box_holds",
            "box_rate",
            "box_off",
            "box_ball",
        )
        at = {column: float(found[column].values[i]) for column in columns}
        name = counterexample.name
        left = (
            f"its orbit has the period {at['period']:.6g} and closes to {at['speed']:.0e}"
            if at["period"]
            else f"speed left {at['speed']:.0e}"
        )
        numbers[f"counterexample_{name}"] = exact(
            at["holds"],
            f"“{name}” ({counterexample.words}): 1 if it holds, followed in floating point; a token is"
            f" {at['off']:.4f} off ±ξ; {left}",
            expected=1.0,
        )
        numbers[f"counterexample_{name}_proved"] = exact(
            at["box_holds"],
            f"“{name}”: 1 if interval arithmetic proves an attracting equilibrium off ±ξ"
            + (
                f"; all starts within {at['box_ball']:.1g} of it tend to it, like e^({-at['box_rate']:.2g} t)"
                f" at least, and a token stays {at['box_off']:.2g} off ±ξ"
                if at["box_holds"]
                else ""
            ),
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


def _names(numbers: Numbers, kind: str, what: str) -> list[str]:
    """The stored counterexamples of a kind that hold ("") or are proved ("_proved")."""
    names = [one.name for one in stored_counterexamples() if _kind(one) == kind]
    return [name for name in names if numbers[f"counterexample_{name}{what}"].value == 1.0]


def _kind(counterexample: Counterexample) -> str:
    if counterexample.kind == "periodic orbit":
        return "periodic orbit"
    return "identity" if counterexample.model.Q is None and counterexample.model.K is None else "scores"


def _exactly(numbers: Numbers, family: str) -> bool:
    """Whether everything is shown in rational numbers of a family of sinks."""
    return numbers[f"exact_{family}"].value == numbers[f"exact_{family}"].expected


def _refuted(numbers: Numbers, kind: str, runs: tuple[str, ...]) -> Word:
    """Certain only if a sink is proved, by hand or in a box; one that is only followed, or a run that ends
    elsewhere, is evidence."""
    if _exactly(numbers, kind) or _names(numbers, kind, "_proved"):
        return "disagrees"
    seen = _names(numbers, kind, "") or any(numbers[f"{name}_off"].value > 0.0 for name in runs)
    return "evidence against" if seen else "evidence for"


def _interval(share: Number) -> str:
    return f"{share.value:.1%} [{share.low or 0.0:.1%}, {share.high or 0.0:.1%}]"


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    boxes = {kind: _names(numbers, kind, "_proved") for kind in ("identity", "scores")}
    return (
        Verdict(
            "Conjecture 1, Q = K = I, V diagonalisable with distinct positive eigenvalues: every token ends"
            " at ±ξ",
            _refuted(numbers, "identity", RANDOM_MODELS["value"][1]),
            (
                "β = 0, V = (4 −4; 0 1): tokens at (1, 0) and (−24/25, 7/25) rest exactly, and perturbations"
                " decay like e^(−3t) and e^(−21t/50), so an open set of starts ends there; there is such a V"
                " for every β < 75/28 (checked here in rational numbers)"
                if _exactly(numbers, "identity")
                else "the sinks that can be checked by hand are not confirmed"
            )
            + f"; interval arithmetic proves {len(boxes['identity'])} stored counterexamples"
            f" ({', '.join(boxes['identity']) or 'none'})",
        ),
        Verdict(
            "Conjecture 1, any Q and K: every token ends at ±ξ",
            _refuted(numbers, "scores", RANDOM_MODELS["scores"][1]),
            (
                "false even for symmetric V: Q = I, K = diag(1, 3), V = diag(λ, λ−1), λ ="
                " (24/25)e^(1323β/625), every β > 625/1704: the same two places rest exactly, and"
                " perturbations decay (checked here in rational numbers); KᵀQ is positive definite"
                if _exactly(numbers, "scores")
                else "the sinks that can be checked by hand are not confirmed"
            )
            + f"; interval arithmetic proves {len(boxes['scores'])} stored counterexamples"
            f" ({', '.join(boxes['scores']) or 'none'})",
        ),
        _symmetric_verdict(numbers),
        _criterion_verdict(numbers),
        _share_verdict(numbers),
        _orbit_verdict(numbers),
        _defective_verdict(numbers),
    )


def _symmetric_verdict(numbers: Numbers) -> Verdict:
    plain = [family.name for family in FAMILIES_1 if family.name.startswith("identity")]
    counts = [numbers[f"{name}_off"].count or (1, 1) for name in plain]
    off, runs = sum(count[0] for count in counts), sum(count[1] for count in counts)
    slow = sum(int(numbers[f"{name}_slow"].value) for name in plain)
    evolved, growth = numbers["adversary_end"], numbers["search_identity"].value
    there, starts = evolved.count or (0, 1)
    good = off == 0 and slow == 0 and there == starts and growth > ATTRACTING_GROWTH
    return Verdict(
        "Conjecture 1 is true for symmetric V and KᵀQ = cI, c ≥ 0: from almost every start every token ends"
        " at ξ or −ξ",
        "proved" if good else "contradicted",
        "once the tokens before it are near their ends, a token climbs an energy whose only maxima are ±ξ."
        " Q = K = I, β from 0.1 to 4, up to 128 tokens, nearly equal eigenvalues and eigenvalues at the"
        f" edge of stability: {off} of {runs} random runs end elsewhere (at most"
        f" {share_of(off, runs, '').high or 0.0:.2%} with 95 % confidence) and {slow} are not there yet;"
        f" {there} of {starts} starts evolved to stay away end there too; of all equilibria the search"
        f" finds off ±ξ the least unstable grows like e^({growth:.2g} t)",
        "conjectures.md#symmetric-v",
    )


def _criterion_verdict(numbers: Numbers) -> Verdict:
    unpredicted, wrong = numbers["second_unpredicted"], numbers["diagonal_wrong"]
    cosine = numbers["first_found_cosine"]
    near = abs(cosine.value - (cosine.expected or 0.0)) < CRITERION_DISTANCE
    return Verdict(
        "Conjecture 1: exactly where a token that follows m tokens at ξ can rest off ±ξ (criterion F = m r)",
        "proved" if unpredicted.value == 0.0 == wrong.value and near else "contradicted",
        "it has an attracting equilibrium where F = m r and F rises away from −ξ (F as in the figure, r ="
        f" λ_1/(λ_1 − λ_2)), and no other off ±ξ: of {numbers['second_off'].value:.0f} second tokens of"
        f" random runs that end off ±ξ, {unpredicted.value:.0f} end elsewhere than predicted (the farthest"
        f" {numbers['second_far'].value:.0e} away); for KᵀQ = diag(1, a), F rises for some β exactly if a >"
        f" 3/2, with {wrong.value:.0f} exceptions among the values tried; “first_found” rests at |cos α| ="
        f" {cosine.value:.5f}, predicted {cosine.expected:.5f}",
        "conjectures.md#the-criterion",
    )


def _share_verdict(numbers: Numbers) -> Verdict:
    kinds = {kind: numbers[f"random_{kind}_off"] for kind in RANDOM_MODELS}
    common = all((share.low or 0.0) > MIN_OFF_SHARE for share in kinds.values())
    null = sum((numbers[f"share_{name}_null"].count or (1, 1))[0] for name in CASES)
    moving = int(numbers["share_moving"].value)
    betas = ", ".join(
        f"{_interval(numbers[name])} at β = {name.removeprefix('share_exact_beta_')}"
        for name in numbers
        if name.startswith("share_exact_beta_") and not name.endswith("_null")
    )
    return Verdict(
        "Conjecture 1, random models, too: with random V (Q = K = I), or symmetric V and random Q and K, at"
        f" least {MIN_OFF_SHARE:.0%} of runs, all β tried together, end off ±ξ",
        "observed" if common else "not observed",
        "; ".join(
            f"{words}: {_interval(kinds[kind])} ("
            + ", ".join(
                f"{_interval(numbers[f'{family.name}_off'])} at β = {family.beta:g}"
                + (" with positive definite KᵀQ" if family.scores == "definite" else "")
                for family in FAMILIES_1
                if family.name in names
            )
            + ")"
            for kind, (words, names) in RANDOM_MODELS.items()
        )
        + f". Two tokens, of {(numbers['share_first_found'].count or (0, 0))[1]} uniform starts in models"
        " with a sink off ±ξ these end off ±ξ: for V = (λ −4/3;"
        f" 0 λ−1) and Q = K = I {betas}; for KᵀQ = diag(1, 3), β = 1"
        f" {_interval(numbers['share_exact_scores'])}; “non_normal” {_interval(numbers['share_non_normal'])};"
        f" “first_found” {_interval(numbers['share_first_found'])}. With the symmetric V of the same"
        f" eigenvalues and Q = K = I {null} do, and {moving} of all starts have not ended",
    )


def _orbit_verdict(numbers: Numbers) -> Verdict:
    names = _names(numbers, "periodic orbit", "")
    growth = numbers["counterexample_periodic_orbit_growth"].value
    return Verdict(
        "a token need not converge at all: after tokens at equilibria off ±ξ the next can follow an"
        " attracting periodic orbit (Gaussian Q and K, V symmetric)",
        "observed" if names else "not observed",
        f"“periodic_orbit”, d = 3, β = 10, eight tokens: perturbations across the orbit change like"
        f" e^({growth:.2g} t) from period to period, in floating point. Not proved: that takes an enclosure"
        " of the flow over a period and of its derivative"
        if names
        else "the stored orbit does not close, or does not attract",
    )


def _defective_verdict(numbers: Numbers) -> Verdict:
    through = numbers["rule_through"]
    return Verdict(
        "defective dominant eigenvalues: outside both conjectures",
        "no claim",
        "measured for V = (1 1; 0 1), two tokens: from one start the"
        f" second ends beside −ξ, at {numbers['defective_exact'].value:.3f} e^(−2β), coming there like"
        f" 1/t; from another it slips through −ξ and ends {numbers['defective_slipped'].value:.0e} from"
        " ξ. It slips if it is ahead of the first by a time of more than 2 (docs/conjectures.md):"
        f" {numbers['rule_wrong'].value:.0f} of {through.count[1] if through.count else 0} uniform starts"
        f" on opposite sides end against that rule, and {_interval(through)} slip. In coordinates this end is"
        f" lost beyond β = {numbers['defective_agree'].value:g}: that angle and the force that holds it"
        " there, at most e^(−4β)/4, sink below tolerance and then below rounding, and where a simulation ends"
        " depends on both: the end in Figure 1, at β = 9, means nothing",
    )


ITEM = Item(
    key="conjecture1",
    title="Conjecture 1: two points",
    cost=Cost(quick=19.8, full=134.5),
    source="Conjecture 1",
    statement=(
        "If V is diagonalisable with d distinct positive real eigenvalues, every token converges to ξ or −ξ,"
        " the dominant eigenvector of V or its opposite, from almost every start (no condition on Q and K is"
        " known to be named)."
    ),
    ours=(
        "For which V, Q and K it is true and for which not. With A = KᵀQ, r = λ_1/(λ_1 − λ_2), ℓ the"
        " non-normality of V and s(x) = ⟨x − ξ, A x⟩, all of it is in F = e^{βs}(cos φ + ℓ sin φ), φ the"
        " angle from −ξ (docs/conjectures.md): proofs for symmetric V, counterexamples that can be checked by"
        " hand, boxes proved by interval arithmetic, and what is only observed."
    ),
    parameters={
        "families": {
            family.name: f"d {family.d}, n {family.n}, β {family.beta:g}, t {family.t:g}"
            for family in FAMILIES_1
        },
        "runs": 1000,
        "starts": STARTS,
        "models": 40,
        "rounds": 30,
        "search_rounds": 15,
        "defective_betas": [3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0],
        "defective_starts": 1000,
        "counterexamples": files_mark(),
        "seed": SEED,
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
            "Shares: uniform starts of two tokens on the circle, the same for every model, followed to t ="
            f" 400; one ends off ±ξ if it is more than {OFF_POLES_DISTANCE:g} away then. The null of each is"
            " the symmetric V with the same eigenvalues and Q = K = I."
        ),
        (
            f"Random models: runs of 16 tokens. The bound of {MIN_OFF_SHARE:.0%} was set when the shares of"
            " the families were known; at a single β the interval may reach below it."
        ),
        (
            "Adversarial starts: evolved by random changes to be as far from ±ξ as possible at t ="
            f" {LOOK_TIME:g}, then followed to the end."
        ),
    ),
    criteria=(
        "The two readings of the conjecture: disagrees if a sink off ±ξ is certain, all assertions about"
        " the one checked by hand shown in rational numbers, or an equilibrium off ±ξ with a neighbourhood"
        " that it attracts proved by interval arithmetic; evidence against if one is only seen in floating"
        " point; else evidence for. V symmetric: proved if every random run and every adversarial start"
        f" ends within {END_DISTANCE:g} of ±ξ and the search finds no attracting equilibrium off ±ξ, else"
        " contradicted. The criterion: proved if no second token ends off ±ξ farther than"
        f" {CRITERION_DISTANCE:g} from where it says, and F rises for KᵀQ = diag(1, a) exactly if a > 3/2."
        " Random models: observed if for random V with Q = K = I, and for symmetric V with random Q and K,"
        " all β tried together, the 95 % interval of the share of runs that end off ±ξ lies above"
        f" {MIN_OFF_SHARE:.0%}. Periodic orbit: observed if, followed from its start, it closes to 1e-6, is"
        f" more than {OFF_POLES_DISTANCE:g} off ±ξ, and perturbations decay from period to period."
    ),
    captions={
        "conjecture1": (
            "When a token has an equilibrium off the poles ±ξ: log F at the angle φ from −ξ, where F ="
            " e^{βs}(cos φ + ℓ sin φ), s = ⟨x − ξ, KᵀQ x⟩, ℓ the non-normality of V (0 if V is normal);"
            " dotted: F = 1. After m tokens at ξ a token has an equilibrium wherever F = m r, r = λ_1/(λ_1 −"
            " λ_2), and it attracts where F rises away from φ = 0 (red). For Q = K = I and symmetric V it"
            " never does; the marks are stored counterexamples."
        ),
        "conjecture1-ends": (
            "Left: runs that end elsewhere than at ±ξ, with 95 % intervals, by family. Right: an attracting"
            " periodic orbit, seen from the side of the first two eigenvectors, and the"
            " tokens before it, at equilibrium."
        ),
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
