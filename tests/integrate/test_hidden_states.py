"""Hidden states from anywhere become a run over depth, on which every instrument works."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from support.made_depth_runs import LAYERS, TOKENS, D, depth_run, made_states

import nucleate as nc
from nucleate.checks import InputError
from nucleate.integrate.checkpoint import Checkpoint
from nucleate.integrate.hidden_states import PARTS, part_shape


class Tensor:
    """Like one of torch, of a kind that NumPy does not know."""

    def __init__(self, values: Any, dtype: str = "torch.bfloat16") -> None:
        self.values, self.dtype = values, dtype

    def detach(self) -> "Tensor":
        return self

    def cpu(self) -> "Tensor":
        return self

    def float(self) -> "Tensor":
        return Tensor(self.values, "torch.float32")

    def numpy(self) -> Any:
        if self.dtype == "torch.bfloat16":
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self.values


@dataclass(frozen=True)
class Output:
    """Like one of transformers."""

    hidden_states: Any


def test_directions_and_lengths_give_the_states_back() -> None:
    for lead in ((), (2,)):
        states = made_states(lead)
        run = nc.Run.from_hidden_states(states)
        assert run.norms is not None
        assert run.x.shape == states.shape
        assert np.abs(np.linalg.norm(run.x, axis=-1) - 1.0).max() < 1e-15  # rounding
        assert np.allclose(run.x * run.norms[..., None], states, rtol=1e-15, atol=0.0)  # one division
        assert run.t.tolist() == list(range(LAYERS + 1))
        assert run.done
        assert run.over_depth


@pytest.mark.parametrize("size", [1e-300, 1e-170, 1e160, 1e300])
def test_huge_and_tiny_states_have_directions_and_lengths_too(size: float) -> None:
    states = made_states().astype(np.float64)
    run, usual = nc.Run.from_hidden_states(size * states), nc.Run.from_hidden_states(states)
    assert np.allclose(run.x, usual.x, rtol=1e-15, atol=1e-15)
    assert run.norms is not None
    assert usual.norms is not None
    assert np.allclose(run.norms, size * usual.norms, rtol=1e-15)


def test_states_layer_by_layer_tensors_and_outputs_are_the_same_run() -> None:
    states = made_states()
    whole = nc.Run.from_hidden_states(states)
    for same in (
        list(states),
        tuple(layer[None] for layer in states),  # (1, n, d), as transformers has them
        [Tensor(layer[None]) for layer in states],
        Output(tuple(Tensor(layer[None]) for layer in states)),
        states.astype(np.float64),
    ):
        assert np.array_equal(nc.Run.from_hidden_states(same).x, whole.x)
    batch = made_states((2,))
    by_layer = [batch[:, layer] for layer in range(LAYERS + 1)]  # (b, n, d) each
    assert np.array_equal(nc.Run.from_hidden_states(by_layer).x, nc.Run.from_hidden_states(batch).x)


def test_instruments_that_take_tokens_work_and_those_that_need_a_model_refuse_in_words() -> None:
    run = depth_run()
    assert nc.clusters(run.x[-1], 0.5).shape == (TOKENS,)
    assert len(nc.renyi_centers(run.x[0], 0.5)) >= 1
    assert nc.interaction_energy(nc.Attention(1.0), run.x).shape == (LAYERS + 1,)
    assert nc.displacement(run, [0, 2]).shape == (LAYERS + 1, 2)
    with pytest.raises(InputError, match=r"hidden states of tiny\.gguf.*nucleate\.clusters"):
        nc.merges(run, 0.1)
    with pytest.raises(InputError, match=r'hidden states of tiny\.gguf.*precision="double"'):
        run.check()


def test_the_summary_says_whose_states_these_are() -> None:
    assert depth_run().summary == (
        "5 tokens, d = 4, of tiny.gguf (llama, 3 layers of 2 heads, causal); hidden states before the first"
        " and after every one of 3 blocks; with normed, attention, mlp, weights, logits, ids; done"
    )
    assert depth_run((2,)).summary.startswith("2 texts of 5 tokens, d = 4, of tiny.gguf")


STATES = made_states()
ZERO, ENDLESS = STATES.copy(), STATES.copy()
ZERO[1, 2], ENDLESS[0, 1, 2] = 0.0, np.inf
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no states": ({"states": None}, "output_hidden_states=True"),
    "an output without": ({"states": Output(None)}, "output_hidden_states=True"),
    "no numbers": ({"states": "x"}, "arrays or tensors of numbers"),
    "nothing": ({"states": np.zeros((0, 3, 4))}, "at least one token"),
    "one axis": ({"states": np.zeros(4)}, "must have shape"),
    "d of one": ({"states": np.ones((2, 3, 1))}, "d of at least 2"),
    "layers of two shapes": ({"states": [np.ones((2, 3)), np.ones((3, 3))]}, "must have one shape"),
    "a token of length zero": ({"states": ZERO}, r"states\[1, 2\] is zero"),
    "infinite": ({"states": ENDLESS}, r"states\[0, 1, 2\] is inf.*float32"),
    "too long": ({"states": np.full((2, 3, 8), 1e308)}, r"states\[0, 0\] is above the largest double"),
    "too few strings": ({"tokens": ["a"]}, "must be 5 strings"),
    "one string": ({"tokens": "abcde"}, "must be 5 strings"),
    "no strings": ({"tokens": [1, 2, 3, 4, 5]}, "must be strings"),
    "an unknown part": ({"parts": {"keys": STATES}}, "'keys' is among them"),
    "a part of another shape": ({"parts": {"mlp": STATES}}, r"mlp must have shape \(3, 5, 4\)"),
    "ids that are floats": ({"parts": {"ids": np.zeros(5)}}, "ids must hold whole numbers"),
    "parts that are no table": ({"parts": [STATES]}, "parts must be a table"),
    "no checkpoint": ({"model": "SmolLM2"}, "must be a Checkpoint or None"),
    "another model": ({"model": Checkpoint("x", "bert", 7, D)}, "model says 7"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_does_not_fit_is_refused_in_words(case: str) -> None:
    given, words = BAD[case]
    with pytest.raises(InputError, match=words):
        nc.Run.from_hidden_states(**({"states": STATES} | given))


def test_every_part_has_the_shape_that_its_axes_say() -> None:
    run = depth_run((2,))
    assert set(run.parts) == set(PARTS)
    for name, part in run.parts.items():
        wanted = part_shape(name, run.x.shape)
        assert all(want in (None, size) for size, want in zip(part.shape, wanted, strict=True))
