"""Predicted and simulated merges of the same lives, and what simpler rules would say."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from nucleate.attention import Attention
from nucleate.checks import Array

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.open_questions.predicted_merges.data import Case

__all__ = [
    "CHASE_FACTOR",
    "MISS_FACTOR",
    "RIVAL_SHARE",
    "Comparison",
    "by_start",
    "compare",
    "quantile_of_starts",
    "share_of_starts",
]

MISS_FACTOR = 1.5  # a merge is missed if its absorber is wrong or its time off by more than this
CHASE_FACTOR = 3.0  # a target that is lost itself so soon after is chased
RIVAL_SHARE = 0.1  # of the strongest pull that the second one must have to be a rival
FIRST_TIME = 1e-2  # where the logarithm of time begins if t_f is 0


@dataclass(frozen=True, eq=False)
class Comparison:
    """One life: prediction against simulation, merge by merge."""

    start: int  # its number; the same one has the same first tokens in every case
    measured: Array  # (merges,) log of the simulated time since t_f
    predicted: Array  # (merges,)
    unweighed: Array  # (merges,) predicted with every cluster counted as one token
    right: Array  # (merges,) whether the absorber is right, 1 or 0
    by_chance: Array  # (merges,) the chance of that if any earlier leader still there is as likely
    linked: Array  # (merges,) whether ordinary single linkage has the right absorber
    rival: Array  # (merges,) the second pull over the first, one token each, just before the merge
    lead: Array  # (merges,) log of the predicted time of the target's own loss over that of this merge
    order: bool  # all merges are in the predicted order
    survivors: float  # the share of log time at which the right leaders are left
    t_f: float
    from_start: Array  # (merges,) predicted from where the same leaders were at t = 0
    right_from_start: Array  # (merges,) whether its absorber is right, 1 or 0
    drift: Array  # (leaders,) how far they moved until t_f, in units of beta^(-1/2)


def compare(lives: "Dataset", case: "Case") -> list[Comparison]:
    """Every life of a case that is whole."""
    arrays = [np.ascontiguousarray(lives[name].values) for name in sorted(map(str, lives.data_vars))]
    key = (case, hashlib.sha256(b"".join(one.tobytes() for one in arrays)).hexdigest())
    if key not in _COMPARED:  # numbers and three styles of picture ask for the same
        _COMPARED[key] = [
            _compare(lives.isel(start=i), case, i)
            for i in range(lives.sizes["start"])
            if lives["whole"].values[i] == 1.0 and lives["lost"].values[i, 0] >= 0
        ]
    return _COMPARED[key]


_COMPARED: "dict[tuple[Case, str], list[Comparison]]" = {}


def _compare(life: "Dataset", case: "Case", start: int) -> Comparison:
    from nucleate.kernels.model_shape import model_shape
    from nucleate.sphere import distance, uniform
    from nucleate.theory.predicted_life import follow, leaders_of, predict_merges

    Q, K, x, t_f = life["Q"].values, life["K"].values, life["x"].values, float(life["t_f"])
    model = Attention(case.beta) if case.scores == "I" else Attention(case.beta, Q=Q, K=K)
    found = predict_merges(model, x)
    count = int((life["lost"].values >= 0).sum())
    lost, into = (life[name].values[:count].tolist() for name in ("lost", "into"))
    elapsed = life["time"].values[:count] - t_f  # (merges,)
    # t_f is known to 1e-5 of itself
    measured = dict(zip(lost, np.log(np.maximum(elapsed, 1e-5 * max(t_f, FIRST_TIME))), strict=True))
    log_time = {event.lost: float(time) for event, time in zip(found, found.log_times, strict=True)}
    absorber = {event.lost: event.into for event in found}
    shape = model_shape(model, *x.shape)
    leaders = leaders_of(x, _width(shape.z))
    plain = follow(shape, leaders, found.radius, weigh=False)
    unweighed = dict(zip(plain[1].tolist(), plain[0].tolist(), strict=True))
    place = uniform(case.n, case.d, case.first_seed + start)[leaders.token]  # (L, d) at t = 0
    early = follow(shape, leaders._replace(place=place), found.radius)
    from_start = dict(zip(early[1].tolist(), early[0].tolist(), strict=True))
    absorber_from_start = dict(zip(early[1].tolist(), early[2].tolist(), strict=True))
    linked = _single_linkage(x, found.leaders.tolist())
    left, chance, rival = set(found.leaders.tolist()), [], []
    for k in lost:
        earlier = sorted(i for i in left if i < k)
        chance.append(1.0 / max(len(earlier), 1))
        rival.append(_rival(shape.beta, shape.A, x[k], x[earlier]))
        left.discard(k)
    return Comparison(
        start,
        np.array([measured[k] for k in lost]),
        np.array([log_time.get(k, np.inf) for k in lost]),
        np.array([unweighed.get(k, np.inf) for k in lost]),
        np.array([absorber.get(k) == i for k, i in zip(lost, into, strict=True)], dtype=np.float64),
        np.array(chance),
        np.array([linked.get(k) == i for k, i in zip(lost, into, strict=True)], dtype=np.float64),
        np.array(rival),
        np.array([log_time.get(absorber.get(k, -1), np.inf) - log_time.get(k, 0.0) for k in lost]),
        [event.lost for event in found] == lost,
        _survivors(measured, log_time, t_f),
        t_f,
        np.array([from_start.get(k, np.inf) for k in lost]),
        np.array(
            [absorber_from_start.get(k) == i for k, i in zip(lost, into, strict=True)], dtype=np.float64
        ),
        distance(place, leaders.place) * case.beta**0.5,
    )


def _width(z: float) -> float:
    from nucleate.observe.merges import cluster_width

    return cluster_width(z)


def _rival(beta: float, A: Array, x: Array, y: Array) -> float:
    """The second strongest pull on x (d,) over the strongest, of one token at each of y (m, d); 0 of one."""
    if len(y) < 2:
        return 0.0
    sine = np.sqrt(np.clip(1.0 - (y @ x) ** 2, 1e-300, None))  # (m,)
    pull = np.sort(beta * (y @ (A @ x)) + np.log(sine))
    return float(np.exp(pull[-2] - pull[-1]))


def _single_linkage(x: Array, leaders: list[int]) -> dict[int, int]:
    """The absorber of every leader if clusters were joined by the nearest of all their first places, lost
    ones too; the earliest leader of the two goes on."""
    chord = np.linalg.norm(x[leaders][:, None] - x[leaders], axis=-1)  # (L, L)
    head = list(range(len(leaders)))
    into: dict[int, int] = {}
    rows, columns = np.triu_indices(len(leaders), 1)
    for i in np.argsort(chord[rows, columns], kind="stable").tolist():
        a, b = sorted((_root(head, int(rows[i])), _root(head, int(columns[i]))))
        if a != b:
            head[b] = a
            into[leaders[b]] = leaders[a]
    return into


def _root(head: list[int], i: int) -> int:
    while head[i] != i:
        i = head[i]
    return i


def _survivors(measured: dict[int, float], predicted: dict[int, float], t_f: float) -> float:
    """The share of the logarithm of time, from t_f to the last merge of either, with the right leaders."""
    begin = np.log(max(t_f, FIRST_TIME))
    since = np.log(t_f) if t_f > 0.0 else -np.inf
    spans = []
    end = begin
    for k, time in measured.items():
        one, other = (max(float(np.logaddexp(since, at)), begin) for at in (time, predicted.get(k, np.inf)))
        spans.append(sorted((one, other)))
        end = max(end, one, other if np.isfinite(other) else one)
    wrong, until = 0.0, begin
    for low, high in sorted(spans):
        wrong += max(min(high, end) - max(low, until), 0.0)
        until = max(until, min(high, end))
    return 1.0 - wrong / (end - begin) if end > begin else 1.0


def by_start(found: list[Comparison], value: Callable[[Comparison], ArrayLike]) -> list[Array]:
    """What `value` gives for every life, (some,) each, put together by start: lives of one start, at several
    beta or n, are not independent."""
    parts: dict[int, list[Array]] = {}
    for one in found:
        parts.setdefault(one.start, []).append(np.atleast_1d(np.asarray(value(one), dtype=np.float64)))
    return [np.concatenate(some) for some in parts.values()]


def share_of_starts(lives: list[Array], resamples: int, seed: int = 0) -> tuple[float, float, float]:
    """The mean over all merges of all starts, each (merges,), and its 95 % interval from starts drawn
    again."""
    total, size = np.array([one.sum() for one in lives]), np.array([len(one) for one in lives])
    drawn = np.random.default_rng(seed).integers(len(lives), size=(resamples, len(lives)))
    low, high = np.quantile(total[drawn].sum(1) / size[drawn].sum(1), [0.025, 0.975])
    return float(total.sum() / size.sum()), float(low), float(high)


def quantile_of_starts(
    lives: list[Array], share: float, resamples: int, seed: int = 0
) -> tuple[float, float, float]:
    """A quantile over all merges of all starts, and its 95 % interval from starts drawn again."""
    every = np.concatenate(lives)  # (merges,)
    order = np.argsort(every, kind="stable")
    owner = np.repeat(np.arange(len(lives)), [len(one) for one in lives])[order]  # (merges,) by size
    drawn = np.empty(resamples)
    rng = np.random.default_rng(seed)
    for i in range(resamples):
        times = np.bincount(rng.integers(len(lives), size=len(lives)), minlength=len(lives))  # (lives,)
        rank = np.cumsum(times[owner])  # (merges,)
        drawn[i] = every[order[min(np.searchsorted(rank, share * rank[-1]), len(order) - 1)]]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(np.quantile(np.concatenate(lives), share)), float(low), float(high)
