"""Eight numbers at once: a Numba type `Vec` that is LLVM's <8 x double>; and sixteen in single precision,
`Singles`, <16 x float>, of which an array of such numbers is loaded.

Written out rather than left to LLVM's auto-vectoriser, for two reasons.  Speed does not depend on its
heuristics.  And every lane sees the very same operations, so a run gives the same bits in whichever lane it
travels.  LLVM maps the type on what the processor has: AVX-512, two AVX, four SSE2 or NEON.

    a = load(array, i)          # array[i : i + 8]
    store(array, i, fma(a, splat(2.0), a))

Where the processor has not AVX-512, a loop that holds more than a few of these vectors has no registers left
and spends its time storing and fetching them.  Such a loop goes through the eight lanes `PART` at a time:

    for part in range(0, LANES, PART):
        a = load_part(array, i + part)      # array[i + part : i + part + PART]
        store(array, i + part, fma(a, splat_as(a, 2.0), a))

Arrays are the same, and so are the bits: what a lane sees does not depend on how many go together.
"""

import math
import operator
from typing import Any

import numpy as np
from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

from nucleate.kernels.compile import compiled
from nucleate.kernels.inner_pipeline import LINKED

LANES = 8
SINGLE_LANES = 2 * LANES
# load(TAIL, 8 - r) is r zeros, then -inf: added to the exponents of a last group of r < 8 pairs, so that the
# lanes beyond the end get no weight
TAIL = np.concatenate([np.zeros(LANES), np.full(LANES, -np.inf)])
PRESENT = np.concatenate([np.ones(LANES), np.zeros(LANES)])  # load(PRESENT, 8 - r): r ones, then zeros
CACHE_LINE_BYTES = 64


def has_feature(*names: str) -> bool:
    """Whether compiled code may use one of these vector instructions: what this processor has, unless Numba
    is told to compile for another."""
    if config.CPU_NAME or config.CPU_FEATURES:
        told = (config.CPU_FEATURES or "").split(",")
        return any(f"+{name}" in told for name in names)
    features = get_host_cpu_features()
    return any(features.get(name, False) for name in names)


HAS_AVX512 = has_feature("avx512f")
# AVX2 has sixteen registers of four doubles; NEON thirty-two of two, so that two of them make a part
PART = LANES if HAS_AVX512 else 4 if has_feature("avx2", "neon", "asimd") else 2


def aligned_zeros(*shape: int, dtype: Any = np.float64) -> Any:
    """Zeros that begin where a line of the cache does: NumPy's arrays begin anywhere, and a vector that is
    loaded across two lines takes twice the time."""
    item = np.dtype(dtype).itemsize
    size = math.prod(shape)
    room = np.zeros(size + CACHE_LINE_BYTES // item, dtype)
    first = -room.ctypes.data % CACHE_LINE_BYTES // item
    return room[first : first + size].reshape(shape)


class VecType(types.Type):
    """The Numba type of a vector: its name, the type of its numbers, how many they are."""

    def __init__(self, name: str, scalar: Any, lanes: int) -> None:
        self.scalar, self.lanes = scalar, lanes
        super().__init__(name=name)


Vec = VecType("Vec", types.float64, LANES)
Part = Vec if PART == LANES else VecType("Part", types.float64, PART)
Singles = VecType("Singles", types.float32, SINGLE_LANES)


def _llvm(kind: VecType) -> Any:
    return ir.VectorType(ir.FloatType() if kind.scalar == types.float32 else ir.DoubleType(), kind.lanes)


def vector_of(kind: Any) -> VecType:
    """The vector that an array goes with; of a vector, itself."""
    if isinstance(kind, VecType):
        return kind
    return Singles if kind.dtype == types.float32 else Vec


@register_model(VecType)
class _VecModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _llvm(kind))


def constants(value: float | int, kind: Any) -> Any:
    """One number in all lanes, known when the code is compiled."""
    return ir.Constant(kind, [value] * kind.count)


def integers(kind: Any) -> Any:
    """The vector of whole numbers with as many bits as the given one of floating-point numbers."""
    return ir.VectorType(ir.IntType(64 if kind.element == ir.DoubleType() else 32), kind.count)


def _order(lanes: Any) -> Any:
    return ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), list(lanes))


def _place(context: Any, builder: Any, array_type: Any, array: Any, index: Any, count: int) -> Any:
    """Where `count` numbers of an array begin."""
    view = context.make_array(array_type)(context, builder, array)
    if config.BOUNDSCHECK:
        last = builder.sub(view.nitems, ir.Constant(index.type, count))
        outside = builder.or_(
            builder.icmp_signed("<", index, ir.Constant(index.type, 0)), builder.icmp_signed(">", index, last)
        )
        with builder.if_then(outside, likely=False):
            context.call_conv.return_user_exc(
                builder, IndexError, ("eight numbers reach outside their array",)
            )
    return builder.gep(view.data, [index])


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any, kind: VecType) -> Any:
    place = _place(context, builder, array_type, array, index, kind.lanes)
    return builder.bitcast(place, _llvm(kind).as_pointer())


