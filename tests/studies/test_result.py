"""A finished ensemble: its statistics, its pictures, and what a wrong question is answered."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.small_studies import small, spread

from nucleate.checks import InputError
from nucleate.observe.measure import measure
from nucleate.studies.block import STATUS
from nucleate.studies.ensemble import ensemble
from nucleate.studies.result import Ensemble, load_ensemble


def test_measuring_an_ensemble_is_refused_with_what_to_do() -> None:
    found = ensemble(small(runs=2))
    with pytest.raises(InputError, match=r'but is Ensemble\. It keeps no tokens, .* kind = "function"'):
        measure(found, spread)  # type: ignore[call-overload]  # that is what is refused


def with_failures() -> Ensemble:
    """Some runs of the small study are given up."""
    return ensemble(small(times={"t": 3.0, "save": 5, "max_steps": 9}))


def test_failed_runs_are_left_out_of_statistics_and_counted() -> None:
    found = with_failures()
    done = found.data["status"].values == STATUS.index("done")
    assert 0 < done.sum() < done.size, "the test wants some of each"
    values = found.data["renyi"].values
    for point in range(2):
        kept = values[point, done[point]]
        np.testing.assert_allclose(found.mean("renyi").values[point], kept.mean(0), rtol=1e-14)
        np.testing.assert_allclose(
            found.quantiles("renyi", (0.25, 0.5)).values[:, point],
            np.quantile(kept, (0.25, 0.5), axis=0),
            rtol=1e-14,
        )
    everything = np.nanmean(values, axis=1)
    np.testing.assert_allclose(found.mean("renyi", failed=True).values, everything, rtol=1e-14)
    assert not np.array_equal(found.mean("renyi").values, everything)
    count = int((~done).sum())
    assert found.mean("renyi").attrs["runs_not_done"] == found.band("renyi").attrs["runs_not_done"] == count
    assert f"{count} max steps; statistics leave out" in found.summary
    assert found.data.attrs["ended"] == {"done": 48 - count, "max steps": count}


def test_the_confidence_band_is_students(finished: Path) -> None:
    from scipy.stats import t

    found = load_ensemble(finished)
    values = found.data["apart"].values[0]
    low, high = found.band("apart", 0.9).values[:, 0]
    expected = t.interval(0.9, 23, values.mean(), values.std(ddof=1) / np.sqrt(24))
    np.testing.assert_allclose((low, high), expected, rtol=1e-12)


def test_the_band_covers_the_true_mean_as_often_as_it_says() -> None:
    import xarray

    rng = np.random.default_rng(0)
    values = xarray.DataArray(rng.standard_normal((2000, 12)), dims=("time", "run"))
    data = xarray.Dataset({"a": values, "status": ("run", np.ones(12, dtype=np.int8))})
    low, high = Ensemble(data, {"observables": {"a": {}}, "grid": {}, "title": ""}).band("a", 0.8).values
    covered = ((low < 0) & (high > 0)).mean()
    assert abs(covered - 0.8) < 0.04  # the standard error of 2000 trials is 0.009


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda e: e.mean("reny"), "Did you mean renyi"),
        (lambda e: e.quantiles("renyi", 1.5), "q must lie between 0 and 1"),
        (lambda e: e.band("renyi", 1.0), "level must be below 1"),
        (lambda e: e.plot("ends"), "has the axis token"),
    ],
)
def test_a_wrong_question_is_answered_with_help(call: Any, words: str, finished: Path) -> None:
    with pytest.raises(InputError, match=words):
        call(load_ensemble(finished))
