"""Blocks of every kind that the kernels of a block treat apart, and how far a kernel may be from the
equation."""

import math
from typing import Any

import numpy as np
from support.kernel_models import Mask, norms

import nucleate as nc
from nucleate.attention import Attention, Frozen
from nucleate.attention import drift as equation
from nucleate.block import Block, block_drift, block_output
from nucleate.checks import EPS, Array
from nucleate.mlp import MLP, Potential
from nucleate.norms import scale
from nucleate.positions import ALiBi, RoPE

__all__ = ["block_bound", "blocks", "check_is_the_equation", "heads_of_kinds", "own_term_of_tests"]


def own_term_of_tests(x: Array, out: Array) -> None:
    """A term of one's own: every token is pulled along the next one's square."""
    for k in range(x.shape[0]):
        for c in range(x.shape[1]):
            out[k, c] += 0.5 * x[k - 1, c] ** 2


def heads_of_kinds(d: int, mask: Mask) -> dict[str, Attention]:
    """One head of each kind: weights, positions, K^T Q = I or not, V = c I or not, frozen tokens or not."""
    rng = np.random.default_rng(d)
    Q, K, V = rng.standard_normal((3, d, d)) / math.sqrt(d)
    frozen = Frozen(nc.uniform(11, d, 5), rng.uniform(1.0, 20.0, 11))
    found = {
        "ordinary": Attention(6.0, mask=mask),
        "V": Attention(6.0, V=V, mask=mask),
        "Q, K, V": Attention(3.0, Q=Q, K=K, V=V, mask=mask),
        "frozen": Attention(6.0, V=-2.0 * np.eye(d), mask=mask, frozen=frozen),
        "Q, K, frozen": Attention(3.0, Q=Q, K=K, mask=mask, frozen=frozen),
        "exponential": Attention(2.0, mask=mask, weights="exponential"),
        "exponential, Q, K, V": Attention(2.0, Q, K, V, mask, weights="exponential"),
        "exponential, frozen": Attention(2.0, mask=mask, weights="exponential", frozen=frozen),
        "exponential, Q, frozen": Attention(1.0, Q, mask=mask, weights="exponential", frozen=frozen),
        "exponential, ALiBi": Attention(2.0, mask=mask, weights="exponential", position=ALiBi(0.3)),
        "exponential, K, ALiBi": Attention(2.0, K=K, mask=mask, weights="exponential", position=ALiBi(0.3)),
        "hardmax": Attention(2.0, mask=mask, weights="hardmax"),
        "hardmax, Q, K, V": Attention(2.0, Q, K, V, mask, weights="hardmax"),
        "hardmax, ALiBi": Attention(2.0, V=V, mask=mask, weights="hardmax", position=ALiBi(0.05)),
        "ALiBi": Attention(6.0, mask=mask, position=ALiBi(0.2)),
        "ALiBi, Q, V": Attention(6.0, Q=Q, V=V, mask=mask, position=ALiBi(1.5)),
    }
    if d % 2 == 0:
        found |= {
            "RoPE": Attention(6.0, mask=mask, position=RoPE()),
            "RoPE, Q, K, V": Attention(6.0, Q, K, V, mask, position=RoPE(20.0)),
            "RoPE, hardmax": Attention(3.0, mask=mask, weights="hardmax", position=RoPE(7.0)),
            "RoPE, exponential": Attention(2.0, K=K, mask=mask, weights="exponential", position=RoPE(7.0)),
        }
    return found


def blocks(d: int, mask: Mask) -> dict[str, Block]:
    """Each head alone; all together; and one of each thing that a block has besides its heads."""
    rng = np.random.default_rng(d + 1)
    heads = heads_of_kinds(d, mask)
    W, a = rng.standard_normal((d, 2 * d + 1)) / math.sqrt(d), rng.standard_normal((2 * d + 1, d))
    three = [heads["ordinary"], heads["Q, K, V"], heads["ALiBi"]]
    found = {name: Block(head) for name, head in heads.items()}
    found["all heads"] = Block(list(heads.values()), MLP(W, a, "gelu", rng.standard_normal(2 * d + 1)))
    for activation in ("relu", "gelu", "silu", "tanh", "identity"):
        found[f"MLP {activation}"] = Block((), MLP(W, a, activation))
    found["Potential"] = Block(heads["ordinary"], Potential(rng.standard_normal(2 * d + 1), a, "tanh"))
    found["own term"] = Block(heads["V"], own_term_of_tests)
    for name, some in (("V = c I", heads["frozen"]), ("V", heads["Q, K, V"]), ("V = 0", _nothing(d, mask))):
        found[f"exclude self, {name}"] = Block([some, heads["ordinary"]], exclude_self=True)
        found[f"exclude self, exponential, {name}"] = Block([some, heads["exponential"]], exclude_self=True)
    for norm in ("pre", "peri", "ngpt", "sqrt"):
        found[norm] = Block(three, MLP(W, a, "silu"), norm)
    found["ngpt, alpha"] = Block(three, norm="ngpt", alpha=3.0)
    found["peri, radius, alpha"] = Block(three, norm="peri", alpha=3.0, radius=0.5)
    found["pre, radius"] = Block(heads["V"], norm="pre", radius=2.0)
    found["mix"] = Block(three, norm="mix", tau=1.0)
    found["mix from the start"] = Block(three, norm="mix", tau=0.0)
    return found


def _nothing(d: int, mask: Mask) -> Attention:
    return Attention(6.0, V=np.zeros((d, d)), mask=mask)


def check_is_the_equation(drift: Any, d: int, mask: Mask) -> None:
    """That `drift` of another library is ours, for every kind of head and block."""
    x = nc.uniform(9, d, 1)
    for name, head in heads_of_kinds(d, mask).items():
        assert np.allclose(drift(head, x), equation(head, x), atol=1e-12), name
    for name, block in blocks(d, mask).items():
        if not callable(block.mlp):
            assert np.allclose(drift(block, x, t=2.0), block_drift(block, x, 2.0), atol=1e-12), name


def block_bound(block: Block, x: Array) -> float:
    """As `pairwise_bound`, head by head; exponential weights carry a factor e^z; an MLP adds one rounding per
    term of its two sums; then all is divided by s, the least of any token."""
    d = x.shape[-1]
    error = 0.0
    for head in block.heads:
        z, v = norms(head, d)
        frozen = 1.0 if head.frozen is None else 20.0
        largest = math.exp(z) * frozen if head.weights == "exponential" else 1.0
        error += 32 * max(1.0, z) * v * EPS * largest
    if isinstance(block.mlp, MLP | Potential):
        m = len(block.mlp.b)
        spread = np.linalg.norm(block.mlp.W, 2) * (np.linalg.norm(block.mlp.a) + np.linalg.norm(block.mlp.b))
        error += 8 * (m + d) * EPS * float(spread)
    A = block_output(block, x)  # (..., n, d)
    r = np.broadcast_to(block.radii(x.shape[-2])[:, None], (*x.shape[:-1], 1))
    s = scale(block.norm, A, r, 0.0, block.tau, block.alpha)
    return 4 * error / max(float(s[s > 0.0].min(initial=1.0)), EPS)
