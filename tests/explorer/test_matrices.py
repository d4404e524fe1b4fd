"""Matrices of a scene: the menu has every matrix with a name, each in the form in which a scene holds it."""

import numpy as np

from nucleate.explorer.matrices import MENU, chosen_matrix, matrix_choice
from nucleate.parse.named_matrices import NAMED, named_matrix


def test_every_matrix_with_a_name_is_in_the_menu() -> None:
    assert [entry.name for entry in MENU] == list(NAMED)
    for entry in MENU:
        plain = entry.plain()
        d = plain["dims"][0]
        choice = matrix_choice("V", {"preset": entry.name}, d)
        assert choice == {"preset": entry.name, **({"seed": 0} if plain["seeded"] else {})}
        assert np.array_equal(chosen_matrix(choice, d), named_matrix(entry.name, d))
