"""What is measured of a block of runs: each kind against its slow twin, and one's own functions."""

from typing import Any

import numpy as np
import pytest
from support.small_studies import profile, small, spread

import nucleate as nc
from nucleate.attention import Attention
from nucleate.checks import Array, InputError
from nucleate.observe.measure import measure
from nucleate.studies.block import STATUS
from nucleate.studies.ensemble import ensemble
from nucleate.studies.observables import IntegratedBlock, observable


def runs_of(d: int, b: int = 5, m: int = 4, n: int = 30) -> Array:
    """Tokens (b, m, n, d) from scattered to clustered."""
    rng = np.random.default_rng(d)
    middle = rng.standard_normal((b, 1, 6, d))
    width = np.array([3.0, 0.6, 0.1, 0.01])[:m, None, None]
    x = middle[:, :, rng.integers(6, size=n)] + width * rng.standard_normal((b, m, n, d))
    return nc.retract(x)


def measured(kind: str, x: Array, **given: Any) -> Array:
    """An observable of tokens x (b, m, n, d) that started in the first frame, at beta = 4."""
    one = observable("a", {"kind": kind, **given})
    return one.measure(IntegratedBlock(np.arange(float(x.shape[1])), x[:, 0], Attention(4.0), 4.0, x))


def runs_that_fail(d: int) -> Array:
    """The same, but the second run did not get beyond its second frame."""
    x = runs_of(d)
    x[1, 2:] = np.nan
    return x


@pytest.mark.parametrize("d", [2, 3, 5])
@pytest.mark.parametrize("delta", [0.1, 0.5, "1/sqrt(beta)", "9/sqrt(beta)"])
@pytest.mark.parametrize("centers", ["renyi", "strong"])
def test_counted_centers_are_the_renyi_centers(d: int, delta: float | str, centers: str) -> None:
    x = runs_of(d)
    radians = (
        {"1/sqrt(beta)": 0.5, "9/sqrt(beta)": np.pi}.get(delta, delta) if isinstance(delta, str) else delta
    )
    slow = [len(nc.renyi_centers(tokens, float(radians), strong=centers == "strong")) for tokens in x[:, 0]]
    assert measured("centers", x, delta=delta, centers=centers).tolist() == slow


@pytest.mark.parametrize("d", [2, 3, 5])
@pytest.mark.parametrize("radius", [0.02, 0.3, 1.5])
def test_the_consumed_share_counts_tokens_near_a_center(d: int, radius: float) -> None:
    x = runs_that_fail(d)
    share = measured("consumed", x, delta=0.5, radius=radius)
    for run, frame in np.ndindex(share.shape):
        if run == 1 and frame >= 2:
            assert np.isnan(share[run, frame])
            continue
        tokens = x[run, frame]
        near = [
            nc.distance(token, tokens[nc.renyi_centers(x[run, 0], 0.5)]).min() <= radius for token in tokens
        ]
        assert share[run, frame] == np.mean(near)
    assert np.array_equal(
        measured("consumed", x, delta=0.5, radius=radius, at="end"), share[:, -1], equal_nan=True
    )


@pytest.mark.parametrize("d", [2, 3, 5])
@pytest.mark.parametrize("radius", [0.02, 0.3, 1.5])
def test_counted_clusters_are_those_of_clusters(d: int, radius: float) -> None:
    x = runs_that_fail(d)
    count = measured("clusters", x, radius=radius)
    for run, frame in np.ndindex(count.shape):
        if run == 1 and frame >= 2:
            assert np.isnan(count[run, frame])
        else:
            assert count[run, frame] == nc.clusters(x[run, frame], radius).max() + 1


def test_a_ring_of_tokens_without_a_gap_is_one_cluster() -> None:
    angle = np.linspace(0, 2 * np.pi, 20, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=-1)[None, None]  # (1, 1, 20, 2)
    assert measured("clusters", ring, radius=0.4) == 1.0
    assert measured("clusters", ring, radius=0.1) == 20.0
    assert measured("clusters", ring[:, :, :1], radius=0.1) == 1.0


def test_the_farthest_token_is_the_farthest() -> None:
    x = runs_that_fail(3)
    apart = measured("from_first", x)
    for run, frame in np.ndindex(x.shape[:2]):
        if run == 1 and frame >= 2:
            assert np.isnan(apart[run, frame])
        else:
            assert apart[run, frame] == nc.distance(x[run, frame], x[run, 0, 0]).max()


def test_own_functions_are_asked_frame_by_frame_as_measure_does_or_run_by_run_if_told_and_nothing_else() -> (
    None
):
    whole = {
        "kind": "function",
        "function": "support.small_studies:profile",
        "each": "run",
        "dims": ["time", "token"],
    }
    own = {
        "spread": {"kind": "function", "function": spread},
        "middle": {"kind": "function", "function": lambda t, x: t + x.mean(0), "dims": ["coordinate"]},
        "profile": whole,
        "ends": {"kind": "points"},
        "way": {"kind": "trajectory"},
    }
    found = ensemble(small(observables=own, times={"t": 3.0, "save": 4, "max_steps": 9}))
    failed = found.data["status"].values == STATUS.index("max steps")
    assert 0 < failed.sum() < failed.size, "the test wants some of each"
    assert found.data["spread"].dims == ("beta", "run", "time")
    assert found.data["middle"].dims == ("beta", "run", "time", "coordinate")
    t, way = found.data["time"].values, found.data["way"].values  # (m,), (beta, run, m, n, d)
    for i in range(2):
        # NaN in the same frames
        np.testing.assert_array_equal(found.data["spread"].values[i], measure((t, way[i]), spread))
        np.testing.assert_array_equal(
            found.data["middle"].values[i], measure((t, way[i]), lambda t, x: t + x.mean(0))
        )
    assert np.isnan(found.data["spread"].values).any(-1)[failed].all()
    np.testing.assert_array_equal(
        found.data["profile"].values, np.where(failed[..., None, None], np.nan, way[..., 0])
    )
    assert np.isnan(found.data["ends"].values[failed]).all()


def test_a_point_where_every_run_fails_at_once_still_knows_the_shape_of_own_functions() -> None:
    own = {
        "frame": {"kind": "function", "function": lambda t, x: x[:3, 0], "dims": ["some"]},
        "all": {"kind": "function", "function": profile, "each": "run", "dims": ["time", "token"]},
    }
    found = ensemble(small(observables=own, times={"t": 3.0, "save": [1.0, 3.0], "max_steps": 1}))
    assert np.isnan(found.data["frame"].values).all()
    assert found.data["frame"].shape == (2, 24, 2, 3)
    assert np.isnan(found.data["all"].values).all()
    assert found.data["all"].shape == (2, 24, 2, 8)


@pytest.mark.parametrize("later", [1, 3])
def test_an_own_function_whose_shape_changes_once_tokens_move_is_refused(later: int) -> None:
    own = {
        "some": {
            "kind": "function",
            "function": lambda t, x: x[: 2 if t == 0.0 else later, 0],
            "dims": ["some"],
        }
    }
    with pytest.raises(InputError, match="must give arrays of one shape"):
        ensemble(small(observables=own, times={"t": 3.0, "save": [0.0, 3.0]}))
    one_by_one = {
        "some": {
            "kind": "function",
            "function": lambda t, x: x[: 2 if x[0, 0] < 0.5 else later, 0],
            "dims": ["some"],
        }
    }
    with pytest.raises(InputError, match="must give arrays of one shape"):
        ensemble(small(observables=one_by_one, times={"t": 3.0, "save": [3.0]}))
