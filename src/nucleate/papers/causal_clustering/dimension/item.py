"""Effective dimension: with dim L = d_1 below d, do clusters number β^{(d_1−1)/2}, for which V, and do tokens
reach L before they gather?"""

import numpy as np

from nucleate.checks import Array
from nucleate.papers.causal_clustering.dimension.data import exponent_name, run
from nucleate.papers.causal_clustering.dimension.figures import draw
from nucleate.papers.causal_clustering.dimension.measures import means, reduction_level
from nucleate.papers.core.item import Cost, Data, Item, Numbers, Parameters, Verdict, Word
from nucleate.papers.core.line_fits import (
    MAX_STANDARD_ERRORS,
    STANDARD_ERRORS_95,
    fit_line,
    half_width,
    plus_minus,
    slope_of,
)
from nucleate.papers.core.numbers import Number, exact, mean_of

__all__ = ["ITEM"]

EXPONENT_ERROR = 0.05  # absolute: curved caps are not yet those of the limit
RATIO_ERROR = 0.1  # by which the number of clusters may differ from that on L alone
GATHERED_CLUSTERS_PER_TOKEN = 0.1  # clusters per token from which on tokens count as gathered
MIN_SHARE_NEAR_L = 0.9  # of the tokens, at the end
MIN_DENSE_CAP = 30.0  # tokens in a cap of the whole sphere with which they gather there
MAX_SPARSE_CAP = 1.0  # and with which they do not


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Exponents, ratios to L alone, and where tokens are when they gather."""
    numbers: dict[str, Number] = {}
    for kind in ("", *p["other_V"]):
        for dim_L, betas in _betas(p, kind).items():
            numbers |= _exponent_numbers(data, p, kind, dim_L, betas)
    return numbers | _scan_numbers(data, p)


def _betas(p: Parameters, kind: str) -> dict[str, list[float]]:
    """The values of β that are tried with one kind of V, by dim L."""
    return dict(p["other_betas"] if kind else p["betas"])


def _exponent_numbers(
    data: Data, p: Parameters, kind: str, dim_L: str, betas: list[float]
) -> dict[str, Number]:
    """One kind of V and one dimension of L, when tokens have had time to reach L; and at t = 20, if that is
    earlier."""
    found = [data[exponent_name(kind, int(dim_L), beta)] for beta in betas]
    numbers: dict[str, Number] = {}
    for frame, t in enumerate(found[0]["time"].values):
        late = t == found[0]["time"].values[-1]
        words = f"dim L = {dim_L}, d = {p['d']}" + (f", {_words(p, kind)}" if kind else "") + f", t = {t:g}"
        at = f"{'' if late else 'early_'}{kind}{'-' * bool(kind)}{dim_L}"
        mean, error = means(data, kind, int(dim_L), betas, frame)
        numbers |= {
            f"exponent_{at}": slope_of(
                fit_line(np.log(betas), np.log(mean), error / mean),
                f"{words}: exponent of β in the number of clusters",
                (int(dim_L) - 1) / 2.0,
            ),
            f"ratio_{at}": mean_of(
                np.concatenate([(one["clusters"] / one["alone"]).values[:, frame] for one in found]),
                f"{words}: clusters over those of the same tokens put on L at once",
                1.0,
            ),
            f"near_{at}": exact(
                min(one["near"].values[:, frame].mean() for one in found),
                f"{words}: least share of tokens within β^(−1/2) of L, over β",
                expected=1.0,
            ),
        }
    return numbers


def _scan_numbers(data: Data, p: Parameters) -> dict[str, Number]:
    """Where tokens are at the moment they have gathered, by β and gap; and the gap at which they just reach L
    first."""
    from nucleate.theory.counts import cap_share

    numbers: dict[str, Number] = {}
    for beta in p["gap_betas"]:
        in_cap = p["n"] * cap_share(min(4.0 * beta**-0.5, np.pi), p["d"])
        numbers[f"cap_beta{beta:g}"] = exact(
            in_cap, f"β = {beta:g}: tokens in a cap of radius 4β^(−1/2) of the whole sphere, n = {p['n']}"
        )
        levels = [on_L(data, p, beta, gap) for gap in p["gaps"]]
        for gap, level in zip(p["gaps"], levels, strict=True):
            numbers[f"on_L_beta{beta:g}_gap{gap:g}"] = mean_of(
                level, f"β = {beta:g}, gap {gap:g}: mean square of the part in L when tokens have gathered"
            )
        mean = np.array([level.mean() for level in levels])
        if mean[0] < reduction_level(p) <= mean[-1]:
            after = int((mean >= reduction_level(p)).argmax())
            gap = np.exp(
                np.interp(
                    reduction_level(p), mean[after - 1 : after + 1], np.log(p["gaps"][after - 1 : after + 1])
                )
            )
            numbers[f"critical_beta{beta:g}"] = exact(
                gap, f"β = {beta:g}: gap from which on tokens are on L before they gather", "interpolated"
            )
    return numbers


def on_L(data: Data, p: Parameters, beta: float, gap: float) -> Array:
    """Mean square of the part of tokens in L at the first frame with few clusters, run by run, (runs,)."""
    found = data[f"gap{gap:g}-beta{beta:g}"]
    few = found["clusters"].values <= GATHERED_CLUSTERS_PER_TOKEN * p["n"]  # (run, time)
    first = np.where(few.any(1), few.argmax(1), few.shape[1] - 1)
    return np.asarray(found["on_L"].values[np.arange(len(first)), first])


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    others = [f"{kind}-{dim_L}" for kind in p["other_V"] for dim_L in p["other_betas"]]
    listed = "; ".join(
        f"{_words(p, kind)}: "
        + ", ".join(
            f"{plus_minus(numbers[f'exponent_{kind}-{dim_L}'])} for d₁ = {dim_L}"
            for dim_L in p["other_betas"]
        )
        for kind in p["other_V"]
    )
    return (
        Verdict(
            f"the number of clusters goes like β^{{(d₁−1)/2}}, d₁ = dim L inside d = {p['d']}, for V ="
            f" diag(1, …, 1, {1.0 - p['gap']:g}, …, {1.0 - p['gap']:g})",
            _exponent_word(numbers, list(p["betas"])),
            "exponents "
            + ", ".join(
                f"{plus_minus(numbers[f'exponent_{dim_L}'])} for d₁ = {dim_L}" for dim_L in p["betas"]
            )
            + _scaling(p),
        ),
        Verdict(
            f"the number of clusters goes like β^{{(d₁−1)/2}}, d₁ = dim L inside d = {p['d']}, for other"
            " gaps, spread eigenvalues and V that is not normal",
            _exponent_word(numbers, others),
            f"exponents, {listed}{_too_early(numbers, p)}{_scaling(p)}",
        ),
        _ratio_verdict(
            numbers,
            {
                **{dim_L: f"gap {p['gap']:g}, d₁ = {dim_L}" for dim_L in p["betas"]},
                **{
                    f"{kind}-{dim_L}": f"{_words(p, kind)}, d₁ = {dim_L}"
                    for kind in p["other_V"]
                    for dim_L in p["other_betas"]
                },
            },
        ),
        _scan_verdict(numbers, p),
    )


def _scaling(p: Parameters) -> str:
    """What the choice of n alone brings about."""
    return (
        f". n goes like β^{{(d₁−1)/2}} too ({p['per_cap']} tokens in a cap of L's sphere), so that scaling"
        " alone gives this exponent for tokens on L; other n were not tried here"
    )


def _too_early(numbers: Numbers, p: Parameters) -> str:
    """What a count at the same time for every V gives, where not all tokens are on L by then."""
    early = [
        f"{plus_minus(numbers[f'exponent_early_{kind}-{dim_L}'])} for {_words(p, kind)}, d₁ = {dim_L}, with"
        f" {numbers[f'near_early_{kind}-{dim_L}'].value:.2%} of the tokens near L at the least"
        for kind in p["other_V"]
        for dim_L in p["other_betas"]
        if f"near_early_{kind}-{dim_L}" in numbers and numbers[f"near_early_{kind}-{dim_L}"].value < 1.0
    ]
    return f". Counted at t = {p['at']:g} already: {', '.join(early)}" if early else ""


def _exponent_word(numbers: Numbers, names: list[str]) -> Word:
    exponents = [numbers[f"exponent_{name}"] for name in names]
    right = all(
        abs(one.value - (one.expected or 0.0))
        <= EXPONENT_ERROR + MAX_STANDARD_ERRORS / STANDARD_ERRORS_95 * half_width(one)
        for one in exponents
    )
    return "evidence for" if right else "evidence against"


def _ratio_verdict(numbers: Numbers, names: dict[str, str]) -> Verdict:
    """How many clusters there are, against those on L; `names` with words for each."""
    ratios = {name: numbers[f"ratio_{name}"] for name in names}
    within = all(
        (one.low if one.low is not None else one.value) >= 1.0 - RATIO_ERROR
        and (one.high if one.high is not None else one.value) <= 1.0 + RATIO_ERROR
        for one in ratios.values()
    )
    near = all(numbers[f"near_{name}"].value >= MIN_SHARE_NEAR_L for name in names)
    differ = [name for name, one in ratios.items() if not _has_one(one)]
    farthest = max(abs(one.value - 1.0) for one in ratios.values())
    return Verdict(
        f"there are as many clusters, to {RATIO_ERROR:.0%}, as if all tokens had started on L, for every V"
        " tried",
        "observed" if within and near else "not observed",
        "clusters over those on L alone: "
        + ", ".join(f"{plus_minus(one)} for {names[name]}" for name, one in ratios.items())
        + f". All are within {farthest:.1%} of 1; {len(differ)} of {len(ratios)} differ from it by more than"
        " their 95 % interval",
    )


def _has_one(number: Number) -> bool:
    low, high = (number.value if end is None else end for end in (number.low, number.high))
    return low <= 1.0 <= high


def _words(p: Parameters, kind: str) -> str:
    """A kind of V in a few words."""
    V = p["other_V"][kind]
    gap = f"gap {V['gap']:g}" if not V["spread"] else f"eigenvalues spread by {V['spread']:g}"
    return gap + (" and V not normal" if V["oblique"] else "")


def _scan_verdict(numbers: Numbers, p: Parameters) -> Verdict:
    """Which comes first, by gap and by tokens in a cap."""
    dense = [beta for beta in p["gap_betas"] if numbers[f"cap_beta{beta:g}"].value >= MIN_DENSE_CAP]
    sparse = [beta for beta in p["gap_betas"] if numbers[f"cap_beta{beta:g}"].value <= MAX_SPARSE_CAP]
    low, high, level = p["gaps"][0], p["gaps"][-1], reduction_level(p)

    def won(beta: float, gap: float) -> bool | None:
        """Whether tokens were on L first; None if the interval does not tell."""
        one = numbers[f"on_L_beta{beta:g}_gap{gap:g}"]
        at_least, at_most = (one.value if end is None else end for end in (one.low, one.high))
        return True if at_least >= level else False if at_most < level else None

    crossing = all(won(beta, low) is False and won(beta, high) is True for beta in dense)
    always = all(won(beta, gap) is True for beta in sparse for gap in p["gaps"])
    critical = ", ".join(
        f"{numbers[f'critical_beta{beta:g}'].value:.2g} at β = {beta:g}"
        f" ({numbers[f'cap_beta{beta:g}'].value:.0f} tokens in a cap)"
        for beta in p["gap_betas"]
        if f"critical_beta{beta:g}" in numbers
    )
    return Verdict(
        "tokens reach L before they gather at every gap tried if a cap of the whole sphere holds at most one"
        " token, and only above a certain gap if it holds many",
        "observed" if dense and sparse and crossing and always else "not observed",
        f"tokens reach L first for gaps above {critical or 'none'}; with at most {MAX_SPARSE_CAP:g} token in"
        f" a cap, at every gap from {low:g} on",
    )


ITEM = Item(
    key="dimension",
    title="Effective dimension",
    cost=Cost(quick=17.7, full=140.0),
    source="Section 5, conjectured",
    statement=(
        "With Q = K = V = I the numbers of Rényi and of strong Rényi centers, with δ = cβ^(−1/2), are both of"
        " the order β^{(d−1)/2}. For a general value matrix V the paper conjectures β^{(d₁−1)/2}, with d₁ the"
        " number of principal directions of V."
    ),
    ours=(
        "Read here as: the number of clusters, with d₁ the dimension of L, the eigenspace of V's largest"
        " eigenvalue, to which a token alone is drawn. Hypotheses: the exponent does not depend on the gap,"
        " on the other eigenvalues or on V being normal; there are about as many clusters as if the tokens"
        " had been on L from the start; and whether tokens reach L or gather first is decided by the gap and"
        " by the number of tokens in a cap of the whole sphere."
    ),
    parameters={
        "Q, K": "I",
        "V": "diag(1, …, 1, 1 − gap, …, 1 − gap), dim L ones; then a random one per run, by other_V",
        "d": 8,
        "betas": {
            "1": [16.0, 50.0, 160.0, 500.0],
            "2": [16.0, 50.0, 160.0, 500.0, 1600.0],
            "3": [16.0, 50.0, 160.0, 500.0],
        },
        "other_V": {
            "quarter": {"gap": 0.25, "spread": 0.0, "oblique": False},
            "half": {"gap": 0.5, "spread": 0.0, "oblique": False},
            "two": {"gap": 2.0, "spread": 0.0, "oblique": False},
            "spread": {"gap": 0.5, "spread": 1.5, "oblique": False},
            "oblique": {"gap": 0.5, "spread": 1.5, "oblique": True},
        },
        "other_betas": {"2": [16.0, 50.0, 160.0, 500.0], "3": [16.0, 40.0, 100.0]},
        "gap": 1.0,
        "at": 20.0,
        "per_cap": 32,
        "counted": 600,
        "max_runs": 40,
        "dim_L": 2,
        "n": 600,
        "gap_runs": 3,
        "gap_betas": [4.0, 8.0, 16.0, 32.0, 64.0],
        "gaps": [0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0],
        "seed": 0,
    },
    quick={
        "betas": {"1": [16.0, 50.0], "2": [16.0, 50.0, 160.0], "3": [16.0, 50.0, 100.0]},
        "other_betas": {"2": [16.0, 50.0], "3": [16.0, 40.0]},
        "counted": 150,
        "gap_betas": [4.0, 64.0],
        "gaps": [0.1, 0.5, 2.0],
        "n": 300,
        "gap_runs": 2,
    },
    choices=(
        (
            "V = diag(1, …, 1, 1 − gap, …), so that one token alone nears L like e^{−gap·t}; d = 8, uniform"
            " starts, 32 tokens in a cap of radius 4β^(−1/2) of the sphere of L (200 tokens where L is a"
            " line)."
        ),
        (
            "Other V: the eigenvalue 1 d₁ times, the others at 1 − gap, or spread uniformly over 1.5 below 1"
            " − gap with a gap of 0.5; eigenvectors uniformly random, a new V for every run. V that is not"
            " normal has eigenvectors (I + G/(2√d)) with a Gaussian G, turned at random; tokens are then put"
            " on L by the spectral projection, as each alone would end."
        ),
        (
            "Clusters are counted by their leaders at t = 20, as for the law β^{(d−1)/2}, or, with a gap"
            " below 1, at t = 20/gap, when as much is left beside L; and compared with those of the same"
            " tokens put on L at t = 0, at the same time. At first all were counted at t = 20; with a gap of"
            " 0.25 that is too early, for there are still many more clusters than on L. That count is told"
            " too."
        ),
        (
            f"Tokens have gathered when there are {GATHERED_CLUSTERS_PER_TOKEN:g} clusters per token. The"
            " reduction has won if by then the mean part of |x|² in L has gone more than half of the way from"
            " that of uniform tokens, d₁/d, to 1. Whether they gather in the whole sphere goes with the"
            " number of tokens in one of its caps."
        ),
    ),
    criteria=(
        f"First and second: evidence for if every exponent is (d₁−1)/2 to {EXPONENT_ERROR:g} and"
        f" {MAX_STANDARD_ERRORS:g} standard errors, else evidence against. Third: observed if the"
        f" 95 % interval of every mean ratio lies within {RATIO_ERROR:g} of 1, and at least"
        f" {MIN_SHARE_NEAR_L:.0%} of the tokens are within β^(−1/2) of L. Fourth: observed if with at least"
        f" {MIN_DENSE_CAP:g} tokens in a cap of the whole sphere the reduction has won at the largest gap but"
        f" not at the smallest, and with at most {MAX_SPARSE_CAP:g} at every gap, by 95 % intervals."
    ),
    captions={
        "dimension": (
            "Left: number of clusters against β for dim L = 1, 2, 3 inside d = 8, on lines of slope"
            " (d₁−1)/2; rings are those of the same tokens put on L at once. Middle: exponents for each V"
            " (spread: the other eigenvalues are not equal), with 95 % intervals. Right: the part of |x|² in"
            " L at the moment tokens have gathered, against the spectral gap, for several β, with the number"
            " of tokens in a cap of the whole sphere; above the grey line, halfway from uniform to L, the"
            " reduction has won."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
