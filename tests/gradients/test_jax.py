"""`nucleate.jax`: the equation, its derivatives, compiled and over an axis; needs JAX, skipped without it."""

import runpy
from typing import Any

import numpy as np
import pytest
from support.block_models import check_is_the_equation
from support.project import ROOT

import nucleate as nc
from nucleate.attention import Window
from nucleate.attention import drift as equation
from nucleate.jax import drift

jax = pytest.importorskip("jax")
check_grads = pytest.importorskip("jax.test_util").check_grads
SINGLE_PRECISION = 2e-5  # scores up to about 20, each rounded to 6e-8 of itself, and |V| up to 4


@pytest.fixture(autouse=True)
def double_precision() -> Any:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.mark.parametrize("mask", ["causal", "full", Window(3)], ids=str)
@pytest.mark.parametrize("d", [2, 3])
def test_it_is_the_equation_for_every_kind_of_head_and_block(d: int, mask: Any) -> None:
    check_is_the_equation(drift, d, mask)


def test_single_precision_stays_single() -> None:
    x = nc.uniform(9, 3, 1)
    v = drift(nc.Attention(9.0), jax.numpy.asarray(x, dtype="float32"))
    assert v.dtype == "float32"
    assert np.allclose(v, equation(nc.Attention(9.0), x), atol=SINGLE_PRECISION)


def test_compiled_and_over_an_axis_it_is_the_same() -> None:
    model, x = nc.Attention(4.0), nc.uniform(6, 3, 2, runs=5)
    V = np.random.default_rng(0).standard_normal((5, 3, 3))
    compiled = jax.jit(jax.vmap(lambda x, V: drift(model, x, {"V": V})))(x, V)
    static = jax.jit(drift, static_argnums=0)(model, x, {"V": V})
    expected = equation(nc.Attention(4.0, V=V), x)
    assert np.allclose(compiled, expected, atol=1e-12)
    assert np.allclose(static, expected, atol=1e-12)


def test_whole_numbers_are_taken_as_real_ones_and_complex_ones_refused() -> None:
    x = np.array([[1, 0], [0, 1], [0, -1]])
    model = nc.Attention(0.5)
    assert np.allclose(drift(model, x), equation(model, x.astype(float)), atol=1e-6)
    with pytest.raises(nc.InputError, match=r"must hold real numbers, but is of type .*complex"):
        drift(model, x.astype(complex))


@pytest.mark.parametrize("norm", ["post", "pre", "peri", "ngpt", "sqrt"])
def test_derivatives_by_tokens_and_by_every_parameter_are_those_of_differences(norm: Any) -> None:
    rng = np.random.default_rng(1)
    Q, K, V = rng.standard_normal((3, 4, 4))
    head = nc.Attention(1.5, Q, K, V, position=nc.RoPE(7.0))
    block = nc.Block(head, nc.MLP(rng.standard_normal((4, 5)), rng.standard_normal((5, 4)), "gelu"), norm)
    x = nc.uniform(5, 4, 3)
    values = {"heads": [{"beta": 1.5, "Q": Q, "K": K, "V": V}], "mlp": {"W": block.mlp.W, "a": block.mlp.a}}

    def number(x: Any, values: Any) -> Any:
        return (drift(block, x, values, 1.0) * np.arange(20.0).reshape(5, 4)).sum()

    # second differences of a smooth number: 1e-5 squared, and rounding of 1e-16 over 1e-5
    check_grads(number, (x, values), order=1, modes=["fwd", "rev"], atol=1e-5, rtol=1e-5)


def test_a_token_to_which_nothing_is_added_has_a_gradient_of_numbers() -> None:
    block = nc.Block(nc.Attention(1.0, V=np.zeros((3, 3))), norm="peri", exclude_self=True)
    gradient = jax.grad(lambda x: drift(block, x).sum())(nc.uniform(4, 3, 0))
    assert np.array_equal(gradient, np.zeros((4, 3)))


def test_the_example_with_diffrax_agrees_with_simulate() -> None:
    pytest.importorskip("diffrax")
    found = runpy.run_path(str(ROOT / "docs" / "examples" / "with_diffrax.py"))
    assert found["difference"] < 1e-6  # rtol 1e-9 of both, grown while clusters form


def test_the_example_learns_V_from_where_the_tokens_end(capsys: pytest.CaptureFixture[str]) -> None:
    found = runpy.run_path(str(ROOT / "docs" / "examples" / "learn_values_jax.py"))
    # the loss is a sum of squares and BFGS ends at a gradient of 1e-5
    assert np.abs(found["V"] - found["V_true"]).max() < 1e-4
    assert "V is found" in capsys.readouterr().out
