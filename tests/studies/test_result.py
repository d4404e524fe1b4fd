"""A finished ensemble: its statistics, its pictures, and what a wrong question is answered."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.small_studies import small, spread

from nucleate.checks import InputError
from nucleate.observe.measure import measure
from nucleate.plot.studies import write_ensemble
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


def test_pictures_show_the_mean_and_the_quantiles(finished: Path, tmp_path: Path) -> None:
    import matplotlib.pyplot as plt

    found = load_ensemble(finished)
    ax = found.plot("renyi")
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), found.mean("renyi").values[1])
    edge = np.asarray(ax.collections[1].get_paths()[0].vertices)  # (many, 2) around the band
    for t, low, high in zip(
        found.data["time"].values, *found.quantiles("renyi", (0.1, 0.9)).values[:, 1], strict=True
    ):
        heights = edge[edge[:, 0] == t, 1]
        assert (heights.min(), heights.max()) == (low, high)
    assert found.plot("apart").get_xlabel() == "inverse temperature"
    write_ensemble(found, tmp_path / "out.png")
    assert (tmp_path / "out.png").stat().st_size > 10_000
    plt.close("all")


def test_points_where_no_run_finished_are_nan_without_a_warning_and_the_picture_says_so(
    tmp_path: Path,
) -> None:
    import matplotlib.pyplot as plt

    none = ensemble(
        small(times={"t": 50.0, "save": [0.0, 0.1, 1.0, 10.0, 50.0], "max_steps": 2}, grid={"beta": [16.0]})
    )
    some = ensemble(small(model={"beta": 4.0}, times={"t": 50.0, "save": 5}, grid={"max_steps": [10**6, 2]}))
    assert some.ended.keys() == {"done", "max steps"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for found, words in ((none, ["no run finished"]), (some, [])):
            for name in ("renyi", "apart"):
                assert [text.get_text() for text in found.plot(name).texts] == words
                assert np.isnan(found.mean(name).values[-1]).all()
                assert np.isnan(found.band(name).values[:, -1]).all()
            write_ensemble(found, tmp_path / "out.png")
    plt.close("all")


def test_a_picture_names_every_line_and_says_how_many_points_it_leaves_out() -> None:
    import matplotlib.pyplot as plt

    grid = {"beta": [1.0, 2.0, 4.0], "Q": ["identity", [1.0, 0.5]], "K": ["identity", [1.0, 0.5]]}
    ax = ensemble(small(runs=2, grid=grid)).plot("renyi")
    legend = ax.get_legend()
    assert legend is not None
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels[0] == "beta = 1, Q = identity, K = identity"
    assert len({*labels}) == 6
    assert legend.get_title().get_text().endswith("; 6 of 12 points shown")
    assert len({str(line.get_linestyle()) + str(line._dash_pattern) for line in ax.lines}) == 6  # type: ignore[attr-defined]  # no public name tells dashes apart
    few = ensemble(small(runs=2)).plot("renyi").get_legend()
    assert few is not None
    assert "shown" not in few.get_title().get_text()
    plt.close("all")
