"""Matrices with a name: each has the spectrum that its name promises."""

import numpy as np
import pytest

import nucleate as nc
from nucleate.checks import InputError
from nucleate.parse.named_matrices import NAMED, named_matrix


@pytest.mark.parametrize("d", [2, 3, 5, 64])
@pytest.mark.parametrize(
    ("name", "row"),
    [("identity", 1), ("row2", 2), ("row3", 3), ("row4", 4), ("row5", 5), ("minus-identity", 4)],
)
def test_there_is_a_matrix_for_every_row_of_table_1(name: str, row: int, d: int) -> None:
    if name == "row2" and d == 2:
        with pytest.raises(InputError, match="needs a dimension of at least 3"):
            named_matrix(name, d)
    else:
        assert nc.atlas(named_matrix(name, d)).row == row


@pytest.mark.parametrize("d", [2, 3, 5])
def test_complex_defective_and_marginal_are_what_their_names_say(d: int) -> None:
    assert nc.atlas(named_matrix("complex", d)).kind == "complex"
    assert nc.atlas(named_matrix("defective", d)).kind == "defective"
    assert nc.atlas(named_matrix("marginal", d)).lambda_max == 0.0


def test_matrices_of_three_dimensions_are_those_of_figure_1() -> None:
    from nucleate.papers.causal_clustering.figure1.data import PANELS

    named = {"row1": "identity", "zero": "marginal"}
    for panel in PANELS:
        assert np.array_equal(named_matrix(named.get(panel.name, panel.name), 3), panel.matrix), panel.name


def test_the_head_is_drawn_like_figure_5_and_has_its_spectral_radius() -> None:
    radius = np.abs(np.linalg.eigvals(named_matrix("head", 64, 1))).max()
    assert 0.8 < radius < 1.25  # the circular law gives 1, with a spread of about d^(-1/2)
    assert not np.array_equal(named_matrix("head", 8, 0), named_matrix("head", 8, 1))
    assert np.array_equal(named_matrix("gaussian", 8, 3), named_matrix("gaussian", 8, 3))


def test_a_seed_changes_the_random_ones_alone() -> None:
    for name, one in NAMED.items():
        assert np.array_equal(named_matrix(name, 4, 1), named_matrix(name, 4, 2)) != one.random


def test_an_unknown_name_and_a_matrix_beyond_memory_are_refused() -> None:
    with pytest.raises(InputError, match=r"There is no matrix named 'row9'\. There is identity, row2"):
        named_matrix("row9", 3)
    with pytest.raises(InputError, match="GiB"):
        named_matrix("head", 10**6)
