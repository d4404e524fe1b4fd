"""The keys of a model's table, and what a wrong value is answered; `parse/model.py` says what they mean."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from nucleate.attention import WEIGHTS
from nucleate.checks import Array, InputError, finite_array, true_or_false, whole_number
from nucleate.layers import WEIGHT_KINDS
from nucleate.mlp import ACTIVATIONS
from nucleate.norms import NORMS
from nucleate.parse.mask import mask_text, parse_mask
from nucleate.parse.matrix import parse_matrix
from nucleate.parse.random_matrices import matrix, matrix_or_random
from nucleate.parse.validate import a_list, a_table, a_text, known_keys, number, one_of, refuse

__all__ = [
    "BLOCK_KEYS",
    "HEAD_KEYS",
    "LAYERS_KEYS",
    "Key",
    "Plain",
    "check_layers",
    "heads_count",
    "listed",
    "plain_model",
    "value_matrix",
]

Plain = dict[str, Any]

MAX_HEADS = 4096
MAX_LAYERS = 100_000
MAX_HIDDEN = 10_000_000


class Key(NamedTuple):
    """What a key may be: a function of its full name and its value that gives the plain form."""

    check: Callable[[str, Any], Any]
    about: str


# Keys, one by one


def _beta(where: str, value: Any) -> float | Array:
    if isinstance(value, list | tuple | np.ndarray):
        return finite_array(where, value)
    return number(where, value, least=0.0, help="For repulsion use V = -1.")


def _square(where: str, value: Any) -> Any:
    return matrix_or_random(where, value)


def value_matrix(where: str, value: Any) -> Any:
    """V: as Q and K, for all runs; or {tied = c}, c K^T Q of the same head."""
    if isinstance(value, Mapping) and "tied" in value:
        return _tied(where, value)
    return matrix(where, value)


def _value(where: str, value: Any) -> Any:
    return _tied(where, value) if isinstance(value, Mapping) and "tied" in value else _square(where, value)


def _tied(where: str, table: Mapping[str, Any]) -> Plain:
    known_keys(table, ["tied", "name"], where)
    name = {"name": a_text(f"{where}.name", table["name"])} if "name" in table else {}
    return {"tied": number(f"{where}.tied", table["tied"]), **name}


def _mask(where: str, value: Any) -> str:
    return mask_text(parse_mask(where, value))


def _count(where: str, value: Any) -> int:
    return whole_number(where, value, least=1)


def _weights(where: str, value: Any) -> str:
    return one_of(where, value, WEIGHTS)


def _slope(where: str, value: Any) -> float:
    return number(where, value, least=0.0, help="Near tokens count more; 0 switches it off.")


def _base(where: str, value: Any) -> float:
    return number(where, value, above=0.0, help="10000 is usual.")


def _frozen(where: str, value: Any) -> Plain:
    table = a_table(where, value)
    known_keys(table, ["x", "weight"], where)
    if "x" not in table:
        raise InputError(f"{where}.x is missing: where the frozen tokens stand. Give a list of rows.")
    return {name: finite_array(f"{where}.{name}", one) for name, one in table.items()}


def _heads(where: str, value: Any) -> int | list[Plain]:
    if isinstance(value, list | tuple):
        each = a_list(where, value)
        _few(where, len(each), MAX_HEADS, "heads")
        return [_table(f"{where}[{i}]", one, HEAD_KEYS) for i, one in enumerate(each)]
    many = whole_number(where, value, least=0, help="It is the number of heads; 0 with an MLP alone.")
    _few(where, many, MAX_HEADS, "heads")
    return many


def heads_count(where: str, value: Any) -> int:
    """A number of heads."""
    if isinstance(value, list | tuple):
        refuse(where, "a number of heads", value)
    found = _heads(where, value)
    assert isinstance(found, int)
    return found


def _norm(where: str, value: Any) -> str:
    return one_of(where, value, NORMS)


def _tau(where: str, value: Any) -> float:
    return number(where, value, least=0.0, help="It is the time at which the norm changes.")


def _alpha(where: str, value: Any) -> float:
    return number(where, value, above=0.0, help="It is the step of nGPT towards its target.")


def _radius(where: str, value: Any) -> float | Array:
    if isinstance(value, list | tuple | np.ndarray):
        return finite_array(where, value)
    return number(where, value, above=0.0, help="A token of length zero has no direction.")


def _noise(where: str, value: Any) -> float:
    return number(where, value, above=0.0, help="It is kappa: larger is quieter, without it there is none.")


def _truth(where: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        refuse(where, "true or false", value)
    return true_or_false(where, value)


def _rows(where: str, value: Any) -> Any:
    """A matrix of any shape, as rows; or, where it is square, as Q is written."""
    if isinstance(value, list | tuple | np.ndarray):
        array = finite_array(where, value)
        if array.ndim == 2:
            return array
    return parse_matrix(where, value)


def _numbers(where: str, value: Any) -> Array:
    array = finite_array(where, value)
    if array.ndim != 1:
        refuse(where, "a list of numbers", value)
    return array


def _mlp(where: str, value: Any) -> Plain:
    table = a_table(where, value)
    plain = _table(where, table, MLP_KEYS)
    kinds = {"hidden": ("hidden", "seed"), "omega": ("omega", "a"), "W": ("W", "a", "b")}
    kind = next((key for key in kinds if key in plain), None)
    if kind is None:
        raise InputError(
            f"{where} needs W and a, omega and a, or hidden, but has {', '.join(plain) or 'nothing'}. For a"
            " random one say hidden = 64."
        )
    for key in plain:
        if key not in (*kinds[kind], "activation", "name"):
            raise InputError(
                f"{where} has {kind} and {key}, which do not go together. Leave out one of the two."
            )
    if kind != "hidden" and "a" not in plain:
        raise InputError(f"{where}.a is missing: one row per hidden unit. Give a list of rows.")
    return plain


def _hidden(where: str, value: Any) -> int:
    many = whole_number(where, value, least=1, help="It is the number of hidden units.")
    _few(where, many, MAX_HIDDEN, "hidden units")
    return many


def _seed(where: str, value: Any) -> int:
    return whole_number(where, value, least=0, help="Any such number will do.")


def _layers_count(where: str, value: Any) -> int:
    many = whole_number(where, value, least=1, help="It is the number of layers.")
    _few(where, many, MAX_LAYERS, "layers")
    return many


def _layers_dt(where: str, value: Any) -> float:
    return number(where, value, above=0.0, help="It is how long a layer acts.")


def _redraw(where: str, value: Any) -> bool | str:
    if isinstance(value, bool):
        return value
    return one_of(where, value, [kind for kind in WEIGHT_KINDS if kind != "identity"])


def _kind(where: str, value: Any) -> str:
    return one_of(where, value, WEIGHT_KINDS)


def _layers_seed(where: str, value: Any) -> int | str:
    if value == "run":
        return "run"
    if isinstance(value, str):
        refuse(where, 'a whole number, or "run": weights of its own for every run', value)
    return _seed(where, value)


def _blocks(where: str, value: Any) -> list[Plain]:
    each = a_list(where, value)
    _few(where, len(each), MAX_LAYERS, "layers")
    return [_table(f"{where}[{i}]", one, {**HEAD_KEYS, **BLOCK_KEYS}) for i, one in enumerate(each)]


def _layers(where: str, value: Any) -> Plain:
    plain = _table(where, value, LAYERS_KEYS)
    check_layers(where, plain)
    return plain


def check_layers(where: str, plain: Mapping[str, Any]) -> None:
    if ("count" in plain) == ("blocks" in plain):
        raise InputError(
            f"{where} needs count or blocks, but has {'both' if 'count' in plain else 'neither'}. Say count ="
            " 12 for as many layers."
        )
    kind = isinstance(plain.get("redraw"), str)
    for key in ("value", "seed"):
        if key in plain and not kind:
            raise InputError(
                f'{where}.{key} belongs to redraw = "gaussian" and its like, but redraw is'
                f" {str(plain.get('redraw', False)).lower()}. Leave {key} out, or name the kind."
            )
    if "blocks" in plain and plain.get("redraw", False) is not False:
        raise InputError(f"{where} has blocks and redraw. Leave out one of the two.")


def _few(where: str, many: int, most: int, what: str) -> None:
    if many > most:
        raise InputError(f"{where} is {many}, but at most {most} {what} are taken. Take fewer.")


HEAD_KEYS: dict[str, Key] = {
    "beta": Key(_beta, "inverse temperature"),
    "Q": Key(_square, "query matrix"),
    "K": Key(_square, "key matrix"),
    "V": Key(_value, "value matrix"),
    "mask": Key(_mask, "whom a token sees"),
    "window": Key(_count, "number of tokens a token sees, itself among them"),
    "weights": Key(_weights, "what the scores are made into"),
    "alibi": Key(_slope, "how much scores fall per place"),
    "rope": Key(_base, "base of the rotations of queries and keys"),
    "frozen": Key(_frozen, "tokens that never move"),
}
MLP_KEYS: dict[str, Key] = {
    "W": Key(_rows, "output weights"),
    "a": Key(_rows, "input weights"),
    "b": Key(_numbers, "biases"),
    "omega": Key(_numbers, "weights of a potential"),
    "activation": Key(lambda where, value: one_of(where, value, ACTIVATIONS), "sigma"),
    "hidden": Key(_hidden, "number of hidden units"),
    "seed": Key(_seed, "of random weights"),
    "name": Key(a_text, "a label"),
}
BLOCK_KEYS: dict[str, Key] = {
    "heads": Key(_heads, "number of heads"),
    "norm": Key(_norm, "where tokens are normalised"),
    "tau": Key(_tau, "the time at which norm mix changes"),
    "alpha": Key(_alpha, "the step of nGPT"),
    "radius": Key(_radius, "lengths of the tokens at the start"),
    "noise": Key(_noise, "kappa, the inverse strength of noise"),
    "exclude_self": Key(_truth, "whether heads lose their part along the token's own value"),
    "mlp": Key(_mlp, "the MLP"),
}
LAYERS_KEYS: dict[str, Key] = {
    "count": Key(_layers_count, "number of layers"),
    "dt": Key(_layers_dt, "how long a layer acts"),
    "discrete": Key(_truth, "whether a layer is one step"),
    "redraw": Key(_redraw, "whether layers have matrices of their own"),
    "value": Key(_kind, "kind of the value matrices of layers"),
    "seed": Key(_layers_seed, "where the matrices of layers come from"),
    "blocks": Key(_blocks, "the layers one by one"),
}
MODEL_KEYS: dict[str, Key] = {**HEAD_KEYS, **BLOCK_KEYS, "layers": Key(_layers, "layers")}


def _table(where: str, value: Any, keys: Mapping[str, Key]) -> Plain:
    table = a_table(where, value)
    known_keys(table, keys, f"[{where}]")
    return {name: keys[name].check(f"{where}.{name}", one) for name, one in table.items() if one is not None}


def plain_model(where: str, table: Any) -> Plain:
    """The table with each key checked and in its normal form; lists of numbers are arrays."""
    return _table(where, table, MODEL_KEYS)


def listed(value: Any) -> Any:
    """The same with lists in the place of arrays, as TOML and JSON hold it."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {key: listed(one) for key, one in value.items()}
    return [listed(one) for one in value] if isinstance(value, list) else value
