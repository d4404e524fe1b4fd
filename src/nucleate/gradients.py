"""The velocities of `attention.py` and `block.py` once more, for libraries that differentiate.

    dx_k/dt = P_{x_k}( (1/Z_k) sum_j exp(beta <Q x_k, K x_j>) V x_j )

Written once, for a `Library`; `nucleate/jax.py` and `nucleate/torch.py` hand in theirs.  Model and shapes are
fixed while a function is traced, tokens and parameters are not: one may differentiate by both.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nucleate.attention import Attention
from nucleate.block import Block
from nucleate.checks import InputError, shortened
from nucleate.mlp import MLP, Potential
from nucleate.norms import has_radius
from nucleate.positions import ALiBi, RoPE

__all__ = ["Library", "velocity"]

Parameters = Mapping[str, Any]
HEAD_PARAMETERS = ("beta", "Q", "K", "V")
MLP_PARAMETERS = ("W", "a", "b")


@dataclass(frozen=True)
class Library:
    """What the equation needs of a library of arrays."""

    xp: Any  # exp, where, amax and so on, under NumPy's names
    put: Callable[[Any, Any], Any]  # put(value, x): an array of the type of x, where x lies
    erf: Callable[[Any], Any]


def velocity(library: Library, model: Attention | Block, x: Any, given: Parameters | None, t: Any) -> Any:
    """The velocity of every token, x (..., n, d) -> (..., n, d); `given` stands in for parameters."""
    if not isinstance(model, Attention | Block):
        raise InputError(
            f"model must be an Attention or a Block, but is {type(model).__name__}. Of Layers take one block"
            " at a time: layers.blocks[i]."
        )
    if getattr(x, "ndim", 0) < 2:
        raise InputError(f"x must have shape (..., n, d), but is {shortened(x)}.")
    if "float" not in str(x.dtype):
        raise InputError(f"x must hold real numbers, but is of type {x.dtype}. Convert it to floating point.")
    model.check(np.ones(tuple(x.shape[-2:])), lengths=False)
    given = {} if given is None else given
    if isinstance(model, Attention):
        return _tangent(x, _attend(library, model, x, _known("parameters", given, HEAD_PARAMETERS)))
    A = _block_output(library, model, x, _known("parameters", given, ("heads", "mlp")))  # (..., n, d)
    s = _scale(library, model, A, t)  # (..., n, 1)
    there = s > 0.0  # a token to which nothing is added stays where it is
    return _tangent(x, library.xp.where(there, A / library.xp.where(there, s, 1.0), 0.0))  # (..., n, d)


def _tangent(x: Any, y: Any) -> Any:
    return y - (x * y).sum(-1, keepdims=True) * x  # (..., n, d)


def _attend(library: Library, model: Attention, x: Any, given: Parameters, name: str = "parameters") -> Any:
    """The output of one head for every token, (..., n, d); as `attend` in attention.py, line by line."""
    xp, (n, d) = library.xp, x.shape[-2:]
    own = dict(
        zip(HEAD_PARAMETERS, model.parameters(d), strict=True)
    )  # beta (..., 1, 1), matrices (..., d, d)
    beta, Q, K, V = (library.put(given.get(name, own[name]), x) for name in HEAD_PARAMETERS)
    if "beta" in given:
        beta = beta[..., None, None]  # (..., 1, 1)
    square = {key: (M.shape, (d, d)) for key, M in (("Q", Q), ("K", K), ("V", V))}
    _check_shapes(name, x, {"beta": (beta.shape[:-2], ()), **square})
    y, a, sees = _context(library, model, x)  # (..., m+n, d) frozen tokens first, (..., 1, m+n), (n, m+n)
    q, k = x @ Q.mT, y @ K.mT  # (..., n, d), (..., m+n, d)
    if isinstance(model.position, RoPE):
        q, k = _rotate(library, model.position, q), _rotate(library, model.position, k)
    s = beta * (q @ k.mT)  # (..., n, m+n)
    p = np.where(sees, 0.0, -np.inf)  # (n, m+n)
    if isinstance(model.position, ALiBi):
        p = p + model.position.bias(n)
    if model.weights == "hardmax":
        w = _hardmax(library, s + library.put(p, x))  # (..., n, n)
    elif model.weights == "exponential":
        p = a * library.put(np.exp(p), x)  # (..., n, m+n)
        w = p * xp.exp(s) / p.sum(-1, keepdims=True)  # (..., n, m+n)
    else:
        s = s + library.put(p, x)
        w = a * xp.exp(s - xp.amax(s, -1, keepdims=True))  # (..., n, m+n)
        w = w / w.sum(-1, keepdims=True)  # w_kj / Z_k
    return (w @ y) @ V.mT  # (..., n, d)


def _context(library: Library, model: Attention, x: Any) -> tuple[Any, Any, Any]:
    """`Attention.context`: what it says of who sees whom holds for any tokens of this number."""
    n, d = x.shape[-2:]
    _, a, sees = model.context(np.zeros((n, d)))
    a = library.put(a, x)  # (..., 1, m+n)
    if model.frozen is None:
        return x, a, sees
    xi = library.put(model.frozen.x, x)  # (..., m, d)
    lead = np.broadcast_shapes(tuple(x.shape[:-2]), tuple(xi.shape[:-2]))
    both = [library.xp.broadcast_to(one, (*lead, *one.shape[-2:])) for one in (xi, x)]
    return library.xp.concatenate(both, axis=-2), a, sees


def _hardmax(library: Library, s: Any) -> Any:
    """Weights of the highest scores, (..., n, n), which have no gradient: small changes leave them."""
    xp, own = library.xp, library.put(np.eye(s.shape[-1]), s) > 0.5
    s = xp.where(own, -np.inf, s)
    w = xp.where((s == xp.amax(s, -1, keepdims=True)) & (s > -np.inf), xp.ones_like(s), 0.0)
    total = w.sum(-1, keepdims=True)  # (..., n, 1)
    return w / xp.where(total > 0.0, total, 1.0)


def _rotate(library: Library, position: RoPE, q: Any) -> Any:
    angle = position.angles(*q.shape[-2:])  # (n, d/2)
    cosine, sine = library.put(np.cos(angle), q), library.put(np.sin(angle), q)
    even, odd = q[..., 0::2], q[..., 1::2]  # (..., n, d/2)
    turned = library.xp.stack(
        [even * cosine - odd * sine, even * sine + odd * cosine], -1
    )  # (..., n, d/2, 2)
    return turned.reshape(q.shape)


def _block_output(library: Library, block: Block, x: Any, given: Parameters) -> Any:
    """A_k, what the block adds to every token, (..., n, d); as `block_output` in block.py."""
    of_heads = given.get("heads", [{}] * len(block.heads))
    if not isinstance(of_heads, Sequence) or len(of_heads) != len(block.heads):
        raise InputError(
            f'parameters["heads"] must have one entry for each of {len(block.heads)} heads, but is'
            f" {shortened(of_heads)}. An empty one, {{}}, leaves a head as it is."
        )
    A = library.xp.zeros_like(x)  # (..., n, d)
    for i, (head, of_head) in enumerate(zip(block.heads, of_heads, strict=True)):
        name = f'parameters["heads"][{i}]'
        known = _known(name, of_head, HEAD_PARAMETERS)
        out = _attend(library, head, x, known, name)  # (..., n, d)
        if block.exclude_self:
            v = x @ library.put(known.get("V", head.parameters(x.shape[-1])[3]), x).mT  # (..., n, d)
            square = (v * v).sum(-1, keepdims=True)  # (..., n, 1)
            along = (out * v).sum(-1, keepdims=True) / library.xp.where(square > 0.0, square, 1.0)
            out = out - along * v
        A = A + out
    of_mlp = _known('parameters["mlp"]', given.get("mlp", {}), MLP_PARAMETERS)
    if block.mlp is not None:
        return A + _mlp(library, block.mlp, x, of_mlp)
    if of_mlp:
        raise InputError(
            f'parameters["mlp"] has {", ".join(of_mlp)}, but the block has no MLP. Give it one,'
            " Block(heads, MLP(W, a)), or leave these out."
        )
    return A


def _mlp(library: Library, mlp: Any, x: Any, known: Parameters) -> Any:
    """W sigma(a x + b) of every token, (..., n, d)."""
    if not isinstance(mlp, MLP | Potential):
        raise InputError(
            "A term of one's own is a function for Numba, which these libraries cannot differentiate. Add it"
            " to the velocity yourself, or use an MLP."
        )
    W, a, b = (library.put(known.get(name, getattr(mlp, name)), x) for name in MLP_PARAMETERS)
    d, m = x.shape[-1], W.shape[-1] if W.ndim else 1
    _check_shapes(
        'parameters["mlp"]', x, {"W": (W.shape, (d, m)), "a": (a.shape, (m, d)), "b": (b.shape, (m,))}
    )
    z, xp = x @ a.mT + b[..., None, :], library.xp  # (..., n, m)
    if mlp.activation == "relu":
        z = xp.where(z > 0.0, z, 0.0)
    elif mlp.activation == "gelu":
        z = 0.5 * z * (1.0 + library.erf(z / 2.0**0.5))
    elif mlp.activation == "silu":
        z = z * 0.5 * (1.0 + xp.tanh(0.5 * z))
    elif mlp.activation == "tanh":
        z = xp.tanh(z)
    return z @ W.mT  # (..., n, d)


def _scale(library: Library, block: Block, A: Any, t: Any) -> Any:
    """s_k (..., n, 1) of norms.py, tokens with the lengths they start with."""
    xp, ones = library.xp, library.xp.ones_like(A[..., :1])
    r = library.put(block.radii(A.shape[-2])[:, None], A)  # (n, 1)
    square = (A * A).sum(-1, keepdims=True)  # (..., n, 1)
    there = square > 0.0  # the square root of 0 has no gradient
    length = xp.where(there, xp.sqrt(xp.where(there, square, 1.0)), 0.0)
    if block.norm == "peri":
        return r * length
    if block.norm == "ngpt":
        return length / block.alpha
    if block.norm == "sqrt":
        return ones * xp.sqrt(library.put(t, A) + 1.0)
    if block.norm == "mix":
        return xp.where(library.put(t, A) >= block.tau, r * ones, ones)
    return r * ones if has_radius(block.norm) else ones


def _check_shapes(name: str, x: Any, shapes: Mapping[str, tuple[Any, tuple[int, ...]]]) -> None:
    """Refuse a parameter whose shape does not end as it should, or whose runs, the axes before, do not go
    with those of x and of the parameters above it."""
    lead = tuple(x.shape[:-2])
    for key, (shape, end) in shapes.items():
        runs = tuple(shape[: len(shape) - len(end)]) if len(shape) >= len(end) else ()
        try:
            both = np.broadcast_shapes(lead, runs)
        except ValueError:
            both = None
        if both is None or tuple(shape) != (*runs, *end):
            raise InputError(
                f'{name}["{key}"] must have shape {end}{f", or {(*lead, *end)}" if lead else ""}, but has'
                f" {tuple(shape)}. The tokens have {tuple(x.shape)}."
            )
        lead = both


def _known(name: str, given: object, names: tuple[str, ...]) -> Parameters:
    """`given`, a mapping whose keys are among these names."""
    if not isinstance(given, Mapping):
        raise InputError(
            f"{name} must be a dict, but is {type(given).__name__}. Give {{{names[-1]!r}: ...}}."
        )
    if unknown := [key for key in given if key not in names]:
        raise InputError(f"{name} may have {', '.join(names)}, but has {shortened(unknown[0])}.")
    return given
