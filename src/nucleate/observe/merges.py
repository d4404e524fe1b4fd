"""Merges: how the clusters of one run become fewer.

Counting starts at t_f, the first time at which 95 % of the tokens lie in components of diameter below w =
beta^(-1/2), or (beta |K^T Q|)^(-1/2) where there are Q and K.  There, two tokens belong to one component if a
chain of steps of at most w leads from one to the other.  (Steps of at most `radius` would not do: scattered
tokens, each a component of its own, have diameter zero, and counting would start at once; and t_f would
depend on `radius`.)

The leader of a component is its first member.  At t_f the leaders are the tokens farther than w from every
earlier token, which is the same for every component of diameter below w; one of the other 5 % may be a chain
of several clusters, held together by tokens in flight, and so has a leader for each.  Whatever is no leader
at t_f founds no cluster later.

A leader is lost when it comes within `radius` of a component, made of earlier tokens with steps of at most
`radius`, that holds an earlier leader.  Later tokens have no say in this, as they have none in the motion.
The cluster counts as lost with its leader, even if some of its tokens arrive later, or turn to another
cluster.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nucleate.attention import Attention
from nucleate.checks import Array, InputError, check_tokens
from nucleate.integrate.family import softmax_head
from nucleate.integrate.run import Run
from nucleate.observe.centers import renyi_centers
from nucleate.observe.close_approach import first_touch, next_approach, touching_part
from nucleate.observe.clusters import check_radius, clusters, compact
from nucleate.observe.gathered import are_gathered
from nucleate.observe.refine import Stretch, positions_at, positions_near, refine

__all__ = ["Branch", "Merge", "Merges", "cluster_width", "formed", "merges", "sharpness", "usual_radius"]

FORMED_SHARE = 0.95  # of the tokens
PAIR_BY_PAIR = 1000  # so many tokens are looked at pair by pair
RADIUS_IN_WIDTHS = 0.1  # of a cluster
# when to look whether clusters have formed: at 0, then from this time on, each time so much later
FIRST_LOOK_TIME, LOOK_TIME_RATIO, LOOKS_AT_ONCE = 1e-2, 2.0 ** (1 / 32), 8
# then the last interval is divided into parts, in so many rounds: t_f is good to 2.1e-5 of itself
FORMING_PARTS, FORMING_ROUNDS = 32, 2
BEND_IN_RADII = 3.0  # how far a link may bend towards its leader between two frames
STRAY_IN_RADII = 0.05  # how far a token may be from a cubic that is to tell whether tokens met
STRAY_IN_WIDTHS = 1e-4  # the same where the cubic is to tell whether clusters have formed
PARTS_PER_STEP = 64  # of a step in which tokens may meet, which is then shorter than a time unit
FRAMES_OF_CUBIC = 4  # which tell how tokens go in such a part
MEETING_HALVINGS = 30  # of the part in which a leader is lost


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
    """All merges of a run, in the order of time; len() and a loop go over its events."""

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
        """How long after t_f each leader was lost, (clusters,); infinity for those that were not within this
        run."""
        lost = {event.lost: event.time for event in self.events}
        return np.array([lost.get(k, np.inf) - self.t_f for k in self.leaders.tolist()])

    @property
    def tree(self) -> tuple[Branch, ...]:
        """The clusters that were not lost, each with those that joined it, and those that joined these: one
        if the life is whole."""
        joined: dict[int, tuple[Branch, ...]] = dict.fromkeys(self.leaders.tolist(), ())
        for event in self.events:  # what is lost has all its branches by then
            joined[event.into] += (Branch(event.lost, self.t_f, event.time, joined.pop(event.lost)),)
        return tuple(Branch(k, self.t_f, np.inf, branches) for k, branches in joined.items())

    @property
    def linkage(self) -> Array:
        """The tree as scipy.cluster.hierarchy has it, (merges, 4): two nodes, time, leaders below; node i <
        clusters is leaders[i]."""
        count = len(self.leaders)
        node = {k: (i, 1) for i, k in enumerate(self.leaders.tolist())}
        rows = []
        for i, event in enumerate(self.events):
            (one, below), (other, beside) = node[event.into], node.pop(event.lost)
            node[event.into] = (count + i, below + beside)
            rows.append([one, other, event.time, below + beside])
        return np.array(rows).reshape(-1, 4)


def sharpness(model: Attention) -> float:
    """beta |K^T Q| of a single run: the inverse temperature of Q = K = I with weights as far apart."""
    if model.Q is None and model.K is None:
        return float(model.beta)
    _, Q, K, _ = model.parameters(next(len(M) for M in (model.Q, model.K) if M is not None))
    return float(model.beta) * float(np.linalg.norm(K.T @ Q, 2))


def cluster_width(beta: float) -> float:
    """w = beta^(-1/2), where attraction is strongest (Lemma A.1); at most a right angle."""
    return float(min(1.0 / np.sqrt(max(beta, 1e-300)), np.pi / 2))


def usual_radius(beta: float) -> float:
    """The radius taken where none is given: 0.1 beta^(-1/2)."""
    return RADIUS_IN_WIDTHS * cluster_width(beta)


def merges(run: Run, radius: float | None = None) -> Merges:
    """How the clusters of one run merge: when which leader was lost, and to which.

    radius     the distance at which a leader is lost; left out, 0.1 beta^(-1/2), or 0.1 (beta |K^T Q|)^(-1/2)
               where there are Q and K

    Any frames will do, also save="steps": what happens between two of them is simulated again, more
    carefully, wherever there may have been a meeting.  With sparse frames a leader may still come from afar
    and go back to where it was, unseen.
    """
    if not isinstance(run, Run):
        raise InputError(f"run must be a Run, but is {type(run).__name__}. Make one with nucleate.simulate.")
    if run.x.ndim != 3:
        raise InputError(
            f"merges are counted in one run, but this record holds {len(run.x)}. Simulate them one by one."
        )
    if not len(run.t):
        raise InputError(
            f"merges need at least one frame, but this run has none ({run.ending}). Simulate for longer."
        )
    model = softmax_head(
        run.model, "Merges are followed", "Count clusters instead: nucleate.clusters(x, radius)."
    )
    width = cluster_width(sharpness(model))
    radius = usual_radius(sharpness(model)) if radius is None else check_radius(radius)
    if (formed := _formed(run, width)) is None:
        return Merges(radius, np.nan, np.empty(0, dtype=np.int64), ())
    start, t_f, x = formed
    leaders = renyi_centers(x, width, strong=True)  # (clusters,)
    # a mean of tokens, turned by V, is no longer than this
    speed = float(np.linalg.norm(model.parameters(x.shape[-1])[3], 2))
    losses = []
    t, tokens, stray = run.t[start:], int(leaders[-1]) + 1, STRAY_IN_RADII * radius
    first = Stretch(run, np.array([t_f, t[0]]), np.stack([x, run.x[start]]), tokens, stray)
    stretches = first, Stretch(run, t, run.x[start:], tokens, stray)
    for i, k in enumerate(leaders.tolist()):
        if i and (lost := _loss(run, stretches, _Search(k, leaders[:i], radius, speed))) is not None:
            losses.append((lost[0], -k, lost[1]))
    return Merges(radius, t_f, leaders, _in_order(losses, len(leaders)))


def formed(run: Run) -> tuple[float, Array] | None:
    """t_f of one run of a softmax head and the tokens (n, d) at that time; None if they never gathered."""
    model = softmax_head(run.model, "Merges are followed", "Count clusters: nucleate.clusters(x, radius).")
    found = _formed(run, cluster_width(sharpness(model)))
    return None if found is None else (found[1], found[2])


def _in_order(losses: list[tuple[float, int, int]], count: int) -> tuple[Merge, ...]:
    """Merges from (time, minus the leader lost, the leader it met): by time, at one time the last token
    first."""
    taken: dict[int, int] = {}
    events = []
    for i, (time, minus, into) in enumerate(sorted(losses), start=1):
        while into in taken:  # the one it met had joined another before
            into = taken[into]
        taken[-minus] = into
        events.append(Merge(time, -minus, into, count - i))
    return tuple(events)


def _formed(run: Run, width: float) -> tuple[int, float, Array] | None:
    """When most tokens lie in compact components: the first frame from then on, the time, and the tokens (n,
    d) at that time.

    Looked for at times on a grid of their own, for which tokens lead must not depend on where the solver's
    steps happen to end.
    """
    first, last = float(run.t[0]), float(run.t[-1])
    if _have_formed(check_tokens("x", run.x[0]), width):
        return 0, first, run.x[0]
    low, high = (np.log(max(t, FIRST_LOOK_TIME)) / np.log(LOOK_TIME_RATIO) for t in (first, last))
    grid = LOOK_TIME_RATIO ** np.arange(np.ceil(low), high)  # (many,)
    looked = np.unique([first, *grid[(grid > first) & (grid < last)], last])
    stretch = Stretch(run, run.t, run.x, run.x.shape[1], STRAY_IN_WIDTHS * width)
    for begin in range(0, len(looked) - 1, LOOKS_AT_ONCE):
        times = looked[begin : begin + LOOKS_AT_ONCE + 1]
        frames = np.searchsorted(run.t, times[1:])
        found = _first_gathered(times, positions_near(run, frames, times[1:], stretch), width)
        if found is not None:
            for _ in range(FORMING_ROUNDS):
                times = np.linspace(found[0], found[1], FORMING_PARTS + 1)
                frames = np.searchsorted(run.t, times[1:])
                # rounding, or what a cubic strays, may lose it in a rerun
                found = _first_gathered(times, positions_at(run, frames, times[1:]), width) or found
            return int(np.searchsorted(run.t, found[1])), found[1], found[2]
    return None


def _first_gathered(times: Array, x: Array, width: float) -> tuple[float, float, Array] | None:
    """The first of times[1:], with tokens x (times - 1, n, d), with enough of them in components of diameter
    below `width`: the one before, itself, and the tokens (n, d)."""
    for i in range(len(x)):
        if _have_formed(x[i], width):
            return float(times[i]), float(times[i + 1]), x[i]
    return None


def _have_formed(x: Array, width: float) -> bool:
    """Whether enough of the tokens x (n, d) lie in components of diameter below `width`."""
    if len(x) <= PAIR_BY_PAIR:
        return bool(are_gathered(x, 2.0 * np.sin(width / 2.0), FORMED_SHARE))
    label = clusters(x, width)  # (n,)
    return bool(compact(x, label, width)[label].mean() >= FORMED_SHARE)


class _Search(NamedTuple):
    """What is looked for: the loss of leader k to a component of one of the `earlier` leaders."""

    k: int
    earlier: NDArray[np.int64]  # (some,) at least one
    radius: float
    speed: float  # that no token exceeds

    @property
    def leads(self) -> NDArray[np.bool_]:
        """Which tokens before k lead, (k,)."""
        leads = np.zeros(self.k, dtype=bool)
        leads[self.earlier] = True
        return leads

    @property
    def reach(self) -> float:
        """The chord at the radius."""
        return float(2.0 * np.sin(self.radius / 2.0))

    def first_meeting(self, x: Array) -> int:
        """The first of the frames x (m, n, d) in which k is within the radius of a component with an earlier
        leader; m if there is none."""
        return first_touch(x, self.k, self.leads, self.reach)

    def met(self, x: Array) -> tuple[int, int] | None:
        """In a frame x (n, d) with a meeting, the leader met, and the token of the component nearest to k."""
        apart = np.linalg.norm(x[: self.k] - x[self.k], axis=-1)  # (k,) chords
        label = clusters(x[: self.k], self.radius)  # (k,) components of earlier tokens
        met = self.earlier[np.isin(label[self.earlier], label[apart <= self.reach])]
        if not met.size:  # by rounding alone
            return None
        members = np.flatnonzero(label == label[met[0]])
        return int(met[0]), int(members[apart[members].argmin()])

    def approaches(self, stretch: Stretch) -> Iterator[int]:
        """Those of the frames up to which, from the one before, there may have been a meeting."""
        t, x, leads, bend = stretch.t, stretch.x, self.leads, BEND_IN_RADII * self.reach
        frame = 0
        while (frame := next_approach(t, x, frame + 1, self.k, leads, self.reach, bend, self.speed)) < len(x):
            path = stretch.path(frame)
            if path is None or path.may_meet(self.k, leads, self.reach):
                yield frame


def _loss(run: Run, stretches: tuple[Stretch, Stretch], search: _Search) -> tuple[float, int] | None:
    """When leader `search.k` was lost, and to which, in the stretch from t_f to the next frame or in that
    from there on."""
    t_f, x = float(stretches[0].t[0]), stretches[0].x[:1]
    if not search.first_meeting(x) and (met := search.met(x[0])) is not None:
        return t_f, met[0]
    for stretch in stretches:
        for frame in search.approaches(stretch):
            if (found := _loss_between(run, stretch, frame, search)) is not None:
                return found
    return None


def _loss_between(run: Run, stretch: Stretch, frame: int, search: _Search) -> tuple[float, int] | None:
    """The same between a frame and the one before, at which it was not lost: a rerun in parts, if they are as
    near to each other as steps, or else step by step, then in parts."""
    two, tokens = stretch.two(frame), search.k + 1
    near = iter([two])
    if stretch.path(frame) is None:
        steps = Stretch(run, *refine(run, *two, tokens), tokens, stretch.stray)
        near = (steps.two(i) for i in search.approaches(steps))
    for both in near:
        if (met := _meeting_in(*refine(run, *both, tokens, PARTS_PER_STEP), search)) is not None:
            return met
    # only the record's own, less careful steps come so near
    t, x = float(two[0][1]), two[1][1]
    return None if search.first_meeting(x[None]) or (met := search.met(x)) is None else (t, met[0])


def _meeting_in(t: Array, x: Array, search: _Search) -> tuple[float, int] | None:
    """When in the frames t (m,), x (m, n, d) the meeting was, and with which leader: halved along cubics
    through the frames about it.

    Two frames only are far apart, with no equation to tell the way: there the logarithm of the distance falls
    evenly, if it is that which changed, and no other link of the component.
    """
    i = search.first_meeting(x)
    if i == len(t) or (met := search.met(x[i])) is None:
        return None
    if i == 0:
        return float(t[0]), met[0]
    (t0, t1), (k, j) = t[i - 1 : i + 1].tolist(), (search.k, met[1])
    # (2,), the last below 0
    apart = np.linalg.norm(x[i - 1 : i + 1, k] - x[i - 1 : i + 1, j], axis=-1).clip(1e-300)
    level = np.log(apart / search.reach)
    if len(t) == 2 and level[0] > 0.0:
        return float(t0 + level[0] / (level[0] - level[1]) * (t1 - t0)), met[0]
    begin = max(0, min(i - 2, len(t) - FRAMES_OF_CUBIC))
    about = x[begin : begin + FRAMES_OF_CUBIC, : k + 1]  # (4, k + 1, d), or two of them
    part, then = touching_part(about, i - begin, k, search.leads, search.reach, MEETING_HALVINGS)
    return float(t0 + part * (t1 - t0)), (search.met(then) or met)[0]
