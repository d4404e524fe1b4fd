"""Bands over many runs: mean and quantiles where they belong, failed runs left out and counted."""

from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from support.pictures import draw
from support.time_limits import within_cpu_seconds

from nucleate import plot
from nucleate.checks import Array, InputError

T = np.linspace(0.0, 3.0, 7)


def values(runs: int = 20, seed: int = 0) -> Array:
    return np.random.default_rng(seed).random((runs, len(T)))


def slow_quantile(column: Array, q: float) -> float:
    """Between the two runs beside rank q (n - 1)."""
    ordered = sorted(column)
    i = int(np.floor(q * (len(ordered) - 1)))
    share = q * (len(ordered) - 1) - i
    return float(ordered[i] + share * (ordered[min(i + 1, len(ordered) - 1)] - ordered[i]))


def curves(ax: Any) -> list[Array]:
    """What was drawn as lines, (points, 2) each; a band has three: low, high, mean."""
    return [np.column_stack([line.get_xdata(), line.get_ydata()]) for line in ax.lines]


def legend(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("quantiles", [(0.1, 0.9), (0.25, 0.5), (0.0, 1.0)])
def test_mean_and_quantiles_are_where_they_belong(quantiles: tuple[float, float]) -> None:
    y = values()
    ax: Any = plot.band(T, y, quantiles=quantiles)
    low, high, mean = curves(ax)
    np.testing.assert_array_equal(mean[:, 0], T)
    np.testing.assert_allclose(mean[:, 1], [sum(column) / 20 for column in y.T], rtol=1e-13)
    for edge, q in ((low, quantiles[0]), (high, quantiles[1])):
        np.testing.assert_allclose(edge[:, 1], [slow_quantile(column, q) for column in y.T], rtol=1e-13)
    filled = ax.collections[0].get_paths()[0].vertices
    assert {tuple(point) for point in np.concatenate([low, high])} <= {tuple(point) for point in filled}
    assert ax.get_xlim() == (0.0, 3.0)


def test_failed_runs_are_left_out_and_counted() -> None:
    y = values()
    failed = y.copy()
    failed[3, 4:], failed[11] = np.nan, np.nan
    kept = np.delete(y, [3, 11], axis=0)
    ax = plot.band(T, failed, label="mine")
    for drawn, expected in zip(curves(ax), curves(plot.band(T, kept)), strict=True):
        np.testing.assert_array_equal(drawn, expected)
    assert legend(ax) == ["mine (18 runs, 2 failed)"]
    assert legend(plot.band(T, failed)) == ["18 runs, 2 failed"]
    assert legend(plot.band(T, kept, label="mine")) == ["mine (18 runs)"]


def test_one_run_is_a_line_without_a_band() -> None:
    for y, names in ((values()[0], ["mine"]), (values()[:1], ["mine (1 run)"])):
        ax = plot.band(T, y, label="mine")
        (line,) = curves(ax)
        np.testing.assert_array_equal(line[:, 1], values()[0])
        assert (len(ax.collections), legend(ax)) == (0, names)
    assert plot.band(T, values()[0]).get_legend() is None


def test_several_bands_share_axes_and_legend_and_none_is_cut_off() -> None:
    ax = Figure(layout="constrained").add_subplot()
    for label, colour, t in (("a", "black", T), ("b", "red", 2 * T), ("c", plot.CLUSTER_COLOURS[0], T)):
        assert plot.band(t, values(), ax, label, colour) is ax
    assert legend(ax) == ["a (20 runs)", "b (20 runs)", "c (20 runs)"]
    assert [line.get_color() for line in ax.lines[2::3]] == [
        (0.0, 0.0, 0.0),
        to_rgb(plot.RED),
        to_rgb(plot.CLUSTER_COLOURS[0]),
    ]
    assert ax.get_xlim() == (0.0, 6.0)
    assert ax.get_ylim()[0] < 0.05
    assert ax.get_ylim()[1] > 0.95


def test_the_legend_is_above_the_axes() -> None:
    for picture in (
        plot.band(T, values(), None, "one"),
        plot.consumption(T, values(), strong=values(seed=1)),
    ):
        ax: Any = picture
        draw(ax.figure)
        box, whole = ax.get_legend().get_window_extent(), ax.figure.bbox
        assert box.y0 >= ax.bbox.y1
        assert (box.x0 >= 0, box.x1 <= whole.x1, box.y1 <= whole.y1) == (True, True, True)


def test_times_saved_by_powers_of_ten_are_drawn_so() -> None:
    t = np.concatenate([[0.0], np.geomspace(1e-2, 1e6, 6)])
    assert plot.band(t, values()).get_xscale() == "symlog"
    assert plot.band(t, values(), log=False).get_xscale() == "linear"
    assert plot.band(T, values()).get_xscale() == "linear"


def test_consumption_is_black_for_renyi_and_red_and_dashed_for_strong_centers() -> None:
    share, strong = values(), values(9, seed=1)
    strong[2, -1] = np.nan
    ax: Any = plot.consumption(T, share, strong=strong)
    low, high, mean, *others = curves(ax)
    np.testing.assert_allclose(mean[:, 1], share.mean(0), rtol=1e-13)
    np.testing.assert_allclose(others[-1][:, 1], np.delete(strong, 2, axis=0).mean(0), rtol=1e-13)
    assert [ax.lines[i].get_color() for i in (2, 5)] == [(0.0, 0.0, 0.0), to_rgb(plot.RED)]
    assert [ax.lines[i].is_dashed() for i in (2, 5)] == [False, True]
    assert legend(ax) == ["Rényi centers (20 runs)", "strong Rényi centers (8 runs, 1 failed)"]
    assert ax.get_ylim() == (0.0, 1.03)
    assert legend(plot.consumption(T, share[0])) == ["Rényi centers"]


def test_a_single_time_is_a_dot() -> None:
    ax: Any = plot.band([2.0], [[0.1], [0.5]])
    assert ax.lines[-1].get_marker() == "o"
    assert curves(ax)[-1].tolist() == [[2.0, 0.3]]


def test_many_runs_stay_quick() -> None:
    t = np.linspace(0, 150, 600)
    with within_cpu_seconds(10.0):  # half a second on an idle machine
        ax = plot.band(t, np.random.default_rng(0).random((5000, 600)))
        draw(ax.figure)


@pytest.mark.parametrize(
    ("t", "y", "message"),
    [
        (T, np.full((4, 7), np.nan), "nothing to draw: each of the 4 runs"),
        (T, np.empty((0, 7)), r"shape \(runs, 7\) or \(7,\).*have shape \(0, 7\)"),
        (T, values()[:, :5], r"for 7 times, but have shape \(20, 5\)"),
        (T, np.zeros((2, 2, 7)), r"have shape \(2, 2, 7\)"),
        (T[::-1], values(), "increasing times"),
        ([], [], "increasing times"),
        ([0.0, np.nan], [0.0, 1.0], "t must be finite"),
        (T, "hello", "values must be an array of numbers"),
    ],
)
def test_what_cannot_be_drawn_is_refused_and_leaves_no_figure(t: Any, y: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        plot.band(t, y)
    assert pyplot.get_fignums() == []


def test_shares_and_quantiles_are_checked() -> None:
    with pytest.raises(InputError, match="strong must lie between 0 and 1, but goes from 0 to 200"):
        plot.consumption([0.0, 1.0], [0.5, 0.5], strong=[0.0, 200.0])
    with pytest.raises(InputError, match="quantiles must be two increasing numbers"):
        plot.band(T, values(), quantiles=(0.9, 0.1))
    with pytest.raises(InputError, match="each of the 2 runs"):
        plot.consumption(T, values(), strong=np.full((2, 7), np.nan))
    assert pyplot.get_fignums() == []
