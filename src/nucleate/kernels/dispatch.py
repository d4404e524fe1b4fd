"""Which kernel computes a velocity, and on how many threads: every choice of this room, from the top down.

    drift                   "reference", a batch kernel, or run by run
    choose_batch_kernel     several runs of one model: eight at a time in lanes, where that is faster
    choose_kernel           one run: a sum over pairs, over modes on the circle, over harmonics on the sphere;
                            _heads_by_modes and _by_harmonics of a block
    make_system             a sum over pairs: in registers, or in tiles as products of matrices; on the circle
                            over modes, or on a grid
    team_pays               one run: on one thread, or its tokens shared out among several

Inside compiled code the kernel goes by the type of the system (`systems`).

What decides is the model's shape, the number of tokens and the accuracy asked for; never how many runs or
threads there are, so that the bits of a run depend on neither.  (A run given without a run axis is no batch.)
"""

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from typing import Literal, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from nucleate import attention
from nucleate.attention import Attention
from nucleate.block import Block, block_drift
from nucleate.checks import Array, InputError, check_memory, check_tokens, shortened
from nucleate.conveniences import convenience
from nucleate.kernels.block_shape import BlockShape, block_shape
from nucleate.kernels.circle import (
    MAX_Z,
    TOLERANCE,
    Circle,
    circle_system,
    modes,
    roundoff,
    usual_ratio,
)
from nucleate.kernels.circle_batch import (
    circle_batch_accuracy,
    circle_batch_velocities,
)
from nucleate.kernels.circle_grid import (
    CircleGrid,
    grid_density,
    grid_system,
    has_grid,
)
from nucleate.kernels.circle_heads import has_modes, modes_pay
from nucleate.kernels.circle_small import CircleSmall, circle_small_modes, circle_small_system
from nucleate.kernels.devices import Device, Precision, check_device
from nucleate.kernels.harmonics import count_of_degree, degrees
from nucleate.kernels.head_tiles import (
    HeadTiles,
    head_tiles_system,
)
from nucleate.kernels.heads import Heads, heads_system
from nucleate.kernels.model_shape import (
    CAUSAL,
    FULL,
    WINDOW,
    Accuracy,
    ModelShape,
    check_ordinary,
    mean_seen,
    model_shape,
    ordinary_shape,
)
from nucleate.kernels.pairwise import (
    Pairwise,
    pairwise_system,
    pairwise_velocities,
)
from nucleate.kernels.pairwise_batch import pairwise_batch_velocities
from nucleate.kernels.pairwise_lanes import pairwise_lanes_accuracy
from nucleate.kernels.simd import LANES
from nucleate.kernels.sphere import (
    MAX_FROZEN_WEIGHT,
    MAX_SLOPE,
    MAX_SPHERE_Z,
    MAX_TURNED_Z,
    Sphere,
    has_harmonics,
    sphere_roundoff,
    sphere_system,
    sphere_truncation,
    usual_sphere_ratio,
)
from nucleate.kernels.team import System, Team
from nucleate.kernels.threads import Stop, interruptible_if_long, pick_threads, share
from nucleate.kernels.tiles import MAX_SINGLE_Z, tiles_system
from nucleate.layers import Layers, Model, as_model
from nucleate.norms import has_radius
from nucleate.positions import ALiBi

__all__ = [
    "Kernel",
    "batch_accuracy",
    "check_single",
    "choose_batch_kernel",
    "choose_kernel",
    "drift",
    "make_system",
    "one_blas_thread",
    "team_pays",
    "work_of",
]

Kernel = Literal["auto", "reference", "pairwise", "circle", "sphere"]

