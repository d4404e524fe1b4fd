"""From tensors to the weights of one layer, head by head, whatever way a file stores them."""

from typing import Any

from nucleate.checks import InputError
from nucleate.models.forward.layer_weights import LayerWeights
from nucleate.models.forward.norms import Floats, Norm
from nucleate.models.forward.settings import Parts
from nucleate.models.forward.tensors import Tensors

__all__ = ["check_layers", "read_layer"]


def check_layers(tensors: Tensors, parts: Parts) -> None:
    """Every layer has the tensors of the first, so that none lacks a bias, and they have the right shapes."""
    places = [parts.plan.prefix + parts.plan.mapping.place(layer) for layer in parts.plan.layers]
    own: list[set[str]] = [
        {name.removeprefix(place) for name in tensors.weights.shapes if name.startswith(place)}
        for place in places
    ]
    used = {name for name in own[0] if _read_from(name, parts)}
    for place, names in zip(places, own, strict=True):
        if missing := sorted(used ^ {name for name in names if _read_from(name, parts)}):
            raise InputError(
                f"Only some layers have a tensor {missing[0]}, as seen at {place.rstrip('.')}. Are all files"
                " of the model there?"
            )
    for place in places:
        for name, shape in _shapes(parts).items():
            tensors.check(place + name, shape)


def _shapes(parts: Parts) -> dict[str, tuple[int, ...]]:
    """The shapes of what the plan of the attention has not checked already."""
    own, s = parts.architecture, parts.settings
    shapes: dict[str, tuple[int, ...]] = {own.down: (s.d, s.d_mlp), own.up: (s.d_mlp, s.d)}
    shapes |= {own.gate: (s.d_mlp, s.d)} if own.gate else {}
    if parts.plan.mapping.transposed:
        shapes = {name: shape[::-1] for name, shape in shapes.items()}
    norms = (own.of_attention, own.after_attention, own.before_mlp, own.of_mlp)
    shapes |= {name: (s.d,) for name in norms if name}
    return shapes | {name: (s.d_head,) for name in (own.query_norm, own.key_norm) if name}


def _read_from(name: str, parts: Parts) -> bool:
    """Whether a tensor of a layer is one that is read, or its bias."""
    known = {*parts.plan.mapping.tensors, *_shapes(parts)}
    return name in known or name.removesuffix("bias") + "weight" in known


def read_layer(tensors: Tensors, parts: Parts, i: int, dtype: Any) -> LayerWeights:
    """The weights of the i-th pass."""
    own, plan, s = parts.architecture, parts.plan, parts.settings
    m = plan.mapping
    place = plan.prefix + m.place(plan.layers[parts.order[i]])

    def matrix(name: str, rows: int, columns: int) -> Floats:
        if m.transposed:
            return tensors.get(place + name, (columns, rows), dtype).T
        return tensors.get(place + name, (rows, columns), dtype)

    def bias(name: str, size: int) -> Floats | None:
        return tensors.bias(place + name, size, dtype)

    def norm(name: str, size: int = s.d) -> Norm | None:
        if not name:
            return None
        return tensors.norm(place + name, size, m.gain == "1+w", m.centred, s.eps, dtype)

    H, d, d_head = s.heads, s.d, s.d_head
    q, k, v, biases = _heads(matrix, bias, parts)
    o = matrix(m.output, d, H * d_head).reshape(d, H, d_head).transpose(1, 0, 2)  # (H, d, d_head)
    return LayerWeights(
        q=q,
        k=k,
        v=v,
        o=o,
        q_bias=biases[0],
        k_bias=biases[1],
        v_bias=biases[2],
        o_bias=bias(m.output, d),
        up=matrix(own.up, s.d_mlp, d),
        up_bias=bias(own.up, s.d_mlp),
        down=matrix(own.down, d, s.d_mlp),
        down_bias=bias(own.down, d),
        gate=matrix(own.gate, s.d_mlp, d) if own.gate else None,
        gate_bias=bias(own.gate, s.d_mlp) if own.gate else None,
        q_norm=norm(own.query_norm, d_head),
        k_norm=norm(own.key_norm, d_head),
        before_attention=None if plan.post_norm else norm(m.norm),
        of_attention=norm(own.of_attention),
        after_attention=norm(own.after_attention),
        before_mlp=norm(own.before_mlp),
        of_mlp=norm(own.of_mlp),
        after_mlp=norm(m.norm) if plan.post_norm else None,
    )


def _heads(matrix: Any, bias: Any, parts: Parts) -> tuple[Floats, Floats, Floats, list[Floats | None]]:
    """W_Q, W_K, W_V by heads, and their biases."""
    s, m = parts.settings, parts.plan.mapping
    H, KV, d, d_head = s.heads, s.kv_heads, s.d, s.d_head
    sizes = {"query": H, "key": KV, "value": KV}
    if not m.fused:
        W = [
            matrix(getattr(m, key), heads * d_head, d).reshape(heads, d_head, d)
            for key, heads in sizes.items()
        ]
        b = [bias(getattr(m, key), heads * d_head) for key, heads in sizes.items()]
    else:
        all_heads = H + 2 * KV
        stored = matrix(m.fused, all_heads * d_head, d).reshape(all_heads, d_head, d)
        stored_bias = bias(m.fused, all_heads * d_head)
        picked = _places(H, KV, m.order)
        W = [stored[at] for at in picked]  # (heads, d_head, d)
        b = [None if stored_bias is None else stored_bias.reshape(-1, d_head)[at] for at in picked]
    shaped = [None if one is None else one.reshape(-1, d_head) for one in b]
    if parts.architecture.interleaved:
        W[:2] = [_neighbours_apart(one) for one in W[:2]]
        shaped[:2] = [None if one is None else _neighbours_apart(one) for one in shaped[:2]]
    return W[0], W[1], W[2], shaped


def _places(H: int, KV: int, order: str) -> list[Any]:
    """Where queries, keys and values of all heads stand in a fused matrix, in units of d_head rows."""
    if order == "blocks":
        return [slice(0, H), slice(H, H + KV), slice(H + KV, H + 2 * KV)]
    group = H // KV  # queries of a group, then its key and its value
    return [
        [h // group * (group + 2) + h % group for h in range(H)],
        slice(group, None, group + 2),
        slice(group + 1, None, group + 2),
    ]


def _neighbours_apart(W: Floats) -> Floats:
    """Rows of each head in the order in which RoPE turns row i with row i + d_head / 2; stored, it is row 2i
    with row 2i + 1.  W (heads, d_head, ...)."""
    heads, d_head, *rest = W.shape
    return W.reshape(heads, d_head // 2, 2, *rest).swapaxes(1, 2).reshape(W.shape)
