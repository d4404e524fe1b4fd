"""Layers: a transformer's steps, weights drawn from a seed, and what is refused."""

from typing import Any

import numpy as np
import pytest

import nucleate as nc
from nucleate.block import block_rates
from nucleate.checks import InputError
from nucleate.layers import WEIGHT_KINDS, as_model, layer_step, random_matrix
from nucleate.norms import NORMS

X = nc.uniform(6, 4, seed=0)
WRONG: Any = 3
SPARSE: Any = "sparse"


@pytest.mark.parametrize("norm", NORMS)
def test_a_short_step_of_a_layer_is_its_rate(norm: Any) -> None:
    more: dict[str, Any] = (
        {"tau": 0.0} if norm == "mix" else {"radius": 2.0} if norm in ("pre", "peri") else {}
    )
    heads = nc.RandomLayers(1, 4, heads=2, seed=1).blocks[0].heads
    block = nc.Block(heads, norm=norm, **more)
    r, dt = block.radii(6), 1e-7
    x, length = layer_step(block, X, r, dt)
    turn, growth = block_rates(block, X, r)
    assert np.allclose((x - X) / dt, turn, atol=1e-5)
    assert np.allclose((length - r) / dt, growth, atol=1e-5)


def test_one_step_of_a_post_norm_layer_is_a_transformers() -> None:
    block = nc.Block(nc.Attention(1.0))
    w = np.tril(np.exp(X @ X.T))
    y = X + (w @ X) / w.sum(-1, keepdims=True)
    x, length = layer_step(block, X, np.ones(6), 1.0)
    assert np.allclose(x, y / np.linalg.norm(y, axis=-1, keepdims=True), rtol=1e-13)
    assert (length == 1.0).all()


def test_one_seed_gives_one_set_of_weights_and_more_layers_begin_alike() -> None:
    few, many = nc.RandomLayers(2, 3, heads=2, seed=5), nc.RandomLayers(4, 3, heads=2, seed=5)
    other = nc.RandomLayers(2, 3, heads=2, seed=6)
    for i in range(2):
        for h in range(2):
            for name in "QKV":
                one = getattr(few.blocks[i].heads[h], name)
                assert np.array_equal(one, getattr(many.blocks[i].heads[h], name))
                assert not np.array_equal(one, getattr(other.blocks[i].heads[h], name))


@pytest.mark.parametrize("kind", WEIGHT_KINDS)
def test_random_matrices_are_of_their_kind(kind: Any) -> None:
    d = 64
    M = random_matrix(kind, d, np.random.SeedSequence(0))
    if kind == "identity":
        assert M is None
        return
    assert M is not None
    assert abs(d * M.var() - 1.0) < 0.1  # entries of variance 1 / d
    if kind == "symmetric":
        assert np.array_equal(M, M.T)
    if kind == "orthogonal":
        assert np.allclose(M @ M.T, np.eye(d), atol=1e-12)
    if kind == "uniform":
        assert np.abs(M).max() <= np.sqrt(3.0 / d)


def test_a_block_of_nothing_but_a_head_is_that_head() -> None:
    head = nc.Attention(1.0)
    assert as_model(nc.Block(head)) is head
    with pytest.raises(InputError, match="model must be an Attention, a Block or Layers, but is float"):
        as_model(1.0)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: nc.Layers([]), "needs at least one block"),
        (lambda: nc.Layers(WRONG), "blocks must be a list of blocks"),
        (lambda: nc.Layers([nc.Attention(1.0)], dt=0.0), "dt must be finite and greater than 0"),
        (
            lambda: nc.Layers([nc.Block(nc.Attention(1.0), norm=norm) for norm in ("pre", "post")]),
            "must have the same norm",
        ),
        (lambda: nc.Layers([nc.Block(nc.Attention(1.0), noise=1.0)], discrete=True), "have no noise"),
        (lambda: nc.Layers([nc.Attention(1.0)]).check_time(1.5), "end at time 1, but t is 1.5"),
        (lambda: nc.RandomLayers(0, 3), "count must be a whole number of at least 1"),
        (lambda: nc.RandomLayers(1, 3, kind=SPARSE), "kind must be one of gaussian"),
        (lambda: nc.RandomLayers(10**4, 10**4), "GiB"),
        (lambda: nc.RandomLayers(10**6, 2), "at most 100000 heads"),
    ],
)
def test_layers_that_make_no_sense_are_refused(make: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        make()
