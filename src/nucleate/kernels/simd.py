"""Eight numbers at once: a Numba type `Vec` that is LLVM's <8 x double>.

Written out rather than left to LLVM's auto-vectoriser, for two reasons.  Speed does not depend on
its mood.  And every lane sees the very same operations, so a run gives the same bits in whichever
lane it travels.  LLVM maps the type on what the processor has: AVX-512, two AVX, four SSE2 or NEON.

    a = load(array, i)          # array[i : i + 8]
    store(array, i, fma(a, splat(2.0), exp(a)))
"""

import operator
from typing import Any

import numpy as np
from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

from nucleate.kernels.compile import compiled

__all__ = [
    "LANES",
    "LOWEST",
    "LOWEST_2",
    "Vec",
    "exp",
    "exp2",
    "exp2_series",
    "exp2_split",
    "fma",
    "fms",
    "halves",
    "hmax",
    "hsum",
    "lane",
    "load",
    "low_twice",
]
__all__ += [
    "set_lane",
    "sincos",
    "splat",
    "sqrt",
    "store",
    "two",
    "upon_itself",
    "vabs",
    "vmax",
    "zero_below",
]

LANES = 8
DOUBLES = ir.VectorType(ir.DoubleType(), LANES)
INTEGERS = ir.VectorType(ir.IntType(64), LANES)


class VecType(types.Type):
    """The Numba type of eight doubles."""

    def __init__(self) -> None:
        super().__init__(name="Vec")


Vec = VecType()


@register_model(VecType)
class _VecModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, DOUBLES)


def _constants(values: float | int, kind: Any = DOUBLES) -> Any:
    return ir.Constant(kind, [values] * LANES)


