"""The front, read off profiles made up; other modes, speeds, places and masses flip the verdicts."""

from typing import Any

import numpy as np
import pytest
import xarray
from support.small_items import made

from nucleate.checks import Array
from nucleate.papers import find
from nucleate.papers.open_questions.causal_front.data import (
    Case,
    bins_of,
    cases,
    clusters_of,
    far_times,
    mode_values,
    seen_of,
)
from nucleate.papers.open_questions.causal_front.measures import (
    crossing_times,
    effective_number,
    expected_clusters,
    propagated_share,
    same_place,
    slopes,
)
from nucleate.sphere import uniform
from nucleate.theory.causal_front import fastest_degree, front_places, front_speed

P = find("causal-front").parameters


def front(
    s: Array, t: Array, beta: float, d: int = 2, slowness: float = 1.0, logarithm: float = 1.5
) -> Array:
    """What is seen behind a front that needs `slowness` times as long as predicted, (time, bin)."""
    late = np.linspace(1.2, 60.0, 4000)
    passes = np.interp(slowness * s, front_places(late, beta, d, logarithm), late)  # (bin,)
    return 1.0 / (1.0 + np.exp(4.0 * (passes - t[:, None])))


def planted(
    slowness: float = 1.0,
    growth: float = 1.0,
    near: float = 0.95,
    same: float = 0.9,
    number: float = 1.0,
    uneven: float = 0.1,
    spoilt: float = 0.0,
    far: float = 1.0,
) -> dict[str, xarray.Dataset]:
    """A front as slow as that, modes that grow so much more, tokens near their places, masses as uneven."""
    rng, data = np.random.default_rng(0), {}
    for case in cases(P):
        values = _front_and_modes(rng, case, slowness, growth)
        wave = round(expected_clusters(fastest_degree(case.beta, case.d), case.d))
        mass = np.full((case.starts, 64), np.nan)
        mass[:, :wave] = (1.0 + 2.0 * uneven * rng.choice([-0.5, 0.5], (case.starts, wave))) / wave
        mass[:, :wave] += 0.2 * uneven * rng.uniform(-1.0, 1.0, (case.starts, wave)) / wave
        values["mass"] = (("start", "cluster"), mass)
        if case.d == 2:
            values |= _circle(rng, case, near, spoilt, mass, wave)
        else:
            probe = np.stack([uniform(400, 3, 7 + i) for i in range(case.starts)])  # (start, probes, 3)
            moved = probe.copy()
            moved[:, int(400 * same) :] *= -1.0
            values["probe"] = (("start", "twin", "probe", "coordinate"), np.stack([probe, moved], 1))
        data[case.name] = xarray.Dataset(values)
    data["far"] = _far(number, far)
    return data


def _front_and_modes(rng: np.random.Generator, case: Case, slowness: float, growth: float) -> dict[str, Any]:
    s, t = bins_of(P["first"], case.n).s, np.array(P["times"])
    seen = np.stack([front(s, t + 0.02 * i, case.beta, case.d, slowness) for i in range(case.starts)])
    begin = rng.standard_normal((case.starts, 9, 2))
    grown = 3.0 * begin + 2.0 * rng.standard_normal((case.starts, 9, 2))
    modes = np.stack([begin, grown, growth * grown + 0.05 * rng.standard_normal(begin.shape)], 1)
    return {
        "seen": (("start", "time", "bin"), seen),
        "modes": (("start", "kind", "mode", "part"), modes),
    }


def _circle(
    rng: np.random.Generator, case: Case, near: float, spoilt: float, mass: Array, wave: int
) -> dict[str, Any]:
    s, t, starts = bins_of(P["first"], case.n).s, np.array(P["times"]), case.starts
    seen = np.stack([front(s, t, case.beta)] * starts)
    values: dict[str, Any] = {f"{kind}_seen": (("start", "time", "bin"), seen) for kind in ("own", "noisy")}
    values["own_error"] = (("start",), np.full(starts, 0.01))
    other = np.roll(mass[:, :wave], 3, axis=1)
    for kind, share, mixed in (("own", near, spoilt), ("other", 0.3, 1.0)):
        noise = 0.01 * rng.standard_normal((starts, len(s)))
        values[f"{kind}_near"] = (("start", "bin"), share + noise)
        predicted = mass.copy()
        predicted[:, :wave] = (1.0 - mixed) * mass[:, :wave] + mixed * other
        values[f"{kind}_mass"] = (("start", "cluster"), predicted)
    full = 1.0 / (1.0 + np.exp(4.0 * (2.0 * np.log(P["full_n"])[:, None] / front_speed(case.beta) - t)))
    values["full"] = (("start", "size", "time"), np.tile(full, (starts, 1, 1)))
    return values


