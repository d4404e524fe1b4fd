"""What makes the model of a scene more than one softmax head: a table of `nucleate.parse.model`, limited.

A scene has beta, Q, K, V and mask of its own; its `family` holds the other keys of that grammar, such as
{"weights": "exponential"}, {"norm": "pre"} or {"layers": {"count": 12, "redraw": "gaussian", "seed": 0}}.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from nucleate.attention import Attention
from nucleate.block import Block
from nucleate.checks import Array, InputError
from nucleate.explorer import limits
from nucleate.integrate.block_schedule import layer_times
from nucleate.integrate.family import as_blocks
from nucleate.integrate.noise_runs import noise_grid
from nucleate.layers import Layers, Model
from nucleate.parse.model import build_model, model_table, one_layer
from nucleate.parse.model_keys import BLOCK_KEYS, HEAD_KEYS, listed, plain_model
from nucleate.parse.validate import known_keys

__all__ = ["family_of", "family_table", "family_times", "kappa_of", "noise_step"]

OF_SCENE = ("beta", "Q", "K", "V", "mask", "window")  # keys of the grammar that a scene has itself
ALLOWED = [key for key in (*HEAD_KEYS, *BLOCK_KEYS, "layers") if key not in (*OF_SCENE, "frozen")]
DEFAULTS = {"weights": "softmax", "heads": 1, "norm": "post", "exclude_self": False}
WRITTEN_OUT = {"Q": 1.0, "K": 1.0, "V": 1.0}  # a head that says nothing would have those of the scene
MAX_TAKEN_NUMBERS = 20_000  # of the matrices of a stored model that a scene begins from
SAME_STEP = 1e-9  # a time this close to a whole number of steps is one


def family_table(value: Any, head: Mapping[str, Any], n: int, d: int, t: float) -> dict[str, Any]:
    """`value` in its normal form, without defaults; `head` is what the scene says besides.

    What does not go together, or would take too long, is refused.
    """
    if not isinstance(value, Mapping):
        raise InputError(f"family must be a table of values, but is {type(value).__name__}.")
    known_keys(value, ALLOWED, "family")
    plain = {
        key: one
        for key, one in plain_model("family", value).items()
        if not (key in DEFAULTS and type(one) is type(DEFAULTS[key]) and one == DEFAULTS[key])
    }
    if not plain:
        return {}
    _check_size(plain, n, d)
    model = build_model(one_layer({**head, **plain}), d)
    if model.runs is not None:
        raise InputError("A scene is one run, but its model has several. Give one number, or one matrix.")
    model.check(np.zeros((n, d)), lengths=False)
    layers = plain.get("layers", {})
    if isinstance(model, Layers):
        Layers(model.blocks * layers.get("count", 1), model.dt, discrete=model.discrete).check_time(t)
        if model.discrete:
            layer_times(model, np.array([t]), t)
    table = listed(plain)
    assert isinstance(table, dict)
    return table


def _check_size(plain: Mapping[str, Any], n: int, d: int) -> None:
    """Refuse more heads, layers and hidden units than the server takes upon itself."""
    layers = plain.get("layers", {})
    each = [{**plain, **one} for one in layers.get("blocks", [plain])]
    if any(_has_frozen(one) for one in each):
        raise InputError("A scene has no frozen tokens, but its family names some. Leave frozen out.")
    redraw = layers.get("redraw", False)
    if isinstance(redraw, str) and not isinstance(layers.get("seed"), int):
        raise InputError(
            f'layers.redraw is "{redraw}", but layers.seed is missing. Give seed = 0: the same seed draws the'
            " same weights."
        )
    heads = [_heads(one) for one in each]
    count = layers.get("count", len(each))
    total = sum(heads) * (count if redraw else 1)
    hidden = max(_hidden(one) for one in each)
    for what, asked, most in (
        ("heads", max(heads), limits.MAX_HEADS),
        ("layers", count, limits.MAX_LAYERS),
        ("hidden units", hidden, limits.MAX_HIDDEN),
        ("heads in all layers", total, limits.MAX_HEADS_OF_LAYERS),
        ("numbers in all matrices", 3 * total * d * d, limits.MAX_WEIGHTS),
        ("products for one velocity", max(heads) * n * n * d + 2 * n * hidden * d, limits.MAX_PRODUCTS),
    ):
        if asked > most:
            raise InputError(
                f"The explorer takes at most {most:,} {what}, but this scene has {asked:,}. Ask for fewer"
                " heads, layers, tokens or dimensions."
            )


def _heads(block: Mapping[str, Any]) -> int:
    heads = block.get("heads", 1)
    return heads if isinstance(heads, int) else len(heads)


def _has_frozen(block: Mapping[str, Any]) -> bool:
    heads = block.get("heads", 1)
    return "frozen" in block or (isinstance(heads, list) and any("frozen" in one for one in heads))


def _hidden(block: Mapping[str, Any]) -> int:
    mlp = block.get("mlp", {})
    return int(mlp.get("hidden", 0)) or max(np.shape(mlp.get("a", ())), default=0)


def kappa_of(family: Mapping[str, Any]) -> float | None:
    """The noise of a family, None without."""
    blocks = family.get("layers", {}).get("blocks", [{}])
    found: float | None = blocks[0].get("noise", family.get("noise"))
    return found


def noise_step(t: float, dt: float) -> float:
    """The longest step up to dt of which t is a whole number."""
    steps = np.ceil(t / dt * (1.0 - SAME_STEP))
    return float(t / max(steps, 1.0))


def family_times(family: Mapping[str, Any], times: Array, t: float, step: float) -> Array:
    """The times nearest to `times` (m,) at which there are frames: ends of noisy steps, or of discrete
    layers."""
    kappa, layers = kappa_of(family), family.get("layers", {})
    if kappa is not None:
        return noise_grid(kappa, times, False, False, t, step, None).times
    if layers.get("discrete", False):
        dt = layers.get("dt", 1.0)
        return np.minimum(np.unique(np.rint(times / dt)) * dt, t)
    return times


# From a model to a table


def family_of(model: Model, n: int, d: int) -> dict[str, Any] | None:
    """What a scene like this model would hold as its family; None where that is too much for a link."""
    blocks = as_blocks(model)
    each = blocks.blocks if isinstance(blocks, Layers) else (blocks,)
    if sum(3 * d * d * len(block.heads) for block in each) > MAX_TAKEN_NUMBERS:
        return None
    try:
        if isinstance(model, Attention):
            table = _beyond_head(model_table(model))
        elif isinstance(model, Block):
            table = _block(model)
        else:
            table = _layers(model)
        head = {"beta": 1.0, "mask": "causal"}
        depth = model.depth if isinstance(model, Layers) else 1.0
        return family_table(table, head, n, d, depth)
    except InputError:  # more layers, heads or hidden units than a scene has
        return None


def _beyond_head(head: Mapping[str, Any]) -> dict[str, Any]:
    return {key: one for key, one in head.items() if key not in (*OF_SCENE, "frozen")}


def _block(block: Block) -> dict[str, Any]:
    """One head's own matrices are those of the scene; several are written out."""
    table = model_table(block)
    heads = table.pop("heads")
    if not heads:
        return {**table, "heads": 0}
    if len(heads) == 1:
        return {**table, **_beyond_head(heads[0])}
    return {**table, "heads": _written_out(heads)}


def _written_out(heads: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**WRITTEN_OUT, **{key: one for key, one in head.items() if key != "frozen"}} for head in heads]


def _layers(model: Layers) -> dict[str, Any]:
    """One block and how often, or all of them."""
    how = {"dt": model.dt, "discrete": model.discrete}
    tables = [model_table(block) for block in model.blocks]
    if all(table == tables[0] for table in tables):
        return {**_block(model.blocks[0]), "layers": {**how, "count": len(tables)}}
    written = [{**table, "heads": _written_out(table["heads"]) if table["heads"] else 0} for table in tables]
    return {"layers": {**how, "blocks": written}}
