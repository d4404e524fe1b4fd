"""Figures 1 and 6: wrong ends change their verdicts."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.small_items import made, planted

from nucleate.sphere import uniform


def with_end(run: Any, x: Any) -> Any:
    """The run with its last decade of frames, and its end, at x."""
    return replace(run, x=np.where((run.t >= run.t[-1] / 10)[:, None, None], x, run.x))


@pytest.mark.parametrize(
    ("key", "panel"),
    [
        ("figure1", "row1"),
        ("figure1", "row2"),
        ("figure1", "row3"),
        ("figure6", "row2-oblique"),
        ("figure6", "row3-small"),
    ],
)
def test_a_token_that_ends_elsewhere_changes_the_verdict_of_figures_1_and_6(key: str, panel: str) -> None:
    found = made(key)
    run = found.data[f"{panel}-end"]
    x = run.x[-1].copy()
    x[-1] = uniform(1, 3, 7)
    assert found.words(planted(found.data, f"{panel}-end", with_end(run, x)))[0] == "disagrees"


@pytest.mark.parametrize(
    ("key", "panel"), [("figure1", "row4"), ("figure1", "row5"), ("figure6", "row5-oblique")]
)
def test_tokens_that_stay_uniform_are_no_cloud(key: str, panel: str) -> None:
    found = made(key)
    run = found.data[f"{panel}-end"]
    assert (
        found.words(planted(found.data, f"{panel}-end", with_end(run, uniform(found.p["n"], 3, 4))))[1]
        == "disagrees"
    )


def test_one_cloud_is_not_two() -> None:
    found = made("figure1")
    run = found.data["row5-end"]
    x = run.x[-1] * np.where(run.x[-1, :, :1] < 0, -1.0, 1.0)  # all on one side
    assert found.words(planted(found.data, "row5-end", with_end(run, x)))[1] == "disagrees"
