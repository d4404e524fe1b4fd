"""A record in memory, and functions of it that are called by their addresses: for compiled code that is not
to be compiled anew for every type of record (`systems`).

The functions follow Numba's own calling convention, errors included.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

__all__ = [
    "MAX_RECORD_BYTES",
    "call_drift",
    "call_tell",
    "drift_address",
    "pack",
    "place_of",
    "tell_address",
    "unpack",
]

MAX_RECORD_BYTES = 16384
FLAT, STOP = types.float64[::1], types.uint8[::1]
DRIFT_ARGUMENTS = (types.voidptr, FLAT, FLAT, STOP)  # the record, y, velocity, stop
TELL_ARGUMENTS = (types.voidptr, types.int64, types.int64)  # the record, a lane, a run


class RecordOf(types.Type):
    """A pointer to the record of a system of the given type."""

    def __init__(self, system: Any) -> None:
        self.system = system
        super().__init__(name=f"RecordOf({system})")


register_model(RecordOf)(models.OpaqueModel)


@intrinsic
def pack(typingctx, system, room):
    """The record of the system, in the room."""

    def build(context, builder, signature, args):
        value = _without_owners(context, builder, signature.args[0], args[0])
        size = context.get_abi_sizeof(value.type)
        assert size <= MAX_RECORD_BYTES, f"a record of {size} bytes"
        array = context.make_array(signature.args[1])(context, builder, args[1])
        builder.store(value, builder.bitcast(array.data, value.type.as_pointer()))
        return builder.bitcast(array.data, cgutils.voidptr_t)

    return RecordOf(system)(system, room), build


def _without_owners(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """The value of a type, its arrays without those who count the references to them: whoever reads the
    record counts none."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        for i, part in enumerate(kind.types):
            element = _without_owners(context, builder, part, builder.extract_value(value, i))
            value = builder.insert_value(value, element, i)
    return value


@intrinsic
def unpack(typingctx, record):
    """The system of a record."""

    def build(context, builder, signature, args):
        kind = context.get_value_type(signature.return_type)
        return builder.load(builder.bitcast(args[0], kind.as_pointer()))

    return record.system(record), build


@intrinsic
def place_of(typingctx, record):
    """Where a record lies."""

    def build(context, builder, signature, args):
        return builder.ptrtoint(args[0], ir.IntType(64))

    return types.int64(record), build


def _address_of(typingctx: Any, function: Any, arguments: tuple[Any, ...]) -> Any:
    """The signature and the code that give the address of a function compiled for these arguments."""
    found = function.get_call_type(typingctx, arguments, {})

    def build(context, builder, signature, args):
        compiled = function.dispatcher.get_compile_result(found)
        context.active_code_library.add_linking_library(compiled.library)
        begin = context.declare_function(builder.module, compiled.fndesc)
        return builder.ptrtoint(begin, ir.IntType(64))

    return types.int64(function, arguments[0]), build


@intrinsic
def drift_address(typingctx, function, record):
    """Where the code of function(record, y, velocity, stop) begins."""
    return _address_of(typingctx, function, (record, *DRIFT_ARGUMENTS[1:]))


@intrinsic
def tell_address(typingctx, function, record):
    """Where the code of function(record, at, run) begins."""
    return _address_of(typingctx, function, (record, *TELL_ARGUMENTS[1:]))


def _call(context: Any, builder: Any, kinds: tuple[Any, ...], address: Any, args: Any) -> Any:
    """Call the function at an address, which begins with a record; errors go up."""
    begin = context.call_conv.get_function_type(types.none, kinds)
    pointer = builder.inttoptr(address, begin.as_pointer())
    record = builder.inttoptr(args[0], cgutils.voidptr_t)
    status, _ = context.call_conv.call_function(builder, pointer, types.none, kinds, [record, *args[1:]])
    with cgutils.if_unlikely(builder, status.is_error):
        context.call_conv.return_status_propagate(builder, status)
    return context.get_dummy_value()


@intrinsic
def call_drift(typingctx, address, record, y, velocity, stop):
    """function(record, y, velocity, stop) of the two addresses."""

    def build(context, builder, signature, args):
        return _call(context, builder, DRIFT_ARGUMENTS, args[0], args[1:])

    return types.none(types.int64, types.int64, *DRIFT_ARGUMENTS[1:]), build


@intrinsic
def call_tell(typingctx, address, record, at, run):
    """function(record, at, run) of the two addresses."""

    def build(context, builder, signature, args):
        return _call(context, builder, TELL_ARGUMENTS, args[0], args[1:])

    return types.none(types.int64, types.int64, *TELL_ARGUMENTS[1:]), build
