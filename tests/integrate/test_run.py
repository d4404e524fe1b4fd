"""The record of a run: what it says of itself, and how it checks itself."""

from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest
from support.made_runs import many_runs, one_run, rich_run

from nucleate.attention import Attention
from nucleate.checks import InputError
from nucleate.integrate.run import Agreement, Run
from nucleate.integrate.simulate import simulate
from nucleate.integrate.status import STATUS_HELP
from nucleate.sphere import retract, uniform


def test_a_run_says_in_one_line_what_it_is() -> None:
    text = "Run(9 tokens, d = 2, beta = 4, causal; t = 0 to 3 in 12 frames; explicit, 17 steps; done)"
    assert repr(one_run()) == text
    assert "window 4" in repr(rich_run())
    assert repr(many_runs()).startswith("Run(3 runs of 5 tokens, d = 2, beta = 1 to 3, full;")
    assert '3 to 1099511627776 steps; 2 done, 1 stalled. "stalled": ' in repr(many_runs())


@pytest.mark.parametrize("status", [status for status in STATUS_HELP if status != "done"])
def test_a_run_that_is_not_done_says_what_to_do(status: str) -> None:
    run = replace(one_run(), status=status)
    assert run.status_help == STATUS_HELP[status]
    assert repr(run).endswith(f"17 steps; {status}. {STATUS_HELP[status]})")
    batch = replace(many_runs(), status=("done", status, status))
    assert batch.status_help == f'"{status}": {STATUS_HELP[status]}'
    assert batch.status_help in batch.summary


def test_each_status_of_a_batch_is_explained_once_and_done_needs_no_help() -> None:
    batch = replace(many_runs(), status=("stalled", "max steps", "stalled"))
    assert batch.status_help.count("stalled") == batch.status_help.count('"max steps"') == 1
    assert one_run().status_help == replace(many_runs(), status=("done",) * 3).status_help == ""
    assert repr(one_run()).endswith("; done)")


def test_a_run_without_frames_still_has_a_name() -> None:
    run = one_run()
    assert "0 frames" in repr(replace(run, t=run.t[:0], x=run.x[:0], status="interrupted", steps=0))


def test_only_a_run_whose_every_part_is_done_is_done() -> None:
    assert one_run().done
    assert not rich_run().done
    assert not many_runs().done
    assert replace(many_runs(), status=("done",) * 3).done
    assert not replace(many_runs(), status=("max steps",) * 3).done


def test_a_run_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        one_run().status = "done"  # type: ignore[misc]  # the mistake is the test


def test_xarray_names_the_axes_in_one_order() -> None:
    one, many = one_run(d=3).to_xarray(), many_runs().to_xarray()
    assert one["x"].dims == ("time", "token", "coordinate")
    assert many["x"].dims == ("run", "time", "token", "coordinate")
    assert many["V"].dims == ("run", "row", "column")
    assert many["steps"].dims == many["beta"].dims == ("run",)
    np.testing.assert_array_equal(many["time"], np.arange(6.0))
    assert one["x"].sel(time=3.0).shape == (9, 3)


@pytest.fixture(scope="module")
def model() -> Attention:
    return Attention(4.0)


def test_an_adaptive_run_agrees_with_its_careful_twin(model: Attention) -> None:
    agreement = simulate(model, uniform(6, 2, 0), 5.0, save=8, rtol=1e-6, atol=1e-8).check()
    # a local tolerance of 1e-6 gives a few digits less or more over t = 5, not 12
    assert 4 <= agreement.digits <= 9
    assert agreement.status == "done"
    assert agreement.difference.shape == (8,)
    assert agreement.difference[0] < 1e-15
    assert f"{agreement.digits} digits agree with a rerun with auto, rtol = 1e-08, atol = 1e-10" in str(
        agreement
    )


def test_a_larger_factor_asks_for_a_more_careful_twin(model: Attention) -> None:
    run = simulate(model, uniform(6, 2, 0), 5.0, save=8, rtol=1e-6, atol=1e-8)
    assert "rtol = 1e-09" in run.check(factor=1000).against


def test_tolerances_are_not_tightened_beyond_what_doubles_carry(model: Attention) -> None:
    run = simulate(model, uniform(3, 2, 0), 1.0, save=3, rtol=1e-12, atol=0.0)
    assert "rtol = 1e-13, atol = 0" in run.check(factor=1e6).against


def test_a_fixed_step_run_is_checked_with_half_the_step(model: Attention) -> None:
    coarse, fine = (
        simulate(model, uniform(6, 2, 0), 5.0, save=6, method="euler", dt=dt).check() for dt in (0.1, 0.001)
    )
    assert coarse.against == "euler, dt = 0.05"
    # Euler: an error of the order of dt, which is what the check is there to show
    assert 1e-3 < coarse.worst < 1e-1
    np.testing.assert_allclose(coarse.worst / fine.worst, 100, rtol=0.3)


