"""Which kernel is chosen; and what holds whichever it is: the equation, run by run, to its accuracy."""

import gc
import math
import warnings
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.kernel_models import Mask, circle_bound, models, pairwise_bound
from support.places import on_circle

import nucleate as nc
import nucleate.kernels.dispatch as dispatch
from nucleate.attention import Attention, Frozen, Window
from nucleate.checks import InputError
from nucleate.kernels.circle import circle_system
from nucleate.kernels.dispatch import (
    MIN_TEAM_WORK,
    choose_batch_kernel,
    choose_kernel,
    few_pairs,
    make_system,
    team_pays,
    work_of,
)
from nucleate.kernels.model_shape import model_shape
from nucleate.kernels.pairwise import Pairwise, pairwise_system
from nucleate.kernels.tiles import Tiles, tiles_system


def test_auto_takes_the_circle_only_where_it_is_accurate_and_pays() -> None:
    assert choose_kernel(model_shape(Attention(64.0), 10_000, 2)) == "circle"
    assert choose_kernel(model_shape(Attention(64.0), 10, 2)) == "pairwise"
    assert choose_kernel(model_shape(Attention(64.0), 10_000, 5)) == "pairwise"
    assert choose_kernel(model_shape(Attention(1e9), 10_000, 2)) == "pairwise"
    assert choose_kernel(model_shape(Attention(64.0, mask=Window(5)), 10_000, 2)) == "pairwise"
    assert choose_kernel(model_shape(Attention(64.0), 10_000, 2), 1e-15) == "pairwise"


def test_auto_takes_the_sphere_only_where_it_is_accurate_and_pays() -> None:
    rotation = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    assert choose_kernel(model_shape(Attention(64.0), 10_000, 3)) == "sphere"
    assert choose_kernel(model_shape(Attention(32.0, Q=2.0 * rotation), 10_000, 3)) == "sphere"
    assert choose_kernel(model_shape(Attention(64.0), 1000, 3)) == "pairwise"
    assert choose_kernel(model_shape(Attention(1e4), 10**9, 3)) == "pairwise"
    assert choose_kernel(model_shape(Attention(1.0, Q=np.diag([1.0, 2.0, 3.0])), 10_000, 3)) == "pairwise"
    assert choose_kernel(model_shape(Attention(64.0, mask=Window(500)), 10_000, 3)) == "pairwise"
    assert choose_kernel(model_shape(Attention(64.0), 10_000, 3), 1e-15) == "pairwise"
    assert choose_kernel(model_shape(Attention(16.0), 10_000, 4)) == "sphere"
    assert choose_kernel(model_shape(Attention(16.0), 10_000, 4), 1e-15) == "pairwise"
    assert choose_kernel(model_shape(Attention(16.0), 4000, 4)) == "pairwise"
    assert choose_kernel(model_shape(Attention(64.0), 10**5, 4)) == "sphere"
    assert choose_kernel(model_shape(Attention(70.0), 10**6, 4)) == "pairwise"  # to 1e-11
    assert choose_kernel(model_shape(Attention(100.0), 10**6, 4), 1e-10) == "sphere"
    assert choose_kernel(model_shape(Attention(201.0), 10**9, 4)) == "pairwise"
    assert (
        choose_kernel(model_shape(Attention(1.0, Q=np.diag([1.0, 1.0, 1.0, 3.0])), 10_000, 4)) == "pairwise"
    )


def test_auto_sums_over_pairs_where_runs_are_small() -> None:
    assert few_pairs(model_shape(Attention(64.0), 200, 2))
    assert few_pairs(model_shape(Attention(256.0), 400, 2))  # more modes
    assert few_pairs(model_shape(Attention(1e9), 400, 2))  # more than can be summed
    assert not few_pairs(model_shape(Attention(64.0), 300, 2))
    assert not few_pairs(model_shape(Attention(1e9), 600, 2))
    assert few_pairs(model_shape(Attention(64.0, mask="full"), 140, 2))
    assert not few_pairs(model_shape(Attention(64.0, mask="full"), 200, 2))