MIN_TILES_DIMENSION = 16  # from which tiles beat sums in registers, measured
MIN_TILES_TOKENS = 64
HARMONIC_COST = {3: 0.4, 4: 0.18}  # of a harmonic by d, in pairs; measured
HARMONIC_OVERHEAD = 80.0  # of all beside, in pairs; measured
# Of a token of a small system on the circle, and of each of its modes, in pairs; measured
SMALL_OVERHEAD, SMALL_COST_OF_MODE = 10.0, 0.45
GRID_COST = 500.0  # of a token on the circle's grid, in modes; measured
# On the circle a group of eight runs in lanes takes the time of two that go alone if it is brief, of four if
# it is whole, however many of its lanes are empty: whole runs of more pairs than this go alone, a thread each
MAX_WHOLE_WORK_ON_CIRCLE = 1.0e5
# above it empty lanes help the others, and only a large run gains by going alone: it has several threads
MAX_WHOLE_WORK = 1.0e7
MODES_FOR_PAIR, FREE_MODES = (
    3.0,
    100.0,
)  # in lanes take as long as a pair alone; cost little in a small system
MIN_TEAM_WORK = 2.0e6  # pairs or token-modes from which threads over tokens pay, measured
# systems that stay set up, one per model, and the bytes that a large one may have for it
MAX_SMALL_KEPT, MAX_LARGE_KEPT, MAX_BYTES_KEPT = 64, 4, 2**25
LINEAR_PAIRS = (
    3e3  # that a token of a kernel linear in n costs at most, about, unless many are summed by pairs
)


def drift(
    model: Model,
    x: ArrayLike,
    kernel: Kernel = "auto",
    threads: int | None = None,
    *,
    device: Device = "cpu",
    precision: Precision = "double",
) -> Array:
    """The velocity of every token: x (n, d) or (b, n, d) on the sphere -> the same shape, tangent at x.

    model: an Attention, a Block, or Layers, of which the first moves the tokens at time 0; where the norm has
    a radius, tokens have the lengths they start with.
    kernel: "reference" is the equation in NumPy, with an n x n array; "pairwise" sums over pairs, any d,
    memory O(n d); "circle" is linear in n, d = 2 only, and not for every kind of head; "sphere" the same
    for d = 3 and 4 and K^T Q a multiple of an orthogonal matrix; "auto" takes the fastest that is accurate.
    device: "gpu" sums over pairs on an NVIDIA card; with precision "mixed" in single precision, to 1e-7.
    precision: "single" on the CPU sums in single precision where that is twice as fast, d >= 16, n >= 64 and
    beta |K^T Q| <= 40, to about 3e-7 max(1, beta |K^T Q|) |V|; in double elsewhere.
    """
    model = as_model(model)
    if isinstance(model, Layers):
        model = model.blocks[0].alone or model.blocks[0]
    with np.errstate(over="ignore", invalid="ignore"):  # told in words below
        velocity = _velocity(model, x, kernel, threads, device, precision)
    if isinstance(model, Block):
        if not np.isfinite(velocity).all():
            raise InputError(
                "What a block adds must be finite, but overflows. Scale V, or the matrices of the MLP, down."
            )
    elif model.V is not None and not np.isfinite(velocity).all():  # of unit tokens V x alone can be
        raise InputError(
            f"V x must be finite, but overflows: V has entries up to {np.abs(model.V).max():g}. Scale V down:"
            " only the speed changes."
        )
    return velocity


def _velocity(
    model: Attention | Block,
    x: ArrayLike,
    kernel: Kernel,
    threads: int | None,
    device: Device,
    precision: Precision,
) -> Array:
    x = model.check(x, lengths=False)
    n, d = x.shape[-2:]
    check_kernel(kernel, d)
    if check_device(device, precision):
        ordinary = check_ordinary(model, 'device="gpu"')
        return _on_gpu(ordinary, check_tokens("x", x), kernel, precision == "mixed")
    if precision == "single":
        check_single(model)
    if x.ndim == 2 and model.runs is None and kernel != "reference":
        small = _is_small(model, n, d)
        workers = 1 if small and threads is None else pick_threads(threads)
        settings = _Settings(n, d, kernel, 1 if small else workers, precision == "single")
        return _of_one_system(model, check_tokens("x", x), settings, _small if small else _large)
    workers = pick_threads(threads)
    if isinstance(model, Block):
        return _of_block(model, check_tokens("x", x), kernel, workers)
    shape = model_shape(model, n, d)
    if not shape.ordinary and kernel != "reference":
        return _of_block(Block(model), check_tokens("x", x), kernel, workers)
    is_batch = x.ndim == 3 and len(x) > 1 and model.runs is None and kernel != "reference"
    batch_kernel = choose_batch_kernel(shape, kernel) if is_batch else None
    if batch_kernel == "pairwise_batch":
        return _pairwise_batch(shape, x, workers)
    x = _with_run_axis(model, check_tokens("x", x))
    if kernel == "reference":
        check_memory(8.0 * 4 * n * x.size / d, "the n x n weights of the reference kernel")
        return attention.drift(model, x)
    velocity = np.empty_like(x)  # (b, n, d)
    if batch_kernel == "circle_batch":
        work = partial(circle_batch_velocities, shape, x, velocity, workers)
    elif batch_kernel == "pairwise":
        work = partial(pairwise_velocities, shape, x, velocity, workers)
    else:
        shapes = [model_shape(model, n, d, run) for run in range(model.runs)] if model.runs else [shape]
        work = partial(_run_by_run, shapes, kernel, x, velocity, workers, precision == "single")
    linear = (choose_kernel(shape) if kernel == "auto" else kernel) != "pairwise"
    interruptible_if_long(work, _pairs(x, linear))
    return velocity


