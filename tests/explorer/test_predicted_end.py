"""The places that the page draws as predictions: L, and the point of rows 1 and 2."""

from typing import Any

import numpy as np
import pytest

import nucleate as nc
from nucleate.explorer.model_facts import model_facts
from nucleate.explorer.predicted_end import predicted_point
from nucleate.explorer.prepared_run import begun_message, prepare_scene
from nucleate.explorer.scene import parse_scene

TWO_LEAD = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -0.5]]
ONE_LEADS = [[1.0, 0.0, 0.0], [0.0, 0.4, 0.0], [0.0, 0.0, 0.1]]


def begun(V: list[list[float]] | None, **more: object) -> dict[str, Any]:
    scene: dict[str, Any] = {"n": 8, "d": 3, "beta": 2.0, "t": 60.0, "frames": 5, **more}
    if V is not None:
        scene["V"] = {"matrix": V}
    return begun_message(prepare_scene(parse_scene(scene)), 1)


def test_the_message_names_l_and_the_point_that_the_run_reaches() -> None:
    message = begun(TWO_LEAD)
    L = np.array(message["spectrum"]["L"])
    assert np.allclose(np.abs(L @ L.T), np.eye(2))
    assert np.allclose(L[:, 2], 0.0)
    run = nc.simulate(nc.Attention(2.0, V=TWO_LEAD), nc.uniform(8, 3, 0), 60.0)
    assert np.allclose(run.x[-1], message["predicted_point"], atol=1e-4)  # e^(-t/2) is 1e-13, rtol 1e-8


@pytest.mark.parametrize(
    ("V", "more", "dimension", "point"),
    [
        (None, {}, 3, True),
        (ONE_LEADS, {}, 1, False),
        (TWO_LEAD, {"mask": "full"}, 2, False),  # Table 1 does not speak of it
    ],
    ids=["row 1", "row 3", "full attention"],
)
def test_a_point_is_named_only_where_a_row_of_table_1_names_one(
    V: list[list[float]] | None, more: dict[str, object], dimension: int, point: bool
) -> None:
    message = begun(V, **more)
    assert len(message["spectrum"]["L"]) == dimension
    assert (message["predicted_point"] is not None) == point


def test_a_start_without_a_part_in_l_has_no_predicted_point() -> None:
    spectrum = model_facts(nc.Attention(2.0, V=TWO_LEAD), 8, 3)["spectrum"]
    assert predicted_point(spectrum, np.array(TWO_LEAD), np.array([0.0, 0.0, 1.0])) is None
