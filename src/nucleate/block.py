"""A block of a transformer, in NumPy: several heads, an MLP, a norm, noise.

    A_k = sum_h A_k^h + u(x_k),      theta_k' = P A_k / s_k   (+ noise),

A^h the output of head h (`attention.py`), u the MLP (`mlp.py`), s the norm's (`norms.py`).  With exclude_self
each head's output loses its part along v = V x_k, its own value: A^h - <A^h, v> v / |v|^2 (XSA, 2603.09078).
The compiled forms are tested against `block_drift`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nucleate.attention import Attention, attend, check_model
from nucleate.checks import (
    Array,
    InputError,
    check_tokens,
    finite_array,
    finite_number,
    shortened,
    true_or_false,
)
from nucleate.mlp import MLP, Potential, mlp_output
from nucleate.norms import NORMS, Norm, rates

__all__ = ["Block", "block_drift", "block_output", "block_rates"]


def block_drift(block: "Block", x: Array, t: float = 0.0) -> Array:
    """theta' of every token x (..., n, d) at time t, all with the radius they start with."""
    return block_rates(block, x, block.radii(x.shape[-2]), t)[0]


def block_rates(block: "Block", x: Array, r: Array, t: float = 0.0) -> tuple[Array, Array]:
    """theta' (..., n, d) and r' (..., n) of tokens of directions x (..., n, d) and lengths r (..., n)."""
    A = block_output(block, x)  # (..., n, d)
    velocity, growth = rates(block.norm, x, r[..., None], A, t, block.tau, block.alpha)
    return velocity, growth[..., 0]


def block_output(block: "Block", x: Array) -> Array:
    """A_k, what the block adds to every token, x (..., n, d) -> (..., n, d)."""
    A = np.zeros(x.shape)  # (..., n, d)
    for head in block.heads:
        out = attend(head, x)  # (..., n, d)
        if block.exclude_self:
            v = x if head.V is None else x @ head.V.mT  # (..., n, d)
            square = (v * v).sum(-1, keepdims=True)  # (..., n, 1)
            along = (out * v).sum(-1, keepdims=True)  # (..., n, 1)
            out = out - np.divide(along, square, out=np.zeros_like(along), where=square > 0.0) * v
        A = A + out
    return A if block.mlp is None else A + mlp_output(block.mlp, x)


