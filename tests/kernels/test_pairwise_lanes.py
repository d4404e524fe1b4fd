"""Up to eight runs at a time above the circle: they equal the equation, and no run notices the others."""

import numpy as np
import pytest
from support.kernel_models import GO, MASKS, Mask, norms

import nucleate as nc
from nucleate.attention import Attention, Frozen, Window
from nucleate.checks import Array
from nucleate.integrate.tableau import dormand_prince_5
from nucleate.kernels.dispatch import batch_accuracy
from nucleate.kernels.model_shape import ACCURACIES, Accuracy, model_shape
from nucleate.kernels.pairwise_lanes import (
    MAX_LANES_Z,
    TILE_BYTES,
    PairwiseLanes,
    pairwise_lanes_drift,
    pairwise_lanes_enter,
    pairwise_lanes_error,
    pairwise_lanes_leave,
    pairwise_lanes_system,
)
from nucleate.kernels.simd import LANES, PART


def _system(model: Attention, x: Array, accuracy: Accuracy = "brief") -> PairwiseLanes:
    """Of tokens x (8, n, d), a run in every lane."""
    _, n, d = x.shape
    shapes = [model_shape(model, n, d, run) for run in range(model.runs or 1)]
    system = pairwise_lanes_system(shapes, shapes[0].plain, accuracy)
    for run in range(LANES):
        pairwise_lanes_enter(system, run, run)
    return system


def _velocities_in(system: PairwiseLanes, x: Array) -> Array:
    """(8, n, d) of tokens x (8, n, d); NaN in lanes without a run."""
    velocity = np.full(x.size, np.nan)
    pairwise_lanes_drift(system, np.ascontiguousarray(x.transpose(1, 2, 0)).reshape(-1), velocity, GO)
    return velocity.reshape(*x.shape[1:], LANES).transpose(2, 0, 1)


def _velocities(model: Attention, x: Array, accuracy: Accuracy = "brief") -> Array:
    """The same with a run in every lane."""
    return _velocities_in(_system(model, x, accuracy), x)


@pytest.mark.parametrize("mask", MASKS, ids=str)
def test_eight_runs_at_once_equal_the_equation(mask: Mask) -> None:
    for d in (3, 4, 7, 8):
        rng = np.random.default_rng(d)
        Q, K, V = rng.standard_normal((3, d, d)) / np.sqrt(d)
        models = {
            "plain": Attention(20.0, V=-2.0 * np.eye(d), mask=mask),
            "sharp": Attention(MAX_LANES_Z, mask=mask),
            "everything": Attention(5.0, Q=Q, K=K, V=V, mask=mask),
            "of its own": Attention(np.linspace(0.0, 9.0, 8), V=rng.standard_normal((8, d, d)), mask=mask),
        }
        for name, model in models.items():
            for n in (1, 2, 30):
                x = nc.uniform(n, d, seed=n, runs=8)
                z, v = norms(model, d)
                expected = nc.drift(model, x, kernel="reference")
                for accuracy in ACCURACIES:
                    error = np.abs(_velocities(model, x, accuracy) - expected).max()
                    assert error <= 2.0 * pairwise_lanes_error(z, accuracy) * v, (d, name, n, accuracy, error)


@pytest.mark.parametrize("mask", ["causal", "full", Window(50)], ids=str)
def test_tokens_in_several_tiles_equal_the_equation(mask: Mask) -> None:
    for d in (3, 8):
        n = 2 * TILE_BYTES // (8 * PART * (2 * d + 2)) + 5
        x, model = nc.uniform(n, d, seed=0, runs=8), Attention(5.0, mask=mask)
        expected = nc.drift(model, x, kernel="reference")
        for accuracy in ACCURACIES:
            error = np.abs(_velocities(model, x, accuracy) - expected).max()
            assert error <= 2.0 * pairwise_lanes_error(5.0, accuracy), (d, accuracy, error)


