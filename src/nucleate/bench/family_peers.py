"""The family as people write it today: one function of JAX under diffrax, and Euler steps in torch."""

from collections.abc import Callable
from typing import Any

import numpy as np

from nucleate.attention import Attention
from nucleate.bench.peers import Missing, diffrax_runs, load_jax
from nucleate.block import Block
from nucleate.checks import Array
from nucleate.layers import Layers
from nucleate.positions import ALiBi, RoPE

__all__ = ["diffrax_block", "torch_euler_layers"]


def diffrax_block(block: Block, x: Array, times: Array, rtol: float, atol: float) -> Callable[[], Array]:
    """Tsit5 under jax.vmap: x (b, n, d) at time 0 -> directions (b, m, n, d) at `times`.  All heads alike but
    for Q, K and V; norm "post" or "pre"; a ReLU MLP or none."""
    jax, jnp = load_jax()
    n, d = x.shape[-2:]
    head, free = block.heads[0], block.norm == "pre"
    Q, K, V = (jnp.stack([_matrix(one, name, d) for one in block.heads]) for name in ("Q", "K", "V"))
    beta, causal = float(head.beta), head.mask == "causal"
    sees = jnp.tril(jnp.ones((n, n), dtype=bool)) if causal else jnp.ones((n, n), dtype=bool)
    bias = head.position.bias(n) if isinstance(head.position, ALiBi) else np.zeros((n, n))
    turn = _rotations(head.position, n, d) if isinstance(head.position, RoPE) else None
    mlp = block.mlp

    def velocity(_: Any, y: Any, __: Any) -> Any:
        x = y / jnp.linalg.norm(y, axis=-1, keepdims=True)  # (n, d)
        q, k = jnp.einsum("hij,nj->hni", Q, x), jnp.einsum("hij,nj->hni", K, x)  # (h, n, d)
        if turn is not None:
            q, k = jnp.einsum("nij,hnj->hni", turn, q), jnp.einsum("nij,hnj->hni", turn, k)
        scores = jnp.where(sees, beta * jnp.einsum("hni,hmi->hnm", q, k) + bias, -jnp.inf)  # (h, n, n)
        if head.weights == "exponential":
            w = jnp.exp(scores) / jnp.where(sees, jnp.exp(bias), 0.0).sum(-1, keepdims=True)
        else:
            w = jax.nn.softmax(scores, axis=-1)
        A = jnp.einsum("hnm,mj,hij->ni", w, x, V)  # (n, d)
        if mlp is not None:
            A = A + jnp.maximum(x @ mlp.a.T + mlp.b, 0.0) @ mlp.W.T
        return A if free else A - (x * A).sum(-1, keepdims=True) * x

    solve = diffrax_runs(velocity, x, times, rtol, atol)

    def call() -> Array:
        y = solve()
        return np.asarray(y / np.linalg.norm(y, axis=-1, keepdims=True))

    return call


def torch_euler_layers(layers: Layers, x: Array, dt: float) -> Callable[[], Array]:
    """x (b, n, d) through all layers by steps of dt in single precision, back onto the sphere after each."""
    try:
        import torch
    except ImportError:
        raise Missing("pip install torch") from None
    d = x.shape[-1]
    n = x.shape[-2]
    there = torch.tensor(x, dtype=torch.float32)
    hidden = torch.ones(n, n, dtype=torch.bool).triu(1)
    weights = [
        [
            torch.tensor(np.stack([_matrix(head, name, d) for head in block.heads]), dtype=torch.float32)
            for name in ("Q", "K", "V")
        ]
        for block in layers.blocks
    ]
    beta = float(layers.blocks[0].heads[0].beta)
    causal = layers.blocks[0].heads[0].mask == "causal"

    def call() -> Array:
        x = there
        for Q, K, V in weights:
            for _ in range(round(layers.dt / dt)):
                q, k, v = (torch.einsum("hij,bnj->bhni", M, x) for M in (Q, K, V))  # (b, h, n, d)
                scores = beta * q @ k.transpose(-1, -2)  # (b, h, n, n)
                if causal:
                    scores = scores.masked_fill(hidden, -torch.inf)
                A = (scores.softmax(-1) @ v).sum(1)  # (b, n, d)
                x = x + dt * (A - (x * A).sum(-1, keepdim=True) * x)
                x = x / x.norm(dim=-1, keepdim=True)
        return np.asarray(x.double().numpy())

    return call


def _matrix(head: Attention, name: str, d: int) -> Array:
    M = getattr(head, name)
    return np.eye(d) if M is None else np.asarray(M)


def _rotations(position: RoPE, n: int, d: int) -> Array:
    """R_k as matrices, (n, d, d)."""
    return np.stack([position.rotate(np.broadcast_to(e, (n, d))) for e in np.eye(d)], axis=-1)
