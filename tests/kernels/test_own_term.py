"""A term of the user's own: compiled once, called by its address, refused in words where Numba cannot."""

import numba
import numpy as np
import pytest

import nucleate as nc
from nucleate.block import Block, block_drift
from nucleate.checks import EPS, Array, InputError
from nucleate.kernels.block_shape import block_shape
from nucleate.kernels.dispatch import make_system
from nucleate.kernels.heads import heads_block, heads_images
from nucleate.kernels.own_term import own_term


def gravity(x: Array, out: Array) -> None:
    """Down the last coordinate."""
    for k in range(x.shape[0]):
        out[k, x.shape[1] - 1] -= 2.0


def squares(x: Array, out: Array) -> None:
    """With NumPy, whole arrays at once."""
    out += x * x


def plots(x: Array, out: Array) -> None:
    """What Numba cannot compile."""
    import json

    json.dumps(x)


@pytest.mark.parametrize("term", [gravity, squares, numba.njit(gravity)])
@pytest.mark.parametrize(("n", "d"), [(1, 2), (30, 3), (70, 16)])
def test_a_term_of_ones_own_equals_the_function_in_Python(term: object, n: int, d: int) -> None:
    x = nc.uniform(n, d, seed=1)
    for norm in ("post", "ngpt"):
        block = Block(nc.Attention(2.0), term, norm=norm)  # type: ignore[arg-type]  # a plain text
        # a few roundings of numbers up to 3, over |A| >= 1/2 for these tokens
        assert np.abs(nc.drift(block, x) - block_drift(block, x)).max() <= 100 * EPS


def test_one_compiled_kernel_serves_all_functions() -> None:
    x = nc.uniform(5, 3, seed=1)
    nc.drift(Block((), gravity), x)
    kernels = len(heads_images.signatures), len(heads_block.signatures)
    nc.drift(Block((), squares), x)
    nc.drift(Block(nc.Attention(1.0), norm="ngpt"), x)
    assert (len(heads_images.signatures), len(heads_block.signatures)) == kernels


def test_a_function_is_compiled_once() -> None:
    assert own_term(gravity) == own_term(gravity)
    assert len({own_term(gravity), own_term(squares), own_term(None)}) == 3


def test_a_function_that_Numba_cannot_compile_is_refused_in_words() -> None:
    with pytest.raises(InputError, match=r"mlp must be a function of \(x, out\).*but plots is not"):
        make_system(block_shape(Block((), plots), 5, 3))
