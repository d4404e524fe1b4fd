"""Merges: how the clusters of one run become fewer.

Counting starts at t_f, the first saved time at which 95 % of the tokens lie in clusters of diameter below w = beta^(-1/2); two tokens belong
to one such cluster if a chain of steps of at most w leads from one to the other.  The leader of a cluster is its first member: a token
farther than w from every earlier token.  Tokens that are not leaders at t_f found no cluster later.

A leader is lost when it comes within `radius` of a cluster, made of earlier tokens with steps of at most `radius`, that holds an earlier
leader.  Later tokens have no say in this, as they have none in the motion.  The cluster counts
as lost with its leader, even if some of its tokens arrive later, or turn to another cluster.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array, InputError
from nucleate.integrate.run import Run
from nucleate.kernels import drift
from nucleate.observe.centers import renyi_centers
from nucleate.observe.clusters import check_radius, clusters, compact

__all__ = ["Merge", "Merges", "cluster_width", "merges", "usual_radius"]

FORMED = 0.95  # of the tokens
RADIUS = 0.1  # in units of the cluster width


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
    if (start := _formed(run, width)) is None:
        return Merges(radius, np.nan, np.empty(0, dtype=np.int64), ())
    leaders = renyi_centers(run.x[start], width, strong=True)  # (clusters,)
    losses = []
    for i, k in enumerate(leaders.tolist()):
        if (met := _meeting(run, start, k, leaders[:i], radius)) is not None:
            frame, into, by = met
            losses.append((_crossing(run, frame, k, by, radius), -k, into))
    events = (
        Merge(time, -lost, into, len(leaders) - i) for i, (time, lost, into) in enumerate(sorted(losses), start=1)
    )  # at one time, last token first
    return Merges(radius, float(run.t[start]), leaders, tuple(events))


def _formed(run: Run, width: float) -> int | None:
    """The first frame in which most tokens lie in compact clusters."""
    for i, x in enumerate(run.x):  # x (n, d)
        label = clusters(x, width)
        if compact(x, label, width)[label].mean() >= FORMED:
            return i
    return None


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
    """When tokens k and j came within the radius, between `frame` and the one before: from the logarithm of their distance and its slope."""
    if frame == 0 or run.t[frame] == run.t[frame - 1]:
        return float(run.t[frame])
    begin, end = (float(time) for time in run.t[frame - 1 : frame + 1])
    x = run.x[frame - 1 : frame + 1]  # (2, n, d)
    v = np.stack([drift(run.model, tokens) for tokens in x])  # (2, n, d)
    way = x[:, k] - x[:, j]  # (2, d)
    square = (way * way).sum(-1)  # (2,)
    level = np.log(np.maximum(square, 1e-300)) / 2.0 - np.log(2.0 * np.sin(radius / 2.0))  # (2,) zero at the crossing
    if level[0] <= 0.0:
        return end
    slope = (end - begin) * (way * (v[:, k] - v[:, j])).sum(-1) / np.maximum(square, 1e-300)  # (2,) over the whole step
    low, high = 0.0, 1.0
    for _ in range(60):
        s = (low + high) / 2.0
        value = (1 - s) ** 2 * ((1 + 2 * s) * level[0] + s * slope[0]) + s**2 * ((3 - 2 * s) * level[1] + (s - 1) * slope[1])
        low, high = (s, high) if value > 0.0 else (low, s)
    return begin + (end - begin) * (low + high) / 2.0
