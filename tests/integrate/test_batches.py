"""A batch is its runs: each ends in its own way and leaves the bits of the others alone."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nucleate as nc
from nucleate.attention import Attention, Window
from nucleate.checks import Array
from nucleate.integrate import scheduler
from nucleate.integrate.run_buffers import new_run_buffers
from nucleate.integrate.scheduler import Schedule
from nucleate.integrate.tableau import dormand_prince_8
from nucleate.kernels.simd import PART


@pytest.mark.parametrize("method", ["causal", "auto"])
def test_a_batch_is_its_runs_whatever_the_threads(method: Any) -> None:
    x0 = np.stack([nc.uniform(15, 2, seed) for seed in range(5)])
    beta = np.array([4.0, 9.0, 20.0, 36.0, 64.0])
    one, two = (
        nc.simulate(Attention(beta), x0, 1e30, save=12, method=method, threads=threads) for threads in (1, 2)
    )
    assert one.status == two.status == ("done",) * 5
    assert one.x.tobytes() == two.x.tobytes()
    for run in range(5):
        assert (
            nc.simulate(Attention(beta[run]), x0[run], 1e30, save=12, method=method).x.tobytes()
            == one.x[run].tobytes()
        )


@pytest.mark.parametrize("method", ["causal", "auto"])
def test_a_run_that_fails_leaves_its_neighbours_alone(method: Any) -> None:
    x0 = np.stack([nc.uniform(8, 3, seed) for seed in range(4)])
    V = np.stack([np.eye(3)] * 4)
    V[2] = 1.7e308
    bad = nc.simulate(Attention(4.0, V=V), x0, 1e6, save=9, method=method, max_steps=20_000)
    assert [status == "done" for status in bad.status] == [True, True, False, True]
    assert bad.status[2] == "non-finite"
    assert np.isnan(bad.x[2, 1:]).all()
    V[2] = np.eye(3)
    good = nc.simulate(
        Attention(4.0, V=V),
        x0,
        1e6,
        save=9,
        method="causal" if method == "causal" else "auto",
        max_steps=20_000,
    )
    for run in (0, 1, 3):
        assert good.x[run].tobytes() == bad.x[run].tobytes()


def test_a_batch_tells_the_end_of_each_run_and_leaves_missing_frames_empty() -> None:
    # Runs 1 and 3 live a hundred times faster than the others: the steps allowed do not take them to the end.
    x0 = np.stack([nc.uniform(10, 3, seed) for seed in range(4)])
    V = np.array([1.0, 100.0, 1.0, 100.0])[:, None, None] * np.eye(3)
    run = nc.simulate(
        Attention(9.0, V=V), x0, 40.0, save=9, rtol=1e-4, atol=1e-6, max_steps=300, method="explicit"
    )
    assert run.status == ("done", "max steps", "done", "max steps")
    assert run.ending == "2 done, 2 max steps"
    assert np.isfinite(run.x[[0, 2]]).all()
    assert np.isnan(run.x[[1, 3], -1]).all()
    assert np.isfinite(run.x[[1, 3], 0]).all()


def bad_batches() -> dict[str, tuple[Attention, Attention, Array]]:
    """A healthy batch of 64 and the same with run 5 gone wrong: model, model, starts."""
    flat = np.stack([nc.uniform(12, 2, seed) for seed in range(64)])
    round_ = np.stack([nc.uniform(12, 3, seed) for seed in range(64)])
    I2, I3 = np.stack([np.eye(2)] * 64), np.stack([np.eye(3)] * 64)
    found = {}
    for name, start, V, wrong in (
        ("huge multiple of I on the circle", flat, I2, 1.7e308 * np.eye(2)),
        ("huge V on the circle", flat, I2, np.full((2, 2), 1.7e308)),
        ("huge V on the sphere", round_, I3, np.full((3, 3), 1.7e308)),
    ):
        bad = V.copy()
        bad[5] = wrong
        found[name] = (Attention(9.0, V=V), Attention(9.0, V=bad), start)
    beta = np.full(64, 9.0)
    beta[5] = 1e8
    found["absurd beta on the circle"] = (Attention(np.full(64, 9.0)), Attention(beta), flat)
    found["absurd beta on the sphere"] = (Attention(np.full(64, 9.0)), Attention(beta), round_)
    return found


@pytest.mark.parametrize("name", bad_batches())
def test_one_bad_run_in_64_leaves_the_other_63_bit_identical(name: str) -> None:
    good, bad, x0 = bad_batches()[name]
    keep = np.arange(64) != 5
    healthy, ill = (
        nc.simulate(model, x0, 5.0, save=6, rtol=1e-6, atol=1e-8, max_steps=20_000) for model in (good, bad)
    )
    assert healthy.done
    assert not np.array_equal(healthy.x[5], ill.x[5], equal_nan=True)
    assert np.array_equal(healthy.x[keep], ill.x[keep])
    assert [status for status, kept in zip(ill.status, keep, strict=True) if kept] == ["done"] * 63
    if "V" in name or "multiple" in name:
        assert ill.status[5] == "non-finite"


def test_one_run_with_another_start_leaves_the_others_bit_identical() -> None:
    for d, model in ((2, Attention(9.0)), (3, Attention(9.0)), (2, Attention(9.0, mask=Window(4)))):
        x0 = np.stack([nc.uniform(12, d, seed) for seed in range(20)])
        other = x0.copy()
        other[5] = other[5][0]  # all coincident: stands still, and its lane is free at once
        a, b = (nc.simulate(model, x, 5.0, save=6, rtol=1e-6, atol=1e-8) for x in (x0, other))
        keep = np.arange(20) != 5
        assert np.array_equal(a.x[keep], b.x[keep])


@pytest.mark.parametrize("d", [2, 5])
@pytest.mark.parametrize("rtol", [1e-6, 1e-8])  # order 5 and order 8
def test_what_groups_of_runs_take_is_counted_before_they_are_begun(
    d: int, rtol: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[float] = []
    taken: list[int] = []

    def spied(make: Callable[..., Any]) -> Callable[..., Any]:
        def made(*arguments: Any, **options: Any) -> Any:
            record = make(*arguments, **options)
            taken.append(sum(part.nbytes for part in record if isinstance(part, np.ndarray)))
            return record

        return made

    monkeypatch.setattr(scheduler, "check_memory", lambda size, what: counted.append(size))
    for name in ("new_step_state", "circle_batch_system", "pairwise_lanes_system"):
        monkeypatch.setattr(scheduler, name, spied(getattr(scheduler, name)))
    nc.simulate(
        Attention(9.0), nc.uniform(400, d, seed=0, runs=20), 0.1, save=2, rtol=rtol, atol=rtol, threads=2
    )
    assert len(taken) == 4  # a state and a system for each of two threads
    assert 0.5 * sum(counted) <= sum(taken) <= sum(counted)


def test_threads_share_few_runs_and_take_as_many_at_a_time_as_pays() -> None:
    def shared(runs: int, threads: int, d: int) -> tuple[int, int]:
        x0 = nc.uniform(3, d, seed=0, runs=runs)
        buffers = new_run_buffers(x0, np.array([0.0, 1.0]), False, 1.0, 1e-6, 0.0, 100)
        schedule = Schedule(Attention(1.0), dormand_prince_8(), buffers, "explicit", False, threads)
        ((found, _),) = schedule.batches
        return schedule.jobs_of(found), schedule.most_at_once(found)

    of_one = {1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 6, 7: 7, 8: 8, 9: 8, 100: 8}
    for runs, most in of_one.items():
        assert shared(runs, 1, 3) == (1, most), runs
        assert shared(2 * runs, 2, 3) == (2, most), runs
    assert shared(3, 8, 3) == (3, 1)
    for runs, threads in ((1, 1), (1, 8), (20, 2)):
        jobs, most = shared(runs, threads, 2)
        assert jobs == min(threads, -(-runs // PART))
        assert most % PART == 0
        assert jobs * most >= min(runs, 8 * jobs)
