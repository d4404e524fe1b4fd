"""The card and the CPU say the same; on a card with systems of ordinary size, else in Numba's simulator with
tiny ones (see support/gpu_cases.py)."""

import pytest
from support.gpu_cases import measured

pytestmark = pytest.mark.untimed  # the simulator is slow


def test_velocities_are_those_of_the_equation() -> None:
    for case, error in measured()["drift_twins"].items():
        by_differences = "d = 2," in case or "d = 3," in case
        assert error < ((1e-6 if by_differences else 5e-6) if case.endswith("mixed") else 1e-13), case


def test_the_same_call_gives_the_same_bits_and_a_batch_those_of_its_runs() -> None:
    assert measured()["drift_bits"] == {"again": True, "alone": True}


def test_runs_keep_their_tolerance() -> None:
    for case, found in measured()["simulate_twins"].items():
        assert set(found["status"]) == {"done"}, case
        assert found["error"] < 10.0 * max(found["tolerance"], found["error of the CPU"]), case


def test_the_steps_are_those_of_the_cpu() -> None:
    found = measured()["same_steps"]
    assert max(abs(a - b) for a, b in zip(found["gpu"], found["cpu"], strict=True)) <= 1
    assert sum(a != b for a, b in zip(found["gpu"], found["cpu"], strict=True)) <= len(found["cpu"]) / 5


def test_fixed_steps_are_those_of_the_cpu() -> None:
    found = measured()["fixed_steps"]
    assert found["error"] < 1e-14
    assert found["steps"] == [5, 5]


def test_single_precision_pairs_keep_a_tolerance_of_a_millionth() -> None:
    assert measured()["mixed_precision"]["error"] < 1e-5


def test_a_run_that_overflows_leaves_its_neighbours_alone() -> None:
    found = measured()["neighbours"]
    assert found["status"] == ["done", "non-finite", "done"]
    assert found["same bits"]
    assert found["lost frames are NaN"]
    assert found["max steps"] == ["max steps"] * 3
    assert found["short frames are NaN"]


def test_callbacks_are_told_and_can_cancel() -> None:
    found = measured()["callbacks"]
    assert [tuple(done) for done in found["told"]] == [(3, 3), (3, 3)]
    assert [tuple(shape) for shape in found["frames"]] == [(3, 3, 3, 2)]
    for ending in ("cancelled", "time limit", "interrupted"):
        assert found[ending] == [ending, True]


def test_runs_share_the_memory_of_the_card_or_are_refused() -> None:
    found = measured()["memory"]
    assert found["same bits"]
    assert "A run takes" in found["refused"]
    assert "Save fewer frames" in found["refused"]


def test_one_large_system_goes_as_on_the_cpu() -> None:
    found = measured()["large_system"]
    assert found["error"] < 1e-12
    assert found["status"] == "done"


def test_a_study_on_the_card_is_that_of_the_cpu() -> None:
    found = measured()["studies"]
    for d in (2, 3):
        assert max(found[f"d = {d}"].values()) < 1e-4, found[f"d = {d}"]
        assert found[f"d = {d}, blocks"]
    assert all(found["lost"].values()), found["lost"]
