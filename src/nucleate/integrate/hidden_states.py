"""Hidden states of a real transformer as a run: time is depth, directions and lengths of the tokens apart."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array, InputError, check_memory, refuse_masked, shortened
from nucleate.integrate.checkpoint import Checkpoint
from nucleate.integrate.run import Run

__all__ = ["PARTS", "check_parts", "check_strings", "from_hidden_states", "part_shape"]

# The axes of each part of a run over depth, but the run's, and what it is.  There are as many blocks as
# layers, one less than states.
PARTS: dict[str, tuple[tuple[str, ...], str]] = {
    "normed": (("block", "token", "coordinate"), "what the attention of a block reads"),
    "attention": (("block", "token", "coordinate"), "what attention adds to the tokens"),
    "mlp": (("block", "token", "coordinate"), "what the MLP adds to the tokens"),
    "weights": (("block", "head", "token", "seen"), "attention weights"),
    "logits": (("token", "word_of_vocabulary"), "scores of the next token, or of the token itself"),
    "ids": (("token",), "numbers of the tokens in the vocabulary"),
}
MAX_STRING_LETTERS = 10_000  # of one token


def from_hidden_states(
    states: Any,
    tokens: Sequence[Any] | None = None,
    parts: Mapping[str, Any] | None = None,
    model: Checkpoint | None = None,
) -> Run:
    """The run of `Run.from_hidden_states`, which says what it takes."""
    array = _stacked(states)
    *lead, m, n, d = array.shape
    check_memory(3.0 * 8.0 * array.size, "The run")
    array = array.astype(np.float64)
    _refuse_not_finite(array)
    _, exponent = np.frexp(np.abs(array).max(axis=-1))  # squares of 2^-exponent h neither overflow nor vanish
    array = np.ldexp(array, -exponent[..., None])
    norms = np.sqrt(np.einsum("...i,...i->...", array, array))  # (L+1, n) or (b, L+1, n)
    if not norms.all():
        where = [int(i) for i in np.argwhere(norms == 0.0)[0]]
        raise InputError(
            f"Every token must have a direction, but states{where} is zero. Leave out the tokens that fill up"
            " a batch."
        )
    array /= norms[..., None]
    with np.errstate(over="ignore"):
        norms = np.ldexp(norms, exponent)
    if not np.isfinite(norms).all():
        where = [int(i) for i in np.argwhere(~np.isfinite(norms))[0]]
        raise InputError(
            f"Every token must have a finite length, but that of states{where} is above the largest double."
            " Scale the states down."
        )
    if model is None:
        model = Checkpoint("hidden states", "of a model that is not known", m - 1, d)
    if not isinstance(model, Checkpoint):
        raise InputError(
            f"model must be a Checkpoint or None, but is {shortened(model)}. Its name and sizes are enough:"
            " nucleate.Checkpoint(name, architecture, layers, d)."
        )
    if (model.layers, model.d) != (m - 1, d):
        raise InputError(
            f"The states are those of {m - 1} layers and d = {d}, but model says {model.layers} and"
            f" {model.d}. The first state is the one before the first layer."
        )
    return Run(
        model,
        t=np.arange(m, dtype=np.float64),
        x=array,
        status=("done",) * lead[0] if lead else "done",
        steps=np.full(lead[0], m - 1, dtype=np.int64) if lead else m - 1,
        settings={"method": "forward pass"},
        norms=norms,
        tokens=check_strings(tokens, tuple(lead), n),
        parts=check_parts({} if parts is None else parts, array.shape, model.heads),
    )


def _stacked(states: Any) -> NDArray[Any]:
    """The states as one array (L+1, n, d) or (b, L+1, n, d)."""
    states = getattr(states, "hidden_states", states)  # of an output of transformers
    if states is None:
        raise InputError("The output has no hidden states. Ask for them: output_hidden_states=True.")
    each = _items(states) if isinstance(states, tuple | list) else ()
    if each and not np.isscalar(each[0]):
        layers = [_numbers("states", one) for one in each]
        if len({one.shape for one in layers}) != 1 or layers[0].ndim not in (2, 3):
            raise InputError(
                "The states of all layers must have one shape, (n, d) or (b, n, d), but have"
                f" {shortened([one.shape for one in layers])}. Pass one array for each layer."
            )
        check_memory(2.0 * sum(one.nbytes for one in layers), "The states")
        array = np.stack(layers, axis=-3)  # (L+1, n, d) or (b, L+1, n, d)
        array = array[0] if array.ndim == 4 and len(array) == 1 else array
    else:
        array = _numbers("states", states)
    if array.ndim not in (3, 4) or array.size == 0 or array.shape[-1] < 2:
        raise InputError(
            f"states must have shape (L+1, n, d) or (b, L+1, n, d), at least one token and d of at least 2,"
            f" but have shape {array.shape}. Pass one state for each layer, and the one before the first."
        )
    return array


def _numbers(name: str, value: Any) -> NDArray[Any]:
    """An array of floats, also out of a tensor of torch, which may be of a kind that NumPy has not."""
    refuse_masked(name, value)
    try:
        if hasattr(value, "detach"):
            value = value.detach().cpu()
            value = (value if str(value.dtype) == "torch.float64" else value.float()).numpy()
        array = np.asarray(value)
        if array.dtype.kind not in "fiu":
            raise TypeError
        return array if array.dtype in (np.float32, np.float64, np.int64) else array.astype(np.float64)
    except (InputError, MemoryError):
        raise
    except Exception:  # objects may raise anything when asked to be an array
        raise InputError(
            f"{name} must be arrays or tensors of numbers, but are {shortened(value)}. Pass one array, or one"
            " for each layer."
        ) from None


def _refuse_not_finite(array: Array) -> None:
    if not np.isfinite(array).all():
        where = [int(i) for i in np.argwhere(~np.isfinite(array))[0]]
        raise InputError(
            f"states must be finite, but states{where} is {array[tuple(where)]}. Half precision overflows at"
            " 65504: run the model in float32."
        )


def check_strings(tokens: Any, lead: tuple[int, ...], n: int) -> Any:
    """The tokens as strings: n of them, or n for each of b runs; None if there are none."""
    if tokens is None:
        return None

    def row(one: Any) -> tuple[str, ...]:
        words = _items(one)
        if len(words) != n:
            raise InputError(
                f"tokens must be {n} strings{' for each run' if lead else ''}, but are {shortened(one)}. One"
                " for each token."
            )
        if not all(isinstance(word, str) and len(word) <= MAX_STRING_LETTERS for word in words):
            raise InputError(f"tokens must be strings, but are {shortened(one)}.")
        return words

    if not lead:
        return row(tokens)
    rows = _items(tokens)
    if len(rows) != lead[0]:
        raise InputError(
            f"tokens must be one list of strings for each of {lead[0]} runs, but are {shortened(tokens)}."
        )
    return tuple(row(one) for one in rows)


def _items(value: Any) -> tuple[Any, ...]:
    """What a list holds; nothing if it is none, or a text, whose letters are no list."""
    try:
        return tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else ()
    except Exception:  # objects may raise anything when asked for their items
        return ()


def check_parts(
    parts: Mapping[str, Any], shape: tuple[int, ...], heads: int | None = None
) -> dict[str, NDArray[Any]]:
    """The parts of a run over depth whose tokens have this shape, each with its own as PARTS says."""
    if not isinstance(parts, Mapping):
        raise InputError(f"parts must be a table of arrays by name, but are {shortened(parts)}.")
    if unknown := [name for name in parts if name not in PARTS]:
        raise InputError(
            f"parts may be {', '.join(PARTS)}, but {shortened(unknown[0])} is among them. Leave it out."
        )
    made = {name: _numbers(name, parts[name]) for name in PARTS if parts.get(name) is not None}
    for name, array in made.items():
        wanted = part_shape(name, shape)
        if name == "weights" and heads is not None:
            wanted = tuple(heads if i == len(wanted) - 3 else size for i, size in enumerate(wanted))
        if len(array.shape) != len(wanted) or any(
            want is not None and size != want for size, want in zip(array.shape, wanted, strict=True)
        ):
            said = ", ".join("any" if want is None else str(want) for want in wanted)
            raise InputError(
                f"The part {name} must have shape ({said}), but has shape {array.shape}. There is one block"
                " for each layer."
            )
        if (name == "ids") != (array.dtype.kind == "i"):
            raise InputError(
                f"The part {name} must hold {'whole numbers' if name == 'ids' else 'floats'}, but holds"
                f" {array.dtype}."
            )
    return made


def part_shape(name: str, x: tuple[int, ...]) -> tuple[int | None, ...]:
    """The shape of a part of tokens of shape ([b,] L+1, n, d); None where any size will do."""
    *lead, m, n, d = x
    sizes = {"block": m - 1, "token": n, "seen": n, "coordinate": d}
    return (*lead, *(sizes.get(axis) for axis in PARTS[name][0]))
