"""Whole lives: counted frame by frame, and other ends and times change the verdicts."""

import numpy as np
import pytest
import xarray
from support.small_items import changed, made, planted

from nucleate.papers.causal_clustering.life.data import count_times, one_life


def test_the_clusters_of_a_life_are_those_counted_frame_by_frame() -> None:
    from nucleate import clusters
    from nucleate.observe.life import life

    found, whole = one_life(16.0, 30, 5), life(16.0, 30, seed=5)
    for time_, count in list(zip(count_times(16.0, 30), found["count"], strict=True))[::10]:
        frame = next((i for i, t in enumerate(whole.run.t) if t >= time_), len(whole.run.t) - 1)
        assert count == len(set(clusters(whole.run.x[frame], whole.radius).tolist()))
    assert found["last_time"] == whole.merges.events[-1].time


def test_one_life_that_does_not_end_at_the_first_token_disagrees() -> None:
    found = made("life")
    data = found.data["beta16"]
    off = data["off"].values.copy()
    off[1] = 1e-3
    assert found.words(planted(found.data, "beta16", changed(data, off=off)))[0] == "disagrees"
    whole = data["whole"].values.copy()
    whole[0] = 0.0
    assert found.words(planted(found.data, "beta16", changed(data, whole=whole)))[0] == "disagrees"


def slow_below(data: xarray.Dataset, beta: float) -> float:
    """Decades below e^{beta (1 - cos angle)}, life by life."""
    lives = zip(data["last_time"].values, data["two_from"].values, data["angle"].values, strict=True)
    return max(
        beta * (1 - np.cos(angle)) / np.log(10) - np.log10(end - since)
        for end, since, angle in lives
        if end > since
    )


def test_last_merges_at_other_times_are_evidence_against_the_law() -> None:
    found = made("life")
    data = found.data["beta16"]
    assert (
        found.words(planted(found.data, "beta16", changed(data, last_time=1.1 * data["last_time"].values)))[1]
        == "evidence against"
    )
    assert found.numbers["law_below"].value == pytest.approx(
        np.max([slow_below(found.data[f"beta{beta:g}"], beta) for beta in found.p["betas"]])
    )
    squared = {
        name: changed(found.data[name], last_time=found.data[name]["last_time"].values ** 1.5)
        for name in ("beta9", "beta16")
    }
    assert found.words({**found.data, **squared})[1] == "evidence against"
