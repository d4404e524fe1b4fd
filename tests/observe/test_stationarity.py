"""How far centers move and how long they stay."""

from dataclasses import replace

import numpy as np
import pytest
from support.made_runs import many_runs, one_run

from nucleate.attention import Attention
from nucleate.checks import InputError
from nucleate.integrate.simulate import simulate
from nucleate.observe.centers import renyi_centers
from nucleate.observe.stationarity import displacement, stationarity
from nucleate.sphere import distance, uniform


@pytest.mark.parametrize("d", [2, 3, 5])
def test_displacement_is_the_distance_from_the_start(d: int) -> None:
    run = one_run(d)
    moved = displacement(run, [0, 4, 8])
    assert moved.shape == (12, 3)
    for frame, i in np.ndindex(12, 3):
        assert moved[frame, i] == pytest.approx(
            distance(run.x[frame, [0, 4, 8][i]], run.x[0, [0, 4, 8][i]]), abs=1e-15
        )
    np.testing.assert_array_equal(displacement((run.t, run.x), [0, 4, 8]), moved)


def test_a_lifetime_ends_where_an_even_motion_passes_the_limit() -> None:
    run = one_run()  # every token walks 2 radians in 3 time units, evenly
    found = stationarity(run, [1, 3], [0.5, 1.9])
    np.testing.assert_allclose(found.lifetime, [0.75, 2.85], rtol=1e-12)
    assert stationarity(run, [1], 2.1).lifetime.tolist() == [np.inf]
    assert found.until == 3.0


def test_in_a_single_frame_nothing_has_moved() -> None:
    run = one_run()
    once = replace(run, t=run.t[:1], x=run.x[:1])
    assert stationarity(once, [1, 3], 0.1).lifetime.tolist() == [np.inf, np.inf]
    both = replace(once, x=np.stack([once.x, once.x]), status=("done", "done"))
    np.testing.assert_array_equal(
        stationarity(both, [[1, 3], [2, -1]], 0.1).lifetime, [[np.inf, np.inf], [np.inf, np.nan]]
    )


def test_ratio_and_its_lower_bound() -> None:
    found = stationarity(one_run(), [1, 3], [0.5, 2.5], guaranteed=[0.25, 1.5])
    np.testing.assert_allclose(found.ratio, [3.0, np.inf], rtol=1e-12)
    np.testing.assert_allclose(found.at_least, [3.0, 2.0], rtol=1e-12)
    assert np.isnan(stationarity(one_run(), [1], 0.5).ratio).all()


def test_lifetimes_equal_the_loop_over_frames() -> None:
    run = simulate(Attention(64.0), uniform(200, 2, 2), 1000.0, save=401)
    strong = renyi_centers(run.x[0], 0.5, strong=True)
    found = stationarity(run, strong, 0.05)
    finite = 0
    for i, k in enumerate(strong.tolist()):
        beyond = [frame for frame in range(len(run.t)) if distance(run.x[frame, k], run.x[0, k]) > 0.05]
        if beyond:
            finite += 1
            assert run.t[beyond[0] - 1] <= found.lifetime[i] <= run.t[beyond[0]]
        else:
            assert found.lifetime[i] == np.inf
    assert found.lifetime[0] == np.inf, "the first token never moves"
    assert 0 < finite < len(strong)


def test_every_run_has_centers_limits_and_an_end_of_its_own() -> None:
    run = many_runs()  # the second ends at t = 3
    found = stationarity(run, [[0, 1], [2], [3, 4]], [[0.1], [0.2], [9.0]], guaranteed=2.0)
    assert found.centers.tolist() == [[0, 1], [2, -1], [3, 4]]
    assert (found.displacement.shape, found.lifetime.shape, found.ratio.shape) == ((3, 6, 2), (3, 2), (3, 2))
    assert found.until.tolist() == [5.0, 3.0, 5.0]
    for i, (centers, limit) in enumerate([([0, 1], 0.1), ([2], 0.2), ([3, 4], 9.0)]):
        m = 4 if i == 1 else 6
        alone = stationarity(replace(run, t=run.t[:m], x=run.x[i, :m]), centers, limit)
        np.testing.assert_array_equal(found.lifetime[i, : len(centers)], alone.lifetime)
        np.testing.assert_array_equal(found.displacement[i, :m, : len(centers)], alone.displacement)
    assert np.isnan(found.lifetime[1, 1])
    assert np.isnan(found.displacement[1, 4:]).all()
    assert np.isinf(found.lifetime[2]).all()


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, [0.1, 0.2, 0.3], "far"])
def test_limits_and_guarantees_that_are_none_are_refused(value: float) -> None:
    with pytest.raises(InputError, match="limit must"):
        stationarity(one_run(), [0, 1], value)
    with pytest.raises(InputError, match="guaranteed must"):
        stationarity(one_run(), [0, 1], 0.1, value)


def test_what_are_no_centers_or_no_run_is_refused() -> None:
    with pytest.raises(InputError, match="numbers of tokens"):
        displacement(one_run(), [9])
    with pytest.raises(InputError, match="run must be"):
        displacement(5, [0])  # type: ignore[arg-type]  # that is what is refused
