"""Merges: how the clusters of one run become fewer.

Counting starts at t_f, the first time at which 95 % of the tokens lie in components of diameter below w = beta^(-1/2).  There, two tokens
belong to one component if a chain of steps of at most w leads from one to the other.  (Steps of at most `radius` would not do: scattered
tokens, each a component of its own, have diameter zero, and counting would start at once; and t_f would depend on `radius`.)

The leader of a component is its first member.  At t_f the leaders are the tokens farther than w from every earlier token, which is the
same for every component of diameter below w; one of the other 5 % may be a chain of several clusters, held together by tokens in flight,
and so has a leader for each.  Whatever is no leader at t_f founds no cluster later.

A leader is lost when it comes within `radius` of a component, made of earlier tokens with steps of at most `radius`, that holds an
earlier leader.  Later tokens have no say in this, as they have none in the motion.  The cluster counts as lost with its leader, even if
some of its tokens arrive later, or turn to another cluster.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array, InputError
from nucleate.integrate.run import Run
from nucleate.observe.between import positions, stretch
from nucleate.observe.centers import renyi_centers
from nucleate.observe.clusters import check_radius, clusters, compact

__all__ = ["Branch", "Merge", "Merges", "cluster_width", "merges", "usual_radius"]

FORMED = 0.95  # of the tokens
RADIUS = 0.1  # in units of the cluster width
FIRST, GRID = 1e-2, 2.0 ** (1 / 32)  # times at which to look whether clusters have formed: 0, FIRST or later, each GRID times the one before
PARTS, ROUNDS = 32, 2  # then the last stretch is divided, so often: t_f is good to 1e-5 of itself
CLOSER = 64  # parts of the step in which a leader is lost; a step is shorter than a time unit when tokens meet: 1e-5 time units
CHUNK = 2**20  # distances measured at once


@dataclass(frozen=True)
class Merge:
    """One cluster joins another.  Tokens are counted from 0."""

    time: float
    lost: int  # the leader that is one no more
    into: int  # the leader of the cluster it joins
    left: int  # clusters from then on


@dataclass(frozen=True)
class Branch:
    """A cluster in the tree of merges, by its leader, with the clusters that joined it."""

    leader: int
    begin: float  # t_f
    end: float  # when its leader was lost; infinity if it was not
    joined: tuple["Branch", ...]  # in the order of time


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

    @property
    def lifetimes(self) -> Array:
        """How long after t_f each leader was lost, (clusters,); infinity for those that were not within this run."""
        lost = {event.lost: event.time for event in self.events}
        return np.array([lost.get(k, np.inf) - self.t_f for k in self.leaders.tolist()])

    @property
    def tree(self) -> tuple[Branch, ...]:
        """The clusters that were not lost, each with those that joined it, and those that joined these: one if the life is whole."""
        joined: dict[int, tuple[Branch, ...]] = dict.fromkeys(self.leaders.tolist(), ())
        for event in self.events:  # what is lost has all its branches by then
            joined[event.into] += (Branch(event.lost, self.t_f, event.time, joined.pop(event.lost)),)
        return tuple(Branch(k, self.t_f, np.inf, branches) for k, branches in joined.items())

    @property
    def linkage(self) -> Array:
        """The tree as scipy.cluster.hierarchy has it, (merges, 4): two nodes, time, leaders below; node i < clusters is leaders[i]."""
        count = len(self.leaders)
        node = {k: (i, 1) for i, k in enumerate(self.leaders.tolist())}
        rows = []
        for i, event in enumerate(self.events):
            (one, below), (other, beside) = node[event.into], node.pop(event.lost)
            node[event.into] = (count + i, below + beside)
            rows.append([one, other, event.time, below + beside])
        return np.array(rows).reshape(-1, 4)


def cluster_width(beta: float) -> float:
    """w = beta^(-1/2), where attraction is strongest (Lemma A.1); at most a right angle."""
    return float(min(1.0 / np.sqrt(max(beta, 1e-300)), np.pi / 2))


def usual_radius(beta: float) -> float:
    """The radius taken where none is given: 0.1 beta^(-1/2)."""
    return RADIUS * cluster_width(beta)


def merges(run: Run, radius: float | None = None) -> Merges:
    """How the clusters of one run merge; 0.1 beta^(-1/2) is the usual radius.

    Any frames will do, also save="steps": what happens between two of them is found by simulating that stretch again.  But a leader that
    comes near another cluster and leaves it again, all between two frames, goes unseen.
    """
    if not isinstance(run, Run):
        raise InputError(f"run must be a Run, but is {type(run).__name__}. Make one with nucleate.simulate.")
    if run.x.ndim != 3:
        raise InputError(f"merges are counted in one run, but this record holds {len(run.x)}. Simulate them one by one.")
    if not len(run.t):
        raise InputError(f"merges need at least one frame, but this run has none ({run.ending}). Simulate for longer.")
    width = cluster_width(float(run.model.beta))
    radius = usual_radius(float(run.model.beta)) if radius is None else check_radius(radius)
    if (formed := _formed(run, width)) is None:
        return Merges(radius, np.nan, np.empty(0, dtype=np.int64), ())
    start, t_f, x = formed
    leaders = renyi_centers(x, width, strong=True)  # (clusters,)
    losses = []
    for i, k in enumerate(leaders.tolist()):
        if (met := _meeting(run.x[start:], k, leaders[:i], radius)) is not None:
            frame, into, _ = met
            time, into = _crossing(run, start + frame, k, leaders[:i], into, radius)
            losses.append((max(time, t_f), -k, into))
    return Merges(radius, t_f, leaders, _in_order(losses, len(leaders)))


def _in_order(losses: list[tuple[float, int, int]], count: int) -> tuple[Merge, ...]:
    """Merges from (time, minus the leader lost, the leader it met): by time, at one time the last token first."""
    taken: dict[int, int] = {}
    events = []
    for i, (time, minus, into) in enumerate(sorted(losses), start=1):
        while into in taken:  # the one it met had joined another before
            into = taken[into]
        taken[-minus] = into
        events.append(Merge(time, -minus, into, count - i))
    return tuple(events)


def _formed(run: Run, width: float) -> tuple[int, float, Array] | None:
    """When most tokens lie in compact components: the first frame from then on, the time, and the tokens (n, d) at that time.

    Looked for at times on a grid of their own, for which tokens lead must not depend on where the solver's steps happen to end.
    """
    first, last = float(run.t[0]), float(run.t[-1])
    if _share(run.x[0], clusters(run.x[0], width), width) >= FORMED:
        return 0, first, run.x[0]
    grid = GRID ** np.arange(np.ceil(np.log(max(first, FIRST)) / np.log(GRID)), np.log(max(last, FIRST)) / np.log(GRID))  # (many,)
    looked = np.unique([first, *grid[(grid > first) & (grid < last)], last])
    for begin in range(0, len(looked) - 1, PARTS):
        found = _first_gathered(run, looked[begin : begin + PARTS + 1], width)
        if found is not None:
            for _ in range(ROUNDS):
                found = _first_gathered(run, np.linspace(found[0], found[1], PARTS + 1), width) or found  # rounding may lose it in a rerun
            return int(np.searchsorted(run.t, found[1])), found[1], found[2]
    return None


def _first_gathered(run: Run, times: Array, width: float) -> tuple[float, float, Array] | None:
    """The first of times[1:] with enough tokens in components of diameter below `width`: the one before, itself, and the tokens (n, d)."""
    x = positions(run, np.searchsorted(run.t, times[1:]), times[1:])  # (times - 1, n, d)
    for i, label in enumerate(clusters(x, width)):  # (n,)
        if _share(x[i], label, width) >= FORMED:
            return float(times[i]), float(times[i + 1]), x[i]
    return None


def _share(x: Array, label: NDArray[np.int64], width: float) -> float:
    """The share of tokens x (n, d) in components of diameter below `width`."""
    return float(compact(x, label, width)[label].mean())


def _meeting(x: Array, k: int, earlier: NDArray[np.int64], radius: float) -> tuple[int, int, int] | None:
    """The first of the frames x (m, n, d) in which k is within the radius of a component with an earlier leader; that leader; and the token
    of the component nearest to k."""
    if not earlier.size:
        return None
    reach = 2.0 * np.sin(radius / 2.0)
    size = max(1, CHUNK // k)
    for begin in range(0, len(x), size):
        some = x[begin : begin + size]  # (frames, n, d)
        apart = np.linalg.norm(some[:, :k] - some[:, k : k + 1], axis=-1)  # (frames, k) chords
        for i in np.flatnonzero((apart <= reach).any(1)):
            label = clusters(some[i, :k], radius)  # (k,) components of earlier tokens
            touched = np.unique(label[apart[i] <= reach])
            met = earlier[np.isin(label[earlier], touched)]
            if met.size:
                members = np.flatnonzero(label == label[met[0]])
                return begin + int(i), int(met[0]), int(members[apart[i, members].argmin()])
    return None


def _crossing(run: Run, frame: int, k: int, earlier: NDArray[np.int64], into: int, radius: float) -> tuple[float, int]:
    """When, between `frame` and the one before, leader k was lost, and to which leader; `into` is what `frame` itself says.

    Found step by step in a rerun, then in parts of that step; in the last part the logarithm of the distance falls evenly.
    """
    if frame == 0 or run.t[frame - 1] == run.t[frame]:
        return float(run.t[frame]), into
    t, x = run.t[frame - 1 : frame + 1], run.x[frame - 1 : frame + 1]  # (2,), (2, n, d)
    level = (1.0, 0.0)
    for parts in (0, CLOSER):
        t, x = stretch(run, t, x, k + 1, parts)  # (m,), (m, seen, d)
        met = _meeting(x, k, earlier, radius)
        if met is None or met[0] == 0:  # only the record's own, less careful steps come so near
            return float(t[-1]), into
        i, into, j = met
        t, x = t[i - 1 : i + 1], x[i - 1 : i + 1]
        level = tuple(np.log(np.linalg.norm(x[:, k] - x[:, j], axis=-1).clip(1e-300) / (2.0 * np.sin(radius / 2.0))))  # above 0, then below
    share = level[0] / (level[0] - level[1]) if level[0] > 0.0 else 1.0  # or they were near before, and something else joined them to the leader
    return float(t[0] + share * (t[1] - t[0])), into
