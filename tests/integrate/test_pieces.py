"""Pieces of time: where they begin and end, which block and which law each has."""

import numpy as np
import pytest

from nucleate.attention import Attention
from nucleate.block import Block
from nucleate.integrate.pieces import (
    model_time,
    pieces_of,
    solver_time,
    starting_lengths,
)
from nucleate.layers import Layers

HEAD = Attention(1.0)


def told(model: Block | Layers, t: float) -> list[tuple[int, str, float, float]]:
    return [(piece.layer, piece.norm, piece.begin, piece.end) for piece in pieces_of(model, t)]


def test_a_block_is_one_piece() -> None:
    assert told(Block(HEAD, norm="peri"), 7.0) == [(0, "peri", 0.0, 7.0)]


def test_every_layer_is_a_piece_and_the_last_ends_at_the_time_asked_for() -> None:
    layers = Layers([HEAD] * 4, dt=0.5)
    assert told(layers, 1.25) == [(0, "post", 0.0, 0.5), (1, "post", 0.5, 1.0), (2, "post", 1.0, 1.25)]
    assert [piece.layer for piece in pieces_of(layers, 2.0)] == [0, 1, 2, 3]


@pytest.mark.parametrize("count", [3, 7, 10, 49])
@pytest.mark.parametrize("dt", [0.1, 0.3, 1.0 / 3.0, 0.7])
def test_rounding_makes_no_sliver_and_no_gap(count: int, dt: float) -> None:
    # count * dt need not be the double that a user writes
    for t in (count * dt, float(f"{count * dt:.12g}")):
        found = pieces_of(Layers([HEAD] * count, dt=dt), t)
        assert [piece.layer for piece in found] == list(range(count))
        assert [piece.begin for piece in found[1:]] == [piece.end for piece in found[:-1]]
        assert min(piece.end - piece.begin for piece in found) > 0.99 * dt


def test_mix_changes_at_tau_inside_a_layer_and_at_its_end() -> None:
    block = Block(HEAD, norm="mix", tau=1.0)
    assert told(block, 3.0) == [(0, "post", 0.0, 1.0), (0, "pre", 1.0, 3.0)]
    assert told(block, 1.0) == [(0, "post", 0.0, 1.0)]
    assert told(Layers([block] * 2, dt=1.0), 2.0) == [(0, "post", 0.0, 1.0), (1, "pre", 1.0, 2.0)]
    inside = told(Layers([block] * 2, dt=0.75), 1.5)
    assert inside == [(0, "post", 0.0, 0.75), (1, "post", 0.75, 1.0), (1, "pre", 1.0, 1.5)]


def test_the_time_of_the_root_goes_both_ways() -> None:
    t = np.array([0.0, 1e-12, 0.5, 3.0, 1e6])
    s = solver_time("sqrt", t)
    assert s[3] == 2.0
    assert s[1] == pytest.approx(1e-12, rel=1e-11)
    assert model_time("sqrt", s) == pytest.approx(t, rel=1e-15)
    assert np.array_equal(solver_time("pre", t), t)
    assert told(Layers([Block(HEAD, norm="sqrt")] * 2, dt=3.0), 6.0)[0] == (0, "post", 0.0, 2.0)


def test_lengths_start_where_the_norm_has_them() -> None:
    assert starting_lengths(Block(HEAD), 3) is None
    lengths = starting_lengths(Layers([Block(HEAD, norm="pre", radius=[1.0, 2.0, 3.0])]), 3)
    assert lengths is not None
    assert lengths.tolist() == [1.0, 2.0, 3.0]
    assert starting_lengths(Block(HEAD, norm="mix", tau=1.0), 2) is not None
