"""Capture: counts by a plain loop, growth of modes, and other shares that change the verdicts."""

import math

import numpy as np
import pytest
import xarray
from support.small_items import made

import nucleate as nc
from nucleate.papers.causal_clustering.capture.data import MODES, growth_rates, linear_modes, measure_frame


def test_shares_that_fall_with_n_to_the_end_are_evidence_against_capture() -> None:
    found = made("capture")
    long = found.data["long"]
    falling = long["held"] * (long["tokens"] / 100.0) ** -0.3
    assert found.words({**found.data, "long": long.assign(held=falling)})[0] == "evidence against"


def test_equal_times_and_shares_for_all_n_are_evidence_for_a_time_of_order_one() -> None:
    found = made("capture")
    many = found.data["many"]
    equal = many["mode"].isel(tokens=2) * xarray.ones_like(many["mode"])
    mode = equal.transpose(*many["mode"].dims)
    share = many["held"] * 0.0 + 0.1 * many["tokens"]
    assert (
        found.words({**found.data, "many": many.assign(mode=mode, held=share.transpose(*many["held"].dims))})[
            1
        ]
        == "evidence for"
    )
    assert found.words({**found.data, "many": many.assign(mode=mode)})[1] == "not testable here"


def test_modes_that_grow_otherwise_are_evidence_against_the_linear_solution() -> None:
    found = made("capture")
    many = found.data["many"]
    assert (
        found.words({**found.data, "many": many.assign(linear=1.5 * many["linear"])})[2] == "evidence against"
    )


def test_counts_near_centers_are_those_of_a_plain_loop() -> None:
    x = nc.uniform(300, 2, 4)
    centers, sizes, radii = nc.renyi_centers(x, 0.5), np.array([10, 50, 300]), [0.05, 0.3]
    found = measure_frame(x, centers, sizes, radii)
    for j, radius in enumerate(radii):
        for s, n in enumerate(sizes):
            for i, center in enumerate(centers):
                count = (
                    sum(float(nc.distance(x[k], x[center])) <= radius for k in range(n))
                    if center < n
                    else np.nan
                )
                assert found["held"][j, s, i] == count or (
                    np.isnan(count) and np.isnan(found["held"][j, s, i])
                )
    angle = np.arctan2(x[:, 1], x[:, 0])
    for s, n in enumerate(sizes):
        expected = [abs(np.exp(-1j * m * angle[:n]).mean()) for m in MODES]
        np.testing.assert_allclose(found["mode"][s], expected, atol=1e-13)  # sums of 300 numbers of size 1
        assert found["histogram"][s].sum() == n


@pytest.mark.parametrize(("beta", "m"), [(64.0, 11), (9.0, 4), (1.0, 1)])
def test_small_modes_grow_at_the_rate_of_the_formula_if_all_see_all(beta: float, m: int) -> None:
    n, small = 1000, 1e-6
    phi = 2.0 * np.pi * np.arange(n) / n
    phi = phi - 2.0 * small / m * np.sin(m * phi)  # density 1 + 2 small cos(m phi): a_m = small
    x = np.stack([np.cos(phi), np.sin(phi)], axis=1)
    v = nc.drift(nc.Attention(beta, mask="full"), x, kernel="pairwise")
    speed = x[:, 0] * v[:, 1] - x[:, 1] * v[:, 0]  # (n,)
    change = (-m * np.sin(m * phi) * speed).mean() / small
    # second order in `small`, and sums round to 1e-16 / small
    assert change == pytest.approx(growth_rates(beta, np.array([m]))[0], rel=1e-4)


def test_the_fastest_mode_tends_to_two_over_e() -> None:
    # the next term is of order 1/beta
    assert growth_rates(4000.0, np.arange(1, 300)).max() == pytest.approx(2.0 / math.e, rel=1e-3)


def test_linear_modes_start_as_they_are_and_grow_by_the_crowd_before() -> None:
    rng = np.random.default_rng(0)
    start, m = rng.uniform(-np.pi, np.pi, 4000), np.array([11])
    first = linear_modes(start, 64.0, m, 0.0)[0]
    turn = np.exp(-11j * start)
    assert first == pytest.approx(turn.mean(), abs=1e-14)
    change = (linear_modes(start, 64.0, m, 1e-5)[0] - first) / 1e-5
    before = np.cumsum(turn) / np.arange(1, 4001)  # (n,) the crowd of the first k tokens
    # a sum over k stands for an integral: ln(n/j) differs from the sum of 1/k by 1/(2j), 1e-3 of the whole
    assert change == pytest.approx(growth_rates(64.0, m)[0] * before.mean(), abs=2e-3)