def _of_block(block: Block, x: Array, kernel: Kernel, threads: int) -> Array:
    """theta' of tokens x, (n, d) or (b, n, d), at time 0, all with the lengths they start with."""
    x = _with_run_axis(block, x)
    n, d = x.shape[-2:]
    if kernel == "reference":
        check_memory(8.0 * 4 * n * x.size / d, "the n x n weights of the reference kernel")
        return block_drift(block, x)
    velocity = np.empty_like(x)  # (b, n, d)
    shapes = [_without_radius(block, n, d, run) for run in range(block.runs or 1)]
    interruptible_if_long(partial(_run_by_run, shapes, kernel, x, velocity, threads, False), _pairs(x))
    radius = _radius(block, n)
    if radius is not None:
        velocity /= radius
    return velocity


def _without_radius(block: Block, n: int, d: int, run: int = 0) -> BlockShape:
    """P A / r and P A / (r |A|) are those of norms without a radius, then divided by r."""
    return block_shape(block, n, d, run, {"pre": "post", "peri": "ngpt"}.get(block.norm, block.norm))


def _radius(model: Attention | Block, n: int) -> Array | None:
    """(n, 1) what to divide by then; None without a radius."""
    if isinstance(model, Attention) or not has_radius(model.norm, tau=model.tau):
        return None
    return model.radii(n)[:, None] * (model.alpha if model.norm == "peri" else 1.0)


# One system: what is set up for its sums is kept for the next call, for to set up, or to touch memory for the
# first time, may take as long as they do


class _Settings(NamedTuple):
    n: int
    d: int
    kernel: Kernel
    threads: int
    single: bool


class _Kept(NamedTuple):
    """What is set up for tokens of one shape; a call takes a team out of `idle` while it uses it."""

    settings: _Settings
    shape: ModelShape | BlockShape
    radius: Array | None
    idle: list[Team]


_Systems = WeakKeyDictionary[Attention | Block, _Kept]  # models are frozen
_small, _large = _Systems(), _Systems()


def _is_small(model: Attention | Block, n: int, d: int) -> bool:
    """Whether one thread sums without BLAS, and so fast that to set it up counts."""
    heads = model.heads if isinstance(model, Block) else (model,)
    seen = max(n, sum(n + (0 if head.frozen is None else len(head.frozen.x)) for head in heads))
    return d < MIN_TILES_DIMENSION and n * seen <= MIN_TEAM_WORK


