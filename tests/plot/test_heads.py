"""Pictures of heads: the spectra of a layer, and the map of all heads."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from support.made_checkpoints import make

from nucleate.checks import InputError
from nucleate.models.spectra import Spectra, spectra
from nucleate.plot.heads import REGIONS, head_map, head_spectrum, layer_figure
from nucleate.plot.styles import contrast


@pytest.fixture
def found(tmp_path: Path) -> Spectra:
    return spectra(make("llama").write(tmp_path / "checkpoint"), draws=2)


def test_the_map_has_the_colour_and_the_sign_of_every_head(found: Spectra) -> None:
    ax = head_map(found)
    cells = ax.images[0].get_array()
    assert cells is not None
    assert cells.shape == (found.layers, found.heads_per_layer, 3)
    signs = {(int(text.get_position()[1]), int(text.get_position()[0])): text.get_text() for text in ax.texts}
    for head in found.heads:
        sign, colour = REGIONS[head.region]
        np.testing.assert_allclose(cells[head.layer, head.head], to_rgb(colour))
        assert signs[head.layer, head.head] == sign


def test_signs_can_be_read_and_no_two_regions_share_sign_and_colour() -> None:
    assert len(set(REGIONS.values())) == len(REGIONS)
    assert len({sign for sign, _ in REGIONS.values()}) == len(REGIONS)
    # WCAG AA
    assert all(
        max(contrast(to_rgb(colour), (0, 0, 0)), contrast(to_rgb(colour), (1, 1, 1))) >= 4.5
        for _, colour in REGIONS.values()
    )


def test_a_head_shows_every_eigenvalue_and_the_dominant_ones_in_another_shape(found: Spectra) -> None:
    head = found.heads[0]
    ax = head_spectrum(head)
    points = np.concatenate([np.asarray(dots.get_offsets()) for dots in ax.collections])  # (d_head, 2)
    shown = np.sort_complex(points[:, 0] + 1j * points[:, 1])
    np.testing.assert_allclose(shown, np.sort_complex(head.eigenvalues))
    dominant = np.asarray(ax.collections[1].get_offsets())
    assert len(dominant) == head.multiplicity
    np.testing.assert_allclose(dominant[:, 0], head.lambda_max)


def test_a_layer_shows_all_its_heads_on_one_scale(found: Spectra) -> None:
    figure = layer_figure(found, 1)
    shown = [ax for ax in figure.axes if ax.get_visible()]
    assert [ax.get_title().split(":")[0] for ax in shown] == [
        f"head {i}" for i in range(found.heads_per_layer)
    ]
    assert len({ax.get_xlim() for ax in shown}) == 1
    assert shown[0].get_xlim()[1] > max(np.abs(head.eigenvalues).max() for head in found.layer(1))


def test_the_map_refuses_what_are_no_spectra() -> None:
    with pytest.raises(InputError, match=r"needs what nucleate\.spectra gives"):
        head_map(3)  # type: ignore[arg-type]  # that is what is refused


def test_dollars_in_the_name_of_a_model_are_shown_as_they_are(found: Spectra) -> None:
    named = replace(found, model=r"runs/$\frac{$")
    for figure in (layer_figure(named, 0), head_map(named).figure):
        assert isinstance(figure, Figure)
        figure.draw_without_rendering()  # where a formula is read
    assert head_map(named).get_title("left").startswith(r"runs/\$\frac{\$: ")