@pytest.mark.parametrize(
    ("model", "n", "d", "auto", "pairwise"),
    [
        (Attention(64.0), 200, 2, "pairwise_batch", "pairwise_batch"),
        (Attention(64.0), 400, 2, "circle_batch", "pairwise_batch"),
        (Attention(1e6), 4000, 2, None, "pairwise_batch"),  # beyond the accuracy of eight runs by modes
        (Attention(64.0, V=np.diag([1.0, 2.0])), 200, 2, None, "pairwise"),
        (Attention(64.0, mask=Window(9)), 200, 2, None, "pairwise"),
        (Attention(64.0, frozen=Frozen([[1.0, 0.0]])), 200, 2, "circle_batch", "pairwise"),
        (Attention(64.0), 2000, 3, "pairwise_batch", "pairwise_batch"),
        (Attention(16.0), 4000, 3, None, "pairwise_batch"),  # each by harmonics
        (Attention(64.0, mask="full"), 200, 3, "pairwise_batch", "pairwise_batch"),
        (Attention(64.0, Q=np.diag([1.0, 2.0, 3.0])), 200, 3, "pairwise", "pairwise"),
        (Attention(64.0), 200, 7, "pairwise", "pairwise"),
        (Attention(8.0), 200, 16, None, None),  # each in tiles
    ],
)
def test_how_several_runs_of_one_model_go(
    model: Attention, n: int, d: int, auto: str | None, pairwise: str | None
) -> None:
    shape = model_shape(model, n, d)
    assert choose_batch_kernel(shape, "auto") == auto
    assert choose_batch_kernel(shape, "pairwise") == pairwise
    assert choose_batch_kernel(shape, "circle") is None
    assert choose_batch_kernel(shape, "reference") is None


def test_tiles_are_taken_for_many_tokens_in_high_dimension() -> None:
    for n, d, kind in ((64, 16, Tiles), (63, 16, Pairwise), (64, 15, Pairwise)):
        assert isinstance(make_system(model_shape(Attention(1.0), n, d)), kind)


def test_work_counts_every_pair_that_is_seen() -> None:
    # Under the full mask it was counted as half, and threads came in too late.
    def work(model: Attention, d: int = 2) -> float:
        shape = model_shape(model, 1000, d)
        return work_of(tiles_system(shape) if d == 64 else pairwise_system(shape))

    assert work(Attention(1.0)) == 1000 * 500
    assert work(Attention(1.0, mask="full")) == 1000 * 1000
    assert work(Attention(1.0, mask=Window(10))) == 1000 * 10
    assert work(Attention(1.0, mask="full", frozen=Frozen(nc.uniform(20, 2, 0)))) == 1000 * 1020
    assert work(Attention(1.0), d=13) == 3 * 1000 * 500  # a pair of high dimension is more work
    assert work(Attention(1.0, mask="full"), d=64) == 8 * 1000 * 1000


def test_a_team_pays_for_one_large_system_on_idle_threads() -> None:
    large = pairwise_system(model_shape(Attention(1.0, mask="full"), 1500, 3))
    assert work_of(large) > MIN_TEAM_WORK > work_of(pairwise_system(model_shape(Attention(1.0), 1500, 3)))
    assert team_pays(large, runs=1, threads=2)
    assert not team_pays(large, runs=1, threads=1)
    assert not team_pays(large, runs=2, threads=2)  # a run for every thread
    assert not team_pays(circle_system(model_shape(Attention(1.0), 1500, 2)), runs=1, threads=2)


@pytest.mark.parametrize("kernel", ["auto", "circle"])
def test_runs_with_parameters_of_their_own_are_shared_out_among_threads(
    kernel: Literal["auto", "circle"],
) -> None:
    x = np.stack([nc.uniform(30, 2, seed=run) for run in range(7)])
    V = np.random.default_rng(0).standard_normal((7, 2, 2))
    for model in (Attention(np.linspace(1.0, 40.0, 7), V=V), Attention(3.0, V=V[0])):
        one = nc.drift(model, x, kernel=kernel, threads=1)
        for threads in (2, 3, 20):
            assert np.array_equal(nc.drift(model, x, kernel=kernel, threads=threads), one)


@pytest.mark.parametrize("kernel", ["pairwise", "circle"])
def test_run_axes_mean_one_system_per_run(kernel: Literal["pairwise", "circle"]) -> None:
    b, n = 5, 40
    rng = np.random.default_rng(0)
    beta, (Q, K, V) = rng.uniform(0.5, 9.0, b), rng.standard_normal((3, b, 2, 2))
    x = np.stack([nc.uniform(n, 2, seed=run) for run in range(b)])
    frozen_x, weight = (
        np.stack([nc.uniform(3, 2, 40 + run) for run in range(b)]),
        rng.uniform(1.0, 5.0, (b, 3)),
    )
    whole = nc.drift(Attention(beta, Q=Q, K=K, V=V, frozen=Frozen(frozen_x, weight)), x, kernel=kernel)
    for run in range(b):
        alone = Attention(beta[run], Q=Q[run], K=K[run], V=V[run], frozen=Frozen(frozen_x[run], weight[run]))
        # the same compiled code on the same numbers
        assert np.array_equal(whole[run], nc.drift(alone, x[run], kernel=kernel))
    one_start = nc.drift(Attention(beta, V=V), x[0], kernel=kernel)
    assert one_start.shape == (b, n, 2)
    assert np.array_equal(one_start[3], nc.drift(Attention(beta[3], V=V[3]), x[0], kernel=kernel))


