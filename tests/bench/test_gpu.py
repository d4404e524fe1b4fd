"""`nucleate bench gpu` without a card; with one it is run by hand."""

from typing import Any

import pytest
from support.gpu_cases import has_card

import nucleate as nc
from nucleate.bench import gpu
from nucleate.bench.peers import Missing
from nucleate.bench.torch_peers import torch_euler, torch_products, torch_sdpa
from nucleate.checks import InputError

pytestmark = pytest.mark.skipif(has_card(), reason="there is a card")
X = nc.uniform(4, 3, seed=0)


def test_without_a_card_it_is_said_before_anything_is_measured() -> None:
    with pytest.raises(InputError, match=r"numba-cuda|NVIDIA card"):
        next(gpu.sections(10, True, 2, pytest.fail))


@pytest.mark.parametrize(
    ("peer", "arguments"),
    [(torch_euler, (X[None], 4.0, 1.0, 0.1)), (torch_products, (X, 4.0)), (torch_sdpa, (X, 4.0))],
)
def test_peers_that_find_no_card_are_missing(peer: Any, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(Missing, match="not installed: pip install torch"):
        peer(*arguments)