def _of_one_system(model: Attention | Block, x: Array, settings: _Settings, systems: _Systems) -> Array:
    """The velocities of tokens x (n, d)."""
    kept = systems.get(model)
    if kept is None or kept.settings != settings:
        while len(systems) >= (MAX_SMALL_KEPT if systems is _small else MAX_LARGE_KEPT):
            with suppress(KeyError):  # another thread was faster
                systems.popitem()
        shape = _shape_of_one(model, settings)
        kept = systems[model] = _Kept(settings, shape, _radius(model, settings.n), [])
    try:
        team = kept.idle.pop()
    except IndexError:
        team = _team(kept.shape, settings)
    velocity = np.empty_like(x)
    if systems is _small:
        _one_run(team, x, velocity, np.zeros(1, dtype=np.uint8))
        kept.idle.append(team)
    else:
        with one_blas_thread(kept.shape):
            linear = isinstance(team.system, Circle | CircleGrid | CircleSmall | Sphere)
            interruptible_if_long(partial(_one_run, team, x, velocity), _pairs(x, linear))
        if not kept.idle and team.nbytes <= MAX_BYTES_KEPT:
            kept.idle.append(team)
    if kept.radius is not None:
        velocity /= kept.radius
    return velocity


def _shape_of_one(model: Attention | Block, settings: _Settings) -> ModelShape | BlockShape:
    if isinstance(model, Attention):
        shape = model_shape(model, settings.n, settings.d)
        if shape.ordinary:
            return shape
        model = Block(model)
    return _without_radius(model, settings.n, settings.d)


def _team(shape: ModelShape | BlockShape, settings: _Settings) -> Team:
    system = make_system(shape, settings.kernel, angle=False, single=settings.single)
    return Team(system, settings.threads if team_pays(system, 1, settings.threads) else 1)


def _with_run_axis(model: Attention | Block, x: Array) -> Array:
    """x (b, n, d) where the model's parameters have runs, else x."""
    return np.broadcast_to(x, (model.runs, *x.shape)) if x.ndim == 2 and model.runs is not None else x


def check_kernel(kernel: str, d: int) -> None:
    """Refuse names of no kernel, "circle" unless d = 2, and "sphere" unless d = 3 or 4."""
    if not isinstance(kernel, str) or kernel not in ("auto", "reference", "pairwise", "circle", "sphere"):
        raise InputError(
            'kernel must be "auto", "reference", "pairwise", "circle" or "sphere", but is'
            f" {shortened(kernel)}."
        )
    if kernel == "sphere" and d not in MAX_SPHERE_Z:
        raise InputError(f'kernel "sphere" needs d = 3 or 4, but x has d = {d}. Use "pairwise" or "auto".')
    if kernel == "circle" and d != 2:
        raise InputError(f'kernel "circle" needs d = 2, but x has d = {d}. Use "pairwise" or "auto".')


def check_single(model: object) -> None:
    """Refuse precision="single" for anything but one softmax head without positions."""
    if not (
        isinstance(model, Attention) and model.weights == "softmax" and model.position in (None, ALiBi(0.0))
    ):
        raise InputError(
            'precision="single" is for one softmax head without positions, but the model is of another kind.'
            " Leave precision out."
        )


# The choices


def choose_batch_kernel(
    shape: ModelShape, kernel: Kernel
) -> Literal["pairwise_batch", "circle_batch", "pairwise"] | None:
    """How several runs of one model go: eight at a time in the lanes of a vector, over pairs or over modes;
    one after the other over pairs; None: each as if it were alone."""
    ordinary_shape(shape)
    if tiles_pay(shape):
        return None
    if kernel == "auto" and harmonics_pay(shape, TOLERANCE):
        return None
    if kernel in ("auto", "pairwise"):
        in_lanes = shape.plain and shape.d <= 3 and shape.mask != WINDOW and len(shape.frozen) == 0
        if kernel == "pairwise" or shape.d != 2 or (in_lanes and few_pairs(shape)):
            return "pairwise_batch" if in_lanes else "pairwise"
    return "circle_batch" if kernel == "auto" and circle_batch_accuracy(shape, TOLERANCE) else None


def few_pairs(shape: ModelShape) -> bool:
    """Whether plain runs on the circle are faster summed over pairs, eight at a time, than over modes.

    Where they break even was measured, for 64 runs, with one thread and with two.  It does not depend on the
    number of runs, so that their bits do not; hence the limit, up to which two runs in eight lanes lose
    little.
    """
    full = shape.mask == FULL
    seen = math.floor(mean_seen(shape.mask, shape.n, shape.w))
    if seen >= 300:
        return False
    return (
        seen < (150 if full else 110)
        or shape.beta > MAX_Z
        or seen < (3.0 if full else 2.5) * modes(shape.beta) - 60.0
    )