@pytest.mark.parametrize("d", [2, 3, 7, 16])
@pytest.mark.parametrize("mask", ["causal", "full", Window(5)], ids=str)
@pytest.mark.parametrize("b", [2, 9])
def test_batches_of_one_model_equal_the_equation_run_by_run(b: int, mask: Mask, d: int) -> None:
    # Batches have ways of their own: eight runs side by side, or in lanes by modes.
    for n in (1, 2, 9, 70):
        x = np.stack([nc.uniform(n, d, seed=run) for run in range(b)])
        for name, model in models(d, mask).items():
            expected = np.stack([nc.drift(model, x[run], kernel="reference") for run in range(b)])
            assert np.abs(nc.drift(model, x, kernel="pairwise") - expected).max() <= pairwise_bound(
                model, d
            ), (name, n)
            bound = circle_bound(model) if d == 2 else pairwise_bound(model, d)
            assert np.abs(nc.drift(model, x) - expected).max() <= bound, (name, n)


@pytest.mark.parametrize("d", [2, 3, 7, 16])
def test_a_batch_does_not_mix_its_runs(d: int) -> None:
    x = np.stack([nc.uniform(70, d, seed=run) for run in range(21)])
    rows = np.random.default_rng(0).permutation(21)
    for name, model in models(d, "causal").items():
        for kernel in ("auto", "pairwise"):
            whole = nc.drift(model, x, kernel=kernel)
            assert np.array_equal(nc.drift(model, x[rows], kernel=kernel), whole[rows]), (name, kernel)
            assert np.array_equal(nc.drift(model, x[:10], kernel=kernel), whole[:10]), (name, kernel)


def test_frozen_tokens_given_in_single_precision_are_put_on_the_sphere() -> None:
    # Unit to 1e-7 only: a kernel that uses |x_j - x_k|^2 and one that uses <x_j, x_k> must still agree.
    x, frozen = nc.uniform(30, 2, seed=0), nc.uniform(4, 2, seed=9).astype(np.float32)
    model = Attention(64.0, frozen=Frozen(frozen))
    expected = nc.drift(Attention(64.0, frozen=Frozen(nc.retract(frozen))), x, kernel="reference")
    for kernel in ("reference", "pairwise", "circle"):
        assert np.abs(nc.drift(model, x, kernel=kernel) - expected).max() <= circle_bound(model), kernel


@given(
    theta=st.lists(
        st.floats(-math.pi, math.pi) | st.sampled_from([0.0, 1e-9, 0.5, math.pi, -math.pi / 2]),
        min_size=1,
        max_size=40,
    ),
    beta=st.sampled_from([0.0, 1e-3, 0.3, 1.0, 10.0, 64.0, 300.0]),
    numbers=st.lists(st.floats(-2.0, 2.0), min_size=12, max_size=12),
    w=st.integers(1, 45),
    mask=st.sampled_from(["causal", "full", "window"]),
)
@settings(max_examples=150)
def test_all_kernels_agree_on_the_circle(
    theta: list[float], beta: float, numbers: list[float], w: int, mask: str
) -> None:
    Q, K, V = np.reshape(numbers, (3, 2, 2))
    x = on_circle(np.array(theta))
    kind: Mask = Window(w) if mask == "window" else "full" if mask == "full" else "causal"
    for model in (Attention(beta, Q=Q, K=K, V=V, mask=kind), Attention(beta, mask=kind)):
        expected = nc.drift(model, x, kernel="reference")
        assert (
            np.abs(nc.drift(model, x, kernel="pairwise") - expected).max()
            <= pairwise_bound(model, 2) + 1e-300
        )
        assert np.abs(nc.drift(model, x, kernel="circle") - expected).max() <= circle_bound(model) + 1e-300


