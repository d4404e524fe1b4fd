"""The front, read off profiles made up, and other profiles, places and masses flip the verdicts."""

import numpy as np
import pytest
import xarray
from support.small_items import made

from nucleate.papers import find
from nucleate.papers.open_questions.causal_front.data import MODES, _masses, bins_of
from nucleate.papers.open_questions.causal_front.measures import crossing_times, slopes
from nucleate.theory.causal_front import front_speed, mode_power

P = find("causal-front").parameters


def planted(
    slope: float = 1.0, growth: float = 1.0, near: float = 0.95, spoilt: float = 0.0
) -> dict[str, xarray.Dataset]:
    """A front with `slope` times 1 / (4 lambda), modes that grow at `growth` times their rate, and masses
    that are arcs but for noise."""
    rng, data = np.random.default_rng(0), {}
    t, s = np.array(P["times"]), bins_of(P["first"], P["n"]).s
    starts = P["starts"]
    for beta in P["betas"]:
        passes = 3.0 + slope * s / front_speed(beta) + 0.05 * rng.standard_normal((starts, 1))  # (start, bin)
        seen = 1.0 / (1.0 + np.exp(2.0 * (passes[:, None] - t[:, None])))  # (start, time, bin)
        full = 1.0 / (1.0 + np.exp(2.0 * (2.0 * np.log(P["full_n"])[:, None] / front_speed(beta) - t)))
        modes = np.arange(5, 5 + MODES)
        linear = np.stack([mode_power(P["n"], beta, t, int(m)) for m in modes], -1)  # (time, mode)
        arc = rng.uniform(0.5, 1.5, (starts, 12)) / 12.0
        noise = 1.0 + 0.02 * rng.standard_normal((starts, len(t), MODES))
        data[f"beta{beta:g}"] = xarray.Dataset(
            {
                "seen": (("start", "time", "bin"), seen),
                "own_seen": (("start", "time", "bin"), seen),
                "other_seen": (("start", "time", "bin"), np.roll(seen, 1, 0)),
                "own_near": (("start", "bin"), near + 0.01 * rng.standard_normal((starts, len(s)))),
                "other_near": (("start", "bin"), 0.3 + 0.01 * rng.standard_normal((starts, len(s)))),
                "power": (("start", "time", "mode"), linear**growth / linear[0] ** (growth - 1.0) * noise),
                "modes": (("start", "mode"), np.tile(modes, (starts, 1))),
                "mass": (("start", "cluster"), arc * (1.0 - spoilt) + spoilt * np.roll(arc, 5, 1)),
                "arc": (("start", "cluster"), arc),
                "full": (("start", "size", "time"), np.tile(full, (starts, 1, 1))),
            }
        )
    return data


@pytest.mark.parametrize(
    ("changes", "flips"),
    [({}, []), ({"growth": 1.3}, [0]), ({"slope": 1.5}, [1]), ({"near": 0.5}, [2]), ({"spoilt": 0.7}, [3])],
)
def test_another_growth_speed_place_or_mass_flips_its_verdict_alone(
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
    assert slopes(np.array([[1.0, 3.0, 5.0]]), np.array([0.0, 1.0, 2.0]), 0.5) == pytest.approx([2.0])


def test_tokens_are_counted_for_the_nearest_leader_also_round_the_end_of_the_angles() -> None:
    angle = np.array([3.12, 0.0, -2.0, *np.full(7, -3.13), *np.full(5, 0.03)])
    found = _masses(np.column_stack([np.cos(angle), np.sin(angle)]), 64.0)
    mass = found["mass"][~np.isnan(found["mass"])]  # by angle: -2, 0, 3.12
    np.testing.assert_allclose(mass, [1.0 / 15.0, 6.0 / 15.0, 8.0 / 15.0])
    assert np.nansum(found["arc"]) == pytest.approx(1.0)


def test_a_small_run_has_what_is_measured() -> None:
    found = made("causal-front")
    assert found.data["beta16"]["seen"].shape == found.data["beta16"]["own_seen"].shape
    assert 0.8 < found.numbers["beta16_growth"].value < 1.2
    assert np.nansum(found.data["beta16"]["mass"].values[0]) == pytest.approx(1.0)
