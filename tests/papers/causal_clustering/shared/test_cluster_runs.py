"""Clusters that form: leaders, matches and numbers of tokens, against plain counts."""

import numpy as np

import nucleate as nc
from nucleate.papers.causal_clustering.shared.cluster_runs import leaders, match_share, tokens_with_density
from nucleate.theory.counts import cap_share


def test_clusters_hold_one_center_each_as_counted_pair_by_pair() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        x = nc.uniform(60, 3, rng)
        lead, centers = np.sort(rng.choice(60, 7, replace=False)), np.sort(rng.choice(60, 9, replace=False))
        held = [0] * 7
        for center in centers:
            held[min(range(7), key=lambda i: float(np.linalg.norm(x[lead[i]] - x[center])))] += 1
        assert match_share(x, lead, centers) == held.count(1) / 9
    assert match_share(x, lead, lead) == 1.0


def test_leaders_are_the_first_tokens_of_clusters() -> None:
    angle = 0.075 * np.arange(5)  # 1.5 beta^(-1/2) apart: clusters of their own, if only just
    at = np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
    x = np.repeat(at, 4, axis=0)[np.random.default_rng(0).permutation(20)]
    lead = leaders(x, 400.0)
    assert lead.tolist() == sorted(int(np.flatnonzero((x == place).all(1))[0]) for place in at)


def test_tokens_per_cap_are_those_of_figure_2() -> None:
    assert abs(tokens_with_density(2, 64.0, 200 * 0.5 / np.pi) - 200) <= 1
    for d in (2, 3, 4):
        n = tokens_with_density(d, 100.0, 32)
        assert abs(n * cap_share(0.4, d) - 32) < cap_share(0.4, d)  # n is rounded