def test_scores_that_overflow_are_never_shown_as_velocities() -> None:
    # beta K^T Q is infinite: there is no answer, so none that looks like one may come out.
    for d, n in ((2, 5), (3, 5), (16, 70)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy's own words about it come on top
            try:
                velocity = nc.drift(Attention(1e300, Q=1e10 * np.eye(d)), nc.uniform(n, d, seed=0))
            except InputError:
                continue
        assert not np.isfinite(velocity[1:]).any(), (d, velocity[1])


@pytest.mark.parametrize(("n", "d"), [(50, 2), (3000, 2), (50, 3), (50, 16), (200, 16), (200, 64)])
@pytest.mark.parametrize("mask", ["causal", Window(5)], ids=str)
def test_the_first_token_stands_still_to_the_last_bit(n: int, d: int, mask: Mask) -> None:
    for V in (np.eye(d), -np.eye(d), 0.3 * np.eye(d)):
        for kernel in ("auto", "pairwise", "circle") if d == 2 else ("auto",):
            assert not nc.drift(Attention(9.0, V=V, mask=mask), nc.uniform(n, d, seed=n), kernel=kernel)[
                0
            ].any(), (kernel, V[0, 0])


# --- what a system keeps for the next call


SMALL: dict[str, Callable[[], Attention | nc.Block]] = {
    "circle": lambda: Attention(4.0),
    "pairs": lambda: Attention(4.0, mask=Window(5)),
    "block with lengths": lambda: nc.Block([Attention(4.0)], norm="pre", radius=2.0),
    "peri": lambda: nc.Block([Attention(4.0), Attention(1.0)], norm="peri"),
    "rope": lambda: Attention(4.0, position=nc.RoPE(100.0)),
    "hardmax": lambda: Attention(4.0, weights="hardmax"),
}


@pytest.mark.parametrize("name", SMALL)
def test_what_is_kept_of_one_call_changes_no_bit_of_the_next(name: str) -> None:
    model, starts = SMALL[name](), nc.uniform(120, 2, seed=3, runs=6)
    fresh = [nc.drift(SMALL[name](), x) for x in starts]
    np.testing.assert_array_equal([nc.drift(model, x) for x in starts], fresh)
    nc.drift(model, starts[0][:7])  # another size between
    with ThreadPoolExecutor(3) as threads:
        np.testing.assert_array_equal(list(threads.map(lambda x: nc.drift(model, x), starts)), fresh)


def test_what_is_kept_for_a_model_goes_with_it() -> None:
    model = Attention(4.0)
    nc.drift(model, nc.uniform(9, 3, seed=1))
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_a_system_with_many_frozen_tokens_is_not_small_and_few_stay_set_up() -> None:
    x = nc.uniform(50, 2, seed=1)
    crowded = Attention(2.0, frozen=Frozen(nc.uniform(50_000, 2, seed=2)))
    nc.drift(crowded, x)
    assert crowded in dispatch._large
    models = [Attention(float(beta)) for beta in range(dispatch.MAX_SMALL_KEPT + 5)]
    for model in models:
        nc.drift(model, x)
    assert len(dispatch._small) == dispatch.MAX_SMALL_KEPT
    for model in models[: dispatch.MAX_LARGE_KEPT + 5]:
        nc.drift(model, nc.uniform(200, 16, seed=1))
    assert len(dispatch._large) == dispatch.MAX_LARGE_KEPT


LARGE: dict[str, tuple[Callable[[], Attention | nc.Block], int, int]] = {
    "tiles": (lambda: Attention(4.0), 200, 16),
    "pairs": (lambda: Attention(4.0, mask=Window(900)), 1500, 5),
    "circle": (lambda: Attention(4.0), 1600, 2),
    "sphere": (lambda: Attention(1.0), 1600, 3),
    "sphere, d = 4": (lambda: Attention(1.0), 1600, 4),
    "tiles of heads": (lambda: nc.Block([Attention(4.0), Attention(1.0)], norm="pre", radius=2.0), 200, 16),
}


@pytest.mark.parametrize("name", LARGE)
def test_what_is_kept_of_a_large_system_changes_no_bit_of_the_next_call(name: str) -> None:
    make, n, d = LARGE[name]
    model, starts = make(), nc.uniform(n, d, seed=3, runs=3)
    fresh = [nc.drift(make(), x) for x in starts]
    np.testing.assert_array_equal([nc.drift(model, x) for x in starts], fresh)
    assert model in dispatch._large
    assert len(dispatch._large[model].idle) == 1
    nc.drift(model, starts[0], threads=1)
    with ThreadPoolExecutor(3) as threads:
        np.testing.assert_array_equal(list(threads.map(lambda x: nc.drift(model, x), starts)), fresh)
    assert len(dispatch._large[model].idle) == 1


def test_a_system_that_takes_much_memory_does_not_stay_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    model, x = Attention(4.0), nc.uniform(200, 16, seed=1)
    # x, keys and values are 26 KB each, all others 98 KB
    monkeypatch.setattr(dispatch, "MAX_BYTES_KEPT", 100_000)
    nc.drift(model, x)
    assert not dispatch._large[model].idle