@pytest.mark.parametrize("mask", MASKS, ids=str)
def test_fewer_runs_share_the_lanes_and_keep_their_bits(mask: Mask) -> None:
    for d, n in ((3, 1), (3, 2), (3, 7), (8, 30), (3, 43), (4, 2 * TILE_BYTES // (8 * PART * 10) + 5)):
        rng = np.random.default_rng(n)
        x = nc.uniform(n, d, seed=n, runs=8)
        for model in (Attention(7.0, mask=mask), Attention(5.0, V=rng.standard_normal((8, d, d)), mask=mask)):
            eight = _velocities(model, x)
            system = _system(model, x)
            left = list(range(8))
            for at in (3, 0, 7, 5, 1, 6, 4, 2):
                found = _velocities_in(system, x)
                assert np.array_equal(found[left], eight[left]), (d, n, left)
                pairwise_lanes_leave(system, at)
                left.remove(at)
            assert np.isnan(_velocities_in(system, x)).all()  # no run, and nothing is computed
            pairwise_lanes_enter(system, 6, 6)
            assert np.array_equal(_velocities_in(system, x)[6], eight[6])


def test_few_runs_take_a_share_of_the_work_of_eight() -> None:
    x, model = nc.uniform(5, 3, seed=0, runs=8), Attention(5.0)
    system = _system(model, x)
    work = []  # parts of PART lanes, each over so many rows of five tokens
    for at in range(8):
        work.append(int(system.parts[0]) * PART / int(system.spread[0]))
        pairwise_lanes_leave(system, at)
    at_most = {8: [8, 8, 8, 8, 4, 4, 2, 1], 4: [8, 8, 8, 8, 4, 4, 2, 1], 2: [8, 8, 6, 6, 4, 4, 2, 1]}
    assert work == at_most[PART]


def test_the_first_token_stands_still() -> None:
    assert (_velocities(Attention(9.0), nc.uniform(5, 3, seed=0, runs=8))[:, 0] == 0.0).all()


def test_loose_runs_travel_together_and_leave_each_others_bits_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    x0 = nc.uniform(20, 3, seed=1, runs=11)
    V = np.stack([np.eye(3)] * 11)
    V[[2, 5, 9]] = np.random.default_rng(0).standard_normal((3, 3, 3))  # lanes of their own

    def run(which: list[int], threads: int) -> Array:
        model = Attention(9.0, V=V[which])
        return nc.simulate(model, x0[which], 8.0, save=5, rtol=1e-6, atol=1e-9, threads=threads).x

    whole = run(list(range(11)), 1)
    assert np.array_equal(whole, run(list(range(11)), 3))
    for some in ([9, 1, 5, 4], [10], [3, 2], [8, 9, 0], [7, 6, 4, 3, 1]):
        for threads in (1, 2):
            assert np.array_equal(whole[some], run(some, threads)), (some, threads)
    # the same method of order 5, one run at a time; velocities differ by a hundredth of the tolerance or less
    monkeypatch.setattr("nucleate.integrate.simulate.dormand_prince_8", dormand_prince_5)
    for i in range(11):
        alone = nc.simulate(Attention(9.0, V=V[i]), x0[i], 8.0, save=5, rtol=1e-6, atol=1e-9).x
        assert np.abs(whole[i] - alone).max() < 1e-7, i


def test_runs_that_lanes_are_not_made_for_go_alone() -> None:
    def accuracy(model: Attention, d: int = 3, tolerance: float = 2e-9, n: int = 200) -> Accuracy | None:
        return batch_accuracy(model_shape(model, n, d), tolerance)

    assert accuracy(Attention(16.0)) == "brief"
    assert accuracy(Attention(16.0, Q=np.diag([1.0, 2.0, 3.0]), mask="full")) == "brief"
    assert accuracy(Attention(16.0), d=8) == "brief"
    assert accuracy(Attention(16.0), d=9) is None
    assert accuracy(Attention(16.0), tolerance=1e-11) == "whole"
    assert accuracy(Attention(16.0), tolerance=1e-15) is None
    # very many pairs in each run: alone, on several threads
    assert accuracy(Attention(16.0), d=5, n=4400, tolerance=1e-11) == "whole"
    assert accuracy(Attention(16.0), d=5, n=4600, tolerance=1e-11) is None
    assert accuracy(Attention(16.0), d=5, n=4600) == "brief"
    # on the circle lanes may be empty: alone, on a thread each
    assert accuracy(Attention(64.0), d=2, n=400, tolerance=7e-12) == "whole"
    assert accuracy(Attention(64.0), d=2, n=500, tolerance=7e-12) is None
    # on the circle only where modes are few beside pairs
    assert accuracy(Attention(64.0), d=2) == "brief"
    assert accuracy(Attention(64.0), d=2, tolerance=7e-12) == "whole"
    assert accuracy(Attention(5000.0), d=2, n=50) is None
    assert accuracy(Attention(2e9), d=2, tolerance=1e-2) is None
    assert accuracy(Attention(2.0 * MAX_LANES_Z)) is None
    assert accuracy(Attention(16.0, frozen=Frozen([[0.0, 0.0, 1.0]]))) is None
    assert accuracy(Attention(16.0), n=10_000) is None  # by harmonics
