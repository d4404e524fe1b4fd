"""The phase diagram: another curve, another order of the widths or a planted line changes its verdicts."""

import numpy as np
import pytest
import xarray
from support.small_items import changed, made

from nucleate.papers.perspective.phase_diagram.data import _count, betas_of
from nucleate.papers.perspective.phase_diagram.measures import equiangular_times, passing_times
from nucleate.theory.equiangular import equiangular_time


def test_close_pairs_are_counted_as_one_would_count_them() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 3, 6, 2))
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    slow = [[sum(run[i] @ run[j] >= 0.5 for i in range(6) for j in range(i)) for run in one] for one in x]
    assert _count(x, 0.5).tolist() == slow


def test_times_are_found_between_frames_and_missing_ones_are_missing() -> None:
    times = np.array([0.0, 1.0, 2.0])
    assert passing_times(np.array([[0.0, 0.2, 1.0], [0.0, 0.1, 0.4]]), times, 0.5)[0] == pytest.approx(1.375)
    assert np.isnan(passing_times(np.array([0.0, 0.1, 0.4]), times, 0.5))


def planted(line: np.ndarray, width: float) -> dict[str, xarray.Dataset]:
    """The data of the item with a transition of one width at the times of a line, in every dimension and, in
    larger ones, sharper."""
    found = made("phase-diagram")
    pairs, data = found.p["n"] * (found.p["n"] - 1) // 2, {}
    for i, (name, one) in enumerate(found.data.items()):
        times = one["time"].values
        share = np.clip(0.5 + (times - line[:, None]) / (width * 0.6**i * line[:, None]), 0.0, 1.0)
        data[name] = changed(one, close_pairs=np.round(pairs * share).astype(np.int32)[:, None])
    return data


def test_the_verdict_follows_a_planted_line() -> None:
    found = made("phase-diagram")
    curve = equiangular_times(betas_of(found.p), found.p)
    assert found.words(planted(curve, 2.0)) == ["agrees", "observed"]
    assert found.words(planted(1.15 * curve, 2.0))[0] == "disagrees"
    usa = [equiangular_time(found.p["n"], beta, 0.0, 0.999, "exponential") for beta in betas_of(found.p)]
    assert found.words(planted(np.array(usa), 2.0))[0] == "disagrees", "the law of other weights"


def test_widths_that_do_not_fall_with_the_dimension_change_the_verdict() -> None:
    found = made("phase-diagram")
    curve = equiangular_times(betas_of(found.p), found.p)
    sharper = planted(curve, 2.0)
    names = list(sharper)
    swapped = dict(zip(names, [sharper[name] for name in reversed(names)], strict=True))
    assert found.words(swapped)[1] == "not observed"
