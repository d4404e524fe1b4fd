"""Very many tokens on the circle and the sphere while clusters form: what tokens at every place of the
sequence see, modes, clusters at the end and what Rényi centers and random places would have for them; on the
circle the limit equation behind the first tokens, on the sphere a second run with the same first tokens; and
the limit equation far beyond any run, with noise and without."""

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.papers.core.threads import in_threads
from nucleate.papers.open_questions.causal_front.crossings import LEVEL, crossing_times, settled
from nucleate.theory.causal_front import fastest_degree

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data, Parameters
    from nucleate.theory.causal_front import ContinuedTokens

__all__ = [
    "MAX_CLUSTERS",
    "MODES",
    "Bins",
    "Case",
    "bins_of",
    "case_seed",
    "cases",
    "clusters_of",
    "expected_clusters",
    "far_places",
    "far_times",
    "fronts_of",
    "mode_values",
    "modes_of",
    "run",
    "seen_of",
    "shares_of",
]

RTOL = 1e-5
WIDTH = 0.25  # of a bin in s = ln k
MODES = 5  # degrees around the fastest, of which the power is kept
MAX_CLUSTERS = 64  # stored of a run
SAMPLE = 2000  # tokens that clusters are counted from, of the last factor e of the sequence
PROBES = 1000  # later tokens, at most and one in 20, that all runs on the sphere have in common
RENYI = 4.0  # c of Rényi centers, c beta^(-1/2) apart, as in the paper
RANDOM_DRAWS = 30  # of random places, for every start
SEEN = 48  # tokens of a bin whose weights are summed by pairs, on spheres
PROBE_SEED = 10_000
RANDOM_PLACES = 2  # so that random places of a seed are not its tokens
PAIRS_AT_ONCE = 1 << 21


class Case(NamedTuple):
    """Runs of one kind."""

    d: int
    beta: float
    n: int
    starts: int

    @property
    def name(self) -> str:
        """Of its dataset."""
        return f"d{self.d}_beta{self.beta:g}"

    @property
    def words(self) -> str:
        """For people."""
        return f"d = {self.d}, β = {self.beta:g}, n = " + f"{self.n:,}".replace(",", " ")


class Bins(NamedTuple):
    """Places in the sequence: equal steps of s = ln k behind the first tokens."""

    edges: "np.ndarray[tuple[int], np.dtype[np.int64]]"  # (bins + 1,)

    @property
    def s(self) -> Array:
        """The middles, (bins,)."""
        return np.asarray((np.log(self.edges[1:]) + np.log(self.edges[:-1])) / 2.0)


def cases(p: "Parameters") -> list[Case]:
    """All of them."""
    return [Case(int(d), float(beta), int(n), int(starts)) for d, beta, n, starts in p["cases"]]


def case_seed(p: "Parameters", number: int, i: int) -> int:
    """The seed of start i of the case of that number; the limit equation far away has the number behind the
    last.  No two of them are the same, nor with 500 added, for first tokens of another start."""
    assert i < 500, i
    return int(p["first_seed"]) + 1000 * number + i


def bins_of(first: int, n: int) -> Bins:
    """From the first tokens to the last."""
    count = max(1, round(np.log(n / first) / WIDTH))
    return Bins(np.round(np.geomspace(first, n, count + 1)).astype(np.int64))


