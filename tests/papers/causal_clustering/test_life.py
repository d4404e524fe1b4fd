"""Whole lives: counted frame by frame, and other ends and times change the verdicts."""

import numpy as np
import pytest
import xarray
from support.small_items import changed, made, planted

from nucleate.papers.causal_clustering.life.data import MERGE_NAMES, count_times, one_life
from nucleate.papers.causal_clustering.life.measures import merge_lifetimes
from nucleate.theory.flows import log_two_token_time


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


def test_a_merge_is_described_as_things_are_after_the_merge_before_it() -> None:
    """Leaders and the tokens around them, counted by hand."""
    from nucleate.observe.life import life

    found, whole = one_life(16.0, 40, 3), life(16.0, 40, seed=3)
    events, run = whole.merges.events, whole.run
    assert np.isfinite(found["merge_time"]).sum() == len(events) > 2
    for i, event in enumerate(events):
        begin = whole.t_f if i == 0 else events[i - 1].time
        frame = next(j for j, t in enumerate(run.t) if t >= begin)
        x, left = run.x[frame], set(whole.merges.leaders.tolist()) - {one.lost for one in events[:i]}
        nearest = []
        for j in range(event.lost):
            apart = {k: float(np.linalg.norm(x[j] - x[k])) for k in left}
            nearest.append(min(apart, key=apart.__getitem__))
        assert found["merge_time"][i] == event.time
        assert found["merge_since"][i] == run.t[frame]
        assert found["merge_tokens"][i] == sum(k == event.into for k in nearest)
        cosine = float(np.clip(x[event.lost] @ x[event.into], -1.0, 1.0))
        assert found["merge_angle"][i] == pytest.approx(np.arccos(cosine), abs=1e-6)


def test_the_law_is_the_leading_term_of_the_two_token_time() -> None:
    """What is left goes with 1/beta."""
    for beta, error in ((100.0, 0.06), (400.0, 0.015)):
        angle, m = 1.4, 17.0
        values = dict(zip(MERGE_NAMES, (2.0, 1.0, angle, m), strict=True))
        # one merge, and the last one, which is left out
        lives = xarray.Dataset({name: (("start", "merge"), [[values[name]] * 2]) for name in MERGE_NAMES})
        law = merge_lifetimes(lives, beta).law[0]
        exact = log_two_token_time(beta, np.cos(angle), np.cos(0.1 * beta**-0.5), m)
        assert abs(law - exact) < error
        assert merge_lifetimes(lives, beta).measured.tolist() == [0.0]


@pytest.mark.parametrize(("name", "part"), [("beta16", 1), ("beta25", 1), ("d3_beta25", 2)])
def test_merges_at_other_times_do_not_keep_to_the_law(name: str, part: int) -> None:
    found = made("life")
    data = found.data[name]
    time, since = data["merge_time"].values, data["merge_since"].values
    late = changed(data, merge_time=since + 9.0 * (time - since))
    told = found.words(planted(found.data, name, late))
    assert told[part] == "not observed"
    assert [word for i, word in enumerate(told) if i != part] == ["agrees", "observed"]
    slow = changed(data, merge_time=since + np.maximum(time - since, 0.0) ** 1.3)
    assert found.words(planted(found.data, name, slow))[part] == "not observed"


def test_the_law_is_not_observed_where_another_merge_s_law_serves_as_well() -> None:
    found = made("life")
    data = {**found.data}
    for name in ("beta16", "beta25"):
        same = {"merge_angle": 1.4, "merge_tokens": 9.0, "merge_since": 0.0}
        # everywhere the same law, which every time keeps to
        beta = float(name.removeprefix("beta"))
        time = np.exp(beta * (1 - np.cos(1.4))) / (9.0 * beta * np.sin(1.4) ** 2)
        noise = 1.0 + 0.1 * np.random.default_rng(2).random(data[name]["merge_time"].shape)
        known = np.where(np.isfinite(data[name]["merge_time"].values), time * noise, np.nan)
        data[name] = changed(data[name], merge_time=known, **same)
    assert found.words(data)[1] == "not observed"


def test_the_solver_is_tested_on_the_last_two_clusters() -> None:
    found = made("life")
    assert found.numbers["solver_worst"].value < 1e-6
    data = found.data["beta16"]
    since = data["two_from"].values
    wrong = changed(data, last_time=since + 1.1 * (data["last_time"].values - since))
    numbers = found.item.measure(planted(found.data, "beta16", wrong), found.p)
    assert numbers["solver_worst"].value == pytest.approx(np.log10(1.1), rel=0.01)
