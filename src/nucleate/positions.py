"""Positions of tokens in the sequence, where they count: ALiBi and RoPE, in NumPy.

Token k = 0 .. n-1 scores token j by

    ALiBi   beta <Q x_k, K x_j> - m |k - j|            (Press, Smith, Lewis, 2108.12409)
    RoPE    beta <R_k Q x_k, R_j K x_j>                (Su et al., 2104.09864)

with m the slope, and R_k the rotation of the planes of coordinates (2i, 2i+1) by the angles k base^(-2i/d).
"""

from dataclasses import dataclass

import numpy as np

from nucleate.checks import Array, InputError, finite_number

__all__ = ["ALiBi", "RoPE"]


@dataclass(frozen=True)
class ALiBi:
    """Scores fall by `slope` for every place between two tokens."""

    slope: float

    def __post_init__(self) -> None:
        help = "Near tokens count more; 0 switches it off."
        object.__setattr__(self, "slope", finite_number("ALiBi slope", self.slope, least=0.0, help=help))

    def bias(self, n: int) -> Array:
        """What is added to the scores of n tokens, (n, n)."""
        k, j = np.arange(n)[:, None], np.arange(n)[None, :]
        return -self.slope * np.abs(k - j)


@dataclass(frozen=True)
class RoPE:
    """Queries and keys are rotated by their place, plane by plane; the dimension must be even."""

    base: float = 10_000.0

    def __post_init__(self) -> None:
        help = "10000 is usual."
        object.__setattr__(self, "base", finite_number("RoPE base", self.base, above=0.0, help=help))

    def angles(self, n: int, d: int) -> Array:
        """The angle by which token k turns plane i, (n, d/2)."""
        return np.arange(n)[:, None] * self.base ** (-2.0 * np.arange(d // 2) / d)

    def rotate(self, q: Array) -> Array:
        """R_k q_k for every token: q (..., n, d) -> (..., n, d)."""
        n, d = q.shape[-2:]
        angle = self.angles(n, d)  # (n, d/2)
        cosine, sine = np.cos(angle), np.sin(angle)
        even, odd = q[..., 0::2], q[..., 1::2]  # (..., n, d/2)
        turned = np.stack(
            [even * cosine - odd * sine, even * sine + odd * cosine], axis=-1
        )  # (..., n, d/2, 2)
        return turned.reshape(q.shape)

    def check_dimension(self, d: int) -> None:
        """Refuse odd dimensions."""
        if d % 2:
            raise InputError(
                f"RoPE turns planes, but d is {d}, which is odd. Use an even dimension, or ALiBi."
            )
