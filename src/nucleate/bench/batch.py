"""`nucleate bench batch`: whole runs, against SciPy and diffrax; the paper's Figure 3 in bulk and the systems
of its Figure 1; runs on spheres."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from nucleate.attention import Attention
from nucleate.bench.peers import (
    Missing,
    Velocity,
    diffrax_angles,
    diffrax_attention,
    plain_velocity,
    scipy_attention,
    scipy_run,
    scipy_sphere,
    tuned_velocity,
)
from nucleate.bench.table import Row, Section, timed_row, with_ratios
from nucleate.bench.timing import Tell, time_in_turns
from nucleate.checks import Array, check_memory, whole_number
from nucleate.integrate.run import Run
from nucleate.integrate.simulate import simulate
from nucleate.sphere import uniform

__all__ = [
    "QUICK_CASE",
    "QUICK_SPHERE_CASE",
    "BatchCase",
    "SphereCase",
    "alone_section",
    "angles",
    "contestants",
    "figure1_section",
    "figure3_section",
    "reference",
    "sections",
    "sphere_section",
]

OURS = "nucleate"
ANGLE_ERROR = "largest error / rad"
REFERENCE_TOLERANCES = {"rtol": 1e-12, "atol": 1e-14}


@dataclass(frozen=True)
class BatchCase:
    """Independent runs on the circle from uniform starts; by default those of the paper's Figure 3."""

    runs: int = 500
    n: int = 200
    beta: float = 64.0
    t: float = 150.0
    frames: int = 64
    rtol: float = 1e-6
    atol: float = 1e-9
    compared_runs: int = 4  # that SciPy does, and whose error is measured
    # runs that diffrax does at a time: few fit into the cache, many share the overhead
    diffrax_batches: tuple[int, ...] = (8, 64)
    seed: int = 0

    @property
    def title(self) -> str:
        return (
            f"{self.runs} runs, d = 2, n = {self.n}, β = {self.beta:g}, t = {self.t:g}, {self.frames} frames,"
            f" rtol = {self.rtol:g}, atol = {self.atol:g}"
        )

    @property
    def times(self) -> Array:
        """(m,)"""
        return np.linspace(0.0, self.t, self.frames)

    def starts(self) -> Array:
        """(b, n, 2), run i from SeedSequence(seed, spawn_key=(i,))"""
        check_memory(
            8.0 * self.runs * self.n * 2 * (self.frames + 2),
            f"{self.runs} runs of {self.n} tokens with {self.frames} frames",
        )
        return uniform(self.n, 2, self.seed, runs=self.runs)


ALONE_RUNS = 64
QUICK_CASE = BatchCase(16, t=15.0, compared_runs=2, diffrax_batches=BatchCase.diffrax_batches[:1])
FIGURE_1_TIME, QUICK_FIGURE_1_TIME = 5000.0, 200.0


def sections(runs: int | None, d: int, quick: bool, rounds: int, tell: Tell) -> Iterator[Section]:
    """Both tables, each as soon as it is measured: on the circle those of the figures; in larger dimension d
    one for Q = K = V = I, one for random matrices."""
    d = whole_number("dimension", d, least=2, help="2 is the circle.")
    if runs is not None:
        runs = whole_number("runs", runs, least=1, help="It is the number of systems.")
    if d > 2:
        sphere = replace(QUICK_SPHERE_CASE if quick else SphereCase(), d=d)
        sphere = replace(sphere, runs=min(runs or sphere.runs, sphere.runs) if quick else runs or sphere.runs)
        for random in (False, True):
            yield sphere_section(sphere, random, rounds, tell)
        return
    runs = BatchCase.runs if runs is None else runs
    case = replace(QUICK_CASE, runs=min(runs, QUICK_CASE.runs)) if quick else BatchCase(runs)
    yield figure3_section(case, rounds, tell)
    yield alone_section(replace(case, runs=min(runs, ALONE_RUNS)), rounds, tell)
    yield figure1_section(QUICK_FIGURE_1_TIME if quick else FIGURE_1_TIME, rounds, tell, case.seed)