def batch_accuracy(shape: ModelShape, tolerance: float) -> Accuracy | None:
    """How a run of several shares the lanes of a vector with others inside the solver, its velocities good to
    `tolerance` |V|; None: it goes alone."""
    if shape.d == 2:
        accuracy, most = circle_batch_accuracy(shape, tolerance), MAX_WHOLE_WORK_ON_CIRCLE
    else:
        accuracy, most = pairwise_lanes_accuracy(shape, tolerance), MAX_WHOLE_WORK
    if accuracy is None:
        return None
    seen = mean_seen(shape.mask, shape.n, shape.w)
    if accuracy == "whole" and shape.n * seen > most:
        return None
    if shape.d == 2:
        return accuracy if modes(shape.beta) <= MODES_FOR_PAIR * seen + FREE_MODES else None
    return accuracy if choose_kernel(shape, tolerance) == "pairwise" else None


def choose_kernel(shape: ModelShape, tolerance: float = TOLERANCE) -> Literal["pairwise", "circle", "sphere"]:
    """The fastest of the kernels that keep the velocities of a run to `tolerance` |V|, by costs measured in
    nanoseconds."""
    if shape.d != 2:
        return "sphere" if harmonics_pay(shape, tolerance) else "pairwise"
    if not shape.ordinary:
        return "pairwise"
    cost = min(_cost_of_modes(shape, tolerance), _cost_of_grid(shape, tolerance))
    return "circle" if mean_seen(shape.mask, shape.n, shape.w) > cost else "pairwise"


def _cost_of_modes(shape: ModelShape, tolerance: float) -> float:
    """Of a token on the circle, in pairs; infinite where modes are not accurate enough."""
    small = circle_small_modes(shape, tolerance)
    if small is not None:
        return SMALL_OVERHEAD + small * SMALL_COST_OF_MODE
    if roundoff(shape.z) * usual_ratio(shape.z) > tolerance:
        return math.inf
    return modes(shape.z) * _cost_of_mode(shape)


def _cost_of_grid(shape: ModelShape, tolerance: float) -> float:
    """The same on a grid."""
    accurate = has_grid(shape) and grid_density(shape.z, tolerance) is not None
    return GRID_COST * _cost_of_mode(shape) if accurate else math.inf


def _cost_of_mode(shape: ModelShape) -> float:
    """Of a token, in pairs."""
    return 1.0 if shape.plain and shape.mask == CAUSAL else 2.5


def harmonics_pay(shape: ModelShape, tolerance: float) -> bool:
    """Whether sums over harmonics on the sphere are accurate enough, and faster than sums over pairs."""
    if not has_harmonics(shape):
        return False
    truncation = sphere_truncation(shape.z, shape.d, tolerance)
    if (sphere_roundoff(shape.z, shape.d) + truncation) * usual_sphere_ratio(shape.z, shape.d) > tolerance:
        return False
    L = degrees(shape.z, shape.d, truncation)
    cost = HARMONIC_COST[shape.d] * float(count_of_degree(np.arange(L + 1), shape.d).sum())
    # a frozen token is put into sums once, and each token reads these in half of the time it takes
    frozen = len(shape.frozen)
    cost *= 1.0 + 0.5 * frozen / shape.n
    return mean_seen(shape.mask, shape.n, shape.w) + frozen > cost + HARMONIC_OVERHEAD


