"""Models of every kind of the family, small, and whether two are the same."""

from typing import Any

import numpy as np

import nucleate as nc
from nucleate.attention import Attention, Frozen, Window
from nucleate.block import Block
from nucleate.layers import Layers, Model
from nucleate.mlp import MLP, Potential
from nucleate.parse.model import model_table


def family(d: int = 4, runs: int | None = None) -> dict[str, Model]:
    """A model of each kind; with runs, matrices of their own for each run."""
    rng = np.random.default_rng(d)
    lead = () if runs is None else (runs,)

    def M() -> Any:
        return rng.standard_normal((*lead, d, d))

    a, W, b = rng.standard_normal((5, d)), rng.standard_normal((d, 5)), rng.standard_normal(5)
    plain = Attention(np.full(lead, 2.0), M(), M(), M())
    frozen = Attention(1.0, V=M(), frozen=Frozen(nc.uniform(3, d, 0), [1.0, 2.0, 3.0]))
    return {
        "usa": Attention(0.5, M(), mask="full", weights="exponential"),
        "hardmax": Attention(1.0, weights="hardmax", mask="full"),
        "alibi": Attention(1.0, V=M(), position=nc.ALiBi(0.25)),
        "rope": Attention(1.0, M(), M(), mask=Window(3), position=nc.RoPE(100.0)),
        "two heads": Block([plain, Attention(3.0, mask="full")], norm="sqrt"),
        "frozen head": Block([frozen, plain], norm="ngpt", alpha=0.2),
        "mlp": Block(plain, MLP(W, a, "gelu", b), "pre", radius=2.0),
        "potential": Block([], Potential(b, a, "tanh"), "peri", radius=[1.0, 2.0, 3.0, 0.5, 1.0]),
        "mix": Block(plain, norm="mix", tau=1.5),
        "noise": Block(plain, noise=20.0, exclude_self=True),
        "random layers": nc.RandomLayers(3, d, heads=2, kind="orthogonal", norm="pre", dt=0.5),
        "uneven layers": Layers([Block([plain, plain]), Block(plain), plain], 2.0),
        "shared layers": Layers([Block(plain, MLP(W, a))] * 4, 0.25, discrete=True),
    }


def same_model(a: Model, b: Model) -> bool:
    """Whether two models are equal in every bit."""
    return type(a).__name__.removeprefix("Random") == type(b).__name__.removeprefix("Random") and (
        model_table(a) == model_table(b)
    )
