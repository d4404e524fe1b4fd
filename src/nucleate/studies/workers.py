"""Workers that compute the blocks: threads of this process, or processes of a Dask cluster.  Both hand
results back through one queue.

A block is computed on one thread.  Workers take whole blocks, so none waits for another, and no more threads
run than asked.
"""

import queue
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Protocol

from threadpoolctl import threadpool_limits

from nucleate.studies.block import Arrays, Block, Cancelled, ComputedBlock, Report, compute_block, processor
from nucleate.studies.study import Study

__all__ = ["Outcome", "Workers", "next_outcome", "thread_workers"]

Outcome = tuple[Block, ComputedBlock | BaseException]


class Workers(Protocol):
    """Take blocks, and put outcomes into a queue."""

    outcomes: "queue.SimpleQueue[Outcome]"

    @property
    def capacity(self) -> int:
        """Blocks that may wait or be under way at a time."""

    def submit(self, block: Block) -> None: ...


class _ThreadWorkers:
    def __init__(
        self, study: Study, threads: int, threads_per_block: int, pool: ThreadPoolExecutor, report: Report
    ) -> None:
        self.study, self.threads_per_block, self.pool, self.report = study, threads_per_block, pool, report
        self.capacity = threads + 1  # one block waits, so that a thread that is done goes on at once
        self.outcomes: queue.SimpleQueue[Outcome] = queue.SimpleQueue()

    def submit(self, block: Block) -> None:
        future = self.pool.submit(compute_block, self.study, block, self.threads_per_block, self.report)
        future.add_done_callback(lambda done: self.outcomes.put((block, _result(done))))


def _result(future: "Future[Arrays]") -> ComputedBlock | BaseException:
    if future.cancelled():
        return Cancelled()
    return future.exception() or ComputedBlock(future.result(), processor())


@contextmanager
def thread_workers(study: Study, threads: int, blocks: int, report: Report) -> Iterator[Workers]:
    """Threads of this process.  With fewer blocks than threads each block gets several; the bits stay the
    same."""
    stop = threading.Event()
    threads_per_block = max(1, threads // max(blocks, 1))

    def report_unless_stopped(finished: int) -> bool:
        return not stop.is_set() and report(finished)

    pool = ThreadPoolExecutor(min(threads, max(blocks, 1)), thread_name_prefix="nucleate-blocks")
    with threadpool_limits(1, user_api="blas"):  # each thread draws and measures by itself
        try:
            yield _ThreadWorkers(study, threads, threads_per_block, pool, report_unless_stopped)
        finally:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)


def next_outcome(workers: Workers, timeout_seconds: float) -> Outcome | None:
    """The next outcome, or None if there is none for so long."""
    try:
        return workers.outcomes.get(timeout=timeout_seconds)
    except queue.Empty:
        return None