@dataclass(frozen=True, eq=False)
class Block:
    """Heads, an MLP, a norm and noise: what one layer of a transformer does to its tokens.

    heads         one Attention or several, whose outputs are added; none at all with an MLP alone
    mlp           an MLP, a Potential, or a function f(x, out) of one's own that adds to out (n, d)
    norm          "post", "pre", "mix" (needs tau), "peri", "ngpt" (alpha) or "sqrt": see `nucleate.norms`
    noise         kappa: dx = drift dt + sqrt(2 / kappa) dW on the sphere, with norm "post"; None for none
    exclude_self  each head's output loses its part along the token's own value (XSA)
    radius        the lengths that tokens start with, one number or one per token, under "pre" and "peri"
    """

    heads: tuple[Attention, ...]
    mlp: Any  # MLP | Potential | Callable[[Array, Array], None] | None
    norm: Norm
    noise: float | None
    exclude_self: bool
    tau: float
    alpha: float
    radius: Array  # () or (n,)

    def __init__(
        self,
        heads: Attention | Iterable[Attention] = (),
        mlp: MLP | Potential | Callable[[Array, Array], None] | None = None,
        norm: Norm = "post",
        noise: float | None = None,
        exclude_self: bool = False,
        *,
        tau: float | None = None,
        alpha: float = 1.0,
        radius: ArrayLike = 1.0,
    ) -> None:
        try:
            heads = (heads,) if isinstance(heads, Attention) else tuple(heads)
        except Exception:  # objects may raise anything when asked for their parts
            raise InputError(f"heads must be an Attention or several, but is {shortened(heads)}.") from None
        for head in heads:
            check_model(head)
        if not (mlp is None or isinstance(mlp, MLP | Potential) or callable(mlp)):
            raise InputError(
                f"mlp must be an MLP, a Potential or a function of (x, out), but is {shortened(mlp)}."
            )
        if not heads and mlp is None:
            raise InputError(
                "A Block needs a head or an MLP, but has neither. Give nucleate.Attention(beta=9.0)."
            )
        if not (isinstance(norm, str) and norm in NORMS):
            raise InputError(f"norm must be one of {', '.join(NORMS)}, but is {shortened(norm)}.")
        if norm == "mix" and tau is None:
            raise InputError(
                'norm "mix" changes from post to pre at the time tau, but tau is missing. Give tau=5.0.'
            )
        if norm != "mix" and tau is not None:
            raise InputError(f'tau belongs to norm "mix", but norm is "{norm}". Leave tau out.')
        if noise is not None:
            noise = finite_number(
                "noise", noise, above=0.0, help="It is kappa: larger is quieter, None is none."
            )
            if norm != "post":
                raise InputError(f'noise needs norm "post", but norm is "{norm}". Leave one of the two out.')
        alpha = finite_number("alpha", alpha, above=0.0, help="It is the step of nGPT towards its target.")
        radius = finite_array("radius", radius)
        if radius.ndim > 1 or radius.size == 0 or not (radius > 0.0).all():
            raise InputError(
                "radius must be positive, one number or one per token, but is"
                f" {shortened(radius.tolist())}. A token of length zero has no direction."
            )
        if norm not in ("pre", "peri") and (radius != 1.0).any():
            raise InputError(
                f'norm "{norm}" starts all tokens at length 1, but radius is given. Use "pre" or "peri".'
            )
        radius = radius.copy()
        radius.flags.writeable = False
        values = {
            "heads": heads,
            "mlp": mlp,
            "norm": norm,
            "noise": noise,
            "exclude_self": true_or_false("exclude_self", exclude_self),
            "tau": 0.0 if tau is None else finite_number("tau", tau, least=0.0, help="It is a time."),
            "alpha": alpha,
            "radius": radius,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        self._agree()

    @property
    def runs(self) -> int | None:
        """The length of the leading run axis of the heads' parameters, or None where none carries one."""
        return next((head.runs for head in self.heads if head.runs is not None), None)

    @property
    def has_radius(self) -> bool:
        """Whether the lengths of tokens are part of the state, at some time."""
        return self.norm in ("pre", "peri", "mix")

    @property
    def alone(self) -> Attention | None:
        """The head, where the block is nothing but that head."""
        plain = self.mlp is None and self.norm == "post" and self.noise is None and not self.exclude_self
        return self.heads[0] if plain and len(self.heads) == 1 else None

    def radii(self, n: int) -> Array:
        """The lengths that n tokens start with, (n,)."""
        return np.broadcast_to(self.radius, n)

    def check(self, x: ArrayLike, lengths: bool = True) -> Array:
        """x as tokens this block can move, as `Attention.check`."""
        x = self.heads[0].check(x, lengths) if self.heads else check_tokens("x", x, lengths)
        for head in self.heads[1:]:
            head.check(x, lengths=False)
        if isinstance(self.mlp, MLP | Potential) and self.mlp.d != x.shape[-1]:
            raise InputError(
                f"The MLP acts on dimension {self.mlp.d}, but x has shape {x.shape}. Both must agree."
            )
        if self.radius.ndim and len(self.radius) != x.shape[-2]:
            raise InputError(f"radius has {len(self.radius)} numbers, but x has {x.shape[-2]} tokens.")
        return x

    def _agree(self) -> None:
        for what, sizes in (
            ("dimension", [d for head in self.heads for d in head._dimensions().values()]),
            ("number of runs", [head.runs for head in self.heads if head.runs is not None]),
        ):
            if len(set(sizes)) > 1:
                raise InputError(
                    f"All heads of a Block must have the same {what}, but have {sorted(set(sizes))}. Give"
                    " them matrices of one size."
                )
