"""Orders of merges: the linkages are what they say, and other shares change the verdicts."""

import numpy as np
from support.small_items import changed, made

from nucleate.papers.metastability.merge_order.linkage import centroid_linkage, single_linkage


def sets(*merges: tuple[set[int], set[int]]) -> list[frozenset[frozenset[int]]]:
    return [frozenset(map(frozenset, one)) for one in merges]


def test_the_five_tokens_of_the_staircase_tell_the_linkages_apart() -> None:
    phi = np.array([0.0, 0.5, 2.0, 4.0, 7.0])
    begin = [({0}, {1}), ({0, 1}, {2})]
    assert single_linkage(phi) == sets(*begin, ({0, 1, 2}, {3}), ({0, 1, 2, 3}, {4}))
    assert centroid_linkage(phi) == sets(*begin, ({3}, {4}), ({0, 1, 2}, {3, 4}))


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
    none = {key: changed(value, nearest_first=0.0) for key, value in found.data.items()}
    assert found.words(none)[0] == "not observed"
    assert found.words({**found.data, name: changed(one, centroid=0.0)})[1] == "not observed"
    many = one.isel(run=np.zeros(200, dtype=int))
    all_single = changed(many, single=1.0, centroid=1.0)
    assert found.words({**found.data, name: all_single})[1:] == ["observed", "observed"]
