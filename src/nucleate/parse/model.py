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

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from nucleate.attention import Attention, Frozen, Window
from nucleate.block import Block
from nucleate.checks import Array, InputError, check_memory
from nucleate.layers import Layers, Model
from nucleate.mlp import MLP, Potential
from nucleate.parse.mask import mask_text, parse_mask
from nucleate.parse.matrix import as_array
from nucleate.parse.model_keys import HEAD_KEYS, Plain, check_layers, plain_model
from nucleate.parse.random_matrices import drawn
from nucleate.positions import ALiBi, RoPE

__all__ = ["MATRIX_STREAMS", "Draw", "build_model", "draw_from", "model_table", "one_layer", "parse_model"]

# name, spec and place of a random matrix -> (d, d) or (b, d, d); the place is (layer, head), () for the first
Draw = Callable[[str, Plain, tuple[int, ...]], Array | None]

MATRIX_STREAMS = {"Q": 1, "K": 2, "V": 3}  # the child of a run's stream that each is drawn from


def parse_model(table: Mapping[str, Any], d: int, draw: Draw | None = None, where: str = "model") -> Model:
    """The model that a table stands for, in dimension d; `draw` draws its random matrices."""
    return build_model(plain_model(where, table), d, draw)


def build_model(plain: Mapping[str, Any], d: int, draw: Draw | None = None) -> Model:
    """The model of a plain table."""
    layers = plain.get("layers")
    if layers is None:
        block = _block(plain, d, draw, 0)
        return block.alone or block
    check_layers("layers", layers)
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


def draw_from(d: int, stream: Callable[..., Iterable[np.random.SeedSequence]]) -> Draw:
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
                f'{name} is given, but layers.redraw = "{kind}" draws Q, K and V. Leave {name} out, or say'
                " redraw = true and which matrices are random."
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
    # not K.mT @ Q, whose last bits depend on the machine's cores
    return np.asarray(c * np.einsum("...ji,...jk->...ik", K, Q))


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
            f"The MLP is a function of your own, {getattr(mlp, '__name__', type(mlp).__name__)}, which cannot"
            " be written down. Use an MLP or a Potential, or keep run.t and run.x with numpy.savez."
        )
    return table
