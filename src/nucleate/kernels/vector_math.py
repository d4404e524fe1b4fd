"""exp, exp2, sine and cosine of the numbers in a vector, each to about one unit in the last place.

All begin alike: x + ROUND rounds x to a whole number n and leaves n in the low bits, where it goes to the
exponent of the result or chooses the quadrant; what is left of x goes through a polynomial.
"""

import numpy as np
from llvmlite import ir

from nucleate.kernels.compile import compiled
from nucleate.kernels.simd import (
    HAS_AVX512,
    LANES,
    binary,
    call_llvm,
    constants,
    fma,
    integers,
    splat_as,
    ternary,
    unary,
    vmax,
    zero_below,
)

__all__ = [
    "EXP2_BRIEF_ERROR",
    "MIN_EXP",
    "MIN_EXP2",
    "exp",
    "exp2",
    "exp2_brief_power",
    "exp2_brief_split",
    "exp2_normal",
    "exp2_series",
    "exp2_singles",
    "exp2_split",
    "sincos",
]

MIN_EXP = -708.0  # e^-708 is the last normal power; below it the weight counts as zero
MIN_EXP2 = -1021.0  # 2^-1022 is the last normal power
ROUND = 1.5 * 2.0**52  # x + ROUND - ROUND is x rounded to an integer
ROUND_16 = 1.5 * 2.0**48  # x + ROUND_16 - ROUND_16 is x rounded to sixteenths
INV_LN2, LN2_HI, LN2_LO = 1.4426950408889634, 0.6931471805599453, 2.3190468138462996e-17
INV_HALF_PI, HALF_PI_HI, HALF_PI_LO = 0.6366197723675814, 1.5707963267948966, 6.123233995736766e-17
# Coefficients, lowest order first, made by tests/support/fit_coefficients.py.
EXP = (  # e^r for |r| <= ln2/2, to 3e-18
    1.0,
    1.0,
    0.5000000000000019,
    0.1666666666666668,
    0.04166666666648795,
    0.008333333333319589,
    0.0013888888952352863,
    0.00019841269890076403,
    2.4801485441561313e-05,
    2.755724088722987e-06,
    2.763265472252779e-07,
    2.5110049204818658e-08,
)
EXP2 = (  # (2^f - 1)/f for |f| <= 1/2, to 2e-17
    0.6931471805599453,
    0.24022650695910097,
    0.0555041086648216,
    0.009618129107606888,
    0.0013333558146416936,
    0.0001540353044173605,
    1.525273382983612e-05,
    1.321544258792169e-06,
    1.0178062445845774e-07,
    7.072585949269223e-09,
    4.4549605981865186e-10,
)
EXP2_SHORT = (  # the same for |f| <= 1/32, to 4e-16, of which 1e-17 is left when multiplied by f
    0.6931471805599457,
    0.24022650695910075,
    0.0555041086566393,
    0.009618129106919537,
    0.0013333781576784268,
    0.00015403723980749256,
)
EXP2_BRIEF = (  # 2^f for |f| <= 1/2, to EXP2_BRIEF_ERROR
    0.9999999999595618,
    0.6931471805568324,
    0.24022651213498092,
    0.055504109063258665,
    0.009618025613318034,
    0.0013333478473685416,
    0.00015469729214118296,
    1.5303700711365693e-05,
)
EXP2_BRIEF_SHORT = (  # the same for |f| <= 1/32, to 3e-12
    1.0,
    0.6931471801625687,
    0.24022650691319414,
    0.055505736314614036,
    0.009618317140580765,
)
EXP2_BRIEF_ERROR = 6e-11  # relative, of either
EXP2_SINGLE = (  # 2^f for |f| <= 1/2, to 3e-9, below the rounding of single precision
    1.0,
    0.6931472067028326,
    0.24022650922288757,
    0.05550327226670302,
    0.009618056678524637,
    0.0013400428177615838,
    0.0001546144469856913,
)
SINE = (  # (sin x / x - 1)/x² in powers of x², for |x| <= π/4, to 2e-17
    -0.16666666666666666,
    0.008333333333330925,
    -0.00019841269836722418,
    2.755731608381636e-06,
    -2.5051127944014188e-08,
    1.5917848524808262e-10,
)
COSINE = (  # (cos x - 1 + x²/2)/x⁴ in powers of x², for |x| <= π/4, to 2e-18
    0.041666666666666664,
    -0.0013888888888887382,
    2.480158729874307e-05,
    -2.7557317260008837e-07,
    2.0876143827993133e-09,
    -1.1382456778061306e-11,
)


