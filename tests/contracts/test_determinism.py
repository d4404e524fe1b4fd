"""A run is a function of its parameters and its start: threads, batches, their order and their company leave
every bit as it is."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.soak import SOAK

import nucleate as nc
from nucleate.attention import Attention, Frozen, Window
from nucleate.checks import Array
from nucleate.kernels.simd import PART, has_feature

Rows = NDArray[np.int64]

B = 70
OPTIONS: dict[str, Any] = {"t": 4.0, "save": 5, "rtol": 1e-6, "atol": 1e-8}


def families() -> dict[str, tuple[Attention, Array]]:
    """Batches for every way a batch can travel: in lanes, one by one on the circle, on spheres, with
    parameters shared or per run."""
    rng = np.random.default_rng(0)
    flat = np.stack([nc.uniform(16, 2, seed) for seed in range(B)])
    sphere = np.stack([nc.uniform(16, 3, seed) for seed in range(B)])
    big = np.stack([nc.uniform(70, 16, seed) for seed in range(9)])
    eye = np.stack([np.eye(2)] * B)
    mixed = eye.copy()
    mixed[::3] = rng.standard_normal((len(mixed[::3]), 2, 2))
    return {
        "circle": (Attention(9.0), flat),
        "circle, repulsion": (Attention(9.0, V=-np.eye(2)), flat),
        "circle, beta per run": (Attention(np.linspace(0.0, 64.0, B)), flat),
        "circle, V = c I per run": (Attention(9.0, V=np.linspace(-2.0, 2.0, B)[:, None, None] * eye), flat),
        "circle, V per run, some c I": (Attention(9.0, V=mixed), flat),
        "circle, frozen per run": (
            Attention(
                9.0,
                frozen=Frozen(
                    np.stack([nc.uniform(2, 2, 500 + run) for run in range(B)]), rng.uniform(1, 5, (B, 2))
                ),
            ),
            flat,
        ),
        "circle, window": (Attention(9.0, mask=Window(3)), flat),
        "circle, full": (Attention(9.0, mask="full"), flat),
        "sphere": (Attention(9.0), sphere),
        "sphere, V and beta per run": (
            Attention(np.linspace(0.0, 64.0, B), V=rng.standard_normal((B, 3, 3))),
            sphere,
        ),
        "tiles": (Attention(4.0, V=rng.standard_normal((16, 16)) / 4.0), big),
    }


def part(model: Attention, rows: Rows) -> Attention:
    """The model of some of the runs."""
    if model.runs is None:
        return model
    beta = model.beta if model.beta.ndim == 0 else model.beta[rows]
    V = model.V if model.V is None or model.V.ndim == 2 else model.V[rows]
    frozen = None if model.frozen is None else Frozen(model.frozen.x[rows], model.frozen.weight[rows])
    return Attention(beta, V=V, mask=model.mask, frozen=frozen)


@pytest.mark.parametrize("name", families())
@pytest.mark.parametrize("rtol", [1e-6, 1e-8])  # order 5 and order 8
def test_batches_cut_into_blocks_give_the_same_bits(name: str, rtol: float) -> None:
    model, x0 = families()[name]
    options = {**OPTIONS, "rtol": rtol, "atol": rtol / 100}
    whole = nc.simulate(model, x0, **options)
    assert whole.done
    for size in (1, 7, 64):
        blocks = np.array_split(np.arange(len(x0)), np.arange(size, len(x0), size))
        for rows in blocks[:: 5 if size == 1 else 1]:
            block = nc.simulate(part(model, rows), x0[rows], **options)
            assert np.array_equal(block.x, whole.x[rows]), (size, rows[0])
            assert np.array_equal(block.steps, whole.steps[rows])  # type: ignore[index]  # an array, because the runs are many


def test_a_neighbour_in_the_lanes_that_saves_a_frame_changes_nothing() -> None:
    # At default tolerances, order 8, whether a step ends at a time asked for depends on the interpolant's
    # error: on a run's own alone.
    x0 = np.stack([nc.uniform(48, 2, np.random.SeedSequence(3, spawn_key=(i,))) for i in range(400)])
    whole = nc.simulate(Attention(16.0), x0, 20.0, save=5)
    for run in (199, 312, 331, *range(0, 400, 50)):  # the first three were seen to differ
        alone = nc.simulate(Attention(16.0), x0[run : run + 1], 20.0, save=5)
        assert np.array_equal(alone.x[0], whole.x[run]), run
        assert alone.steps[0] == whole.steps[run]  # type: ignore[index]  # an array, because the runs are many


@pytest.mark.parametrize("name", families())
def test_the_order_of_the_runs_does_not_matter(name: str) -> None:
    model, x0 = families()[name]
    rows = np.random.default_rng(1).permutation(len(x0))
    assert np.array_equal(
        nc.simulate(part(model, rows), x0[rows], **OPTIONS).x, nc.simulate(model, x0, **OPTIONS).x[rows]
    )


@pytest.mark.parametrize("name", families())
def test_the_number_of_threads_does_not_matter(name: str) -> None:
    model, x0 = families()[name]
    one, two, five = (nc.simulate(model, x0, threads=threads, **OPTIONS).x for threads in (1, 2, 5))
    assert np.array_equal(one, two)
    assert np.array_equal(one, five)


@pytest.mark.parametrize("name", families())
def test_the_same_call_gives_the_same_bits_again(name: str) -> None:
    model, x0 = families()[name]
    assert np.array_equal(nc.simulate(model, x0, **OPTIONS).x, nc.simulate(model, x0, **OPTIONS).x)
    assert np.array_equal(nc.drift(model, x0), nc.drift(model, x0))


@pytest.mark.parametrize(("n", "d"), [(3000, 2), (40_000, 2), (2200, 3), (1001, 64)])
def test_one_large_system_does_not_feel_the_number_of_threads(n: int, d: int) -> None:
    x0 = nc.uniform(n, d, seed=1)
    for model in (Attention(9.0), Attention(9.0, V=np.diag(np.linspace(-1.0, 1.0, d)))):
        runs = [
            nc.simulate(model, x0, 0.02, save=2, rtol=1e-4, atol=1e-6, threads=threads).x
            for threads in (1, 2, 3)
        ]
        assert np.array_equal(runs[0], runs[1])
        assert np.array_equal(runs[0], runs[2])


@pytest.mark.parametrize("d", [2, 3, 7])
def test_which_frames_are_kept_does_not_change_them_beyond_the_tolerance(d: int) -> None:
    x0 = nc.uniform(12, d, seed=0)
    few = nc.simulate(Attention(9.0), x0, 4.0, save=[0.0, 1.0, 4.0], rtol=1e-9, atol=1e-11)
    many = nc.simulate(Attention(9.0), x0, 4.0, save=np.linspace(0.0, 4.0, 33), rtol=1e-9, atol=1e-11)
    assert np.abs(few.x - many.x[[0, 8, 32]]).max() <= 1e-8  # twice five tolerances


@pytest.mark.parametrize(("d", "random"), [(3, True), (5, False), (8, True), (17, False), (64, True)])
def test_causal_steps_feel_neither_company_nor_order_nor_threads(d: int, random: bool) -> None:
    rng = np.random.default_rng(d)
    Q, K, V = (rng.standard_normal((d, d)) / np.sqrt(d) if random else None for _ in range(3))
    frozen = Frozen(nc.uniform(3, d, seed=9), np.array([1.0, 2.0, 3.0]))
    x0 = np.stack([nc.uniform(19, d, seed) for seed in range(5)])
    options: dict[str, Any] = {"t": 30.0, "save": 4, "method": "causal", "rtol": 1e-6, "atol": 1e-8}
    for more in ({}, {"mask": Window(4)}, {"frozen": frozen}):
        model = Attention(9.0, Q=Q, K=K, V=V, **more)
        whole = nc.simulate(model, x0, threads=1, **options)
        assert whole.done
        assert np.array_equal(nc.simulate(model, x0, threads=3, **options).x, whole.x)
        assert np.array_equal(nc.simulate(model, x0[::-1], **options).x[::-1], whole.x)
        assert np.array_equal(nc.simulate(model, x0[2], **options).x, whole.x[2])


def test_watching_does_not_change_the_run() -> None:
    x0 = nc.uniform(12, 3, seed=0)
    assert np.array_equal(
        nc.simulate(Attention(9.0), x0, 40.0).x,
        nc.simulate(Attention(9.0), x0, 40.0, on_frames=lambda t, x: None).x,
    )


def test_seeds_give_distinct_and_repeatable_streams() -> None:
    assert np.array_equal(nc.uniform(50, 3, seed=7), nc.uniform(50, 3, seed=7))
    assert np.array_equal(nc.uniform(50, 3, seed=np.random.SeedSequence(7)), nc.uniform(50, 3, seed=7))
    streams = {
        nc.uniform(4, 2, seed=np.random.SeedSequence(0, spawn_key=(run,))).tobytes() for run in range(5000)
    }
    assert len(streams) == 5000


SCRIPT = """
import hashlib
import sys
import numpy as np
import nucleate as nc
digest = hashlib.sha256()
nine, four = nc.Attention(9.0), nc.Attention(4.0)
batches = {"circle": (nine, 16, 2, 9), "sphere": (nine, 16, 3, 3), "tiles": (four, 70, 16, 3)}
for model, n, d, b in (batches[name] for name in sys.argv[1:]):
    x0 = np.stack([nc.uniform(n, d, seed) for seed in range(b)])
    digest.update(nc.simulate(model, x0, 4.0, save=5, rtol=1e-6, atol=1e-8).x.tobytes())
