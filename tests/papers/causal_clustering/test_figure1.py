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


def test_both_tolerances_must_lead_to_a_cloud() -> None:
    found = made("figure1")
    run = found.data["row5-end-careful"]
    uniform_end = with_end(run, uniform(found.p["n"], 3, 4))
    data = planted(found.data, "row5-end-careful", uniform_end)
    verdict = found.item.verdicts(found.item.measure(data, found.p), found.p)[1]
    assert verdict.word == "disagrees"
    assert "“row 5" in verdict.why.split("depends on the tolerance for")[1]


def test_one_cloud_is_not_two() -> None:
    found = made("figure1")
    run = found.data["row5-end"]
    x = run.x[-1] * np.where(run.x[-1, :, :1] < 0, -1.0, 1.0)  # all on one side
    assert found.words(planted(found.data, "row5-end", with_end(run, x)))[1] == "disagrees"


def test_a_cloud_around_everything_is_no_claim_and_its_spread_is_told() -> None:
    found = made("figure6")
    verdicts = found.item.verdicts(found.numbers, found.p)
    assert [verdict.word for verdict in verdicts] == ["agrees", "agrees", "no claim", "no claim"]
    assert "L is the whole space" in verdicts[2].part
    assert float(found.numbers["minus-identity_mean_length"].value) < 0.2  # V = -I repels
    run = found.data["minus-identity-end"]
    together = planted(found.data, "minus-identity-end", with_end(run, uniform(1, 3, 4)))
    assert "has length 1 " in found.item.verdicts(found.item.measure(together, found.p), found.p)[2].why


def test_what_is_outside_the_table_is_no_claim_and_unresolved_where_rounding_decides() -> None:
    found = made("figure1")

    def described(beta: float, **data: Any) -> str:
        p = {**found.p, "beta": beta}
        verdict = found.item.verdicts(found.item.measure({**found.data, **data}, p), p)[-1]
        assert verdict.word == "no claim"
        return next(text for text in verdict.why.split("; ") if "defective" in text)

    assert "unresolved" not in described(4.0)
    # at the figure's beta the force e^{-36} / 4 is less than the spacing of doubles near 1
    assert "unresolved, for the force that decides the end, 6e-17" in described(9.0)
    run = found.data["defective-end-careful"]
    other = {"defective-end-careful": with_end(run, uniform(found.p["n"], 3, 4))}
    assert "unresolved, for the end depends on the tolerance" in described(4.0, **other)


def test_every_line_of_figures_1_and_6_tells_its_figure_and_that_the_V_are_ours() -> None:
    parts = {
        key: [verdict.part for verdict in made(key).item.verdicts(made(key).numbers, made(key).p)]
        for key in ("figure1", "figure6")
    }
    assert all(part.startswith("Figure 1") for part in parts["figure1"])
    assert all(part.startswith("Figure 6") for part in parts["figure6"])
    assert all("V of our choice" in part for some in parts.values() for part in some[:2])
