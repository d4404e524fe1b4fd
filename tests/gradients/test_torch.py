"""`nucleate.torch`: the equation, its derivatives, over an axis; needs PyTorch, skipped without it."""

import runpy
from typing import Any

import numpy as np
import pytest
from support.block_models import check_is_the_equation
from support.project import ROOT

import nucleate as nc
from nucleate.attention import Window
from nucleate.attention import drift as equation
from nucleate.torch import drift

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("mask", ["causal", "full", Window(3)], ids=str)
@pytest.mark.parametrize("d", [2, 3])
def test_it_is_the_equation_for_every_kind_of_head_and_block(d: int, mask: Any) -> None:
    check_is_the_equation(drift, d, mask)


def test_over_an_axis_it_is_the_same_and_single_precision_stays_single() -> None:
    model, x = nc.Attention(4.0), torch.tensor(nc.uniform(6, 3, 2, runs=5))
    V = torch.tensor(np.random.default_rng(0).standard_normal((5, 3, 3)))
    over_runs = torch.func.vmap(lambda x, V: drift(model, x, {"V": V}))(x, V)
    assert np.allclose(over_runs, equation(nc.Attention(4.0, V=V.numpy()), x.numpy()), atol=1e-12)
    assert drift(model, x.float(), {"V": V}).dtype == torch.float32


def test_whole_numbers_are_taken_as_real_ones_and_complex_ones_refused() -> None:
    x = np.array([[1, 0], [0, 1], [0, -1]])
    model = nc.Attention(0.5)
    assert np.allclose(drift(model, x), equation(model, x.astype(float)), atol=1e-6)
    with pytest.raises(nc.InputError, match=r"must hold real numbers, but is of type .*complex"):
        drift(model, x.astype(complex))


@pytest.mark.parametrize("norm", ["post", "pre", "peri", "ngpt", "sqrt"])
def test_derivatives_by_tokens_and_by_every_parameter_are_those_of_differences(norm: Any) -> None:
    rng = np.random.default_rng(1)
    mlp = nc.MLP(rng.standard_normal((4, 5)), rng.standard_normal((5, 4)), "gelu")
    block = nc.Block(nc.Attention(1.5, position=nc.RoPE(7.0)), mlp, norm)
    given = [torch.tensor(one) for one in (nc.uniform(5, 4, 3), 1.5, *rng.standard_normal((3, 4, 4)))]
    given = [one.double().requires_grad_() for one in (*given, torch.tensor(mlp.W), torch.tensor(mlp.a))]

    def moved(x: Any, beta: Any, Q: Any, K: Any, V: Any, W: Any, a: Any) -> Any:
        head = {"beta": beta, "Q": Q, "K": K, "V": V}
        return drift(block, x, {"heads": [head], "mlp": {"W": W, "a": a}}, 1.0)

    assert torch.autograd.gradcheck(moved, given)


def test_a_token_to_which_nothing_is_added_has_a_gradient_of_numbers() -> None:
    block = nc.Block(nc.Attention(1.0, V=np.zeros((3, 3))), norm="peri", exclude_self=True)
    x = torch.tensor(nc.uniform(4, 3, 0), requires_grad=True)
    drift(block, x).sum().backward()
    assert np.array_equal(x.grad, np.zeros((4, 3)))


def test_the_example_learns_V_from_where_the_tokens_end(capsys: pytest.CaptureFixture[str]) -> None:
    found = runpy.run_path(str(ROOT / "docs" / "examples" / "learn_values_torch.py"))
    assert np.abs(found["V"].detach().numpy() - found["V_true"]).max() < 1e-4  # measured: 1e-7
    assert "V is found" in capsys.readouterr().out