@dataclass(frozen=True)
class SphereCase:
    """Independent runs on a sphere from uniform starts."""

    d: int = 3
    runs: int = 24
    n: int = 200
    beta: float = 16.0
    t: float = 50.0
    frames: int = 64
    rtol: float = 1e-6
    atol: float = 1e-9
    compared_runs: int = 2  # that SciPy does, and whose error is measured
    seed: int = 0

    @property
    def title(self) -> str:
        return (
            f"{self.runs} runs, d = {self.d}, n = {self.n}, t = {self.t:g}, {self.frames} frames,"
            f" rtol = {self.rtol:g}, atol = {self.atol:g}"
        )

    @property
    def times(self) -> Array:
        """(m,)"""
        return np.linspace(0.0, self.t, self.frames)

    def model(self, random: bool) -> Attention:
        """Q = K = V = I; or Gaussian matrices, with beta |K^T Q| as large as without."""
        if not random:
            return Attention(self.beta)
        Q, K, V = np.random.default_rng(self.seed).standard_normal((3, self.d, self.d)) / np.sqrt(self.d)
        return Attention(self.beta / float(np.linalg.norm(K.T @ Q, 2)), Q, K, V)


QUICK_SPHERE_CASE = SphereCase(runs=8, t=5.0, compared_runs=1)


def sphere_section(case: SphereCase, random: bool, rounds: int, tell: Tell) -> Section:
    """Seconds per run of every contestant on a sphere, and how far it is from the reference."""
    model = case.model(random)
    check_memory(
        8.0 * case.runs * case.n * case.d * (case.frames + 2), f"{case.runs} runs of {case.n} tokens"
    )
    x0 = uniform(case.n, case.d, case.seed, runs=case.runs)  # (b, n, d)
    compared = x0[: case.compared_runs]
    _, Q, K, V = model.parameters(case.d)
    A = float(model.beta) * K.T @ Q  # (d, d)
    words = "random Q, K, V" if random else "Q = K = V = I"
    last: dict[str, Array] = {}

    def ours(threads: int | None) -> Array:
        run = simulate(model, x0, case.t, save=case.times, rtol=case.rtol, atol=case.atol, threads=threads)
        return run.x[: case.compared_runs]

    def scipy(method: str, rtol: float, atol: float) -> Array:
        return np.stack([scipy_attention(one, A, V, case.times, method, rtol, atol) for one in compared])

    calls: dict[str, tuple[int, Callable[[], Array]]] = {
        OURS: (case.runs, lambda: ours(None)),
        "nucleate, one thread": (case.runs, lambda: ours(1)),
        "SciPy RK45": (len(compared), lambda: scipy("RK45", case.rtol, case.atol)),
    }
    absent = []
    name = f"diffrax Tsit5, vmap of {case.runs}"
    try:
        calls[name] = case.runs, diffrax_attention(x0, A, V, case.times, case.rtol, case.atol)
    except Missing as missing:
        absent.append(Row(name, note=str(missing)))

    def keep(name: str, call: Callable[[], Array]) -> Callable[[], None]:
        return lambda: last.__setitem__(name, call())

    timings = time_in_turns(
        {name: keep(name, call) for name, (_, call) in calls.items()},
        rounds,
        lambda what: tell(f"{words}: {what}"),
    )
    tell(f"{words}: reference")
    exact = scipy("DOP853", **REFERENCE_TOLERANCES)  # (compared, m, n, d)
    rows = [
        timed_row(
            name,
            timings[name],
            each=runs,
            error=float(np.linalg.norm(last[name][: len(exact)] - exact, axis=-1).max()),
        )
        for name, (runs, _) in calls.items()
    ]
    remarks = (
        f"Times are per run. SciPy does {len(exact)} runs one after the other on one core.",
        f"Errors are those of the first {len(exact)} runs against DOP853, as for the circle.",
    )
    return Section(
        f"{words}, β|KᵀQ| = {case.beta:g}: {case.title}",
        "",
        "largest error",
        with_ratios([*rows, *absent], OURS),
        remarks,
    )