if "tiles" in sys.argv:
    digest.update(nc.drift(nine, nc.uniform(600, 64, seed=0)).tobytes())
print(digest.hexdigest())
"""


def in_another_process(*batches: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *batches],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    return done.stdout.strip()


def test_the_environments_threads_do_not_matter() -> None:
    digest = hashlib.sha256()
    for model, n, d, b in (
        (Attention(9.0), 16, 2, 9),
        (Attention(9.0), 16, 3, 3),
        (Attention(4.0), 70, 16, 3),
    ):
        digest.update(
            nc.simulate(model, np.stack([nc.uniform(n, d, seed) for seed in range(b)]), **OPTIONS).x.tobytes()
        )
    digest.update(nc.drift(Attention(9.0), nc.uniform(600, 64, seed=0)).tobytes())
    here = digest.hexdigest()
    for threads in ("1", "2"):
        assert (
            in_another_process(
                *("circle", "sphere", "tiles"),
                NUMBA_NUM_THREADS=threads,
                OPENBLAS_NUM_THREADS=threads,
                OMP_NUM_THREADS=threads,
            )
            == here
        )


def test_linear_algebra_has_its_threads_back_after_a_batch() -> None:
    # Several runs in tiles hold BLAS to one thread, side by side; the last to finish must not leave it so for
    # the caller's own work.
    code = """
