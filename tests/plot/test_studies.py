"""The picture of an ensemble: mean and quantiles of every line, and what is left out is said."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from support.small_studies import small

from nucleate.plot.studies import write_ensemble
from nucleate.studies.ensemble import ensemble


def test_pictures_show_the_mean_and_the_quantiles(tmp_path: Path) -> None:
    found = ensemble(small())
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


def test_points_where_no_run_finished_are_nan_without_a_warning_and_the_picture_says_so(
    tmp_path: Path,
) -> None:
    none = ensemble(
        small(times={"t": 50.0, "save": [0.0, 0.1, 1.0, 10.0, 50.0], "max_steps": 2}, grid={"beta": [16.0]})
    )
    some = ensemble(small(model={"beta": 4.0}, times={"t": 50.0, "save": 5}, grid={"max_steps": [10**6, 2]}))
    assert some.ended.keys() == {"done", "max steps"}
    for found, words in ((none, ["no run finished"]), (some, [])):
        for name in ("renyi", "apart"):
            assert [text.get_text() for text in found.plot(name).texts] == words
            assert np.isnan(found.mean(name).values[-1]).all()
            assert np.isnan(found.band(name).values[:, -1]).all()
        write_ensemble(found, tmp_path / "out.png")


def test_a_picture_names_every_line_and_says_how_many_points_it_leaves_out() -> None:
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


def test_dollars_in_titles_and_names_are_shown_as_they_are(tmp_path: Path) -> None:
    broken = r"$\frac{$"
    study = small(title=broken, runs=2, model={"beta": 4.0}, grid={"V": ["identity", [1.0, 0.5]]})
    found = ensemble(study)
    found.data["V"].attrs["labels"] = [broken, "of a file"]
    found.data["V"].attrs["long_name"] = broken
    write_ensemble(found, tmp_path / "out.png")
    for name in ("renyi", "apart"):
        figure = found.plot(name).figure
        assert isinstance(figure, Figure)
        figure.draw_without_rendering()  # where a formula is read