def figure3_section(case: BatchCase, rounds: int, tell: Tell) -> Section:
    """Seconds per run of every contestant, and how far it is from the reference."""
    x0 = case.starts()
    ready, absent = contestants(case, x0)
    last: dict[str, Array] = {}  # what each contestant's last call gave: (runs, m, n) angles

    def keep(name: str, call: Callable[[], Array]) -> Callable[[], None]:
        return lambda: last.__setitem__(name, call())

    timings = time_in_turns(
        {name: keep(name, call) for name, (_, call) in ready.items()},
        rounds,
        lambda words: tell(f"Figure 3: {words}"),
    )
    exact = reference(case, angles(x0[: case.compared_runs]), tell)  # (compared, m, n)
    rows = [
        timed_row(
            name, timings[name], each=runs, error=_largest_distance(last[name][: case.compared_runs], exact)
        )
        for name, (runs, _) in ready.items()
    ]
    remarks = (
        (
            f"Times are per run. SciPy does {len(exact)} runs one after the other on one core, diffrax"
            " several at a time. A call for each run takes steps of order 8, a batch of order 5."
        ),
        (
            "SciPy's velocity is the line of the paper in NumPy; tuned, it makes n sines instead of n² and"
            " sums through BLAS, as diffrax's does."
        ),
        (
            f"Errors are those of the first {len(exact)} runs, all frames and tokens, against DOP853 with"
            f" rtol = {REFERENCE_TOLERANCES['rtol']:g}, atol = {REFERENCE_TOLERANCES['atol']:g}."
        ),
    )
    return Section(f"Figure 3: {case.title}", "", ANGLE_ERROR, with_ratios([*rows, *absent], OURS), remarks)


def alone_section(case: BatchCase, rounds: int, tell: Tell) -> Section:
    """A run called alone beside one of a batch, both on one thread and at the default tolerances, where
    both take steps of order 8."""
    model, x0, alone = Attention(case.beta), case.starts(), f"{OURS}, a call for each run"
    few = x0[: 2 * case.compared_runs]
    last: dict[str, Array] = {}

    def batch() -> None:
        last[OURS] = simulate(model, x0, case.t, save=case.times, threads=1).x[: len(few)]

    def one_by_one() -> None:
        last[alone] = np.stack([simulate(model, x, case.t, save=case.times, threads=1).x for x in few])

    timings = time_in_turns({OURS: batch, alone: one_by_one}, rounds, lambda words: tell(f"Alone: {words}"))
    rows = [timed_row(OURS, timings[OURS], each=len(x0)), timed_row(alone, timings[alone], each=len(few))]
    apart = _largest_distance(angles(last[OURS]), angles(last[alone]))
    title = f"Alone and in a batch of {len(x0)}, d = 2, n = {case.n}, β = {case.beta:g}, t = {case.t:g}"
    remarks = (f"Both on one thread. Their angles are at most {apart:.1e} apart.",)
    return Section(
        f"{title}, rtol = 1e-8, atol = 1e-10", "", "", with_ratios(rows, OURS), remarks, {"apart": apart}
    )


