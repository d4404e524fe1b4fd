"""What needs neither JAX nor PyTorch: what is refused, and that neither is loaded."""

from typing import Any

import numpy as np
import pytest
from support.project import python

import nucleate as nc
from nucleate.checks import EPS, Array, InputError
from nucleate.gradients import Library, velocity

# NumPy itself is a library of arrays; it has no gradients, but the same names.
NUMPY = Library(np, lambda value, x: np.asarray(value, dtype=x.dtype), np.vectorize(__import__("math").erf))
x: Array = nc.uniform(5, 4, 0)
WITH_MLP = nc.Block(nc.Attention(1.0), nc.MLP(np.ones((4, 5)), np.ones((5, 4))))


def test_written_for_any_library_it_is_the_equation() -> None:
    rng = np.random.default_rng(0)
    Q, K, V = rng.standard_normal((3, 4, 4))
    model = nc.Attention(2.0, Q, K, V, frozen=nc.Frozen(nc.uniform(3, 4, 1), 2.0))
    assert np.allclose(velocity(NUMPY, model, x, None, 0.0), nc.drift(model, x, "reference"), atol=64 * EPS)


@pytest.mark.parametrize(
    ("model", "given", "message"),
    [
        (nc.Layers([nc.Block(nc.Attention(1.0))]), None, r"but is Layers\. Of Layers take one block"),
        (nc.Attention(1.0), {"v": np.eye(4)}, "may have beta, Q, K, V, but has 'v'"),
        (nc.Attention(1.0), np.eye(4), "must be a dict, but is ndarray"),
        (nc.Attention(1.0, V=np.eye(3)), None, "V acts on dimension 3"),
        (nc.Block([nc.Attention(1.0)] * 2), {"heads": [{}]}, "one entry for each of 2 heads"),
        (
            nc.Attention(1.0),
            {"V": np.eye(3)},
            r'parameters\["V"\] must have shape \(4, 4\), but has \(3, 3\)',
        ),
        (nc.Attention(1.0), {"Q": np.ones(4)}, r'parameters\["Q"\] must have shape \(4, 4\), but has \(4,\)'),
        (
            nc.Attention(1.0),
            {"beta": np.ones(2), "K": np.ones((3, 4, 4))},
            r'"K"\] must have shape \(4, 4\), or \(2, 4, 4\), but has \(3, 4, 4\)',
        ),
        (
            nc.Block([nc.Attention(1.0)] * 2),
            {"heads": [{}, {"V": 1.0}]},
            r'parameters\["heads"\]\[1\]\["V"\] must have shape \(4, 4\), but has \(\)',
        ),
        (nc.Block(nc.Attention(1.0)), {"mlp": {"W": np.eye(4)}}, "has W, but the block has no MLP"),
        (WITH_MLP, {"mlp": {"W": np.ones((3, 5))}}, r'"W"\] must have shape \(4, 5\), but has \(3, 5\)'),
        (WITH_MLP, {"mlp": {"a": np.ones((4, 5))}}, r'"a"\] must have shape \(5, 4\), but has \(4, 5\)'),
        (WITH_MLP, {"mlp": {"b": np.ones(4)}}, r'"b"\] must have shape \(5,\), but has \(4,\)'),
        (nc.Block(mlp=lambda x, out: None), None, "function for Numba"),
    ],
)
def test_what_cannot_be_differentiated_is_refused_in_words(model: Any, given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        velocity(NUMPY, model, x, given, 0.0)
    with pytest.raises(InputError, match="shape"):
        velocity(NUMPY, nc.Attention(1.0), x[0], None, 0.0)
    for kind in (int, complex):
        with pytest.raises(InputError, match="must hold real numbers"):
            velocity(NUMPY, nc.Attention(1.0), x.astype(kind), None, 0.0)


def test_what_fits_over_runs_is_taken() -> None:
    rng = np.random.default_rng(0)
    runs, V, b = nc.uniform(5, 4, 0, runs=3), rng.standard_normal((3, 4, 4)), rng.standard_normal((3, 5))
    found = velocity(NUMPY, nc.Attention(1.0), runs, {"beta": np.ones(3), "V": V}, 0.0)
    assert np.allclose(found, nc.drift(nc.Attention(1.0, V=V), runs, "reference"), atol=64 * EPS)
    assert velocity(NUMPY, nc.Attention(1.0), x, {"V": V}, 0.0).shape == (3, 5, 4)
    found = velocity(NUMPY, WITH_MLP, runs, {"heads": [{}], "mlp": {"b": b}}, 0.0)
    one = velocity(NUMPY, WITH_MLP, runs[2], {"mlp": {"b": b[2]}}, 0.0)
    assert np.allclose(found[2], one, atol=64 * EPS)
    assert np.array_equal(
        velocity(NUMPY, nc.Block(nc.Attention(1.0)), x, {"mlp": {}}, 0.0),
        velocity(NUMPY, nc.Block(nc.Attention(1.0)), x, None, 0.0),
    )


def test_without_the_packages_one_line_says_what_to_install() -> None:
    code = """
import sys
import nucleate.jax, nucleate.torch
assert not {"jax", "torch"} & set(sys.modules)
sys.modules |= {"jax": None, "torch": None}
for module in (nucleate.jax, nucleate.torch):
    try:
        module.drift(None, None)
    except nucleate.InputError as error:
        print(error)
"""
    assert python(code).count("pip install") == 2
