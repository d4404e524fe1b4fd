"""Orders of merges: the linkages are what they say, and other shares change the verdicts."""

import numpy as np
import pytest
from support.small_items import changed, made

from nucleate.papers.metastability.merge_order.linkage import (
    centroid_linkage,
    centroid_margins,
    single_linkage,
)


def sets(*merges: tuple[set[int], set[int]]) -> list[frozenset[frozenset[int]]]:
    return [frozenset(map(frozenset, one)) for one in merges]


def test_the_five_tokens_of_the_staircase_tell_the_linkages_apart() -> None:
    phi = np.array([0.0, 0.5, 2.0, 4.0, 7.0])
    begin = [({0}, {1}), ({0, 1}, {2})]
    assert single_linkage(phi) == sets(*begin, ({0, 1, 2}, {3}), ({0, 1, 2, 3}, {4}))
    assert centroid_linkage(phi) == sets(*begin, ({3}, {4}), ({0, 1, 2}, {3, 4}))


def test_margins_are_those_of_the_centres_at_every_merge() -> None:
    phi = np.array([0.0, 0.5, 2.0, 4.0, 7.0]) / 10.0
    gaps = [(0.05, 0.15), (0.175, 0.2), (0.3, 0.95 / 3.0)]
    assert centroid_margins(phi) == pytest.approx([np.cos(a) - np.cos(b) for a, b in gaps], abs=1e-14)


def test_single_linkage_is_that_of_scipy() -> None:
    from scipy.cluster.hierarchy import linkage

    phi = np.random.default_rng(4).uniform(0.0, 1.0, 7)
    clusters = [{i} for i in range(7)]
    expected = []
    for one, other, *_ in linkage(phi[:, None], "single"):
        expected.append((clusters[int(one)], clusters[int(other)]))
        clusters.append(clusters[int(one)] | clusters[int(other)])
    assert single_linkage(phi) == sets(*expected)


def test_other_shares_change_the_verdicts() -> None:
    found = made("merge-order")
    name = f"beta{found.p['betas'][-1]:g}"
    one = found.data[name]
    many = one.isel(run=np.zeros(50, dtype=int))
    clear = changed(many, single=1.0, centroid=1.0, nearest_first=1.0, first_margin=6.0, least_margin=6.0)
    assert found.words({name: clear}) == ["observed"] * 3
    for i, kind in enumerate(("nearest_first", "centroid", "single")):
        values = np.arange(50) > 0
        assert found.words({name: changed(clear, **{kind: values})})[i] == "not observed", "one exception"
    assert found.words({name: changed(clear, first_margin=4.0, least_margin=4.0)}) == ["not observed"] * 3
    assert found.words({name: clear.isel(run=slice(9))}) == ["not observed"] * 3, "too few"


def test_a_start_counts_once_however_many_beta_it_is_clear_at() -> None:
    found = made("merge-order")
    p = {**found.p, "betas": [1000.0, 4000.0]}
    one = found.data["beta4000"].isel(run=np.zeros(12, dtype=int))
    clear = changed(one, single=1.0, centroid=1.0, nearest_first=1.0, first_margin=6.0, least_margin=6.0)
    unclear = changed(clear, centroid=0.0, least_margin=4.0)
    both = found.item.measure({"beta1000": clear, "beta4000": clear}, p)
    assert both["clear_centroid"].count == (12, 12)
    wrong = changed(clear, centroid=np.arange(12) > 0)
    assert found.item.measure({"beta1000": wrong, "beta4000": clear}, p)["clear_centroid"].count == (11, 12)
    assert found.item.measure({"beta1000": unclear, "beta4000": clear}, p)["clear_centroid"].count == (12, 12)
