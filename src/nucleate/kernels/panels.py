"""Products of matrices that stay in registers: six rows of one factor against a panel of the other.

    out[r, c] += sum_i a[r, i] b[i, c],      r = 0 .. 5,      c in up to four vectors of a panel

A panel is a strip of columns, stored row after row: nothing is packed at each product, as BLAS has to, and a
matrix that meets many others is laid out once.  The sum over i runs in its order for every element, so bits
depend on neither shapes nor threads.  Doubles, or numbers in single precision, twice as many in a vector.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from nucleate.checks import Array
from nucleate.kernels.compile import inlined
from nucleate.kernels.simd import HAS_AVX512, LANES, call_llvm, lanes_of, splatted, vector_of

__all__ = ["GROUP", "VECTORS", "add_product", "panel_width", "panels_of", "set_product"]

GROUP = 6  # rows at a time
# Sums in registers: 6 x 4 of the 32 that AVX-512 has, 6 x 2 halves of the 16 of AVX2
VECTORS = 4 if HAS_AVX512 else 1


def panel_width(columns: int, lanes: int = LANES) -> int:
    """The columns of a matrix, with zeros up to a whole number of vectors."""
    return -(-columns // lanes) * lanes


def panels_of(matrix: Array, lanes: int = LANES) -> Array:
    """A matrix (rows, columns) in panels: all rows of the first columns, VECTORS vectors of them, then of the
    next; flat."""
    rows, columns = matrix.shape
    wide, panel = np.zeros((rows, panel_width(columns, lanes))), VECTORS * lanes
    wide[:, :columns] = matrix
    return np.concatenate([wide[:, c : c + panel].reshape(-1) for c in range(0, wide.shape[1], panel)])


def _product(vectors: int, add: bool):
    """The product of GROUP rows with a panel of so many vectors; added to what is there, or set; no bounds
    check, unless NUMBA_BOUNDSCHECK=1."""

    @intrinsic
    def product(typingctx, a, a_at, a_row, b, b_at, count, out, out_at, out_row):
        index = types.intp
        signature = types.void(a, index, index, b, index, index, out, index, index)
        return signature, _build

    def _build(context, builder, signature, args):
        a_at, a_row, b_at, count, out_at, out_row = (args[i] for i in (1, 2, 4, 5, 7, 8))
        a, b, out = (_data(context, builder, signature.args[i], args[i]) for i in (0, 3, 6))
        lanes, size = vector_of(signature.args[0]).lanes, signature.args[0].dtype.bitwidth // 8
        if config.BOUNDSCHECK:
            whole, last_row = ir.Constant(count.type, vectors * lanes), ir.Constant(count.type, GROUP - 1)
            reads = builder.icmp_signed(">", count, ir.Constant(count.type, 0))
            for i, at, length, when in (
                (0, a_at, builder.add(builder.mul(a_row, last_row), count), reads),
                (3, b_at, builder.mul(count, whole), reads),
                (6, out_at, builder.add(builder.mul(out_row, last_row), whole), None),
            ):
                _check_bounds(context, builder, signature.args[i], args[i], at, length, when)
        kind, integer = ir.VectorType(a.type.pointee, lanes), count.type
        zero, one = ir.Constant(integer, 0), ir.Constant(integer, 1)
        rows = [
            builder.gep(a, [builder.add(a_at, builder.mul(a_row, ir.Constant(integer, r)))])
            for r in range(GROUP)
        ]
        panel = builder.gep(b, [b_at])
        start = builder.block
        body = builder.append_basic_block("product")
        end = builder.append_basic_block("product.end")
        builder.cbranch(builder.icmp_signed(">", count, zero), body, end)
        builder.position_at_end(body)
        i = builder.phi(integer)
        sums = [builder.phi(kind) for _ in range(GROUP * vectors)]
        nothing = ir.Constant(kind, [0.0] * lanes)
        there = builder.gep(panel, [builder.mul(i, ir.Constant(integer, vectors * lanes))])
        columns = [
            builder.load(_lanes_at(builder, there, v * lanes, kind, integer), align=size)
            for v in range(vectors)
        ]
        new = []
        for r in range(GROUP):
            factor = splatted(builder, builder.load(builder.gep(rows[r], [i]), align=size), kind)
            new += [
                call_llvm("fmuladd")(builder, factor, columns[v], sums[r * vectors + v])
                for v in range(vectors)
            ]
        step = builder.add(i, one)
        again = builder.icmp_signed("<", step, count)
        builder.cbranch(again, body, end)
        i.add_incoming(zero, start)
        i.add_incoming(step, body)
        for old, value in zip(sums, new, strict=True):
            old.add_incoming(nothing, start)
            old.add_incoming(value, body)
        builder.position_at_end(end)
        totals = [builder.phi(kind) for _ in new]
        for total, value in zip(totals, new, strict=True):
            total.add_incoming(nothing, start)
            total.add_incoming(value, body)
        for r in range(GROUP):
            base = builder.gep(out, [builder.add(out_at, builder.mul(out_row, ir.Constant(integer, r)))])
            for v in range(vectors):
                place = _lanes_at(builder, base, v * lanes, kind, integer)
                value = totals[r * vectors + v]
                if add:
                    value = builder.fadd(builder.load(place, align=size), value)
                builder.store(value, place, align=size)
        return context.get_dummy_value()

    return product


def _check_bounds(context: Any, builder: Any, kind: Any, array: Any, at: Any, length: Any, when: Any) -> None:
    """Raise unless array.ravel() has `length` numbers from `at` on; only in the case `when`, if given."""
    items = context.make_array(kind)(context, builder, array).nitems
    outside = builder.or_(
        builder.icmp_signed("<", at, ir.Constant(at.type, 0)),
        builder.icmp_signed(">", builder.add(at, length), items),
    )
    with builder.if_then(outside if when is None else builder.and_(when, outside), likely=False):
        context.call_conv.return_user_exc(builder, IndexError, ("a product reaches outside its array",))


def _data(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    return context.make_array(kind)(context, builder, array).data


def _lanes_at(builder: Any, pointer: Any, offset: int, kind: Any, integer: Any) -> Any:
    return builder.bitcast(builder.gep(pointer, [ir.Constant(integer, offset)]), kind.as_pointer())


_set_1, _set_2, _set_3, _set_4 = (_product(v, add=False) for v in (1, 2, 3, 4))
_add_1, _add_2, _add_3, _add_4 = (_product(v, add=True) for v in (1, 2, 3, 4))
_set_whole, _add_whole = (_set_4, _add_4) if VECTORS == 4 else (_set_1, _add_1)


@inlined
def set_product(a, a_at, a_row, b, b_at, width, count, out, out_at, out_row):
    """out[r, c] = sum_i a[r, i] b[i, c] for GROUP rows r, i < count, and the `width` columns c of a panel,
    whole vectors: flat indices at which each begins, and the steps from row to row."""
    lanes = lanes_of(b)
    if width == VECTORS * lanes:
        _set_whole(a, a_at, a_row, b, b_at, count, out, out_at, out_row)
    elif width == lanes:
        _set_1(a, a_at, a_row, b, b_at, count, out, out_at, out_row)
    elif width == 2 * lanes:
        _set_2(a, a_at, a_row, b, b_at, count, out, out_at, out_row)
    else:
        _set_3(a, a_at, a_row, b, b_at, count, out, out_at, out_row)


@inlined
def add_product(a, a_at, a_row, b, b_at, width, count, out, out_at, out_row):
    """The same, added to what is in `out`."""
    lanes = lanes_of(b)
    if width == VECTORS * lanes:
        _add_whole(a, a_at, a_row, b, b_at, count, out, out_at, out_row)
    elif width == lanes:
        _add_1(a, a_at, a_row, b, b_at, count, out, out_at, out_row)
    elif width == 2 * lanes:
        _add_2(a, a_at, a_row, b, b_at, count, out, out_at, out_row)
    else:
        _add_3(a, a_at, a_row, b, b_at, count, out, out_at, out_row)