# Memory and lanes


def _loaded(array: Any, kind: VecType) -> Any:
    """The signature and the code of a load from an array into a vector."""

    def build(context, builder, signature, args):
        place = _pointer(context, builder, signature.args[0], args[0], args[1], kind)
        return builder.load(place, align=array.dtype.bitwidth // 8)

    return kind(array, types.intp), build


@intrinsic
def load(typingctx, array, index):
    """array.ravel()[index : index + 8]; contiguous doubles; no bounds check, unless NUMBA_BOUNDSCHECK=1."""
    return _loaded(array, vector_of(array))


@intrinsic
def load_part(typingctx, array, index):
    """array.ravel()[index : index + PART], as `load`."""
    return _loaded(array, Part)


@compiled
def load_as(vector, array, index):
    """As many numbers of an array as the vector has, as `load`."""
    return _load_as(array, index, vector)


@intrinsic
def _load_as(typingctx, array, index, vector):
    signature, build = _loaded(array, vector)
    return signature.return_type(array, types.intp, vector), build


@intrinsic
def store(typingctx, array, index, value):
    """array.ravel()[index : index + 8] = value, or as many as it has; no bounds check, unless
    NUMBA_BOUNDSCHECK=1."""

    def build(context, builder, signature, args):
        place = _pointer(context, builder, signature.args[0], args[0], args[1], value)
        builder.store(args[2], place, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, value), build


@intrinsic
def splat(typingctx, scalar):
    """One number in all lanes."""
    return Vec(types.float64), lambda context, builder, signature, args: splatted(
        builder, args[0], _llvm(Vec)
    )


@intrinsic
def splat_as(typingctx, other, scalar):
    """One number in all lanes of the vector that the array or vector `other` goes with."""
    kind = vector_of(other)

    def build(context, builder, signature, args):
        return splatted(builder, context.cast(builder, args[1], scalar, kind.scalar), _llvm(kind))

    return kind(other, scalar), build


def splatted(builder: Any, scalar: Any, kind: Any) -> Any:
    """What builds one number in all lanes."""
    nothing = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(nothing, scalar, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, nothing, _order([0] * kind.count))


@intrinsic
def lanes_of(typingctx, other):
    """How many lanes the vector has that the array or vector `other` goes with."""
    lanes = vector_of(other).lanes
    return types.intp(other), lambda context, builder, signature, args: ir.Constant(ir.IntType(64), lanes)


@intrinsic
def lane(typingctx, vector, index):
    """The number in one lane."""

    def build(context, builder, signature, args):
        return builder.extract_element(args[0], builder.trunc(args[1], ir.IntType(32)))

    return vector.scalar(vector, types.intp), build


@intrinsic
def set_lane(typingctx, vector, index, scalar):
    """The vector with one lane replaced."""

    def build(context, builder, signature, args):
        return builder.insert_element(args[0], args[2], builder.trunc(args[1], ir.IntType(32)))

    return vector(vector, types.intp, types.float64), build


@intrinsic
def hsum(typingctx, a):
    """The sum over lanes, halves on halves: ((0+4)+(2+6)) + ((1+5)+(3+7))."""

    def build(context, builder, signature, args):
        (vector,), size = args, a.lanes
        while size > 1:
            size //= 2
            halves = (_order(range(size)), _order(range(size, 2 * size)))
            vector = builder.fadd(*(builder.shuffle_vector(vector, vector, half) for half in halves))
        return builder.extract_element(vector, ir.Constant(ir.IntType(32), 0))

    return a.scalar(a), build


@compiled
def hmax(a):
    """The largest lane."""
    best = lane(a, 0)
    for i in range(1, lanes_of(a)):
        best = max(best, lane(a, i))
    return best


# Arithmetic lane by lane


def unary(build_with):
    """A function of one vector, from what builds its LLVM code."""

    @intrinsic
    def operation(typingctx, a):
        return a(a), lambda context, builder, signature, args: build_with(builder, *args)

    return operation


def binary(build_with):
    """A function of two vectors."""

    @intrinsic
    def operation(typingctx, a, b):
        return a(a, b), lambda context, builder, signature, args: build_with(builder, *args)

    return operation


def ternary(build_with):
    """A function of three vectors."""

    @intrinsic
    def operation(typingctx, a, b, c):
        return a(a, b, c), lambda context, builder, signature, args: build_with(builder, *args)

    return operation


def call_llvm(name: str):
    """What builds a call of one of LLVM's own functions."""

    def build_with(builder, *args):
        vector = args[0].type
        suffix = f"v{vector.count}{'f64' if vector.element == ir.DoubleType() else 'f32'}"
        kind = ir.FunctionType(vector, [vector] * len(args))
        return builder.call(
            cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.{suffix}"), args
        )

    return build_with


def _zero_below(builder, x, bound, y):
    return builder.select(builder.fcmp_ordered("<", x, bound), constants(0.0, y.type), y)


fma = ternary(call_llvm("fmuladd"))  # a b + c
vabs, sqrt = unary(call_llvm("fabs")), unary(call_llvm("sqrt"))
# b where either is NaN
vmax = binary(lambda builder, a, b: builder.select(builder.fcmp_ordered(">", a, b), a, b))
zero_below = ternary(_zero_below)  # (x, bound, y): 0 where x < bound, else y; y also where x is NaN
_negative = unary(lambda builder, a: builder.fneg(a))


@compiled
def fms(a, b, c):
    """a b - c."""
    return fma(a, b, _negative(c))


def _overload_operator(symbol, operation):
    @overload(symbol, jit_options=LINKED)
    def implement(a, b):
        if isinstance(a, VecType) and isinstance(b, VecType):
            return lambda a, b: operation(a, b)
        if isinstance(a, VecType) and isinstance(b, types.Float):
            return lambda a, b: operation(a, splat_as(a, b))
        if isinstance(b, VecType) and isinstance(a, types.Float):
            return lambda a, b: operation(splat_as(b, a), b)
        return None


_overload_operator(operator.add, binary(lambda builder, a, b: builder.fadd(a, b)))
_overload_operator(operator.sub, binary(lambda builder, a, b: builder.fsub(a, b)))
_overload_operator(operator.mul, binary(lambda builder, a, b: builder.fmul(a, b)))
_overload_operator(operator.truediv, binary(lambda builder, a, b: builder.fdiv(a, b)))


# As many vectors as a point has coordinates, in a tuple: d is known when the code is compiled, and they
# stay in registers where there are enough.  `like` is a tuple of d of anything.


def _parts(builder: Any, value: Any, count: int) -> list[Any]:
    return [builder.extract_value(value, c) for c in range(count)]


@intrinsic
def load_each(typingctx, like, array, index):
    """The vectors of PART numbers that follow each other from array.ravel()[index] on."""
    _, one = _loaded(array, Part)

    def build(context, builder, signature, args):
        places = [builder.add(args[2], ir.Constant(args[2].type, c * PART)) for c in range(len(like))]
        vectors = [one(context, builder, Part(array, types.intp), (args[1], place)) for place in places]
        return context.make_tuple(builder, signature.return_type, vectors)

    return types.UniTuple(Part, len(like))(like, array, types.intp), build


@intrinsic
def load_rows(typingctx, like, array, column):
    """The eight numbers from a column on of each of the first rows of a matrix."""
    _, one = _loaded(array, Vec)

    def build(context, builder, signature, args):
        indices = _down_a_column(context, builder, array, args[1], args[2], len(like))
        vectors = [one(context, builder, Vec(array, types.intp), (args[1], index)) for index in indices]
        return context.make_tuple(builder, signature.return_type, vectors)

    return types.UniTuple(Vec, len(like))(like, array, types.intp), build


@intrinsic
def splat_rows(typingctx, like, array, column):
    """The number in a column of each of the first rows of a matrix, in all lanes."""

    def build(context, builder, signature, args):
        indices = _down_a_column(context, builder, array, args[1], args[2], len(like))
        places = [_place(context, builder, array, args[1], index, 1) for index in indices]
        vectors = [splatted(builder, builder.load(place), _llvm(Vec)) for place in places]
        return context.make_tuple(builder, signature.return_type, vectors)

    return types.UniTuple(Vec, len(like))(like, array, types.intp), build


def _down_a_column(context: Any, builder: Any, kind: Any, matrix: Any, column: Any, rows: int) -> list[Any]:
    """The flat indices of a column's first numbers."""
    width = builder.extract_value(context.make_array(kind)(context, builder, matrix).shape, 1)
    return [builder.add(column, builder.mul(width, ir.Constant(width.type, c))) for c in range(rows)]


@intrinsic
def store_each(typingctx, array, index, vectors):
    """What `load_each` would load."""

    def build(context, builder, signature, args):
        for c, vector in enumerate(_parts(builder, args[2], len(vectors))):
            place = builder.add(args[1], ir.Constant(args[1].type, c * PART))
            pointer = _pointer(context, builder, signature.args[0], args[0], place, vectors.dtype)
            builder.store(vector, pointer, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, vectors), build


@intrinsic
def store_lane(typingctx, array, index, vectors, at):
    """array.ravel()[index + c] = lane `at` of the c-th vector."""

    def build(context, builder, signature, args):
        first = _place(context, builder, array, args[0], args[1], len(vectors))
        lane_at = builder.trunc(args[3], ir.IntType(32))
        for c, vector in enumerate(_parts(builder, args[2], len(vectors))):
            place = builder.gep(first, [ir.Constant(ir.IntType(64), c)])
            builder.store(builder.extract_element(vector, lane_at), place)
        return context.get_dummy_value()

    return types.void(array, types.intp, vectors, types.intp), build


@intrinsic
def dot(typingctx, a, b, start):
    """start + a_1 b_1 + ... + a_d b_d; from six on in two sums, neither of which waits for the other."""

    def build(context, builder, signature, args):
        count = len(a)
        pairs = list(zip(_parts(builder, args[0], count), _parts(builder, args[1], count), strict=True))
        fused, half, total = call_llvm("fmuladd"), count // 2 if count >= 6 else count, args[2]
        for x, y in pairs[:half]:
            total = fused(builder, x, y, total)
        if half == count:
            return total
        other = builder.fmul(*pairs[half])
        for x, y in pairs[half + 1 :]:
            other = fused(builder, x, y, other)
        return builder.fadd(total, other)

    return start(a, b, start), build


@intrinsic
def add_scaled(typingctx, a, factor, b):
    """a_c + factor b_c for each c."""

    def build(context, builder, signature, args):
        pairs = zip(_parts(builder, args[0], len(a)), _parts(builder, args[2], len(a)), strict=True)
        sums = [call_llvm("fmuladd")(builder, args[1], y, x) for x, y in pairs]
        return context.make_tuple(builder, signature.return_type, sums)

    return a(a, factor, b), build


@intrinsic
def scaled(typingctx, a, factor):
    """factor a_c for each c."""

    def build(context, builder, signature, args):
        products = [builder.fmul(args[1], x) for x in _parts(builder, args[0], len(a))]
        return context.make_tuple(builder, signature.return_type, products)

    return a(a, factor), build


@intrinsic
def less(typingctx, a, b):
    """a_c - b_c for each c."""

    def build(context, builder, signature, args):
        pairs = zip(*(_parts(builder, value, len(a)) for value in args), strict=True)
        return context.make_tuple(builder, signature.return_type, [builder.fsub(x, y) for x, y in pairs])

    return a(a, b), build


@intrinsic
def transformed(typingctx, matrix, a):
    """sum_e matrix[c, e] a_e for each c; a square matrix without gaps."""
    count = len(a)

    def build(context, builder, signature, args):
        first = _place(context, builder, matrix, args[0], ir.Constant(ir.IntType(64), 0), count * count)
        vectors, sums = _parts(builder, args[1], count), []
        for c in range(count):
            places = [builder.gep(first, [ir.Constant(ir.IntType(64), c * count + e)]) for e in range(count)]
            entries = [splatted(builder, builder.load(place), _llvm(a.dtype)) for place in places]
            total = builder.fmul(entries[-1], vectors[-1])
            for entry, vector in zip(entries[-2::-1], vectors[-2::-1], strict=True):
                total = call_llvm("fmuladd")(builder, entry, vector, total)
            sums.append(total)
        return context.make_tuple(builder, signature.return_type, sums)

    return a(matrix, a), build


# Halves of a vector


def _shuffled(*order: int):
    """Lanes of two vectors, 0 .. 7 of the first and 8 .. 15 of the second, in the given order."""
    return binary(lambda builder, a, b: builder.shuffle_vector(a, b, _order(order)))


join_halves = _shuffled(0, 1, 2, 3, 12, 13, 14, 15)  # the low half of a, the high half of b
even_lanes = _shuffled(0, 2, 4, 6, 8, 10, 12, 14)  # of sixteen numbers in a, then b
odd_lanes = _shuffled(1, 3, 5, 7, 9, 11, 13, 15)
_low_halves = _shuffled(0, 1, 2, 3, 8, 9, 10, 11)
_crossed = _shuffled(4, 5, 6, 7, 8, 9, 10, 11)  # the high half of a, the low half of b


@compiled
def repeat_low_half(a):
    """The low half of a, in both halves."""
    return _low_halves(a, a)


@compiled
def splat_halves(a, b):
    """The number a in the low half, b in the high one."""
    return _low_halves(splat(a), splat(b))


@compiled
def add_halves(a):
    """The sum of the two halves, in both."""
    return a + _crossed(a, a)