def _broadcast(builder: Any, scalar: Any) -> Any:
    seed = builder.insert_element(ir.Constant(DOUBLES, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(
        seed,
        ir.Constant(DOUBLES, ir.Undefined),
        ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES),
    )


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    view = context.make_array(array_type)(context, builder, array)
    if config.BOUNDSCHECK:
        last = builder.sub(view.nitems, ir.Constant(index.type, LANES))
        outside = builder.or_(
            builder.icmp_signed("<", index, ir.Constant(index.type, 0)), builder.icmp_signed(">", index, last)
        )
        with builder.if_then(outside, likely=False):
            context.call_conv.return_user_exc(
                builder, IndexError, ("eight numbers reach outside their array",)
            )
    return builder.bitcast(builder.gep(view.data, [index]), DOUBLES.as_pointer())


@intrinsic
def load(typingctx, array, index):
    """array.ravel()[index : index + 8]; contiguous doubles; no bounds check, unless NUMBA_BOUNDSCHECK=1."""

    def build(context, builder, signature, args):
        return builder.load(_pointer(context, builder, signature.args[0], args[0], args[1]), align=8)

    return Vec(array, types.intp), build


@intrinsic
def store(typingctx, array, index, value):
    """array.ravel()[index : index + 8] = value; no bounds check, unless NUMBA_BOUNDSCHECK=1."""

    def build(context, builder, signature, args):
        builder.store(args[2], _pointer(context, builder, signature.args[0], args[0], args[1]), align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, Vec), build


@intrinsic
def splat(typingctx, scalar):
    """One number in all lanes."""

    def build(context, builder, signature, args):
        return _broadcast(builder, args[0])

    return Vec(types.float64), build


@intrinsic
def lane(typingctx, vector, index):
    """The number in one lane."""

    def build(context, builder, signature, args):
        return builder.extract_element(args[0], builder.trunc(args[1], ir.IntType(32)))

    return types.float64(Vec, types.intp), build


@intrinsic
def set_lane(typingctx, vector, index, scalar):
    """The vector with one lane replaced."""

    def build(context, builder, signature, args):
        return builder.insert_element(args[0], args[2], builder.trunc(args[1], ir.IntType(32)))

    return Vec(Vec, types.intp, types.float64), build


def _unary(build_with):
    @intrinsic
    def operation(typingctx, a):
        return Vec(Vec), lambda context, builder, signature, args: build_with(builder, *args)

    return operation


def _binary(build_with):
    @intrinsic
    def operation(typingctx, a, b):
        return Vec(Vec, Vec), lambda context, builder, signature, args: build_with(builder, *args)

    return operation


def _ternary(build_with):
    @intrinsic
    def operation(typingctx, a, b, c):
        return Vec(Vec, Vec, Vec), lambda context, builder, signature, args: build_with(builder, *args)

    return operation


def _llvm(name: str):
    def build_with(builder, *args):
        kind = ir.FunctionType(DOUBLES, [DOUBLES] * len(args))
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v8f64"), args)

    return build_with


def _choose_if_below(builder, a, b, x, y):
    return builder.select(builder.fcmp_ordered("<", a, b), x, y)


def _scale_by_rounded(builder, value, rounded):
    """value · 2^n where `rounded` = n + 1.5·2^52: n sits in the low bits, ready to be added to the
    exponent."""
    exponent = builder.shl(builder.bitcast(rounded, INTEGERS), _constants(52, INTEGERS))
    return builder.bitcast(builder.add(builder.bitcast(value, INTEGERS), exponent), DOUBLES)


def _quadrant_bit(bit: int):
    """The sign bit set where the given bit of n is set, `rounded` = n + 1.5·2^52."""

    def build_with(builder, rounded):
        bits = builder.shl(builder.bitcast(rounded, INTEGERS), _constants(63 - bit, INTEGERS))
        return builder.bitcast(builder.and_(bits, _constants(-(1 << 63), INTEGERS)), DOUBLES)

    return build_with


def _flip_sign(builder, value, signs):
    return builder.bitcast(
        builder.xor(builder.bitcast(value, INTEGERS), builder.bitcast(signs, INTEGERS)), DOUBLES
    )


def _choose_by_sign(builder, signs, if_set, if_clear):
    negative = builder.icmp_signed("<", builder.bitcast(signs, INTEGERS), _constants(0, INTEGERS))
    return builder.select(negative, if_set, if_clear)


_add, _sub = (
    _binary(lambda builder, a, b: builder.fadd(a, b)),
    _binary(lambda builder, a, b: builder.fsub(a, b)),
)
_mul, _div = (
    _binary(lambda builder, a, b: builder.fmul(a, b)),
    _binary(lambda builder, a, b: builder.fdiv(a, b)),
)
fma = _ternary(_llvm("fmuladd"))
_neg = _unary(lambda builder, a: builder.fneg(a))
# b where either is NaN
vmax = _binary(lambda builder, a, b: builder.select(builder.fcmp_ordered(">", a, b), a, b))
vabs = _unary(_llvm("fabs"))
sqrt = _unary(_llvm("sqrt"))
zero_below = _ternary(lambda builder, x, bound, y: _choose_if_below(builder, x, bound, _constants(0.0), y))
_scale = _binary(_scale_by_rounded)
_low_bit, _second_bit = _unary(_quadrant_bit(0)), _unary(_quadrant_bit(1))
_flip, _choose = _binary(_flip_sign), _ternary(_choose_by_sign)


def _overload_operator(symbol, operation):
    @overload(symbol)
    def implement(a, b):
        if isinstance(a, VecType) and isinstance(b, VecType):
            return lambda a, b: operation(a, b)
        if isinstance(a, VecType) and isinstance(b, types.Float):
            return lambda a, b: operation(a, splat(b))
        if isinstance(b, VecType) and isinstance(a, types.Float):
            return lambda a, b: operation(splat(a), b)
        return None


for _symbol, _function in (
    (operator.add, _add),
    (operator.sub, _sub),
    (operator.mul, _mul),
    (operator.truediv, _div),
):
    _overload_operator(_symbol, _function)


@compiled
def fms(a, b, c):
    """a b - c."""
    return fma(a, b, _neg(c))


def _shuffled(*order: int):
    """Lanes of two vectors, 0 .. 7 of the first and 8 .. 15 of the second, in the given order."""
    mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), list(order))
    return lambda builder, a, b: builder.shuffle_vector(a, b, mask)


halves = _binary(_shuffled(0, 1, 2, 3, 12, 13, 14, 15))  # the low half of a, the high half of b
_low_halves = _binary(_shuffled(0, 1, 2, 3, 8, 9, 10, 11))
_crossed = _binary(_shuffled(4, 5, 6, 7, 8, 9, 10, 11))  # the high half of a, the low half of b


@compiled
def low_twice(a):
    """The low half of a, in both halves."""
    return _low_halves(a, a)


@compiled
def two(a, b):
    """The number a in the low half, b in the high one."""
    return _low_halves(splat(a), splat(b))


