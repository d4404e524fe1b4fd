"""Threads as workers: every block comes back once, an error comes back as itself, and stopping is quick."""

import time
from typing import Any

import numpy as np
import pytest
from support.small_studies import small

from nucleate.studies import workers
from nucleate.studies.block import Block, Cancelled, ComputedBlock, compute_block, processor
from nucleate.studies.study import Study
from nucleate.studies.workers import next_outcome, thread_workers


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_every_block_comes_back_as_it_is_computed_alone(threads: int) -> None:
    study = Study.make(small())
    blocks = [Block(point, first, first + 3) for point in (0, 1) for first in (0, 3)]
    finished: list[int] = []

    def report(runs: int) -> bool:
        finished.append(runs)
        return True

    with thread_workers(study, threads, len(blocks), report) as pool:
        for block in blocks:
            pool.submit(block)
        outcomes = dict(pool.outcomes.get(timeout=60) for _ in blocks)
    assert sum(finished) == 12
    for block in blocks:
        alone, found = compute_block(study, block), outcomes[block]
        assert isinstance(found, ComputedBlock)
        assert found.processor == processor()
        assert all(np.array_equal(alone[name], found.arrays[name], equal_nan=True) for name in alone)


def test_an_error_comes_back_as_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(workers, "compute_block", broken)
    with thread_workers(Study.make(small()), 1, 1, lambda _: True) as pool:
        pool.submit(Block(0, 0, 1))
        block, error = pool.outcomes.get(timeout=60)
        assert next_outcome(pool, 0.01) is None
    assert block == Block(0, 0, 1)
    assert isinstance(error, ZeroDivisionError)


def test_leaving_stops_the_blocks_under_way() -> None:
    endless = Study.make(small(times={"t": 1e4, "method": "euler", "dt": 1e-4, "max_steps": 10**9}))
    began = time.monotonic()
    with thread_workers(endless, 1, 2, lambda _: True) as pool:
        pool.submit(Block(0, 0, 1))
        pool.submit(Block(0, 1, 2))
    assert time.monotonic() - began < 30.0, "each would take hours"
    outcomes = [pool.outcomes.get(timeout=60)[1] for _ in range(2)]
    assert all(isinstance(outcome, Cancelled) for outcome in outcomes)