def _polynomial(coefficients: tuple[float, ...]):
    """c_0 + c_1 x + c_2 x² + ... by Horner's rule, written out term by term when compiled."""

    def build_with(builder, x):
        value = constants(coefficients[-1], x.type)
        for c in reversed(coefficients[:-1]):
            value = call_llvm("fmuladd")(builder, value, x, constants(c, x.type))
        return value

    return unary(build_with)


def _scale_by_rounded(builder, value, rounded):
    """value · 2^n where `rounded` = n + ROUND: n sits in the low bits, ready to be added to the exponent."""
    bits = integers(value.type)
    exponent = builder.shl(builder.bitcast(rounded, bits), constants(52, bits))
    return builder.bitcast(builder.add(builder.bitcast(value, bits), exponent), value.type)


_scale = binary(_scale_by_rounded)
_exp_series = _polynomial(EXP)


@compiled
def exp(x):
    """e^x for x <= 700; 0 below -708."""
    clipped = vmax(splat_as(x, MIN_EXP), x)  # in this order NaN stays NaN
    rounded = fma(clipped, splat_as(x, INV_LN2), splat_as(x, ROUND))
    n = rounded - ROUND
    r = fma(n, splat_as(x, -LN2_LO), fma(n, splat_as(x, -LN2_HI), clipped))
    return zero_below(x, splat_as(x, MIN_EXP), _scale(_exp_series(r), rounded))


# 2^x = a 2^f = a + a f (2^f - 1)/f for -1021 <= x <= 1000: (a, f) of x, then (2^f - 1)/f of f.  With AVX-512,
# which looks a table of sixteen up in one instruction, a is a power of 2^(1/16) and the series is short.


def _power_of_rounded(builder, rounded):
    """2^(m/16) where `rounded` = m/16 + ROUND_16: the low four bits of m choose from a table in two
    registers, all others go to the exponent.

    All bits are added where the exponent stands, and the table's entries are less by what the low four add.
    """
    entries = [int(np.float64(2.0 ** (i / 16)).view(np.int64)) - (i << 48) for i in range(2 * LANES)]
    whole = integers(rounded.type)
    low, high = ir.Constant(whole, entries[:LANES]), ir.Constant(whole, entries[LANES:])
    kind = ir.FunctionType(whole, [whole] * 3)
    bits = builder.bitcast(rounded, whole)
    chosen = builder.call(
        builder.module.declare_intrinsic("llvm.x86.avx512.vpermi2var.q.512", (), kind), [low, bits, high]
    )
    return builder.bitcast(builder.add(chosen, builder.shl(bits, constants(48, whole))), rounded.type)


_sixteenth_power = unary(_power_of_rounded)


def _split_by_table(x):
    rounded = x + ROUND_16
    return _sixteenth_power(rounded), x - (rounded - ROUND_16)  # exact


def _split_plain(x):
    rounded = x + ROUND
    return _scale(splat_as(x, 1.0), rounded), x - (rounded - ROUND)  # exact


exp2_split = compiled(_split_by_table if HAS_AVX512 else _split_plain)
exp2_series = _polynomial(EXP2_SHORT if HAS_AVX512 else EXP2)