@compiled
def upon_itself(a):
    """The sum of the two halves, in both."""
    return a + _crossed(a, a)


def _fold(builder, vector):
    """Halves on halves: ((0+4)+(2+6)) + ((1+5)+(3+7))."""
    size = LANES
    while size > 1:
        size //= 2
        halves = [
            ir.Constant(ir.VectorType(ir.IntType(32), size), list(range(at, at + size))) for at in (0, size)
        ]
        vector = builder.fadd(*(builder.shuffle_vector(vector, vector, half) for half in halves))
    return builder.extract_element(vector, ir.Constant(ir.IntType(32), 0))


@intrinsic
def hsum(typingctx, a):
    """The sum over lanes, in a fixed order."""
    return types.float64(Vec), lambda context, builder, signature, args: _fold(builder, args[0])


@compiled
def hmax(a):
    """The largest lane."""
    best = lane(a, 0)
    for i in range(1, LANES):
        best = max(best, lane(a, i))
    return best


ROUND = 1.5 * 2.0**52  # x + ROUND - ROUND is x rounded to an integer
INV_LN2, LN2_HI, LN2_LO = 1.4426950408889634, 0.6931471805599453, 2.3190468138462996e-17
INV_HALF_PI, HALF_PI_HI, HALF_PI_LO = 0.6366197723675814, 1.5707963267948966, 6.123233995736766e-17
LOWEST = -708.0  # e^-708 is the last normal power; below it the weight counts as zero
# Chebyshev fits in 40 digits: e^r on |r| <= ln2/2 (3e-18); (sin x/x - 1)/x² and (cos x - 1 + x²/2)/x⁴ in x²
# on |x| <= π/4 (2e-17).
E2, E3, E4, E5, E6 = (
    0.5000000000000019,
    0.1666666666666668,
    0.04166666666648795,
    0.008333333333319589,
    0.0013888888952352863,
)
E7, E8, E9, E10, E11 = (
    0.00019841269890076403,
    2.4801485441561313e-05,
    2.755724088722987e-06,
    2.763265472252779e-07,
    2.5110049204818658e-08,
)
S0, S1, S2 = -0.16666666666666666, 0.008333333333330925, -0.00019841269836722418
S3, S4, S5 = 2.755731608381636e-06, -2.5051127944014188e-08, 1.5917848524808262e-10
C0, C1, C2 = 0.041666666666666664, -0.0013888888888887382, 2.480158729874307e-05
C3, C4, C5 = -2.7557317260008837e-07, 2.0876143827993133e-09, -1.1382456778061306e-11
# The same for (2^f - 1)/f on |f| <= 1/2 (2e-17), and on |f| <= 1/32 (4e-16, of which f leaves 1e-17).
B1, B2, B3, B4, B5 = (
    0.6931471805599453,
    0.24022650695910097,
    0.0555041086648216,
    0.009618129107606888,
    0.0013333558146416936,
)
B6, B7, B8, B9 = 0.0001540353044173605, 1.525273382983612e-05, 1.321544258792169e-06, 1.0178062445845774e-07
B10, B11 = 7.072585949269223e-09, 4.4549605981865186e-10
D1, D2, D3 = 0.6931471805599457, 0.24022650695910075, 0.0555041086566393
D4, D5, D6 = 0.009618129106919537, 0.0013333781576784268, 0.00015403723980749256
ROUND_16 = 1.5 * 2.0**48  # x + ROUND_16 - ROUND_16 is x rounded to sixteenths
LOWEST_2 = -1021.0  # 2^-1022 is the last normal power


@compiled
def exp(x):
    """e^x for x <= 700, to about one unit in the last place; 0 below -708."""
    clipped = vmax(splat(LOWEST), x)  # in this order NaN stays NaN
    rounded = fma(clipped, splat(INV_LN2), splat(ROUND))
    n = rounded - ROUND
    r = fma(n, splat(-LN2_LO), fma(n, splat(-LN2_HI), clipped))
    p = fma(splat(E11), r, splat(E10))
    p = fma(p, r, splat(E9))
    p = fma(p, r, splat(E8))
    p = fma(p, r, splat(E7))
    p = fma(p, r, splat(E6))
    p = fma(p, r, splat(E5))
    p = fma(p, r, splat(E4))
    p = fma(p, r, splat(E3))
    p = fma(p, r, splat(E2))
    p = fma(p, r, splat(1.0))
    p = fma(p, r, splat(1.0))
    return zero_below(x, splat(LOWEST), _scale(p, rounded))


