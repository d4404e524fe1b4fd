"""Brownian paths, compiled: the generator, the normals and the increments of `nucleate.noise`, for all
tokens of a run at a step.

Philox4x64-10 (Salmon, Moraes, Dror, Shaw, 2011) turns a counter of four numbers of 64 bits, and a key of
two, into four random ones.  Nothing is kept between two calls, so threads, batches and restarts read the same
path.
"""

import math
from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from nucleate.kernels.compile import inlined, uncounted
from nucleate.kernels.simd import LANES, lane, set_lane, splat, sqrt
from nucleate.kernels.vector_math import sincos
from nucleate.noise import path_grid, spread, width

__all__ = ["Path", "increment_into", "new_path", "normals_into", "philox"]

ROUNDS = 10
MULTIPLIER_0, MULTIPLIER_1 = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
WEYL_0, WEYL_1 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)
ONE, ELEVEN = np.uint64(1), np.uint64(11)
TO_UNIT = 2.0**-53
TWO_PI = 2.0 * math.pi


class Path(NamedTuple):
    """The Brownian paths of the runs of one call, read in steps of h: halves of the solver's."""

    keys: NDArray[np.uint64]  # (b, 2) seed, and number of the run
    dt: float  # of the path
    parts: int  # steps of the path in h
    level: int  # halvings of a step of the path that give h; parts is 1 then
    m: int  # numbers per token
    spread: float  # by which an increment is multiplied: sqrt(2 c / kappa)


def new_path(keys: NDArray[np.uint64], kappa: float, path_dt: float, h: float, d: int) -> Path:
    """The paths of runs of these keys, drawn in steps of path_dt and read in steps of h."""
    return Path(keys, path_dt, *path_grid(path_dt, h), width(d), spread(kappa, h, d))


@uncounted
def increment_into(path, run, i, count, w, z):
    """w[:count] = the increment of a run's path from i h to (i+1) h, times the spread; z is scratch.  Both
    have room for one number more."""
    seed, number = path.keys[run, 0], path.keys[run, 1]
    scale = path.spread * math.sqrt(path.dt)
    if path.level == 0:
        normals_into(seed, number, 0, i * path.parts, count, w)
        for j in range(1, path.parts):
            normals_into(seed, number, 0, i * path.parts + j, count, z)
            for q in range(count):
                w[q] += z[q]
        for q in range(count):
            w[q] *= scale
        return
    normals_into(seed, number, 0, i >> path.level, count, w)
    for q in range(count):
        w[q] *= scale
    for level in range(1, path.level + 1):
        half = 0.5 * scale * math.sqrt(0.5 ** (level - 1))
        if (i >> (path.level - level)) & 1:
            half = -half
        normals_into(seed, number, level, i >> (path.level - level + 1), count, z)
        for q in range(count):
            w[q] = 0.5 * w[q] + half * z[q]


@uncounted
def normals_into(seed, run, level, i, count, out):
    """out[:count] = standard normals of step i of the path at a level, and one more where count is odd."""
    for first in range(0, count, 2 * LANES):
        logarithm, angle = splat(0.0), splat(0.0)
        pairs = min(LANES, (count - first + 1) // 2)
        for at in range(0, pairs, 2):  # four numbers make two pairs
            # NumPy's generator counts on before it makes numbers: its first block is number 1
            block = np.uint64(first // 4 + at // 2) + ONE
            a, b, c, d = philox(block, np.uint64(i), np.uint64(level), np.uint64(0), seed, run)
            logarithm = set_lane(logarithm, at, math.log(to_unit(a)))
            logarithm = set_lane(logarithm, at + 1, math.log(to_unit(c)))
            angle = set_lane(set_lane(angle, at, TWO_PI * to_unit(b)), at + 1, TWO_PI * to_unit(d))
        sine, cosine = sincos(angle)
        radius = sqrt(logarithm * -2.0)
        sine, cosine = sine * radius, cosine * radius
        for at in range(pairs):
            out[first + 2 * at], out[first + 2 * at + 1] = lane(cosine, at), lane(sine, at)


@inlined
def to_unit(r):
    """A number of 64 bits as one in (0, 1]."""
    return float((r >> ELEVEN) + ONE) * TO_UNIT


@uncounted
def philox(c0, c1, c2, c3, k0, k1):
    """Philox4x64-10 of a counter and a key, all np.uint64."""
    for _ in range(ROUNDS):
        high_0, low_0 = high_of_product(MULTIPLIER_0, c0), MULTIPLIER_0 * c0
        high_1, low_1 = high_of_product(MULTIPLIER_1, c2), MULTIPLIER_1 * c2
        c0, c1, c2, c3 = high_1 ^ c1 ^ k0, low_1, high_0 ^ c3 ^ k1, low_0
        k0, k1 = k0 + WEYL_0, k1 + WEYL_1
    return c0, c1, c2, c3


@intrinsic
def high_of_product(typingctx, a, b):
    """The upper 64 of the 128 bits of a product."""

    def build(context, builder, signature, args):
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(args[0], wide), builder.zext(args[1], wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), build