def make_system(
    shape: ModelShape | BlockShape,
    kernel: Kernel = "auto",
    tolerance: float = TOLERANCE,
    angle: bool = True,
    single: bool = False,
) -> System:
    """One run as a system of the named kernel; `single`: in single precision, where that is for it.

    Its state is coordinates; on the circle angles unless told otherwise.  Where a BlockShape is free it is
    always coordinates: r theta.
    """
    if isinstance(shape, BlockShape):
        if tiles_pay(shape):
            return head_tiles_system(shape)
        if _by_harmonics(shape, kernel, tolerance):
            return sphere_system(shape.heads[0], tolerance)
        angle = angle and shape.d == 2 and not shape.free
        return heads_system(shape, _heads_by_modes(shape, kernel, tolerance), tolerance, angle)
    if kernel == "auto":
        kernel = choose_kernel(shape, tolerance)
    if kernel == "circle":
        if _cost_of_grid(shape, tolerance) < _cost_of_modes(shape, tolerance):
            return grid_system(shape, tolerance)
        if shape.z > MAX_Z:
            raise InputError(
                f'kernel "circle" needs beta |K^T Q| up to {MAX_Z:g}, but it is {shape.z:g}. Use "pairwise"'
                ' or "auto".'
            )
        if circle_small_modes(shape, tolerance) is not None:
            return circle_small_system(shape, tolerance)
        return circle_system(shape, tolerance)
    if kernel == "sphere":
        if not has_harmonics(shape):
            raise InputError(
                'kernel "sphere" is for K^T Q a multiple of an orthogonal matrix, with beta |K^T Q| up to'
                f" {MAX_SPHERE_Z[shape.d]:g} for d = {shape.d}, and frozen weights up to"
                f" {MAX_FROZEN_WEIGHT:g}, but K^T Q is {shape.A.tolist()}, beta {shape.beta:g} and the"
                f' largest frozen weight {shape.frozen_weight.max(initial=0.0):g}. Use "pairwise" or "auto".'
            )
        return sphere_system(shape, tolerance)
    if tiles_pay(shape):
        return tiles_system(shape, single and shape.scores_up_to(MAX_SINGLE_Z))
    return pairwise_system(shape, angle=angle and shape.d == 2)


def _by_harmonics(shape: BlockShape, kernel: Kernel, tolerance: float) -> bool:
    """Whether a block is one head, and its sums over harmonics on the sphere are asked for, or pay."""
    if not shape.is_one_head or kernel not in ("auto", "sphere") or not has_harmonics(shape.heads[0]):
        return False
    return kernel == "sphere" or harmonics_pay(shape.heads[0], tolerance)


def _heads_by_modes(shape: BlockShape, kernel: Kernel, tolerance: float) -> list[bool]:
    """Which heads of a block are summed over modes."""
    if kernel == "pairwise":
        return [False] * len(shape.heads)
    if kernel == "auto":
        return [modes_pay(head, tolerance) for head in shape.heads]
    if kernel == "sphere":
        raise InputError(
            'kernel "sphere" is for one softmax head with nothing beside it, K^T Q a multiple of an'
            f" orthogonal matrix, beta |K^T Q| up to {MAX_SPHERE_Z[shape.d]:g} for d = {shape.d}, ALiBi not"
            f" under the full mask and, unless K^T Q = I, with slopes up to {MAX_SLOPE:g} and beta |K^T Q| up"
            f' to {MAX_TURNED_Z:g}, but the model is of another kind. Use "pairwise" or "auto".'
        )
    if not all(has_modes(head) for head in shape.heads):
        raise InputError(
            'kernel "circle" is for heads with softmax or exponential weights and without RoPE, with ALiBi'
            " under the causal mask and K^T Q = I, but a head is of another"
            ' kind. Use "pairwise" or "auto".'
        )
    return [True] * len(shape.heads)


def tiles_pay(shape: ModelShape | BlockShape) -> bool:
    """Whether pairs are summed faster in tiles than in registers."""
    return shape.d >= MIN_TILES_DIMENSION and shape.n >= MIN_TILES_TOKENS


def one_blas_thread(shape: ModelShape | BlockShape) -> AbstractContextManager[object]:
    """BLAS held to one thread where the tiles of a block use it: more would compete with ours, and change the
    bits."""
    in_use = isinstance(shape, BlockShape) and tiles_pay(shape)
    return threadpool_limits(1, user_api="blas") if in_use else nullcontext()


def team_pays(system: System, runs: int, threads: int) -> bool:
    """Whether threads should share the tokens of a run rather than take a run each."""
    return runs < threads and work_of(system) > MIN_TEAM_WORK