@compiled
def exp2(x):
    """2^x for x <= 1000; 0 below -1021.  With fewer multiplications than `exp`: no constant is split."""
    a, f = exp2_split(vmax(splat_as(x, MIN_EXP2), x))  # in this order NaN stays NaN
    return zero_below(x, splat_as(x, MIN_EXP2), fma(a * f, exp2_series(f), a))


@compiled
def exp2_normal(x):
    """2^x for -1021 <= x <= 1000."""
    a, f = exp2_split(x)
    return fma(a * f, exp2_series(f), a)


def _exp2_of_singles(builder, x):
    """2^x for -126 <= x <= 126, sixteen at a time in single precision."""
    bits, round_ = integers(x.type), constants(1.5 * 2.0**23, x.type)
    rounded = builder.fadd(x, round_)
    f = builder.fsub(x, builder.fsub(rounded, round_))
    value = constants(EXP2_SINGLE[-1], x.type)
    for c in reversed(EXP2_SINGLE[:-1]):
        value = call_llvm("fmuladd")(builder, value, f, constants(c, x.type))
    exponent = builder.shl(builder.bitcast(rounded, bits), constants(23, bits))
    return builder.bitcast(builder.add(builder.bitcast(value, bits), exponent), x.type)


exp2_singles = unary(_exp2_of_singles)
_brief_series = _polynomial(EXP2_BRIEF_SHORT if HAS_AVX512 else EXP2_BRIEF)


def _brief_split_plain(x):
    rounded = x + ROUND
    return rounded, x - (rounded - ROUND)


def _brief_power_by_table(a, f):
    return a * _brief_series(f)


def _brief_power_plain(rounded, f):
    return _scale(_brief_series(f), rounded)


# 2^x for -1020 <= x <= 1000 to EXP2_BRIEF_ERROR, what loose velocities need, in half the time: in two steps
exp2_brief_split = exp2_split if HAS_AVX512 else compiled(_brief_split_plain)
exp2_brief_power = compiled(_brief_power_by_table if HAS_AVX512 else _brief_power_plain)


def _quadrant_bit(bit: int):
    """The sign bit set where the given bit of n is set, `rounded` = n + ROUND."""

    def build_with(builder, rounded):
        whole = integers(rounded.type)
        bits = builder.shl(builder.bitcast(rounded, whole), constants(63 - bit, whole))
        return builder.bitcast(builder.and_(bits, constants(-(1 << 63), whole)), rounded.type)

    return unary(build_with)


def _flip_sign(builder, value, signs):
    bits = integers(value.type)
    return builder.bitcast(
        builder.xor(builder.bitcast(value, bits), builder.bitcast(signs, bits)), value.type
    )


def _choose_by_sign(builder, signs, if_set, if_clear):
    bits = integers(signs.type)
    negative = builder.icmp_signed("<", builder.bitcast(signs, bits), constants(0, bits))
    return builder.select(negative, if_set, if_clear)


_low_bit, _second_bit = _quadrant_bit(0), _quadrant_bit(1)
_flip, _choose = binary(_flip_sign), ternary(_choose_by_sign)
_sine_series, _cosine_series = _polynomial(SINE), _polynomial(COSINE)


@compiled
def sincos(x):
    """(sin x, cos x) for |x| up to about 1e6."""
    rounded = fma(x, splat_as(x, INV_HALF_PI), splat_as(x, ROUND))
    n = rounded - ROUND
    r = fma(n, splat_as(x, -HALF_PI_LO), fma(n, splat_as(x, -HALF_PI_HI), x))
    u = r * r
    sine = fma(_sine_series(u) * u, r, r)
    cosine = fma(_cosine_series(u) * u, u, fma(splat_as(x, -0.5), u, splat_as(x, 1.0)))
    swap, half = _low_bit(rounded), _second_bit(rounded)
    return (
        _flip(_choose(swap, cosine, sine), half),
        _flip(_choose(swap, sine, cosine), _flip(swap, half)),
    )
