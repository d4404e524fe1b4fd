"""Presets of the family: each shows what its text says."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.special import iv

import nucleate as nc
from nucleate.attention import attend
from nucleate.checks import Array
from nucleate.explorer.measurements import length_scales
from nucleate.explorer.prepared_run import compute, prepare_scene
from nucleate.explorer.presets import presets
from nucleate.explorer.scene import parse_scene


def scene_of(name: str) -> dict[str, Any]:
    return next(preset.scene.plain() for preset in presets() if preset.name == f"family-{name}")


@cache
def run_of(name: str) -> nc.Run:
    run = compute(prepare_scene(parse_scene(scene_of(name))))
    assert run.done
    return run


def without_family(name: str, **other: Any) -> nc.Run:
    return compute(prepare_scene(parse_scene({**scene_of(name), "family": {}, **other})))


def clusters_at(run: nc.Run, t: float, beta: float) -> int:
    i = int(np.searchsorted(run.t, t * (1.0 - 1e-9)))
    return int(nc.clusters(run.x[i], length_scales(max(beta, 1.0), 4.0)[1]).max()) + 1


def distance_from_first(run: nc.Run) -> Array:
    """(n,) radians at the end."""
    return np.arccos(np.clip(run.x[-1] @ run.x[-1, 0], -1.0, 1.0))


def order(run: nc.Run) -> Array:
    """|mean of all tokens|, (m,)."""
    return np.asarray(np.linalg.norm(run.x.mean(1), axis=-1))


def test_kuramotos_tokens_wait_and_are_at_one_place_by_t_20() -> None:
    found = order(run_of("kuramoto"))
    assert found[int(0.1 * len(found))] < 0.3
    assert found[-1] > 1.0 - 1e-6


def test_usa_has_a_handful_of_clusters_where_softmax_has_hardly_any_of_two() -> None:
    assert clusters_at(run_of("usa"), 1.0, 4.0) <= 5
    assert clusters_at(without_family("usa"), 1.0, 4.0) >= 160  # of 200 tokens


def test_pre_ln_closes_in_like_t_to_the_minus_2_and_lengths_grow_like_t() -> None:
    run = run_of("pre")
    assert run.norms is not None
    spread = 1.0 - (run.x @ run.x.mT).min((-1, -2))  # (m,)
    late = run.t > 100.0
    assert np.polyfit(np.log(run.t[late]), np.log(spread[late]), 1)[0] == pytest.approx(-2.0, abs=0.1)
    assert np.polyfit(np.log(run.t[late]), np.log(run.norms[late, 0]), 1)[0] == pytest.approx(1.0, abs=0.05)


def test_eight_heads_gather_all_where_the_sharpest_alone_does_not() -> None:
    assert clusters_at(run_of("heads"), 100.0, 128.0) == 1
    assert clusters_at(without_family("heads", beta=128.0), 100.0, 128.0) >= 10


def test_alibi_is_a_band_of_forty_places_and_ends_at_the_first_token() -> None:
    run = run_of("alibi")
    assert distance_from_first(run).max() < 1e-3
    n = run.x.shape[1]
    far = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) > 40
    for x in run.x[::20]:
        assert _weights(run.model, x)[far].max() < 1e-4


def _weights(model: nc.Attention, x: Array) -> Array:
    """(n, n), by the definition."""
    n = len(x)
    s = float(model.beta) * x @ x.T + model.position.bias(n)  # type: ignore[union-attr]  # it has one
    w = np.tril(np.exp(s - s.max(-1, keepdims=True)))
    w /= w.sum(-1, keepdims=True)
    assert np.allclose(w @ x, attend(model, x))  # these are the weights of the model
    return np.asarray(w)


def test_rope_comes_again_every_44_places_and_keeps_tokens_spread() -> None:
    found = distance_from_first(run_of("rope"))
    assert 0.8 < found.max() < 1.2
    assert np.abs(found[64:] - found[20:-44]).max() < 0.1  # 44 = 7 * 2 pi + 0.02
    assert np.abs(found[26:] - found[20:-6]).max() > 0.5
    assert clusters_at(without_family("rope"), 1000.0, 9.0) == 2


def test_noise_at_kappa_4_leaves_the_order_that_theory_says() -> None:
    r = np.linspace(0.5, 1.0, 100_001)
    expected = r[np.abs(r - iv(1, 4.0 * r) / iv(0, 4.0 * r)).argmin()]
    assert expected == pytest.approx(0.83, abs=0.005)  # as the text says
    late = order(run_of("noise"))[100:]
    assert late.mean() == pytest.approx(expected, abs=0.02)  # 500 tokens: one run is off by about 0.01


def test_hardmax_clusters_hold_two_tokens_or_more_and_do_not_merge() -> None:
    run = run_of("hardmax")
    labels = nc.clusters(run.x, 0.05)  # (m, n)
    late = labels[run.t > 30.0]
    assert (late == late[-1]).all()
    sizes = np.unique(labels[-1], return_counts=True)[1]
    assert len(sizes) > 20
    assert sizes.min() >= 2
    overlap = run.x[0] @ run.x[0].T - 2.0 * np.eye(100)
    nearest = overlap.argmax(1)  # (n,) at the start
    mutual = np.flatnonzero(nearest[nearest] == np.arange(100))
    assert (labels[-1, mutual] == labels[-1, nearest[mutual]]).all()  # such two meet


def test_random_layers_gather_the_tokens_and_carry_them_on() -> None:
    run = run_of("layers")
    for t in np.arange(10.0, 51.0, 5.0):
        assert clusters_at(run, t, 1.0) == 1
    ends = run.x[::4, 0]  # (51, d) the first token at the end of each layer
    turns = np.degrees(np.arccos(np.clip((ends[1:] * ends[:-1]).sum(-1), -1.0, 1.0)))
    assert np.median(turns[10:]) > 30.0