def test_a_run_that_is_wrong_is_found_out(model: Attention) -> None:
    run = simulate(model, uniform(6, 2, 0), 5.0, save=8)
    x = run.x.copy()
    x[5, 2] = retract(x[5, 2] + [0.0, 1e-3])
    agreement = replace(run, x=x).check()
    assert agreement.digits == 3
    assert f"at t = {run.t[5]:g}" in str(agreement)


def test_a_check_starts_from_the_first_frame_even_if_it_is_a_later_one(model: Attention) -> None:
    agreement = simulate(model, uniform(6, 2, 0), 5.0, save=[2.0, 3.0, 5.0]).check()
    assert agreement.digits >= 6
    assert agreement.t[0] == 2.0


def test_frames_that_were_never_reached_are_not_compared(model: Attention) -> None:
    run = simulate(model, uniform(6, 2, seed=0, runs=2), 5.0, save=6)
    x = run.x.copy()
    x[1, 3:] = np.nan
    agreement = replace(run, x=x, status=("done", "stalled")).check()
    assert agreement.digits >= 6
    assert np.isfinite(agreement.difference).all()  # the other run is there at every time
    x[0, 3:] = np.nan
    agreement = replace(run, x=x, status=("stalled", "stalled")).check()
    assert np.isnan(agreement.difference).tolist() == [False] * 3 + [True] * 3


def test_a_check_takes_a_time_limit_and_compares_what_it_reaches(model: Attention) -> None:
    # long enough for the fastest machine: the clock is looked at ten times a second
    run = simulate(Attention(64.0), uniform(4000, 3, 0), 3.0, save=[0.0, 1e-3, 3.0])
    agreement = run.check(time_limit=1e-3, threads=1)
    assert agreement.status == "time limit"
    assert np.isnan(agreement.difference[-1])
    assert "The rerun did not finish: time limit." in str(agreement) or "ended at once" in str(agreement)
    with pytest.raises(InputError, match="time_limit must be"):
        run.check(time_limit=-1.0)


def test_a_check_runs_on_the_threads_asked_for_and_finds_the_same(
    model: Attention, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def spied(*args: Any, **options: Any) -> Run:
        asked.append((options["threads"], options["time_limit"]))
        return simulate(*args, **options)

    run = simulate(model, uniform(6, 2, 0), 5.0, save=8)
    monkeypatch.setattr("nucleate.integrate.simulate.simulate", spied)
    one, two = run.check(threads=1), run.check(threads=2, time_limit=60.0)
    assert asked == [(1, None), (2, 60.0)]
    assert np.array_equal(one.difference, two.difference)


def test_a_rerun_without_a_single_frame_leaves_nothing_to_compare(
    model: Attention, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = simulate(model, uniform(6, 2, 0), 5.0, save=8)

    def stopped(*args: Any, **options: Any) -> Run:
        return replace(run, t=run.t[:0], x=run.x[:0], status="time limit", steps=0)

    monkeypatch.setattr("nucleate.integrate.simulate.simulate", stopped)
    agreement = run.check(time_limit=1e-9)
    assert np.isnan(agreement.difference).all()
    assert "ended at once (time limit)" in str(agreement)


def test_a_run_of_one_frame_has_nothing_to_check(model: Attention) -> None:
    run = one_run()
    with pytest.raises(InputError, match="two frames, but this run has 1"):
        replace(run, t=run.t[:1], x=run.x[:1]).check()
    with pytest.raises(InputError, match="factor must be finite and greater than 1"):
        run.check(factor=0.5)


@pytest.mark.parametrize(
    ("difference", "digits"), [(0.0, 15), (9e-9, 8), (1.1e-8, 7), (0.5, 0), (2.0, 0), (np.nan, 0)]
)
def test_digits_count_what_agrees(difference: float, digits: int) -> None:
    agreement = Agreement(np.array([1.0]), np.array([difference]), "rtol = 1", "done")
    assert agreement.digits == digits
    assert str(agreement)


def test_steps_that_share_one_double_of_time_are_left_out_of_a_check() -> None:
    run = simulate(Attention(20.0), uniform(20, 2, seed=0), 1e20, save="steps")
    shared = np.append(False, run.t[1:] == run.t[:-1]) | np.append(run.t[1:] == run.t[:-1], False)
    assert shared.any()  # t + h = t late in the run
    found = run.check()
    assert np.isnan(found.difference[shared]).all()
    assert np.isfinite(found.difference[~shared]).all()
    assert found.status == "done"


def test_a_token_in_flight_late_in_a_long_run_is_told_for_what_it_is() -> None:
    t, apart = np.arange(5.0), np.array([0.0, 1e-9, 1.7, np.nan, 1e-9])
    words = str(Agreement(t, apart, "causal, rtol = 1e-10, atol = 1e-12", "done"))
    assert "0 digits agree" in words
    assert "At 3 of 4 times they are within 1e-06" in words
    assert "in flight" not in str(Agreement(t, 1e-6 * apart, "causal, rtol = 1e-10, atol = 1e-12", "done"))
