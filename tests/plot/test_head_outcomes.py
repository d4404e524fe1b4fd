"""What Table 1 says of every head beside what happened, as two maps."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from support.made_checkpoints import make

from nucleate.checks import InputError
from nucleate.models.all_heads import simulate_all_heads
from nucleate.models.spectra import spectra
from nucleate.plot.head_outcomes import OUTCOMES, outcome_figure, outcome_map
from nucleate.plot.styles import contrast


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A small model, read and simulated for a moment."""
    path = make("llama").write(tmp_path_factory.mktemp("model"))
    return replace(spectra(path, draws=2), outcomes=simulate_all_heads(path, tokens=4))


def test_the_two_maps_have_colour_and_sign_of_every_head_and_frame_what_the_table_did_not_say(
    simulated: Any,
) -> None:
    odd = replace(simulated.outcomes.heads[3], region="3", near=0.0, clusters=1, resting=True)
    heads = (*simulated.outcomes.heads[:3], odd, *simulated.outcomes.heads[4:])
    found = replace(simulated, outcomes=replace(simulated.outcomes, heads=heads))
    ax = outcome_map(found)
    cells = ax.images[0].get_array()
    assert cells is not None
    signs = {(int(text.get_position()[1]), int(text.get_position()[0])): text.get_text() for text in ax.texts}
    for head in found.outcomes.heads:
        sign, colour = OUTCOMES[head.ended]
        np.testing.assert_allclose(cells[head.layer, head.head], to_rgb(colour))
        assert signs[head.layer, head.head] == sign
    framed = {(patch.get_x() + 0.45, patch.get_y() + 0.45) for patch in ax.patches}  # type: ignore[attr-defined]  # they are rectangles
    assert framed == {(head.head, head.layer) for head in found.outcomes.heads if head.as_said is False}
    assert (3, 0) in framed
    said, happened = outcome_figure(found).axes
    assert (said.get_title(loc="left"), happened.get_title(loc="left")) == (
        "what Table 1 says",
        "what happened",
    )
    assert (
        len({sign for sign, _ in OUTCOMES.values()})
        == len({colour for _, colour in OUTCOMES.values()})
        == len(OUTCOMES)
    )
    # WCAG AA
    assert all(
        max(contrast(to_rgb(colour), (0, 0, 0)), contrast(to_rgb(colour), (1, 1, 1))) >= 4.5
        for _, colour in OUTCOMES.values()
    )
    with pytest.raises(InputError, match="--simulate-heads"):
        outcome_map(replace(found, outcomes=None))


def test_dollars_in_the_name_of_a_model_are_shown_as_they_are(simulated: Any) -> None:
    outcome_figure(
        replace(simulated, model=r"runs/$\frac{$")
    ).draw_without_rendering()  # where a formula is read
