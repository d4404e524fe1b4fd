"""Models as people write them: one table for commands, study files and stored runs, and the way back.

    beta, Q, K, V, mask, window     one head; matrices and masks as in `nucleate.parse.matrix` and `.mask`
    weights                         "softmax", "exponential", "hardmax"
    alibi = slope, rope = base      positions
    heads = 8                       so many heads like this one, each with random matrices of its own;
    heads = [{beta = 1}, {V = -1}]  or tables, each of which changes something
    norm, tau, alpha, radius        "post", "pre", "mix" (tau), "peri", "ngpt" (alpha), "sqrt"
    noise = kappa, exclude_self
    mlp = {W, a, b, activation}     or {omega, a, activation}, or random {hidden, seed, activation}
    layers = {count, dt, discrete}  this block again and again; redraw = true: random Q, K, V anew in every
                                    layer; redraw = "gaussian" (value = kind of V): all three are random;
                                    seed: one set of weights for all runs.  Or blocks = [{...}, {...}]

What is left out is as in `nucleate.Attention`, `Block` and `Layers`, which also check what goes together.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from nucleate.attention import WEIGHTS, Attention, Frozen, Window
from nucleate.block import Block
from nucleate.checks import Array, InputError, check_memory, finite_array, true_or_false, whole_number
from nucleate.layers import WEIGHT_KINDS, Layers, Model
from nucleate.mlp import ACTIVATIONS, MLP, Potential
from nucleate.norms import NORMS
from nucleate.parse.mask import mask_text, parse_mask
from nucleate.parse.matrix import as_array, parse_matrix
from nucleate.parse.random_matrices import drawn, matrix, matrix_or_random
from nucleate.parse.validate import a_list, a_table, a_text, known_keys, number, one_of, refuse
from nucleate.positions import ALiBi, RoPE

__all__ = [
    "BLOCK_KEYS",
    "HEAD_KEYS",
    "LAYERS_KEYS",
    "MATRIX_STREAMS",
    "Draw",
    "Key",
    "build_model",
    "draw_from",
    "heads_count",
    "listed",
    "model_table",
    "one_layer",
    "parse_model",
    "plain_model",
    "value_matrix",
]

Plain = dict[str, Any]
# name, spec and place of a random matrix -> (d, d) or (b, d, d); the place is (layer, head), () for the first
Draw = Callable[[str, Plain, tuple[int, ...]], Array | None]

MATRIX_STREAMS = {"Q": 1, "K": 2, "V": 3}  # the child of a run's stream that each is drawn from
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
    _check_layers(where, plain)
    return plain


def _check_layers(where: str, plain: Mapping[str, Any]) -> None:
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


# From a table to a model


def parse_model(table: Mapping[str, Any], d: int, draw: Draw | None = None, where: str = "model") -> Model:
    """The model that a table stands for, in dimension d; `draw` draws its random matrices."""
    return build_model(plain_model(where, table), d, draw)


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


def build_model(plain: Mapping[str, Any], d: int, draw: Draw | None = None) -> Model:
    """The model of a plain table."""
    layers = plain.get("layers")
    if layers is None:
        block = _block(plain, d, draw, 0)
        return block.alone or block
    _check_layers("layers", layers)
    base = {key: value for key, value in plain.items() if key != "layers"}
    dt, discrete = layers.get("dt", 1.0), layers.get("discrete", False)
    if "blocks" in layers:
        blocks = [_block({**base, **one}, d, draw, i) for i, one in enumerate(layers["blocks"])]
        return Layers(blocks, dt, discrete=discrete)
    count, redraw = layers["count"], layers.get("redraw", False)
    heads = base.get("heads", 1)
    many = heads if isinstance(heads, int) else len(heads)
    if not redraw:
        return Layers([_block(base, d, draw, 0)] * count, dt, discrete=discrete)
    check_memory(24.0 * count * many * d * d, f"{count} layers of {many} heads in dimension {d}")
    if isinstance(redraw, str):
        base |= _all_random(plain, redraw, layers.get("value", redraw))
        if layers.get("seed", "run") != "run":
            draw = _draw_layers(layers["seed"], d)
    return Layers([_block(base, d, draw, layer) for layer in range(count)], dt, discrete=discrete)


def one_layer(plain: Mapping[str, Any]) -> Plain:
    """The same with a single layer, which is enough to see whether its parts go together."""
    layers = plain.get("layers")
    if layers is None or "blocks" in layers:
        return dict(plain)
    return {**plain, "layers": {**layers, "count": 1}}


def draw_from(d: int, stream: Callable[..., list[np.random.SeedSequence]]) -> Draw:
    """Matrices drawn from stream(child, *place), one stream per run."""

    def draw(name: str, spec: Plain, place: tuple[int, ...]) -> Array | None:
        return drawn(spec, d, stream(MATRIX_STREAMS[name], *place))

    return draw


def _draw_layers(seed: int, d: int) -> Draw:
    """The matrices of nucleate.RandomLayers with this seed, the same for all runs."""

    def draw(name: str, spec: Plain, place: tuple[int, ...]) -> Array | None:
        layer, head = place or (0, 0)
        stream = np.random.SeedSequence(seed, spawn_key=(layer, head, MATRIX_STREAMS[name] - 1))
        found = drawn(spec, d, [stream])  # (1, d, d)
        return None if found is None else found[0]

    return draw


def _all_random(plain: Mapping[str, Any], kind: str, value: str) -> Plain:
    for name in MATRIX_STREAMS:
        given = plain.get(name, 1.0)
        if not (isinstance(given, float) and given == 1.0):
            raise InputError(
                f'{name} is given, but layers.redraw = "{kind}" draws Q, K and V. Leave {name} out, or say redraw'
                " = true and which matrices are random."
            )
    kinds = {"Q": kind, "K": kind, "V": value}
    return {name: 1.0 if one == "identity" else {"random": one, "scale": 1.0} for name, one in kinds.items()}


def _block(plain: Mapping[str, Any], d: int, draw: Draw | None, layer: int) -> Block:
    heads = plain.get("heads", 1)
    head = {key: value for key, value in plain.items() if key in HEAD_KEYS}
    each = [head] * heads if isinstance(heads, int) else [_changed(head, one) for one in heads]
    made = [_attention(one, d, draw, (layer, i) if layer or i else ()) for i, one in enumerate(each)]
    settings = {key: plain[key] for key in ("tau", "alpha", "radius") if key in plain}
    mlp = None if "mlp" not in plain else _made_mlp(plain["mlp"], d)
    return Block(
        made,
        mlp,
        plain.get("norm", "post"),
        plain.get("noise"),
        plain.get("exclude_self", False),
        **settings,
    )


def _changed(head: Plain, change: Plain) -> Plain:
    """A head with some keys changed; a new mask, window or position takes the place of the old one."""
    rivals = (("mask", "window"), ("alibi", "rope"))
    gone = {key for pair in rivals for key in pair if any(one in change for one in pair)}
    return {**{key: value for key, value in head.items() if key not in gone}, **change}


def _attention(plain: Plain, d: int, draw: Draw | None, place: tuple[int, ...]) -> Attention:
    if "beta" not in plain:
        raise InputError("beta is missing: inverse temperature. Give beta = 1, say.")
    if "window" in plain and plain.get("mask", "causal") != "causal":
        raise InputError(
            f'mask is "{plain["mask"]}" and window is {plain["window"]}. Leave out one of the two.'
        )
    if "alibi" in plain and "rope" in plain:
        raise InputError(
            "alibi and rope are both given, but a head has one of them. Leave out one of the two."
        )
    position = ALiBi(plain["alibi"]) if "alibi" in plain else RoPE(plain["rope"]) if "rope" in plain else None
    if isinstance(position, RoPE):
        position.check_dimension(d)
    frozen = plain.get("frozen")
    Q, K = (_made(name, plain.get(name, 1.0), d, draw, place) for name in ("Q", "K"))
    V = plain.get("V", 1.0)
    return Attention(
        plain["beta"],
        Q,
        K,
        _made_tied(V["tied"], Q, K, d)
        if isinstance(V, dict) and "tied" in V
        else _made("V", V, d, draw, place),
        Window(plain["window"]) if "window" in plain else parse_mask("mask", plain.get("mask", "causal")),
        None if frozen is None else Frozen(frozen["x"], frozen.get("weight", 1.0)),
        plain.get("weights", "softmax"),
        position,
    )


def _made_tied(c: float, Q: Array | None, K: Array | None, d: int) -> Array:
    """V = c K^T Q, (d, d) or (b, d, d)."""
    Q, K = (np.eye(d) if M is None else M for M in (Q, K))
    return np.asarray(c * (K.mT @ Q))


def _made(name: str, spec: Any, d: int, draw: Draw | None, place: tuple[int, ...]) -> Array | None:
    if isinstance(spec, dict):
        if draw is None:
            raise InputError(
                f"{name} must be one matrix, but is drawn anew for every run: {spec}. Name one that is drawn"
                ' once, such as "gaussian(7)".'
            )
        return draw(name, spec, place)
    found = as_array(
        np.asarray(spec, dtype=np.float64) if isinstance(spec, list) else spec, d
    )  # as in a study
    if found is not None and found.shape[-1] != d:
        raise InputError(f"{name} acts on dimension {found.shape[-1]}, but d is {d}. Both must be the same.")
    return found


def _made_mlp(plain: Plain, d: int) -> MLP | Potential:
    activation = plain.get("activation", "relu")
    if "hidden" in plain:
        m = plain["hidden"]
        check_memory(32.0 * m * d, f"An MLP of {m} hidden units in dimension {d}")
        rng = np.random.default_rng(plain.get("seed", 0))
        a = rng.standard_normal((m, d)) / np.sqrt(d)  # (m, d)
        return MLP(rng.standard_normal((d, m)) / np.sqrt(m), a, activation)  # W (d, m)
    a = _full(plain["a"], d)
    if "omega" in plain:
        return Potential(plain["omega"], a, activation)
    return MLP(_full(plain["W"], d), a, activation, plain.get("b"))


def _full(spec: Any, d: int) -> Array:
    spec = np.asarray(spec, dtype=np.float64) if isinstance(spec, list) else spec
    found = as_array(spec, d)
    return np.eye(d) if found is None else found


# From a model to a table


def model_table(model: Model, array: Callable[[str, Array], Any] | None = None) -> Plain:
    """The table of a model, which `parse_model` takes back: every part written out, no name of a kind kept.

    array   what stands for the array of a given name; lists of numbers unless given
    """
    put = array or (lambda _, values: values.tolist())
    if isinstance(model, Attention):
        return _head_table(model, put)
    if isinstance(model, Block):
        return _block_table(model, put)
    blocks = [_block_table(block, put) for block in model.blocks]
    return {"layers": {"dt": model.dt, "discrete": model.discrete, "blocks": blocks}}


def _head_table(head: Attention, put: Callable[[str, Array], Any]) -> Plain:
    table: Plain = {"beta": put("beta", head.beta)}
    table |= {name: put(name, M) for name in MATRIX_STREAMS if (M := getattr(head, name)) is not None}
    table["mask"] = mask_text(head.mask)
    if head.weights != "softmax":
        table["weights"] = head.weights
    if isinstance(head.position, ALiBi):
        table["alibi"] = head.position.slope
    if isinstance(head.position, RoPE):
        table["rope"] = head.position.base
    if head.frozen is not None:
        x, weight = put("frozen_x", head.frozen.x), put("frozen_weight", head.frozen.weight)
        table["frozen"] = {"x": x, "weight": weight}
    return table


def _block_table(block: Block, put: Callable[[str, Array], Any]) -> Plain:
    table: Plain = {"heads": [_head_table(head, put) for head in block.heads] or 0, "norm": block.norm}
    if block.norm == "mix":
        table["tau"] = block.tau
    if block.alpha != 1.0:
        table["alpha"] = block.alpha
    if block.radius.ndim or block.radius != 1.0:
        table["radius"] = put("radius", block.radius)
    if block.noise is not None:
        table["noise"] = block.noise
    if block.exclude_self:
        table["exclude_self"] = True
    mlp = block.mlp
    if isinstance(mlp, Potential):
        table["mlp"] = {"omega": put("omega", mlp.omega), "a": put("a", mlp.a), "activation": mlp.activation}
    elif isinstance(mlp, MLP):
        arrays = {name: put(name, getattr(mlp, name)) for name in ("W", "a", "b")}
        table["mlp"] = {**arrays, "activation": mlp.activation}
    elif mlp is not None:
        raise InputError(
            f"The MLP is a function of your own, {getattr(mlp, '__name__', type(mlp).__name__)}, which cannot be"
            " written down. Keep its code, and store the run with an MLP or a Potential, or only its tokens."
        )
    return table
