"""Which model is which, and that instruments made for one softmax head refuse the others in words."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

import nucleate as nc
from nucleate.attention import Attention, drift
from nucleate.block import Block, block_drift
from nucleate.checks import InputError
from nucleate.integrate.family import as_blocks, is_ordinary, name_of, softmax_head
from nucleate.layers import Layers
from nucleate.mlp import Potential
from nucleate.plot.tokens import final_clusters
from nucleate.positions import ALiBi, RoPE

HEAD = Attention(2.0)
PAIR = Block([HEAD, Attention(5.0)], norm="pre")
OTHERS: dict[str, Any] = {
    "a Block": PAIR,
    "Layers": Layers([PAIR] * 3),
    "an Attention with exponential weights": Attention(2.0, weights="exponential"),
    "an Attention with ALiBi": Attention(2.0, position=ALiBi(1.0)),
    "an Attention with hardmax weights and RoPE": Attention(2.0, weights="hardmax", position=RoPE()),
}
X0 = nc.uniform(5, 2, seed=0)


def test_only_one_softmax_head_without_positions_is_ordinary() -> None:
    assert is_ordinary(HEAD)
    assert is_ordinary(Attention(1.0, position=ALiBi(0.0)))
    for name, other in OTHERS.items():
        assert not is_ordinary(other)
        assert name_of(other) == name


def test_a_block_of_nothing_but_a_head_is_that_head_for_instruments() -> None:
    assert softmax_head(Block(HEAD), "Nothing is", "Help.") is HEAD
    with pytest.raises(InputError, match=r"model must be an Attention, but is str\. Help"):
        softmax_head("a head", "Nothing is", "Help.")


def test_a_head_and_its_block_have_one_velocity() -> None:
    block = as_blocks(OTHERS["an Attention with ALiBi"])
    assert isinstance(block, Block)
    assert np.abs(block_drift(block, X0) - drift(block.heads[0], X0)).max() <= 1e-15


@pytest.mark.parametrize("name", OTHERS)
def test_instruments_for_one_softmax_head_refuse_other_models(name: str) -> None:
    run = nc.simulate(OTHERS[name], X0, 2.0, save=5, max_steps=100)  # hardmax may need many at its edges
    says = f"one softmax head without positions, but the model is {name}"
    with pytest.raises(InputError, match=f"Merges are followed for {says}"):
        nc.merges(run)
    with pytest.raises(InputError, match=f"A life is followed for {says}"):
        nc.life(OTHERS[name], X0)


@pytest.mark.parametrize("energy", [nc.token_energies, nc.interaction_energy])
def test_energies_are_refused_where_there_are_none(energy: Any) -> None:
    mlp = Block(HEAD, Potential([1.0], [[1.0, 0.0]]))
    for model in (mlp, PAIR, OTHERS["Layers"]):
        with pytest.raises(InputError, match="Energies are known for one head, but the model is"):
            energy(model, X0)
    for name in ("an Attention with ALiBi", "an Attention with hardmax weights and RoPE"):
        with pytest.raises(InputError, match=f"softmax and exponential weights .* but the model is {name}"):
            energy(OTHERS[name], X0)


def test_exponential_weights_never_lower_the_energy() -> None:
    usa = Attention(2.0, mask="full", weights="exponential")
    run = nc.simulate(usa, nc.uniform(8, 3, seed=0), 3.0, save=30)
    energy = nc.interaction_energy(usa, run.x)
    assert (np.diff(energy) > -1e-9).all()  # the tolerance of the run
    assert energy[-1] > energy[0] + 0.1


def test_what_reads_tokens_alone_works_for_every_model() -> None:
    for model in OTHERS.values():
        run = nc.simulate(model, X0, 2.0, save=5, max_steps=100)
        assert nc.clusters(run.x[-1], 0.1).shape == (5,)
        assert nc.renyi_centers(run.x[0], 0.5).size
        run.plot()
        plt.close("all")
    assert final_clusters(nc.simulate(PAIR, X0, 2.0, save=5), 0, X0, None).shape == (5,)
    alone = nc.simulate(Block((), Potential([1.0], [[1.0, 0.0]])), X0, 2.0, save=5)
    with pytest.raises(InputError, match="The model has no head, whose beta"):
        final_clusters(alone, 0, X0, None)


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (HEAD, "5 tokens, d = 2, beta = 2, causal; "),
        (OTHERS["an Attention with ALiBi"], "beta = 2, causal, ALiBi; "),
        (OTHERS["an Attention with exponential weights"], "beta = 2, causal, exponential weights; "),
        (PAIR, "2 heads, beta = 2 to 5, causal, pre norm; "),
        (
            Block(HEAD, Potential([1.0], [[1.0, 0.0]]), "ngpt", exclude_self=True),
            "1 head, beta = 2, causal, ngpt norm, potential, self excluded; ",
        ),
        (OTHERS["Layers"], "3 layers of dt = 1: 2 heads, beta = 2 to 5, causal, pre norm; "),
        (Layers([PAIR] * 2, discrete=True), "2 discrete layers of dt = 1: 2 heads"),
    ],
)
def test_a_run_says_what_moved_its_tokens(model: Any, says: str) -> None:
    assert says in repr(nc.simulate(model, X0, 2.0))


def test_a_run_is_checked_with_finer_tolerances() -> None:
    for model in (PAIR, OTHERS["Layers"], Block([HEAD] * 2, norm="sqrt")):
        run = nc.simulate(model, X0, 2.0, save=5, rtol=1e-6)
        agreement = run.check()
        assert agreement.status == "done"
        assert 0.0 < agreement.worst <= 1e-5
        late = nc.simulate(model, X0, 2.0, save=[1.0, 2.0])
        with pytest.raises(InputError, match="changes with time, but the first frame is at 1"):
            late.check()
    assert nc.simulate(Block([HEAD] * 2), X0, 2.0, save=[1.0, 2.0]).check().worst <= 1e-7
    with pytest.raises(InputError, match="there is no finer run to check with"):
        nc.simulate(Layers([PAIR] * 2, discrete=True), X0, 2.0).check()
