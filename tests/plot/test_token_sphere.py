"""Tokens of a text on the sphere: what is lost is said."""

import numpy as np
import pytest
from support.pictures import draw

from nucleate.checks import InputError
from nucleate.plot.token_sphere import principal_frame, token_sphere
from nucleate.sphere import uniform


def test_the_share_that_is_kept_is_that_of_the_projection_and_all_in_three_dimensions() -> None:
    x = uniform(20, 8, seed=0, runs=3)
    basis, kept = principal_frame(x)
    assert basis.T @ basis == pytest.approx(np.eye(3), abs=1e-12)
    assert kept == pytest.approx(((x @ basis) ** 2).sum((1, 2)) / 20)
    flat = np.concatenate([uniform(20, 3, seed=0, runs=2), np.zeros((2, 20, 5))], axis=-1)
    assert principal_frame(flat)[1] == pytest.approx([1.0, 1.0])


def test_every_panel_names_its_layer_its_loss_and_its_words() -> None:
    x = uniform(6, 5, seed=0, runs=2)
    words = ["the", " cat", "$", " sat", " on", " mat"]
    figure = token_sphere({"text": (x, words, np.array([1, 0, 0, 1, 0, 0], dtype=bool))}, [0, 4])
    kept = principal_frame(x[:, 1:])[1]
    for ax, layer, share in zip(figure.axes, (0, 4), kept, strict=True):
        assert ax.get_title() == f"text, after block {layer}\nkept {share:.0%} of squared length"
        assert [text.get_text() for text in ax.texts] == ["the", "cat", r"\$", "sat", "on", "mat"]
    draw(figure)
    with pytest.raises(InputError, match="one word and mark per token"):
        token_sphere({"text": (x, words[:5], np.zeros(6, dtype=bool))}, [0, 4])