def contestants(case: BatchCase, x0: Array) -> tuple[dict[str, tuple[int, Callable[[], Array]]], list[Row]]:
    """By name: how many runs, and the call that does them and gives their angles (runs, m, n); and the rows
    of absent peers."""
    model, theta = Attention(case.beta), angles(x0)
    compared = theta[: case.compared_runs]

    def ours(threads: int | None) -> Array:
        return angles(
            simulate(model, x0, case.t, save=case.times, rtol=case.rtol, atol=case.atol, threads=threads).x[
                : case.compared_runs
            ]
        )

    def scipy(velocity: Velocity, method: str) -> Array:
        return np.stack(
            [scipy_run(velocity, one, case.times, method, case.rtol, case.atol) for one in compared]
        )

    def one_by_one() -> Array:
        return np.stack(
            [
                angles(simulate(model, one, case.t, save=case.times, rtol=case.rtol, atol=case.atol).x)
                for one in x0[: case.compared_runs]
            ]
        )

    plain, tuned = plain_velocity(case.beta), tuned_velocity(case.beta, case.n)

    ready = {
        OURS: (len(x0), lambda: ours(None)),
        "nucleate, one thread": (len(x0), lambda: ours(1)),
        "nucleate, a call for each run": (len(compared), one_by_one),
        "SciPy RK45": (len(compared), lambda: scipy(plain, "RK45")),
        "SciPy DOP853": (len(compared), lambda: scipy(plain, "DOP853")),
        "SciPy RK45, tuned": (len(compared), lambda: scipy(tuned, "RK45")),
        "SciPy DOP853, tuned": (len(compared), lambda: scipy(tuned, "DOP853")),
    }
    absent = []
    for b in sorted({min(b, len(x0)) for b in case.diffrax_batches}):
        name = f"diffrax Tsit5, vmap of {b}"
        try:
            ready[name] = b, diffrax_angles(theta[:b], case.beta, case.times, case.rtol, case.atol)
        except Missing as missing:
            absent.append(Row(name, note=str(missing)))
    return ready, absent


def reference(case: BatchCase, theta: Array, tell: Tell) -> Array:
    """(runs, m, n) angles, by code that shares nothing with nucleate's."""
    frames = []
    for run, start in enumerate(theta):
        tell(f"Figure 3: reference, run {run + 1} of {len(theta)}")
        frames.append(
            scipy_run(tuned_velocity(case.beta, case.n), start, case.times, "DOP853", **REFERENCE_TOLERANCES)
        )
    return np.stack(frames)


def figure1_section(t: float, rounds: int, tell: Tell, seed: int = 0) -> Section:
    """One run each for V = I, V = -I and a random V."""
    n, d, beta = 32, 3, 9.0
    x0 = uniform(n, d, seed)
    values = {
        "V = I": np.eye(d),
        "V = -I": -np.eye(d),
        "random V": np.random.default_rng(seed).standard_normal((d, d)),
    }
    runs: dict[str, Run] = {}

    def keep(name: str, V: Array) -> Callable[[], None]:
        return lambda: runs.__setitem__(name, simulate(Attention(beta, V=V), x0, t))

    timings = time_in_turns(
        {name: keep(name, V) for name, V in values.items()}, rounds, lambda words: tell(f"Figure 1: {words}")
    )
    rows = []
    for name, V in values.items():
        tell(f"Figure 1: reference, {name}")
        exact = scipy_sphere(x0, beta, V, runs[name].t, "DOP853", **REFERENCE_TOLERANCES)
        error = float(np.linalg.norm(runs[name].x - exact, axis=-1).max())
        rows.append(
            timed_row(name, timings[name], error=error, note=f"{runs[name].steps} steps, {runs[name].status}")
        )
    title = (
        f"Figure 1: one run, d = {d}, n = {n}, β = {beta:g}, t = {t:g}, 64 frames, rtol = 1e-8, atol = 1e-10"
    )
    return Section(title, "", "largest error", tuple(rows), ("Errors are against DOP853, as above.",))


def angles(x: Array) -> Array:
    """Of tokens on the circle."""
    return np.asarray(np.arctan2(x[..., 1], x[..., 0]))  # (...)


def _largest_distance(theta: Array, exact: Array) -> float:
    """The largest distance on the circle; NaN where a frame is missing."""
    gap = theta - exact
    return float(np.abs(np.arctan2(np.sin(gap), np.cos(gap))).max())