import numpy as np
import scipy.linalg  # brings a BLAS of its own
import nucleate as nc
from threadpoolctl import threadpool_info
blas = lambda: [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
np.ones((2, 2)) @ np.ones((2, 2))
before = blas()
x0 = np.stack([nc.uniform(70, 16, seed) for seed in range(40)])
for t in (0.5, 1.0, 1.5, 2.0):
    nc.simulate(nc.Attention(4.0), x0, t, save=2)
print(before == blas(), before, blas())
"""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.startswith("True"), done.stdout


BATCHES_OF_LANES = ("circle", "sphere", "tiles") if SOAK else ("circle",)


@pytest.mark.soak(batches=len(BATCHES_OF_LANES))
@pytest.mark.skipif(not has_feature("fma"), reason="the processor has no fused multiply-add")
def test_vectors_of_two_and_of_four_lanes_give_the_same_bits(tmp_path: Path) -> None:
    digests = {
        in_another_process(
            *BATCHES_OF_LANES,
            NUCLEATE_CACHE=str(tmp_path),
            NUMBA_CPU_NAME="haswell",
            NUMBA_CPU_FEATURES=features,
        )
        # a processor with four lanes runs its own code, which is compiled already
        for features in (("+avx,+fma",) if PART == 4 else ("+avx,+fma", "+avx,+avx2,+fma"))
    }
    if PART == 4:
        digests.add(in_another_process(*BATCHES_OF_LANES))
    assert len(digests) == 1