def _has_avx512() -> bool:
    """Whether compiled code may use AVX-512: what this processor has, unless Numba is told to compile for
    another."""
    if config.CPU_NAME or config.CPU_FEATURES:
        return "+avx512f" in (config.CPU_FEATURES or "")
    return bool(get_host_cpu_features().get("avx512f", False))


def _power_of_rounded(builder, rounded):
    """2^(m/16) where `rounded` = m/16 + 1.5·2^48: the low four bits of m choose from a table in two
    registers, all others go to the exponent.

    All bits are added where the exponent stands, and the table's entries are less by what the low four add.
    """
    entries = [int(np.float64(2.0 ** (i / 16)).view(np.int64)) - (i << 48) for i in range(2 * LANES)]
    low, high = ir.Constant(INTEGERS, entries[:LANES]), ir.Constant(INTEGERS, entries[LANES:])
    kind = ir.FunctionType(INTEGERS, [INTEGERS] * 3)
    bits = builder.bitcast(rounded, INTEGERS)
    chosen = builder.call(
        builder.module.declare_intrinsic("llvm.x86.avx512.vpermi2var.q.512", (), kind), [low, bits, high]
    )
    return builder.bitcast(builder.add(chosen, builder.shl(bits, _constants(48, INTEGERS))), DOUBLES)


_sixteenth_power = _unary(_power_of_rounded)


def _split_by_table(x):
    rounded = x + ROUND_16
    return _sixteenth_power(rounded), x - (rounded - ROUND_16)  # exact


def _series_by_table(f):
    p = fma(splat(D6), f, splat(D5))
    p = fma(p, f, splat(D4))
    p = fma(p, f, splat(D3))
    p = fma(p, f, splat(D2))
    return fma(p, f, splat(D1))


def _split_plain(x):
    rounded = x + ROUND
    return _scale(splat(1.0), rounded), x - (rounded - ROUND)  # exact


def _series_plain(f):
    p = fma(splat(B11), f, splat(B10))
    p = fma(p, f, splat(B9))
    p = fma(p, f, splat(B8))
    p = fma(p, f, splat(B7))
    p = fma(p, f, splat(B6))
    p = fma(p, f, splat(B5))
    p = fma(p, f, splat(B4))
    p = fma(p, f, splat(B3))
    p = fma(p, f, splat(B2))
    return fma(p, f, splat(B1))


# 2^x = a 2^f = a + a f (2^f - 1)/f for -1021 <= x <= 1000: (a, f) of x, then (2^f - 1)/f of f.
exp2_split, exp2_series = map(
    compiled, (_split_by_table, _series_by_table) if _has_avx512() else (_split_plain, _series_plain)
)


@compiled
def exp2(x):
    """2^x for x <= 1000, to about one unit in the last place; 0 below -1021.  With fewer multiplications than
    `exp`: no constant is split."""
    a, f = exp2_split(vmax(splat(LOWEST_2), x))  # in this order NaN stays NaN
    return zero_below(x, splat(LOWEST_2), fma(a * f, exp2_series(f), a))


@compiled
def sincos(x):
    """(sin x, cos x) for |x| up to about 1e6, to about one unit in the last place."""
    rounded = fma(x, splat(INV_HALF_PI), splat(ROUND))
    n = rounded - ROUND
    r = fma(n, splat(-HALF_PI_LO), fma(n, splat(-HALF_PI_HI), x))
    u = r * r
    p = fma(splat(S5), u, splat(S4))
    p = fma(p, u, splat(S3))
    p = fma(p, u, splat(S2))
    p = fma(p, u, splat(S1))
    p = fma(p, u, splat(S0))
    sine = fma(p * u, r, r)
    q = fma(splat(C5), u, splat(C4))
    q = fma(q, u, splat(C3))
    q = fma(q, u, splat(C2))
    q = fma(q, u, splat(C1))
    q = fma(q, u, splat(C0))
    cosine = fma(q * u, u, fma(splat(-0.5), u, splat(1.0)))
    swap, half = _low_bit(rounded), _second_bit(rounded)
    return (
        _flip(_choose(swap, cosine, sine), half),
        _flip(_choose(swap, sine, cosine), _flip(swap, half)),
    )