def _far(number: float, slowness: float) -> xarray.Dataset:
    """Fronts with the logarithms of noise and of none, behind which are `number` times the fastest degree."""
    from scipy.special import ive

    far, times = P["far"], far_times(P)
    edges = np.linspace(np.log(P["first"]), far["end"], round(4 * (far["end"] - np.log(P["first"]))) + 1)
    s = (edges[1:] + edges[:-1]) / 2.0
    plateau = 1.0 / (ive(0, far["beta"]) * number * fastest_degree(far["beta"])) - 1.0
    seen = [
        [
            plateau * front(s, times + 0.01 * i, far["beta"], 2, slowness, logarithm)
            for logarithm in (1.5, 3.0)
        ]
        for i in range(far["starts"])
    ]
    return xarray.Dataset({"seen": (("start", "noise", "time", "cell"), np.array(seen))})


@pytest.mark.parametrize(
    ("changes", "flips"),
    [
        ({}, []),
        ({"growth": 1.3}, [0]),
        ({"slowness": 1.6}, [1]),
        ({"far": 1.1}, [2]),
        ({"near": 0.5}, [3]),
        ({"same": 0.4}, [4]),
        ({"number": 0.75}, [5]),
        ({"uneven": 0.9}, [6]),
        ({"spoilt": 0.9}, [7]),
    ],
)
def test_other_modes_speeds_places_or_masses_flip_their_verdict_alone(
    changes: dict[str, float], flips: list[int]
) -> None:
    item = find("causal-front")
    words = [verdict.word for verdict in item.verdicts(item.measure(planted(**changes), P), P)]
    assert [i for i, word in enumerate(words) if word == "not observed"] == flips


def test_a_front_is_found_between_frames_and_where_it_never_comes_there_is_none() -> None:
    times = np.array([0.0, 1.0, 2.0])
    seen = np.array([[0.0, 0.0, 0.0], [0.2, 0.0, 0.1], [0.6, 0.5, 0.2]])  # (time, bin)
    found = crossing_times(seen, times, 0.4)
    np.testing.assert_allclose(found, [1.5, 1.8, np.nan])
    assert slopes(np.array([[1.0, 3.0, 5.0]]), np.array([0.0, 1.0, 2.0]), -0.5) == pytest.approx([2.0])


def test_what_tokens_see_on_the_sphere_is_a_sum_over_pairs() -> None:
    x, beta = uniform(90, 3, 0), 5.0
    bins = bins_of(40, 90)
    weight = np.exp(beta * x @ x.T) / (np.sinh(beta) / beta)  # (n, n)
    zeta = np.array([weight[k, :k].mean() for k in range(1, 90)])  # of token 1 on
    expected = [
        zeta[a - 1 : b - 1].mean() - 1.0 for a, b in zip(bins.edges[:-1], bins.edges[1:], strict=True)
    ]
    np.testing.assert_allclose(seen_of(x, beta, bins), expected, rtol=1e-12)


@pytest.mark.parametrize("d", [2, 3])
def test_modes_of_one_degree_have_squares_that_add_up_to_1(d: int) -> None:
    values = mode_values(uniform(50, d, 1), 4)
    np.testing.assert_allclose((np.abs(values) ** 2).sum(-1), 1.0, rtol=1e-12)


def test_clusters_are_counted_largest_first_and_even_ones_count_fully() -> None:
    angle = np.array([*np.full(5, 0.0), *np.full(3, 2.0), 2.05, -3.0])
    center, mass = clusters_of(np.column_stack([np.cos(angle), np.sin(angle)]), 0.1)
    np.testing.assert_allclose(mass, [0.5, 0.4, 0.1])
    np.testing.assert_allclose(center[0], [1.0, 0.0])
    assert effective_number(np.array([[0.25, 0.25, 0.25, 0.25, np.nan]])) == pytest.approx([4.0])
    assert effective_number(np.array([[0.5, 0.5, 0.0]])) == pytest.approx([2.0])


def test_modes_that_are_propagated_are_explained_and_probes_that_agree_are_counted() -> None:
    rng = np.random.default_rng(0)
    start = rng.standard_normal((1, 40, 2))
    grown = start + rng.standard_normal((1, 40, 2))
    modes = np.stack([start, grown, 1.1 * grown], 1)
    factor, share = propagated_share(modes, 1)
    assert factor == pytest.approx([1.1])
    assert share == pytest.approx([1.0 - (0.1 / 1.1) ** 2])
    assert propagated_share(modes, 0)[1][0] < 0.8
    probe = np.stack([uniform(50, 3, 0), uniform(50, 3, 1)])  # (start, probes, 3)
    same, other = same_place(np.stack([probe, probe], 1), 100.0)
    assert same.tolist() == [1.0, 1.0]
    assert max(other) < 0.2


def test_a_small_run_has_what_is_measured() -> None:
    found = made("causal-front")
    assert found.data["d2_beta16"]["seen"].shape == found.data["d2_beta16"]["own_seen"].shape
    assert 0.8 < found.numbers["d2_beta16_growth"].value < 1.2
    assert np.nansum(found.data["d3_beta6"]["mass"].values[0]) == pytest.approx(1.0)
