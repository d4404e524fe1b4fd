"""Merges: how the clusters of one run become fewer.

Counting starts at t_f, the first time at which 95 % of the tokens lie in clusters of diameter below w = beta^(-1/2); two tokens belong
to one such cluster if a chain of steps of at most w leads from one to the other.  The leader of a cluster is its first member: a token
farther than w from every earlier token.  Tokens that are not leaders at t_f found no cluster later.

A leader is lost when it comes within `radius` of a cluster, made of earlier tokens with steps of at most `radius`, that holds an earlier
leader.  Later tokens have no say in this, as they have none in the motion.  The cluster counts
as lost with its leader, even if some of its tokens arrive later, or turn to another cluster.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array, InputError
from nucleate.integrate.run import Run
from nucleate.integrate.simulate import simulate
from nucleate.kernels import drift
from nucleate.observe.centers import renyi_centers
from nucleate.observe.clusters import check_radius, clusters, compact
from nucleate.sphere import retract

__all__ = ["Merge", "Merges", "cluster_width", "merges", "usual_radius"]

FORMED = 0.95  # of the tokens
PARTS = 16
RADIUS = 0.1  # in units of the cluster width
FIRST, GRID = 1e-2, 2.0 ** (1 / 32)  # times at which to look whether clusters have formed: 0, FIRST or later, each GRID times the one before


@dataclass(frozen=True)
class Merge:
    """One cluster joins another.  Tokens are counted from 0."""

    time: float
    lost: int  # the leader that is one no more
    into: int  # the leader of the cluster it joins
    left: int  # clusters from then on


@dataclass(frozen=True, eq=False)
class Merges:
    """All merges of a run, in the order of time; also a sequence of them."""

    radius: float
    t_f: float  # when counting starts; NaN if the tokens never gathered
    leaders: NDArray[np.int64]  # (clusters,) at t_f, increasing
    events: tuple[Merge, ...]

    def __len__(self) -> int:
        return len(self.events)

    def __iter__(self) -> Iterator[Merge]:
        return iter(self.events)

    @property
    def staircase(self) -> tuple[Array, NDArray[np.int64]]:
        """Times (merges + 1,), t_f first, and the number of clusters from each on."""
        if not self.leaders.size:
            return np.empty(0), np.empty(0, dtype=np.int64)
        times = np.array([self.t_f, *(event.time for event in self.events)])
        return times, len(self.leaders) - np.arange(len(times))

    @property
    def left(self) -> int:
        """Clusters at the end; 0 if the tokens never gathered."""
        return len(self.leaders) - len(self.events)


def cluster_width(beta: float) -> float:
    """w = beta^(-1/2), where attraction is strongest (Lemma A.1); at most a right angle."""
    return float(min(1.0 / np.sqrt(max(beta, 1e-300)), np.pi / 2))


def usual_radius(beta: float) -> float:
    """The radius taken where none is given: 0.1 beta^(-1/2)."""
    return RADIUS * cluster_width(beta)


def merges(run: Run, radius: float | None = None) -> Merges:
    """How the clusters of `run` merge, with times refined between the saved ones; 0.1 beta^(-1/2) is the usual radius.

    Save every step (save="steps"), or what happens between two frames may be missed.
    """
    if run.x.ndim != 3:
        raise InputError(f"merges are counted in one run, but this record holds {len(run.x)}. Simulate them one by one.")
    width = cluster_width(float(run.model.beta))
    radius = usual_radius(float(run.model.beta)) if radius is None else check_radius(radius)
    if (formed := _formed(run, width)) is None:
        return Merges(radius, np.nan, np.empty(0, dtype=np.int64), ())
    start, t_f, x = formed
    leaders = renyi_centers(x, width, strong=True)  # (clusters,)
    losses = []
    for i, k in enumerate(leaders.tolist()):
        if (met := _meeting(run, start, k, leaders[:i], radius)) is not None:
            frame, into, by = met
            losses.append((_crossing(run, frame, k, by, radius), -k, into))
    events = (
        Merge(time, -lost, into, len(leaders) - i) for i, (time, lost, into) in enumerate(sorted(losses), start=1)
    )  # at one time, last token first
    return Merges(radius, t_f, leaders, tuple(events))


def _formed(run: Run, width: float) -> tuple[int, float, Array] | None:
    """When most tokens lie in compact clusters: the first frame from then on, the time, and the tokens (n, d) at that time.

    Looked for at times on a grid of their own, for which tokens lead must not depend on where the solver's steps happen to end.
    """
    first, last = float(run.t[0]), float(run.t[-1])
    grid = GRID ** np.arange(np.ceil(np.log(max(first, FIRST)) / np.log(GRID)), np.log(max(last, FIRST)) / np.log(GRID))  # (many,)
    made, way = -1, _between(run, 0)
    for time in [first, *grid[(grid > first) & (grid <= last)].tolist()]:
        frame = int(np.searchsorted(run.t, time))
        if frame != made:
            made, way = frame, _between(run, frame)
        x = way(time)  # (n, d)
        label = clusters(x, width)
        if compact(x, label, width)[label].mean() >= FORMED:
            return frame, time, x
    return None


def _between(run: Run, frame: int) -> Callable[[float], Array]:
    """The tokens (n, d) at a time between the frame before and `frame`, from places and velocities at both (Hermite)."""
    if frame == 0:
        return lambda time: run.x[0]
    begin, h = float(run.t[frame - 1]), float(run.t[frame] - run.t[frame - 1])
    x = run.x[frame - 1 : frame + 1]  # (2, n, d)
    v = h * np.stack([drift(run.model, tokens) for tokens in x])  # (2, n, d) over the whole step

    return lambda time: retract(_hermite((time - begin) / h, x, v))


def _meeting(run: Run, start: int, k: int, earlier: NDArray[np.int64], radius: float) -> tuple[int, int, int] | None:
    """The first frame in which k is within the radius of a cluster with an earlier leader; that leader; and the token of it nearest to k."""
    if not earlier.size:
        return None
    apart = np.linalg.norm(run.x[start:, :k] - run.x[start:, [k]], axis=-1)  # (frames, k) chords
    reach = 2.0 * np.sin(radius / 2.0)
    for i in np.flatnonzero((apart <= reach).any(1)):
        label = clusters(run.x[start + i, :k], radius)  # (k,) clusters of earlier tokens
        touched = np.unique(label[apart[i] <= reach])
        met = earlier[np.isin(label[earlier], touched)]
        if met.size:
            members = np.flatnonzero(label == label[met[0]])
            return start + int(i), int(met[0]), int(members[apart[i, members].argmin()])
    return None


def _crossing(run: Run, frame: int, k: int, j: int, radius: float) -> float:
    """When tokens k and j came within the radius, between `frame` and the one before.

    The step is gone through again in PARTS, and in one of these the logarithm of the distance is interpolated from its values and slopes.
    """
    begin, end = (float(time) for time in run.t[max(frame - 1, 0) : frame + 1][[0, -1]])
    if begin == end:
        return end
    seen = len(run.x[0]) if run.model.mask == "full" else k + 1
    again = simulate(run.model, run.x[frame - 1, :seen], end - begin, np.linspace(0.0, end - begin, PARTS + 1), rtol=1e-10, atol=1e-12)
    apart = np.linalg.norm(again.x[:, k] - again.x[:, j], axis=-1)  # (parts + 1,)
    reach = 2.0 * np.sin(radius / 2.0)
    i = int((apart <= reach).argmax())
    if i == 0:  # they were near before, and something else brought them together; or only the original steps come so near
        return end
    x, h = again.x[i - 1 : i + 1], float(again.t[i] - again.t[i - 1])  # (2, seen, d)
    v = np.stack([drift(run.model, tokens) for tokens in x])  # (2, seen, d)
    way, square = x[:, k] - x[:, j], np.maximum(apart[i - 1 : i + 1], 1e-150) ** 2  # (2, d), (2,)
    level, slope = np.log(square) / 2.0 - np.log(reach), h * (way * (v[:, k] - v[:, j])).sum(-1) / square  # (2,), (2,)
    low, high = 0.0, 1.0
    for _ in range(60):
        s = (low + high) / 2.0
        low, high = (s, high) if _hermite(s, level, slope) > 0.0 else (low, s)
    return begin + float(again.t[i - 1]) + high * h


def _hermite(s: float, value: Array, slope: Array) -> Any:
    """The cubic with these values and slopes, (2, ...), at 0 and 1."""
    return (1 - s) ** 2 * ((1 + 2 * s) * value[0] + s * slope[0]) + s**2 * ((3 - 2 * s) * value[1] + (s - 1) * slope[1])
