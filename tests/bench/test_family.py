"""The tables of the family: our runs and the peers' agree with the equation in NumPy."""

import importlib.util
from dataclasses import replace

import numpy as np
import pytest
from support.silent import silent

from nucleate.bench.family import FamilyCase, blocks, sections
from nucleate.bench.family_peers import torch_euler_layers
from nucleate.layers import RandomLayers
from nucleate.sphere import uniform

HAS_JAX = importlib.util.find_spec("jax") is not None and importlib.util.find_spec("diffrax") is not None
TINY = FamilyCase(
    2, n=6, d=4, heads=2, t=0.5, frames=3, compared_runs=1, layer_runs=2, layers=2, cost_tokens=((8, 4),)
)


def test_every_row_is_measured_or_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nucleate.bench.family.QUICK_CASE", TINY)
    tables = list(sections(True, 1, silent))
    assert len(tables) == len(blocks(TINY)) + 2
    for table in tables:
        for row in table.rows:
            assert row.seconds or row.note.startswith("not installed"), row
            assert row.error is None or row.error < 1e-4 or "layers" in table.title, (table.title, row)


@pytest.mark.skipif(not HAS_JAX, reason="jax and diffrax are peers; `make bench` installs them")
def test_the_peer_solves_the_same_equations(monkeypatch: pytest.MonkeyPatch) -> None:
    # to nine digits: at a kink of the MLP an error of six digits leaves both at 1e-5
    monkeypatch.setattr("nucleate.bench.family.QUICK_CASE", replace(TINY, rtol=1e-9, atol=1e-12))
    for table in list(sections(True, 1, silent))[: len(blocks(TINY))]:
        (peer,) = (row for row in table.rows if row.peer.startswith("diffrax"))
        assert peer.error is not None
        assert peer.error < 1e-6, table.title


def test_euler_steps_in_torch_come_near_our_layers() -> None:
    pytest.importorskip("torch")
    from nucleate.integrate.simulate import simulate

    layers = RandomLayers(2, 4, heads=2, seed=0)
    x0 = uniform(6, 4, seed=0, runs=2)
    ours = simulate(layers, x0, 2.0, save=2).x[:, -1]
    assert np.abs(torch_euler_layers(layers, x0, 0.001)() - ours).max() < 5e-3
