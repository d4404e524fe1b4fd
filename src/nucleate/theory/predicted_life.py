"""The merges of a life, predicted from where the tokens are once clusters have formed: no simulation.

The hypothesis (ours; docs/open-questions/predicted-lives.md has how well it holds):
  - Leaders are those of `merges`: the tokens farther than w from every earlier one.  They stay where they
    are until shortly before they are lost, for the pull grows exponentially on the way.
  - Every token belongs to the nearest leader that is not later than itself.  Leader k sees those tokens of a
    cluster that come before k: its weight m for k.
  - Leader k moves towards the earlier cluster that pulls it most, m e^{beta <y, A x>} sin(angle), with A =
    K^T Q; for Q = K = I that is nearly always the nearest one.  It arrives after the time T of the two-token
    law with that m (`approach_time`).
  - The first to arrive is lost, and its tokens join the cluster it is lost to.  Where that makes an m larger,
    the share of T that is past stays as it is, and the rest takes less time.  A leader whose strongest pull
    is now another begins anew, from its place.

So clusters merge as in single linkage, but that the later of two is lost and its place attracts no more:
causal single linkage.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nucleate.attention import Attention
from nucleate.block import Block
from nucleate.checks import Array, InputError, finite_number
from nucleate.integrate.family import one_run, softmax_head
from nucleate.kernels.model_shape import CAUSAL, ModelShape, model_shape
from nucleate.layers import Layers
from nucleate.observe.centers import renyi_centers
from nucleate.observe.clusters import check_radius
from nucleate.observe.merges import Merge, Merges, cluster_width, usual_radius
from nucleate.theory.approach_time import log_approach_times

__all__ = ["Leaders", "PredictedMerges", "follow", "leaders_of", "predict_merges", "tokens_seen"]

Indices = NDArray[np.int64]
ROWS_AT_ONCE = 1 << 16  # of the table of tokens against leaders


@dataclass(frozen=True, eq=False)
class PredictedMerges(Merges):
    """Predicted merges: as `Merges`, with the logarithms of their times, which may be beyond what a double
    holds; there the time of the event is infinite."""

    log_times: Array  # (merges,) natural logarithm of the time of each event


class Leaders(NamedTuple):
    """What a prediction is made from; i is the number of a leader, in the order of the tokens."""

    token: Indices  # (L,) which token it is, increasing
    place: Array  # (L, d)
    seen: Array  # (L, L): [i, k] tokens of cluster i that come before leader k


def predict_merges(
    model: Attention | Block | Layers, x: ArrayLike, *, t: float = 0.0, radius: float | None = None
) -> PredictedMerges:
    """The tree of merges and their times, from the tokens x (n, d) at the time t at which clusters have
    formed, without a simulation.

    t       the time of x, t_f in the record that comes back
    radius  the distance at which a leader is lost; left out, that of `merges`

    The model must have the causal mask and V = c I with c > 0; Q and K are free.  The hypothesis behind it is
    that of causal single linkage, with the exact two-token time of every approach.
    """
    model = softmax_head(model, "Merges are predicted", "Simulate it: nucleate.life(model, x0, t=...).")
    tokens = one_run(model, x, "predict_merges")
    t = finite_number("t", t, least=0.0, help="It is the time at which the tokens are at x.")
    shape = _checked_shape(model, *tokens.shape)
    width = cluster_width(shape.z)
    radius = usual_radius(shape.z) if radius is None else check_radius(radius)
    leaders = leaders_of(tokens, width)
    log_elapsed, lost, into = follow(shape, leaders, radius)  # (merges,) each
    with np.errstate(divide="ignore"):
        log_times = np.logaddexp(np.log(t), log_elapsed)  # (merges,)
    with np.errstate(over="ignore"):
        times = np.exp(log_times)
    events = tuple(
        Merge(float(times[i]), int(lost[i]), int(into[i]), len(leaders.token) - 1 - i)
        for i in range(len(lost))
    )
    return PredictedMerges(radius, t, leaders.token, events, log_times)


def _checked_shape(model: Attention, n: int, d: int) -> ModelShape:
    """The shape of the model, if the two-token law is known for it."""
    shape = model_shape(model, n, d)
    if shape.mask != CAUSAL:
        fault = f'mask is {model.mask!r}. Take mask="causal"'
    elif model.frozen is not None:
        fault = "it has frozen tokens. Leave them out"
    elif not shape.scalar or shape.scale <= 0.0:
        fault = "V is not c I with c > 0. Take V=None"
    else:
        return shape
    raise InputError(
        f"predict_merges needs the causal mask, V = c I with c > 0 and no frozen tokens, but {fault}, or"
        " simulate: nucleate.life(model, x0, t=...)."
    )


def leaders_of(x: Array, width: float) -> Leaders:
    """The leaders among tokens x (n, d), with what each sees of the clusters of the others."""
    token = renyi_centers(x, width, strong=True)  # (L,)
    return Leaders(token, x[token], tokens_seen(x, token))


def tokens_seen(x: Array, token: Indices) -> Array:
    """[i, k]: how many of the tokens x (n, d) before leader `token[k]` belong to leader i; token (L,) -> (L,
    L).  A token belongs to the nearest leader that is not later than itself."""
    count = len(token)
    into: Array = np.zeros((count, count + 1))  # [i, b] tokens of cluster i between leaders b - 1 and b
    for first in range(0, len(x), ROWS_AT_ONCE):
        row = np.arange(first, min(first + ROWS_AT_ONCE, len(x)))  # (rows,)
        overlap = x[row] @ x[token].T  # (rows, L)
        owner = np.where(token <= row[:, None], overlap, -np.inf).argmax(1)  # (rows,)
        np.add.at(into, (owner, np.searchsorted(token, row, side="right")), 1.0)
    return np.asarray(np.cumsum(into, axis=1)[:, :count])


def follow(
    shape: ModelShape, leaders: Leaders, radius: float, weigh: bool = True
) -> tuple[Array, Indices, Indices]:
    """Who is lost, one after the other: logarithms of the times since the beginning, the tokens that led, and
    the leaders they are lost to, (merges,) each.

    weigh   False counts every cluster as one token, a comparison that leaves the weights out
    """
    token, place, seen = leaders.token, leaders.place, leaders.seen.copy()
    count = len(token)
    if not weigh:
        seen = np.ones_like(seen)
    # (L, L) [k, i]: log of the pull of one token at leader i on leader k; none on itself and earlier ones
    pull = _log_pull(shape, place)
    alive = np.ones(count, dtype=bool)
    target = np.full(count, -1)  # (L,) the leader that each moves towards
    log_way, used = np.full(count, np.inf), np.zeros(count)  # (L,) log T, and the share of it that is past

    def turn(k: Indices, to: Indices) -> None:
        """The leaders k (some,) move towards the leaders `to` (some,); who moved elsewhere begins anew."""
        used[k[to != target[k]]] = 0.0
        target[k] = to
        log_way[k] = _log_way(shape, place, k, to, seen[to, k], radius)

    def strength(k: Indices, i: Indices) -> Array:
        return np.asarray(pull[k, i] + np.log(np.maximum(seen[i, k], 1.0)))

    def strongest(k: Indices) -> Indices:
        every, others = np.ix_(k, np.flatnonzero(alive))  # (some, 1), (1, alive)
        return np.asarray(others[0, strength(every, others).argmax(1)])

    number = np.arange(count)
    turn(number[1:], strongest(number[1:]))
    now, events = -np.inf, []
    for _ in range(count - 1):
        with np.errstate(divide="ignore"):
            left = np.where(alive, log_way + np.log(np.maximum(1.0 - used, 0.0)), np.inf)  # (L,)
        k = count - 1 - int(left[::-1].argmin())  # at one time the last token first
        if left[k] == np.inf:  # exactly opposite: it stays
            break
        now, into = float(np.logaddexp(now, left[k])), int(target[k])
        events.append((now, int(token[k]), int(token[into])))
        alive[k] = False
        with np.errstate(invalid="ignore"):  # those that are there already stay so
            used += np.where(alive & (log_way > -np.inf), np.exp(np.minimum(left[k] - log_way, 0.0)), 0.0)
        if weigh:
            seen[into] += seen[k]
        orphans = np.flatnonzero(alive & (target == k))
        turn(orphans, strongest(orphans))
        # the pull of the cluster that grew: more of the same, or now the strongest
        later = np.flatnonzero(alive & (number > into))
        later = later[strength(later, np.full(len(later), into)) >= strength(later, target[later])]
        turn(later, np.full(len(later), into))
    log_times, lost, absorbed = zip(*events, strict=True) if events else ((), (), ())
    return (
        np.array(log_times, dtype=np.float64),
        np.array(lost, dtype=np.int64),
        np.array(absorbed, dtype=np.int64),
    )


def _log_pull(shape: ModelShape, place: Array) -> Array:
    """log(e^{beta (<y_i, A x_k> - <x_k, A x_k>)} sin(angle)) for leaders i before k, (L, L) [k, i]; -inf for
    the others."""
    overlap = place @ place.T  # (L, L)
    sine = np.sqrt(np.clip(1.0 - overlap**2, 1e-300, None))
    moved = place @ shape.A.T  # (L, d) A x_k
    score = moved @ place.T - (moved * place).sum(-1)[:, None]  # (L, L) [k, i]
    earlier = np.tri(len(place), k=-1, dtype=bool)
    return np.where(earlier, shape.beta * score + np.log(sine), -np.inf)


def _log_way(shape: ModelShape, place: Array, k: Indices, i: Indices, weight: Array, radius: float) -> Array:
    """log T from leader k to leader i with that weight, (some,) each."""
    x, y = place[k], place[i]  # (some, d)
    near, far = np.linalg.norm(x - y, axis=-1), np.linalg.norm(x + y, axis=-1)
    angle = 2.0 * np.arctan2(near, far)  # (some,)
    scores = np.tile([1.0, 0.0, 0.0, 1.0], (len(k), 1))  # (some, 4)
    if not shape.gaussian:
        e = x - (x * y).sum(-1, keepdims=True) * y  # (some, d)
        e /= np.maximum(np.linalg.norm(e, axis=-1, keepdims=True), 1e-300)
        scores = np.stack([((a @ shape.A.T) * b).sum(-1) for b in (y, e) for a in (y, e)], axis=1)
    log_time = log_approach_times(shape.beta, angle, radius, np.maximum(weight, 1.0), scores)
    return np.asarray(log_time - np.log(shape.scale))
