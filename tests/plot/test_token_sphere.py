"""Tokens of a text on the sphere: what is lost is said."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.text import Text
from support.pictures import draw

from nucleate.checks import InputError
from nucleate.integrate.run import Run
from nucleate.plot.token_sphere import (
    depth_globes,
    principal_frame,
    project_each_layer,
    project_layers,
    token_sphere,
)
from nucleate.sphere import retract, uniform


def test_the_share_that_is_kept_is_that_of_the_projection_and_all_in_three_dimensions() -> None:
    x = uniform(20, 8, seed=0, runs=3)
    basis, kept = principal_frame(x)
    assert basis.T @ basis == pytest.approx(np.eye(3), abs=1e-12)
    assert kept == pytest.approx(((x @ basis) ** 2).sum((1, 2)) / 20)
    flat = np.concatenate([uniform(20, 3, seed=0, runs=2), np.zeros((2, 20, 5))], axis=-1)
    assert principal_frame(flat)[1] == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize(("n", "d"), [(20, 50), (140, 110), (105, 110)])
def test_the_directions_are_those_of_all_products_of_coordinates(n: int, d: int) -> None:
    sizes = np.concatenate([[9.0, 7.0, 5.0], np.ones(d - 3)])  # (d,) so that three directions stand out
    x = (np.random.default_rng(0).standard_normal((n, d)) * sizes)[None]
    slow = np.linalg.eigh(x[0].T @ x[0])[1][:, :-4:-1]  # (d, 3)
    basis, kept = principal_frame(x)
    assert np.abs(np.abs(basis.T @ slow) - np.eye(3)).max() < 1e-10
    assert np.abs(basis * np.sign((basis * slow).sum(0)) - slow).max() < 1e-10
    assert kept == pytest.approx([((x[0] @ slow) ** 2).sum() / (x**2).sum()], rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_tokens_need_no_matrix_of_all_coordinates(n: int) -> None:
    d = 200_000  # whose matrix would take 320 GB
    x = np.zeros((1, n, d))
    x[0, range(n), range(n)] = np.arange(n, 0, -1)
    basis, kept = principal_frame(x)
    assert basis.T @ basis == pytest.approx(np.eye(3), abs=1e-12)
    assert np.abs(basis[range(min(n, 3)), range(min(n, 3))]) == pytest.approx(np.ones(min(n, 3)))
    assert kept == pytest.approx([(np.arange(n, 0, -1)[:3] ** 2).sum() / (np.arange(n, 0, -1) ** 2).sum()])
    same = np.repeat(x[:, :1], 4, axis=1)  # all tokens in one place
    basis, _ = principal_frame(same)
    assert basis.T @ basis == pytest.approx(np.eye(3), abs=1e-12)


def test_a_frame_for_each_layer_keeps_most_and_turns_no_more_than_it_must() -> None:
    x = uniform(20, 8, seed=1, runs=3)
    (_, kept), (y, own) = project_layers(x), project_each_layer(x)
    assert (own >= kept - 1e-12).all()
    assert own == pytest.approx([principal_frame(layer[None, 1:])[1][0] for layer in x])
    for before, after in pairwise(y):  # no rotation of a layer brings it nearer to the last
        product = after[1:].T @ before[1:]  # (3, 3): symmetric and positive where none does
        assert product == pytest.approx(product.T, abs=1e-9)
        assert np.linalg.eigvalsh(product).min() > -1e-9


def test_every_panel_names_its_layer_its_loss_and_its_words() -> None:
    x = uniform(6, 5, seed=0, runs=2)
    words = ["the", " cat", "$", " sat", " on", " mat"]
    figure = token_sphere({"text": (x, words, np.array([1, 0, 0, 1, 0, 0], dtype=bool))}, [0, 4])
    kept = principal_frame(x[:, 1:])[1]
    panels = figure.axes[::2]  # each is followed by its small globe
    for ax, layer, share in zip(panels, (0, 4), kept, strict=True):
        assert ax.get_title().startswith(
            f"text, after block {layer}\nkept {share:.0%} of squared length; magn"
        )
        written = {text.get_text() for text in ax.texts}
        assert {"cat", r"\$", "sat", "on", "mat"} <= written <= {"the", "cat", r"\$", "sat", "on", "mat"}
    draw(figure)
    with pytest.raises(InputError, match="one word and mark per token"):
        token_sphere({"text": (x, words[:5], np.zeros(6, dtype=bool))}, [0, 4])


def test_tokens_in_a_small_part_of_the_globe_fill_the_panel_and_no_word_covers_another() -> None:
    rng = np.random.default_rng(3)
    x = retract(np.array([1.0, 0, 0, 0, 0]) + 0.03 * rng.standard_normal((1, 24, 5)))  # (1, n, d)
    figure = token_sphere({"text": (x, [f"word{k}" for k in range(24)], np.zeros(24, dtype=bool))}, [7])
    draw(figure)
    panel = figure.axes[0]
    assert panel.get_xlim()[1] - panel.get_xlim()[0] < 0.4
    boxes = [Text.get_window_extent(text) for text in panel.texts]  # without the line to the token
    assert len(boxes) >= 20
    assert not any(one.overlaps(two) for i, one in enumerate(boxes) for two in boxes[:i])


def test_layers_and_tokens_of_a_run_over_depth_can_be_chosen() -> None:
    run = Run.from_hidden_states(np.random.default_rng(0).standard_normal((5, 9, 6)))
    assert len(depth_globes(run).axes) == 2 * 4
    figure = depth_globes(run, [4, 1], tokens=6)
    assert [ax.get_title().split("\n")[0] for ax in figure.axes[::2]] == [
        "text, after block 4",
        "text, after block 1",
    ]
    with pytest.raises(InputError, match="at most 4, but 7"):
        depth_globes(run, [7])
