"""`nucleate bench family`: heads, norms, positions and other weights beside diffrax, the cost of a block
beside that of a single head, and layers of random weights beside Euler steps in torch."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from nucleate.attention import Attention
from nucleate.bench.family_peers import diffrax_block, torch_euler_layers
from nucleate.bench.peers import Missing
from nucleate.bench.table import Row, Section, timed_row, with_ratios
from nucleate.bench.timing import Tell, time_in_turns
from nucleate.block import Block, block_rates
from nucleate.checks import Array
from nucleate.integrate.simulate import simulate
from nucleate.kernels.dispatch import drift
from nucleate.layers import Layers, RandomLayers
from nucleate.mlp import MLP
from nucleate.positions import ALiBi, RoPE
from nucleate.sphere import uniform

__all__ = ["blocks", "sections"]

OURS = "nucleate"
EULER_STEP = 0.1


@dataclass(frozen=True)
class FamilyCase:
    """Runs of every block, and layers of random weights."""

    runs: int = 32
    n: int = 64
    d: int = 16
    heads: int = 8
    t: float = 5.0
    frames: int = 6
    rtol: float = 1e-6
    atol: float = 1e-9
    compared_runs: int = 2
    layer_runs: int = 512
    layers: int = 50
    layer_rtol: float = 1e-3
    cost_tokens: tuple[tuple[int, int], ...] = ((200, 2), (200, 3), (1000, 3), (200, 16), (200, 64))
    seed: int = 0

    @property
    def times(self) -> Array:
        """(m,)"""
        return np.linspace(0.0, self.t, self.frames)


QUICK_CASE = FamilyCase(4, t=1.0, compared_runs=1, layer_runs=8, layers=3, cost_tokens=((64, 2), (64, 16)))


def sections(quick: bool, rounds: int, tell: Tell) -> Iterator[Section]:
    """All tables, each as soon as it is measured."""
    case = QUICK_CASE if quick else FamilyCase()
    for name, block in blocks(case).items():
        yield _block_section(name, block, case, rounds, tell)
    for n, d in case.cost_tokens:
        yield _cost_section(n, d, case, rounds, tell)
    yield _layers_section(case, rounds, tell)


def blocks(case: FamilyCase) -> dict[str, Block]:
    """One of each kind, by name."""
    random = RandomLayers(1, case.d, beta=1.0, heads=case.heads, seed=case.seed).blocks[0].heads
    generator = np.random.default_rng(case.seed)
    a = generator.standard_normal((4 * case.d, case.d)) / np.sqrt(case.d)
    W = generator.standard_normal((case.d, 4 * case.d)) / np.sqrt(4 * case.d)
    return {
        "full attention": Block(Attention(4.0, mask="full")),
        "exponential weights (USA)": Block(Attention(1.0, mask="full", weights="exponential")),
        "ALiBi": Block(Attention(4.0, position=ALiBi(0.05))),
        "RoPE": Block(Attention(4.0, position=RoPE())),
        f"{case.heads} heads, random Q, K, V": Block(random),
        f"{case.heads} heads, random Q, K, V, Pre-LN": Block(random, norm="pre"),
        "one head and an MLP": Block(Attention(4.0), MLP(W, a, "relu")),
    }


def _block_section(name: str, block: Block, case: FamilyCase, rounds: int, tell: Tell) -> Section:
    x0 = uniform(case.n, case.d, case.seed, runs=case.runs)
    last: dict[str, Array] = {}

    def keep(who: str, call: Callable[[], Array]) -> Callable[[], object]:
        return lambda: last.__setitem__(who, call())

    def ours(threads: int | None) -> Array:
        settings: dict[str, Any] = {"save": case.times, "rtol": case.rtol, "atol": case.atol}
        return simulate(block, x0, case.t, threads=threads, **settings).x

    ready = {OURS: keep(OURS, lambda: ours(None))}
    ready["nucleate, one thread"] = keep("nucleate, one thread", lambda: ours(1))
    absent = []
    peer = "diffrax Tsit5, vmap of all"
    try:
        ready[peer] = keep(peer, diffrax_block(block, x0, case.times, case.rtol, case.atol))
    except Missing as missing:
        absent.append(Row(peer, note=str(missing)))
    timings = time_in_turns(ready, rounds, lambda words: tell(f"{name}: {words}"))
    tell(f"{name}: reference")
    exact = np.stack([_reference(block, x, case.times) for x in x0[: case.compared_runs]])  # (c, m, n, d)
    rows = [
        timed_row(
            who, timings[who], each=case.runs, error=float(np.abs(last[who][: len(exact)] - exact).max())
        )
        for who in ready
    ]
    title = (
        f"{name}: {case.runs} runs, d = {case.d}, n = {case.n}, t = {case.t:g}, {case.frames} frames,"
        f" rtol = {case.rtol:g}, atol = {case.atol:g}"
    )
    remark = (
        f"Times are per run. Errors are those of {len(exact)} runs, against DOP853 on the equation in NumPy."
    )
    return Section(title, "", "largest error", with_ratios([*rows, *absent], OURS), (remark,))


def _reference(block: Block, x: Array, times: Array) -> Array:
    """Directions (m, n, d), by SciPy on the equation in NumPy."""
    from scipy.integrate import solve_ivp

    n, d = x.shape

    def velocity(_: float, y: Array) -> Array:
        theta, r = y[: n * d].reshape(n, d), y[n * d :]
        theta = theta / np.linalg.norm(theta, axis=-1, keepdims=True)
        return np.concatenate([part.ravel() for part in block_rates(block, theta, r)])

    start = np.concatenate([x.ravel(), block.radii(n)])
    found = solve_ivp(velocity, (0.0, times[-1]), start, "DOP853", times, rtol=1e-11, atol=1e-12)
    y = found.y.T[:, : n * d].reshape(-1, n, d)
    return np.asarray(y / np.linalg.norm(y, axis=-1, keepdims=True))


def _cost_section(n: int, d: int, case: FamilyCase, rounds: int, tell: Tell) -> Section:
    """What the velocities of blocks cost beside those of one head."""
    x, head = uniform(n, d, case.seed), Attention(4.0)
    random = RandomLayers(1, d, beta=4.0, heads=case.heads, seed=case.seed).blocks[0].heads
    one, several = "one head, Q, K, V random", f"{case.heads} heads, Q, K, V random"
    models: dict[str, Any] = {
        "Attention": head,
        "a block of it, Pre-LN": Block(head, norm="pre"),
        "exponential weights": Attention(4.0, weights="exponential"),
        "ALiBi": Attention(4.0, position=ALiBi(0.05)),
        **({"RoPE": Attention(4.0, position=RoPE())} if d % 2 == 0 else {}),
        one: random[0],
        several: Block(random),
    }

    def call(model: Any) -> Callable[[], object]:
        return lambda: drift(model, x, "pairwise", 1)

    timings = time_in_turns(
        {name: call(model) for name, model in models.items()},
        max(rounds, 7),
        lambda words: tell(f"velocities, n = {n}, d = {d}: {words}"),
    )
    rows = [timed_row(name, timing) for name, timing in timings.items()]
    title = f"Velocities of one system over pairs, one thread, d = {d}, n = {n}, causal"
    return Section(title, "", "", with_ratios(rows, "Attention"), ("Here ratio = time / time of Attention.",))


def _layers_section(case: FamilyCase, rounds: int, tell: Tell) -> Section:
    """Weights redrawn at integer times, as in the simulators of the field."""
    x0 = uniform(case.n, case.d, case.seed, runs=case.layer_runs)
    layers = _averaged_heads(case)
    few = x0[: case.compared_runs]
    last: dict[str, Array] = {}

    def keep(who: str, call: Callable[[], Array]) -> Callable[[], object]:
        return lambda: last.__setitem__(who, call())

    def ours() -> Array:
        return _last_frame(layers, x0, case.layer_rtol)

    ready = {OURS: keep(OURS, ours)}
    absent = []
    euler = f"torch, Euler, dt = {EULER_STEP}, single"
    try:
        ready[euler] = keep(euler, torch_euler_layers(layers, x0, EULER_STEP))
    except Missing as missing:
        absent.append(Row(euler, note=str(missing)))
    timings = time_in_turns(ready, rounds, lambda words: tell(f"random layers: {words}"))
    exact = _last_frame(layers, few, 1e-9)
    rows = [
        timed_row(who, timings[who], error=float(np.abs(last[who][: len(few)] - exact).max()))
        for who in ready
    ]
    title = (
        f"{case.layers} layers of {case.heads} averaged heads with fresh random Q, {case.layer_runs} runs,"
        f" n = {case.n}, d = {case.d}, t = {layers.depth:g}, rtol = {case.layer_rtol:g}"
    )
    remark = f"Errors are those of the last frame of {len(few)} runs, against rtol = 1e-9."
    return Section(title, "", "largest error", with_ratios([*rows, *absent], OURS), (remark,))


def _averaged_heads(case: FamilyCase) -> Layers:
    """As in nikitus20/simuformer: scores by products of Gaussian matrices, V the identity over the number of
    heads."""
    generator, V = np.random.default_rng(case.seed), np.eye(case.d) / case.heads

    def head() -> Attention:
        G, H = generator.standard_normal((2, case.d, case.d))
        return Attention(5.0, Q=G @ H / np.sqrt(case.d), V=V)

    return Layers([Block([head() for _ in range(case.heads)]) for _ in range(case.layers)], dt=1.0)


def _last_frame(layers: Layers, x0: Array, rtol: float) -> Array:
    """(b, n, d)"""
    return simulate(layers, x0, layers.depth, save=2, rtol=rtol, atol=rtol / 100.0).x[:, -1]