def seen_of(x: Array, beta: float, bins: Bins) -> Array:
    """The mean over every bin of what its tokens see above the uniform law, zeta - 1: x (n, d) -> (bins,).
    On spheres of some tokens of the bin."""
    from scipy.special import gamma, ive

    from nucleate.theory.causal_front import seen_density

    edges, d = bins.edges, x.shape[1]
    if d == 2:
        zeta = seen_density(np.arctan2(x[:, 1], x[:, 0]), beta)  # (n,)
        return np.array([zeta[a:b].mean() for a, b in pairwise(edges.tolist())])
    even = gamma(d / 2.0) * (2.0 / beta) ** (d / 2.0 - 1.0) * ive(d / 2.0 - 1.0, beta)  # of the uniform law
    found = []
    for a, b in pairwise(edges.tolist()):
        token = np.unique(np.linspace(a, b - 1, SEEN).astype(np.int64))  # (some,)
        zeta = np.zeros(len(token))
        step = max(1, PAIRS_AT_ONCE // len(token))
        for low in range(0, b, step):
            other = np.arange(low, min(low + step, b))  # (chunk,)
            weight = np.exp(beta * (x[token] @ x[other].T - 1.0))  # (some, chunk)
            zeta += np.where(other < token[:, None], weight, 0.0).sum(1)
        found.append((zeta / (token * even)).mean() - 1.0)
    return np.array(found)


def mode_values(x: Array, degree: int) -> NDArray[np.complex128]:
    """The modes of one degree at tokens x (n, d), d = 2, 3: (n, modes).  Of independent uniform tokens their
    squares add up to 1 on average."""
    if x.shape[1] == 2:
        return np.exp(1j * degree * np.arctan2(x[:, 1], x[:, 0]))[:, None]
    from scipy.special import gammaln, lpmv

    phi, found = np.arctan2(x[:, 1], x[:, 0]), []
    for order in range(degree + 1):
        scale = np.exp((gammaln(degree - order + 1.0) - gammaln(degree + order + 1.0)) / 2.0)
        scale *= 1.0 if order == 0 else np.sqrt(2.0)  # for order and -order
        found.append(scale * lpmv(order, degree, x[:, 2]) * np.exp(1j * order * phi))
    return np.stack(found, -1)


def modes_of(start: Array, later: Array, case: "Case", t: float) -> Array:
    """Means of the fastest modes over all tokens, start and later (n, d): at the start, those propagated to
    the time t by the linear law, and those of the tokens then; (3, modes, 2) real and imaginary parts."""
    from scipy.special import i0

    from nucleate.theory.causal_front import mode_rates

    fastest = fastest_degree(case.beta, case.d)
    degrees = [fastest] if case.d > 2 else [max(fastest - MODES // 2, 1) + i for i in range(MODES)]
    before = np.log(len(start) / np.arange(1.0, len(start) + 1.0))  # (n,) s - s' of every token
    rows = []
    for degree in degrees:
        values = mode_values(start, degree)  # (n, some)
        grown = i0(2.0 * np.sqrt(float(mode_rates(degree, case.beta, case.d)) * t * before))  # (n,)
        propagated = (grown[:, None] * values).mean(0)
        rows.append(np.stack([values.mean(0), propagated, mode_values(later, degree).mean(0)]))  # (3, some)
    every = np.concatenate(rows, -1)  # (3, modes)
    return np.stack([every.real, every.imag], -1)


def clusters_of(x: Array, radius: float) -> tuple[Array, Array]:
    """Clusters of tokens x (n, d), the largest first: around the token with most neighbours within the
    radius, then around that of what is left; centers (clusters, d) and shares of the tokens (clusters,)."""
    near = x @ x.T >= np.cos(radius)  # (n, n)
    left = np.ones(len(x), dtype=bool)
    center: list[Array] = []
    mass: list[float] = []
    while left.any() and len(center) < MAX_CLUSTERS:
        count = np.where(left, near @ left.astype(np.float32), 0.0)  # (n,)
        k = int(count.argmax())
        center.append(x[k])
        mass.append(float(count[k]) / len(x))
        left &= ~near[k]
    return np.stack(center), np.array(mass)


def expected_clusters(degree: int, d: int) -> float:
    """Maxima of a random wave of that degree: m on the circle; m (m + 1) / (2 sqrt 3) on the sphere."""
    return float(degree) if d == 2 else degree * (degree + 1.0) / (2.0 * np.sqrt(3.0))


def shares_of(x: Array, center: Array) -> Array:
    """Shares of tokens x (n, d) to which each of the centers (m, d) is the nearest, (m,)."""
    nearest = (x @ center.T).argmax(1)  # (n,)
    return np.asarray(np.bincount(nearest, minlength=len(center)) / len(x))


def _late(n: int) -> NDArray[np.int64]:
    """Tokens of the last factor e of the sequence, at most SAMPLE of them."""
    return np.unique(np.linspace(n / float(np.exp(1.0)), n - 1, SAMPLE).astype(np.int64))


def _padded(values: Array) -> Array:
    """NaN behind, (MAX_CLUSTERS,)."""
    kept = np.full(MAX_CLUSTERS, np.nan)
    kept[: len(values)] = values[:MAX_CLUSTERS]
    return kept


def _simulated(x0: Array, beta: float, times: list[float], mask: str = "causal") -> Array:
    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.interruption import uninterrupted

    model = Attention(beta, mask="full" if mask == "full" else "causal")
    run = uninterrupted(simulate(model, x0, times[-1], save=times, rtol=RTOL, atol=RTOL / 100.0))
    assert run.status == "done", run.status
    return run.x  # (times, n, d)


def _common(x: Array, case: Case, p: "Parameters", seed: int) -> dict[str, Array]:
    """What is measured for every d: x (times, n, d)."""
    bins, late = bins_of(p["first"], case.n), _late(case.n)
    at = p["times"].index(p["linear_time"])
    mass = _padded(clusters_of(x[-1][late], case.beta**-0.5)[1])
    return {
        "seen": np.stack([seen_of(frame, case.beta, bins) for frame in x]),  # (times, bins)
        "modes": modes_of(x[0], x[at], case, p["linear_time"]),
        "mass": mass,
        **_other_masses(x[0], x[0][late], mass, case, seed),
    }


def _other_masses(start: Array, late: Array, mass: Array, case: Case, seed: int) -> dict[str, Array]:
    """Shares of the late tokens (some, d), where they start, nearest to each Rényi center of the start (n,
    d), and to random places, as many as there are clusters in `mass`, in several draws."""
    from nucleate.observe.centers import renyi_centers
    from nucleate.sphere import uniform

    wave = expected_clusters(fastest_degree(case.beta, case.d), case.d)
    count = int((mass > 0.1 / wave).sum())
    renyi = start[renyi_centers(start, delta=RENYI * case.beta**-0.5)]  # (centers, d)
    drawn = uniform(count * RANDOM_DRAWS, case.d, np.random.default_rng((RANDOM_PLACES, seed)))
    places = drawn.reshape(RANDOM_DRAWS, count, case.d)
    return {
        "renyi_mass": _padded(shares_of(late, renyi)),
        "random_mass": np.stack([_padded(shares_of(late, place)) for place in places]),  # (draws, clusters)
    }


def circle_of(case: Case, p: "Parameters", seed: int) -> dict[str, Array]:
    """A run, and the limit equation behind its first tokens, and behind those of another."""
    from nucleate.sphere import uniform
    from nucleate.theory.causal_front import continue_tokens

    first, times = p["first"], p["times"]
    x = _simulated(uniform(case.n, 2, seed), case.beta, times)
    found, bins = _common(x, case, p, seed), bins_of(first, case.n)
    theta = np.arctan2(x[..., 1], x[..., 0])  # (times, n)
    center = clusters_of(x[-1][_late(case.n)], case.beta**-0.5)[0]
    angle = np.arctan2(center[:, 1], center[:, 0])  # (clusters,)
    # the null need not be solved as well
    for name, other, halvings in (("own", seed, p["halvings"]), ("other", seed + 500, 0)):
        start = uniform(first, 2, other)
        limit = continue_tokens(start, case.beta, times, np.log(case.n), halvings=halvings)
        found[f"{name}_seen"] = limit.seen.reshape(len(times), len(bins.s), -1).mean(2)
        found[f"{name}_error"] = np.array(limit.error / np.abs(limit.seen).max())
        end = limit.moved[-1].reshape(len(bins.s), -1, len(limit.start))[:, -1]  # (bins, P)
        found[f"{name}_near"] = _near(theta, limit.start, end, bins, case.beta)  # (bins,)
        late = limit.s > np.log(case.n) - 1.0
        weight = np.exp(limit.s[late])[:, None] + np.zeros(len(limit.start))  # (late, P)
        place = limit.start + limit.moved[-1][late]  # (late, P)
        nearest = np.cos(place[..., None] - angle).argmax(-1)  # (late, P)
        share = np.bincount(nearest.ravel(), weight.ravel(), len(angle)) / weight.sum()
        found[f"{name}_mass"] = _padded(share)
    return found


def _near(theta: Array, start: Array, moved: Array, bins: Bins, beta: float) -> Array:
    """The share of tokens of every bin that end within beta^(-1/2) of where the continuation has those that
    start there: theta (times, n), start (P,), moved (bins, P) -> (bins,)."""
    shares = []
    for c, (a, b) in enumerate(pairwise(bins.edges.tolist())):
        begin = theta[0, a:b] % (2.0 * np.pi)
        predicted = begin + np.interp(begin, start, moved[c], period=2.0 * np.pi)
        away = np.abs((theta[-1, a:b] - predicted + np.pi) % (2.0 * np.pi) - np.pi)
        shares.append((away <= beta**-0.5).mean())
    return np.array(shares)


def sphere_of(case: Case, p: "Parameters", seed: int) -> dict[str, Array]:
    """Two runs with the same first tokens, and others later but for probes, which are those of all starts."""
    from nucleate.sphere import uniform

    first, times = p["first"], p["times"]
    probe = np.unique(np.linspace(first, case.n - 1, min(PROBES, case.n // 20)).astype(np.int64))  # (probes,)
    place = uniform(len(probe), case.d, PROBE_SEED)  # (probes, d)
    x0, again = uniform(case.n, case.d, seed), uniform(case.n, case.d, seed + 500)
    again[:first] = x0[:first]
    x0[probe] = again[probe] = place
    x = _simulated(x0, case.beta, times)
    end = _simulated(again, case.beta, times[:: len(times) - 1])[-1]  # (n, d)
    kept = np.full((2, PROBES, case.d), np.nan)
    kept[:, : len(probe)] = x[-1][probe], end[probe]
    return {**_common(x, case, p, seed), "probe": kept}


def full_of(beta: float, sizes: list[int], times: list[float], seed: int) -> Array:
    """Under the full mask on the circle, the mean of zeta - 1 over all tokens, for several n, (sizes,
    times): the running sum over every token in any order, half of them seen by the other half."""
    from nucleate.sphere import uniform
    from nucleate.theory.causal_front import seen_density

    rows = []
    for n in sizes:
        x = _simulated(uniform(n, 2, seed), beta, times, "full")
        zeta = seen_density(np.arctan2(x[..., 1], x[..., 0]), beta)  # (times, n)
        rows.append((zeta * np.arange(n)).sum(-1) / (n * (n - 1.0) / 2.0))
    return np.stack(rows)


DIMS = {
    "seen": ("time", "bin"),
    "modes": ("kind", "mode", "part"),
    "mass": ("cluster",),
    "own_seen": ("time", "bin"),
    "other_seen": ("time", "bin"),
    "own_near": ("bin",),
    "other_near": ("bin",),
    "own_error": (),
    "other_error": (),
    "renyi_mass": ("cluster",),
    "random_mass": ("draw", "cluster"),
    "own_mass": ("cluster",),
    "other_mass": ("cluster",),
    "probe": ("twin", "probe", "coordinate"),
    "full": ("size", "time"),
    "crossing": ("noise", "halving", "cell"),
    "settled": ("noise", "cell"),
}


def _one(case: Case, p: "Parameters", seed: int) -> dict[str, Array]:
    if case.d > 2:
        return sphere_of(case, p, seed)
    return circle_of(case, p, seed) | {"full": full_of(case.beta, p["full_n"], p["times"], seed)}


def _block(number: int, case: Case, p: "Parameters", numbers: range) -> "Dataset":
    import xarray

    found = in_threads(lambda i: _one(case, p, case_seed(p, number, i)), numbers)
    stored: dict[str, Any] = {
        name: (("start", *DIMS[name]), np.stack([one[name] for one in found])) for name in found[0]
    }
    return xarray.Dataset(stored)


def _far_one(p: "Parameters", i: int) -> dict[str, Array]:
    """When the front passes in the limit equation behind some first tokens, with noise and without, with
    cells of 0.25 in s and, of some starts, halves of them, by pairs, (2, 2, cells); and what is seen behind
    it, (2, cells)."""
    from nucleate.sphere import uniform
    from nucleate.theory.causal_front import continue_tokens

    far, seed, t = p["far"], case_seed(p, len(cases(p)), i), far_times(p)
    x0 = uniform(p["first"], 2, seed)
    halvings = 1 if i < far["halved"] else 0
    return fronts_of(
        [
            continue_tokens(x0, far["beta"], t, far["end"], noise=noise, halvings=halvings)
            for noise in (seed, None)
        ]
    )


def fronts_of(both: "list[ContinuedTokens]") -> dict[str, Array]:
    """Of the limit equation with noise and without, each halved once, or not: then NaN is in its place."""
    crossing, behind = [], []
    for found in both:
        whole = crossing_times(found.coarser, found.t, LEVEL)  # (cells,)
        halved = np.full_like(whole, np.nan)
        if found.seen.shape != found.coarser.shape:
            halved = crossing_times(found.seen.reshape(len(found.t), -1, 2).mean(2), found.t, LEVEL)
        crossing.append([whole, halved])
        behind.append(settled(found.coarser, whole, found.t))
    return {"crossing": np.array(crossing), "settled": np.array(behind)}


def far_times(p: "Parameters") -> Array:
    """The times of the limit equation far away."""
    return np.arange(0.0, p["far"]["t"] + 0.1, 0.4)


def far_places(p: "Parameters", cells: int) -> Array:
    """The middles in s of its cells, (cells,)."""
    edges = np.linspace(np.log(p["first"]), p["far"]["end"], cells + 1)
    return np.asarray((edges[1:] + edges[:-1]) / 2.0)


def _far_block(p: "Parameters", numbers: range) -> "Dataset":
    import xarray

    found = in_threads(partial(_far_one, p), numbers)
    stored: dict[str, Any] = {
        name: (("start", *DIMS[name]), np.stack([one[name] for one in found])) for name in found[0]
    }
    return xarray.Dataset(stored)


def run(workspace: "ItemWorkspace") -> "Data":
    """Every case, some starts at a time, then the limit equation far away."""
    p, data = workspace.parameters, {}
    every = cases(p)
    costs = [
        one.n * one.starts * (1.0 if one.d == 2 else 20.0) * one.beta ** (one.d / 2 - 0.5) for one in every
    ]
    cost = np.cumsum([0.0, *costs, 0.3 * sum(costs)])

    def within(i: int) -> Any:
        return lambda done, total: workspace.progress(
            cost[i] + done / total * (cost[i + 1] - cost[i]), cost[-1]
        )

    for i, case in enumerate(every):
        work: Any = partial(_block, i, case, p)
        data[case.name] = workspace.blocks(case.name, case.starts, p["block"], work, "start", within(i))
    data["far"] = workspace.blocks(
        "far", p["far"]["starts"], p["block"], partial(_far_block, p), "start", within(len(every))
    )
    return data
