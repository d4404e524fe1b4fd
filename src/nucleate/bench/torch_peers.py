"""What people do with torch: its attention on the processor; on a card Euler steps, and attention as a
product, an exponential, a product."""

from collections.abc import Callable
from typing import Any

import numpy as np

from nucleate.bench.peers import Missing
from nucleate.checks import Array

__all__ = ["torch_attention", "torch_euler", "torch_products", "torch_sdpa"]

ROWS_AT_ONCE = 4096  # of the table of weights


def torch_attention(x: Array, beta: float) -> Callable[[], Array]:
    """The velocities of x (n, d) or (b, n, d) on the processor in double precision, by
    `scaled_dot_product_attention`, which stores no table."""
    torch = _torch(card=False)
    there = torch.tensor(x, dtype=torch.float64)
    heads = there[None, None] if x.ndim == 2 else there[:, None]  # (b, 1, n, d)

    def call() -> Array:
        mean = torch.nn.functional.scaled_dot_product_attention(
            heads, heads, heads, is_causal=True, scale=beta
        )
        return np.asarray((mean - (heads * mean).sum(-1, keepdim=True) * heads).numpy().reshape(x.shape))

    return call


def torch_euler(x: Array, beta: float, t: float, dt: float) -> Callable[[], Array]:
    """The script of the field: x (b, n, d), steps of dt in single precision, back onto the sphere after
    each; the tokens at time t."""
    torch = _torch()
    there = torch.tensor(x, device="cuda", dtype=torch.float32)
    sees = torch.ones(x.shape[1], x.shape[1], device="cuda", dtype=torch.bool).tril()

    def call() -> Array:
        x = there.clone()
        for _ in range(round(t / dt)):
            scores = (beta * x @ x.transpose(1, 2)).masked_fill(~sees, -torch.inf)  # (b, n, n)
            mean = scores.softmax(-1) @ x  # (b, n, d)
            x = x + dt * (mean - (x * mean).sum(-1, keepdim=True) * x)
            x = x / x.norm(dim=-1, keepdim=True)
        return np.asarray(x.double().cpu().numpy())

    return call


def torch_products(x: Array, beta: float) -> Callable[[], object]:
    """The velocities of x (n, d) in double precision: blocks of rows against the columns up to their end."""
    torch = _torch()
    there = torch.tensor(x, device="cuda", dtype=torch.float64)

    def call() -> object:
        means = []
        for first in range(0, len(x), ROWS_AT_ONCE):
            rows = there[first : first + ROWS_AT_ONCE]
            seen = there[: first + len(rows)]
            w = torch.exp(beta * (rows @ seen.T) - beta).tril(first)
            means.append((w @ seen) / w.sum(1, keepdim=True))
        mean = torch.cat(means)
        velocity = mean - (there * mean).sum(1, keepdim=True) * there
        torch.cuda.synchronize()
        return velocity

    return call


def torch_sdpa(x: Array, beta: float) -> Callable[[], object]:
    """The same in single precision by `scaled_dot_product_attention`, which stores no table."""
    torch = _torch()
    there = torch.tensor(x, device="cuda", dtype=torch.float32)[None, None]

    def call() -> object:
        mean = torch.nn.functional.scaled_dot_product_attention(
            there, there, there, is_causal=True, scale=beta
        )
        velocity = mean - (there * mean).sum(-1, keepdim=True) * there
        torch.cuda.synchronize()
        return velocity

    return call


def _torch(card: bool = True) -> Any:
    """torch, if it is here and, where asked for, has a card."""
    try:
        import torch
    except ImportError:
        raise Missing("pip install torch") from None
    if card and not torch.cuda.is_available():
        raise Missing("pip install torch, with CUDA")
    return torch
