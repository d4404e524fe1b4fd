"""Matrices by name: each has the spectrum that its name promises."""

import numpy as np
import pytest

import nucleate as nc
from nucleate.checks import InputError
from nucleate.explorer.matrices import matrix


@pytest.mark.parametrize("d", [2, 3, 5, 64])
@pytest.mark.parametrize(
    ("name", "row"),
    [("identity", 1), ("row2", 2), ("row3", 3), ("row4", 4), ("row5", 5), ("minus-identity", 4)],
)
def test_there_is_a_matrix_for_every_row_of_table_1(name: str, row: int, d: int) -> None:
    if name == "row2" and d == 2:
        with pytest.raises(InputError, match="needs a dimension from 3"):
            matrix(name, d)
    else:
        assert nc.atlas(matrix(name, d)).row == row


@pytest.mark.parametrize("d", [2, 3, 5])
def test_complex_defective_and_zero_dominant_eigenvalues_are_what_their_names_say(d: int) -> None:
    assert nc.atlas(matrix("complex", d)).kind == "complex"
    assert nc.atlas(matrix("defective", d)).kind == "defective"
    assert nc.atlas(matrix("zero", d)).lambda_max == 0.0


def test_matrices_of_three_dimensions_are_those_of_figure_1() -> None:
    from nucleate.papers.causal_clustering.figure1.item import PANELS

    named = {"row1": "identity"}
    for panel in PANELS:
        assert np.array_equal(matrix(named.get(panel.name, panel.name), 3), panel.matrix), panel.name


def test_the_head_is_drawn_like_figure_5_and_has_its_spectral_radius() -> None:
    radius = np.abs(np.linalg.eigvals(matrix("head", 64, 1))).max()
    assert 0.8 < radius < 1.25  # the circular law gives 1, with a spread of about d^(-1/2)
    assert not np.array_equal(matrix("head", 8, 0), matrix("head", 8, 1))
    assert np.array_equal(matrix("gaussian", 8, 3), matrix("gaussian", 8, 3))
