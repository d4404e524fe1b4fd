"""Random models: within their conjectures, and the same bits in blocks of any size."""

import numpy as np
import pytest

from nucleate.papers.causal_clustering.conjectures.random_models import (
    FAMILIES_1,
    FAMILIES_2,
    ModelFamily,
    _block,
    matrices,
)
from nucleate.theory.atlas import atlas


@pytest.mark.parametrize("kind", [*FAMILIES_1, *FAMILIES_2], ids=lambda kind: kind.words)
def test_every_family_but_the_one_beyond_is_within_its_conjecture(kind: ModelFamily) -> None:
    row = 3 if kind in FAMILIES_1 else 2
    for run in range(5):
        found = atlas(matrices(kind, 7, range(run, run + 1))[0][0])
        assert found.row == row
        assert found.within_conjecture == (kind is not FAMILIES_2[-1])


def test_a_family_gives_the_same_bits_in_blocks_of_any_size() -> None:
    kind = FAMILIES_1[9]
    whole, part = _block(kind, 0, range(6)), _block(kind, 0, range(2, 4))
    assert np.array_equal(whole["off"].values[2:4], part["off"].values)
