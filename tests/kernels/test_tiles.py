"""Tiles: they equal the equation at any size and beta; bits do not depend on how tokens are shared out."""

import numpy as np
import pytest
from support.kernel_models import GO, MASKS, Mask, models, norms, pairwise_bound, velocities_of

import nucleate as nc
from nucleate.attention import Attention, Frozen, Window
from nucleate.checks import InputError
from nucleate.kernels.model_shape import model_shape
from nucleate.kernels.simd import LANES
from nucleate.kernels.tiles import (
    MAX_SINGLE_Z,
    MAX_TILES_Z,
    tiles_block,
    tiles_images,
    tiles_place,
    tiles_system,
)

SINGLE_ERROR = 3e-7  # of a velocity, times max(1, beta |K^T Q|) |V|, as `drift` says


@pytest.mark.parametrize("n", [1, 2, 9, 300, 700])
@pytest.mark.parametrize("mask", MASKS, ids=str)
@pytest.mark.parametrize("d", [16, 64])
def test_tiles_equal_the_equation_at_any_size(d: int, mask: Mask, n: int) -> None:
    # Below n = 64 `drift` would not take tiles; 700 tokens are eleven tiles of columns, eight of rows.
    x = nc.uniform(n, d, seed=n)
    for name, model in models(d, mask).items():
        if n == 700 and name not in ("plain", "everything"):
            continue
        velocity = velocities_of(tiles_system(model_shape(model, n, d)), x)
        error = np.abs(velocity - nc.drift(model, x, kernel="reference")).max()
        assert error <= pairwise_bound(model, d), (name, error)


@pytest.mark.parametrize("beta", [0.0, 1.0, 100.0, 1e3, 1e4])
def test_tiles_equal_the_equation_at_any_beta_and_width(beta: float) -> None:
    # 17 and 45 are no whole number of vectors, nor of panels; from beta = 1e3 on the largest score is kept.
    for d in (17, 45):
        x, rng = nc.uniform(150, d, seed=d), np.random.default_rng(d)
        Q, V = np.linalg.qr(rng.standard_normal((d, d)))[0], rng.standard_normal((d, d))
        frozen = Frozen(nc.uniform(40, d, 9), rng.uniform(1e-3, 1e3, 40))
        for mask in ("causal", "full", Window(70)):
            for model in (
                Attention(beta, mask=mask, frozen=frozen),
                Attention(beta, Q=Q, mask=mask),
                Attention(beta, Q=Q, V=V, mask=mask, frozen=frozen),
            ):
                system = tiles_system(model_shape(model, 150, d))
                assert system.bounded == (beta <= MAX_TILES_Z)
                error = np.abs(velocities_of(system, x) - nc.drift(model, x, kernel="reference")).max()
                assert error <= pairwise_bound(model, d), (d, mask, error)


def test_the_first_token_stands_still_to_the_last_bit() -> None:
    for beta in (0.3, 8.0, 700.0):
        assert (nc.drift(Attention(beta), nc.uniform(100, 24, seed=1))[0] == 0.0).all()


@pytest.mark.parametrize("beta", [6.0, 3e3])
def test_bits_depend_on_neither_the_rows_of_a_tile_nor_the_tokens_that_come_after(beta: float) -> None:
    n, d = 230, 20
    Q, V = np.random.default_rng(0).standard_normal((2, d, d))
    for model in (Attention(beta), Attention(beta, Q=Q, V=V), Attention(beta, mask=Window(50))):
        x = nc.uniform(n, d, seed=3)
        whole = velocities_of(tiles_system(model_shape(model, n, d)), x)
        system, pieces = tiles_system(model_shape(model, n, d)), np.zeros(n * d + LANES)
        tiles_place(system, x.reshape(-1))
        tiles_images(system)
        for first, last in ((0, 7), (7, 100), (100, 101), (101, n)):
            tiles_block(system, first, last, pieces, GO)
        assert (pieces[: n * d].reshape(n, d) == whole).all()
        fewer = velocities_of(tiles_system(model_shape(model, 131, d)), x[:131])
        assert (fewer == whole[:131]).all()


def test_a_run_has_the_same_bits_alone_in_a_batch_and_on_any_number_of_threads() -> None:
    x = nc.uniform(400, 64, seed=0, runs=3)
    model = Attention(8.0)
    batch = nc.drift(model, x)
    for run, threads in ((0, 1), (1, 2), (2, 5)):
        assert (nc.drift(model, x[run], threads=threads) == batch[run]).all()


@pytest.mark.parametrize("mask", ["causal", "full", Window(70)], ids=str)
def test_single_precision_is_as_exact_as_stated_and_its_bits_are_those_of_any_threads(mask: Mask) -> None:
    for d, n in ((17, 150), (64, 300)):
        x, rng = nc.uniform(n, d, seed=d), np.random.default_rng(d)
        Q, V = np.linalg.qr(rng.standard_normal((d, d)))[0], rng.standard_normal((d, d))
        frozen = Frozen(nc.uniform(40, d, 9), rng.uniform(0.1, 10.0, 40))
        for beta in (0.0, 1.0, 8.0, MAX_SINGLE_Z):
            for model in (Attention(beta, mask=mask), Attention(beta, Q=Q, V=V, mask=mask, frozen=frozen)):
                velocity = nc.drift(model, x, precision="single", threads=1)
                _, v = norms(model, d)
                error = np.abs(velocity - nc.drift(model, x, kernel="reference")).max()
                assert 0.0 < error <= SINGLE_ERROR * max(1.0, beta) * v, (d, beta, error)
                assert (nc.drift(model, x, precision="single", threads=3) == velocity).all()


def test_single_precision_is_double_where_it_would_not_be_faster_or_exact_enough() -> None:
    for model, n, d in ((Attention(1.0), 100, 15), (Attention(1.0), 63, 16), (Attention(41.0), 100, 16)):
        x = nc.uniform(n, d, seed=1)
        assert (nc.drift(model, x, precision="single") == nc.drift(model, x)).all()
    with pytest.raises(InputError, match="up to 40, but it is 41"):
        tiles_system(model_shape(Attention(41.0), 100, 16), single=True)


def test_single_precision_is_for_one_softmax_head_on_the_cpu() -> None:
    x = nc.uniform(70, 16, seed=1)
    with pytest.raises(InputError, match='precision="single" is for one softmax head'):
        nc.drift(nc.Block([Attention(1.0), Attention(2.0)]), x, precision="single")
    with pytest.raises(InputError, match='Use "mixed" there'):
        nc.drift(Attention(1.0), x, precision="single", device="gpu")
    with pytest.raises(InputError, match=r"good to 1e-06, but rtol \+ atol is"):
        nc.simulate(Attention(1.0), x, 1.0, precision="single")
    with pytest.raises(InputError, match='method "causal" is in double precision'):
        nc.simulate(Attention(1.0), x, 1.0, rtol=1e-6, method="causal", precision="single")


def test_runs_in_single_precision_end_within_their_tolerance_and_say_so() -> None:
    model, x = Attention(4.0), nc.uniform(80, 16, seed=2)
    run = nc.simulate(model, x, 5.0, rtol=1e-6, precision="single", save=3)
    exact = nc.simulate(model, x, 5.0, save=3)
    assert run.settings["precision"] == "single"
    assert 0.0 < np.abs(run.x - exact.x).max() <= 1e-5  # rtol + atol, over a time of five
