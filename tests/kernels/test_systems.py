"""A solver knows a system by three addresses, and its velocities are those of the system itself."""

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from support.kernel_models import MASKS, Mask, models

import nucleate as nc
from nucleate.block import Block
from nucleate.kernels.block_shape import block_shape
from nucleate.kernels.compile import uncounted
from nucleate.kernels.dispatch import make_system
from nucleate.kernels.model_shape import model_shape
from nucleate.kernels.systems import drift_into, with_system

GO = np.zeros(1, dtype=np.uint8)


@uncounted
def velocity_of(system: Any, y: Any, velocity: Any, stop: Any) -> None:
    drift_into(system, y, velocity, stop)


def states(n: int, d: int, width: int) -> tuple[Any, Any]:
    """Tokens, flat and padded, as angles or coordinates; and room for their velocities."""
    x = nc.uniform(n, d, seed=1)
    y = np.zeros(n * width + 8)
    y[: n * width] = np.arctan2(x[:, 1], x[:, 0]) if width == 1 else x.ravel()
    return y, np.zeros_like(y)


def check_both(system: Any, y: Any, velocity: Any) -> None:
    """The same bits by its type and by its addresses."""
    velocity_of(system, y, velocity, GO)
    assert velocity.any()
    by_address = np.full_like(velocity, np.nan)
    by_address[-8:] = velocity[-8:]
    with_system(velocity_of, system, y, by_address, GO)
    assert np.array_equal(velocity, by_address)


@pytest.mark.parametrize("mask", [MASKS[0], MASKS[1], MASKS[3]])
def test_velocities_by_address_are_those_of_the_system(mask: Mask) -> None:
    for model in models(2, mask).values():
        shape = model_shape(model, 40, 2)
        for kernel in ("pairwise", "circle"):
            check_both(make_system(shape, kernel), *states(40, 2, 1))
    for model in models(3, mask).values():
        check_both(make_system(model_shape(model, 40, 3), "pairwise"), *states(40, 3, 3))


def test_systems_of_other_kinds_are_called_by_address_too() -> None:
    for d in (3, 4):
        sphere = model_shape(nc.Attention(9.0), 300, d)
        check_both(make_system(sphere, "sphere"), *states(300, d, d))
    tiles = model_shape(nc.Attention(9.0), 300, 20)
    check_both(make_system(tiles), *states(300, 20, 20))
    grid = model_shape(nc.Attention(5e4), 300, 2)
    check_both(make_system(grid, "circle"), *states(300, 2, 1))
    block = block_shape(Block([nc.Attention(3.0), nc.Attention(1.0)]), 20, 3, 0, "post")
    check_both(make_system(block), *states(20, 3, 3))


def test_no_second_solver_is_compiled_for_a_second_kernel() -> None:
    code = """
import nucleate as nc
from nucleate.integrate.explicit import integrate_runs
for n, d in ((8, 2), (200, 2), (8, 3)):
    nc.simulate(nc.Attention(9.0), nc.uniform(n, d, seed=0), 0.1, method="explicit")
nc.simulate(nc.Attention(9.0), nc.uniform(8, 2, seed=0, runs=3), 0.1, rtol=1e-6)
nc.simulate(nc.Block([nc.Attention(9.0)]), nc.uniform(8, 3, seed=0), 0.1)
print(len(integrate_runs.signatures))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    assert done.stdout.strip() == "1"


@pytest.mark.skipif(os.environ.get("NUMBA_BOUNDSCHECK") != "1", reason="no index is checked")
def test_an_error_inside_goes_up() -> None:
    system = make_system(model_shape(nc.Attention(9.0), 40, 3), "pairwise")
    with pytest.raises(IndexError):
        with_system(velocity_of, system, np.zeros(8), np.zeros(8), GO)
