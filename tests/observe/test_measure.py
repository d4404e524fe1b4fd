"""Your own observable: one function of (t, x), on any run."""

import numpy as np
import pytest
from support.made_runs import many_runs, one_run, rich_run

from nucleate.attention import Attention
from nucleate.checks import Array, InputError
from nucleate.integrate.simulate import simulate
from nucleate.observe.clusters import count_clusters
from nucleate.observe.measure import measure
from nucleate.sphere import uniform


def spread(t: float, x: Array) -> float:
    return float(x[:, 0].std())


def test_a_function_is_asked_at_every_frame() -> None:
    run = one_run()
    asked = []

    def noted(t: float, x: Array) -> float:
        asked.append((t, x.shape))
        return spread(t, x)

    values = measure(run, noted)
    assert values.tolist() == [spread(t, x) for t, x in zip(run.t, run.x, strict=True)]
    assert asked == [(t, (9, 2)) for t in run.t]
    np.testing.assert_array_equal(measure((run.t, run.x), spread), values)


def test_time_is_handed_in() -> None:
    np.testing.assert_array_equal(measure(rich_run(), lambda t, x: 2 * t), 2 * rich_run().t)


def test_arrays_are_stacked_behind_run_and_time() -> None:
    run = many_runs()
    gram = measure(run, lambda t, x: x @ x.T)
    assert gram.shape == (3, 6, 5, 5)
    np.testing.assert_array_equal(gram[2, 4], run.x[2, 4] @ run.x[2, 4].T)


def test_frames_never_reached_are_not_shown_and_stay_nan() -> None:
    run = many_runs()

    def sure(t: float, x: Array) -> int:
        assert np.isfinite(x).all()
        return len(x)

    values = measure(run, sure)
    assert np.isnan(values[1, 4:]).all()
    assert (values[~np.isnan(values)] == 5).all()
    assert np.isnan(values).sum() == 2


def test_whole_numbers_stay_whole_where_no_frame_is_missing() -> None:
    run = simulate(Attention(36.0), uniform(60, 2, 0), 50.0, save=8)
    counts = measure(run, lambda t, x: count_clusters(x, 0.1))
    assert counts.dtype.kind == "i"
    assert counts.tolist() == count_clusters(run.x, 0.1).tolist()


def test_a_name_gives_named_dimensions() -> None:
    one = measure(one_run(), spread, name="spread")
    assert (one.name, one.dims) == ("spread", ("time",))
    assert float(one.sel(time=3.0)) == measure(one_run(), spread)[-1]
    many = measure(many_runs(), lambda t, x: x.mean(0), name="mean")
    assert many.dims == ("run", "time", "mean_0")
    assert many.sizes == {"run": 3, "time": 6, "mean_0": 2}
    assert many.isnull().sum() == 4


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        ("spread", "function must be a function"),
        (lambda t, x: "wide", "function must give numbers"),
        (lambda t, x: None, "function must give numbers"),
        (lambda t, x: x[: 1 + int(t)], r"one shape, but gave \(1, 2\), \(2, 2\)"),
    ],
)
def test_what_is_no_observable_is_refused(function: object, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        measure(one_run(), function)  # type: ignore[call-overload]  # that is what is refused


def test_an_error_of_the_function_is_the_function_s_own() -> None:
    with pytest.raises(ZeroDivisionError):
        measure(one_run(), lambda t, x: 1 / 0)


def test_what_is_no_run_is_refused() -> None:
    with pytest.raises(InputError, match="run must be a Run or a pair"):
        measure(one_run().x, spread)  # type: ignore[call-overload]  # that is what is refused
