"""A text over depth as the page is told of it: measured in all dimensions, whatever the picture loses."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from support.made_depth_runs import depth_run

import nucleate as nc
from nucleate.checks import InputError
from nucleate.explorer import limits
from nucleate.explorer.trace_view import (
    FRAMES,
    MAX_TRACE_TOKENS,
    TraceReading,
    one_text,
    parse_reading,
    read_trace,
)
from nucleate.integrate.run import Run
from nucleate.observe.cosines import mean_cosine
from nucleate.sphere import distance

M, N, D = 4, 30, 12


def gathering(seed: int = 0) -> Run:
    """Tokens that turn to one direction with depth, in more dimensions than are drawn."""
    rng = np.random.default_rng(seed)
    start, end = rng.standard_normal((N, D)), rng.standard_normal(D)
    states = np.stack([start + layer * end for layer in range(M)])  # (m, n, d)
    return Run.from_hidden_states(states, tokens=[f" word{k % 20}" for k in range(N)])


@pytest.fixture(scope="module")
def reading() -> TraceReading:
    return read_trace(gathering())


def test_the_nearest_earlier_tokens_are_those_of_a_slow_search(reading: TraceReading) -> None:
    x = gathering().x
    for layer, k in ((0, 0), (0, 1), (1, 17), (3, N - 1)):
        found = sorted(range(k), key=lambda j: -float(x[layer, k] @ x[layer, j]))[:3]  # used at once
        there = reading.nearest[layer, k] >= 0
        assert reading.nearest[layer, k, there].tolist() == found
        assert reading.cosines[layer, k, there] == pytest.approx(x[layer, found] @ x[layer, k], abs=1e-6)


def test_what_is_lost_is_what_the_places_lack_and_a_frame_per_layer_loses_least(
    reading: TraceReading,
) -> None:
    for frame in FRAMES:
        kept = (reading.places[frame][:, 1:] ** 2).sum(-1).mean(-1)  # (m,) of tokens of length 1
        assert reading.lost[frame] == pytest.approx(1.0 - kept, abs=1e-6)
    assert (reading.lost["own"] <= reading.lost["all"] + 1e-12).all()
    for layer, y in enumerate(reading.places["own"]):  # a projection: no two tokens come closer than they are
        x = gathering().x[layer]
        assert np.linalg.norm(y[3] - y[9]) <= np.linalg.norm(x[3] - x[9]) + 1e-6


def test_centers_are_those_of_their_definition_and_a_quarter_of_the_tokens(reading: TraceReading) -> None:
    x0 = gathering().x[0]
    renyi: list[int] = []
    strong: list[int] = []
    for k in range(N):
        if all(distance(x0[k], x0[j]) > reading.delta for j in renyi):
            renyi.append(k)
        if all(distance(x0[k], x0[j]) > reading.delta for j in range(k)):
            strong.append(k)
    assert (list(reading.renyi), list(reading.strong)) == (renyi, strong)
    assert len(renyi) == pytest.approx(N / 4, abs=1)


def test_curves_leave_the_first_token_out_and_the_null_is_a_band(reading: TraceReading) -> None:
    assert reading.curves["cosine"] == pytest.approx(mean_cosine(gathering().x[:, 1:]))
    assert (np.diff(reading.curves["cosine"]) > 0).all()
    assert (reading.curves["cover_low"] <= reading.curves["cover_high"]).all()
    assert "weight" not in reading.curves
    assert "weight" in read_trace(one_text(depth_run())).curves


def test_a_reading_comes_back_from_notes_and_what_is_none_does_not(reading: TraceReading) -> None:
    table = reading.plain()
    again = parse_reading(table, M)
    assert again is not None
    assert again.plain() == table
    assert parse_reading(table, M + 1) is None
    for key, bad in (
        ("words", [1] * N),
        ("words", []),
        ("words", "x" * N),
        ("words", ["x" * 10_001] * N),
        ("name", None),
        ("places", {"all": "AAAA", "own": "AAAA"}),
        ("norms", "not base64 !"),
        ("norms", reading.plain()["places"]["all"]),
        ("centers", {"renyi": [N], "strong": []}),
        ("centers", {"renyi": [0] * (N + 1), "strong": []}),
        ("centers", {"renyi": [], "strong": [3, 3]}),
        ("centers", {"renyi": [4, 3], "strong": []}),
        ("centers", {"renyi": [], "strong": None}),
        ("delta", "far"),
        ("curves", {"cosine": [1.0]}),
        ("curves", None),
    ):
        assert parse_reading({**copy.deepcopy(table), key: bad}, M) is None, (key, bad)
    assert parse_reading(None, M) is None
    assert parse_reading({**table, "curves": {"unknown": [0.0] * M}}, M) is not None


def test_one_of_several_texts_is_taken_and_a_long_one_is_cut() -> None:
    several = depth_run((2,))
    assert np.array_equal(one_text(several, 1).x, several.x[1])
    with pytest.raises(InputError, match="There is no text 2"):
        one_text(several, 2)
    deep = Run.from_hidden_states(np.ones((limits.MAX_LAYERS + 1, 1, 2)))
    assert len(one_text(deep).x) == limits.MAX_LAYERS + 1
    deeper = Run.from_hidden_states(np.ones((1, limits.MAX_LAYERS + 2, 1, 2)))
    with pytest.raises(InputError, match=r"1001 layers, but the explorer shows at most 1000\. Draw it"):
        one_text(deeper)
    long = Run.from_hidden_states(np.random.default_rng(0).standard_normal((2, 300, 5)))
    assert one_text(long).x.shape == (2, MAX_TRACE_TOKENS, 5)


def test_a_single_token_and_a_plane_are_shown_too() -> None:
    alone = read_trace(nc.Run.from_hidden_states(np.ones((3, 1, 8))))
    assert (alone.renyi, alone.words) == ((0,), ("token 1",))
    assert alone.nearest.max() == -1
    flat = read_trace(replace(nc.Run.from_hidden_states(gathering().x[..., :2]), norms=None))
    assert flat.lost["all"] == pytest.approx(np.zeros(M), abs=1e-12)
    assert np.array_equal(flat.norms, np.ones((M, N)))