def work_of(system: System) -> float:
    """Pairs of the circle, or token-modes, of one evaluation: what decides whether a team pays."""
    if isinstance(system, Circle):
        return float(system.pair.n) * system.totals.shape[1] * 2.0
    if isinstance(system, CircleSmall):
        return float(system.pair.n) * system.bessel.shape[0] * LANES
    if isinstance(system, CircleGrid):
        return float(system.pair.n) * system.reach * 8.0
    if isinstance(system, Sphere):
        return float(system.pair.n) * system.totals.shape[1] * HARMONIC_COST[len(system.axes)]
    if isinstance(system, Heads):
        return system.pairs
    if isinstance(system, HeadTiles):
        return system.pairs * system.x.shape[1] / 8.0
    pairs = system.n * (mean_seen(system.mask, system.n, system.w) + system.m)
    if isinstance(system, Pairwise):
        return (
            pairs * (2.0 * system.x.shape[0] + 7.0) / 11.0
        )  # multiplications of a pair, over those in d = 2
    return pairs * system.x.shape[1] / 8.0


# What was chosen, done


def _on_gpu(model: Attention, x: Array, kernel: Kernel, mixed: bool) -> Array:
    """The drift of each run in turn, by the whole card."""
    if kernel not in ("auto", "pairwise"):
        raise InputError(f'device="gpu" sums over pairs, but kernel is "{kernel}". Leave kernel out.')
    n, d = x.shape[-2:]
    x = _with_run_axis(model, x)
    runs = x if x.ndim == 3 else x[None]
    shapes = [model_shape(model, n, d, run) for run in range(model.runs or 1)]
    velocity = convenience("drift, gpu")(shapes, runs, mixed)
    return velocity if x.ndim == 3 else velocity[0]


def _pairwise_batch(shape: ModelShape, x: Array, threads: int) -> Array:
    velocity = np.empty_like(x)
    work = _pairs(x)
    if not interruptible_if_long(
        partial(pairwise_batch_velocities, shape, x, velocity, False, threads), work
    ):
        x = check_tokens("x", x)  # a token is off the sphere: refused, or put onto it
        interruptible_if_long(partial(pairwise_batch_velocities, shape, x, velocity, True, threads), work)
    return velocity


def _run_by_run(
    shapes: Sequence[ModelShape | BlockShape],
    kernel: Kernel,
    x: Array,
    velocity: Array,
    threads: int,
    single: bool,
    stop: Stop,
) -> None:
    """The drift of each run: the threads share the runs, or the tokens of one where it is large."""
    system = make_system(shapes[0], kernel, angle=False, single=single)
    members = threads if team_pays(system, len(x), threads) else 1
    first, runs = Team(system, members), iter(range(len(x)))

    def take() -> None:
        team, last = first, None
        for run in runs:  # a range iterator's next is atomic
            shape = shapes[run if len(shapes) > 1 else 0]
            if run > 0 and shape is not last:
                team = Team(make_system(shape, kernel, angle=False, single=single), members)
            _one_run(team, x[run], velocity[run], stop)
            last = shape

    with one_blas_thread(shapes[0]):
        share([take] * (1 if members > 1 else min(threads, len(x))))


def _one_run(team: Team, x: Array, velocity: Array, stop: Stop) -> None:
    """velocity = drift of tokens x (n, d)."""
    n, d = x.shape
    team.system.places[:] = x.T
    if isinstance(team.system, Circle | CircleGrid | CircleSmall):
        speed = team.velocity(n)  # by which the angle grows
        team.sweep(speed, stop)
        np.multiply(x[:, 0], speed[:n], out=velocity[:, 1])
        np.negative(speed, out=speed)  # in its own place: for a million tokens new memory costs as much
        np.multiply(x[:, 1], speed[:n], out=velocity[:, 0])
    else:
        flat = team.velocity(n * d)
        team.sweep(flat, stop)
        velocity[:] = flat[: n * d].reshape(n, d)


def _pairs(x: Array, linear: bool = False) -> float:
    """What the sums for tokens x (..., n, d) take, in pairs times d; `linear` in the number of tokens."""
    return min(float(x.shape[-2]), LINEAR_PAIRS if linear else math.inf) * x.size
