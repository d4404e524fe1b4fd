"""Who computes the blocks: threads of this process, or the workers of a Dask cluster.  Both hand results back
through one queue.

A block is computed on one thread.  Threads and workers take whole blocks, so nobody waits for anybody, and no
more threads run than asked.
"""

import queue
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Protocol

from threadpoolctl import threadpool_limits

from nucleate.studies.block import Arrays, Cancelled, Task, Tick, compute
from nucleate.studies.study import Study

__all__ = ["Crew", "Outcome", "threads_crew"]

Outcome = tuple[Task, Arrays | BaseException]


class Crew(Protocol):
    """Takes tasks, and puts outcomes into its queue."""

    outcomes: "queue.SimpleQueue[Outcome]"

    @property
    def room(self) -> int:
        """Tasks that may wait or be under way at a time."""

    def submit(self, task: Task) -> None: ...


class _Threads:
    def __init__(self, study: Study, threads: int, each: int, pool: ThreadPoolExecutor, tick: Tick) -> None:
        self.study, self.each, self.pool, self.tick = study, each, pool, tick
        self.room = threads + 1  # one waits, so that a thread that is done goes on at once
        self.outcomes: queue.SimpleQueue[Outcome] = queue.SimpleQueue()

    def submit(self, task: Task) -> None:
        future = self.pool.submit(compute, self.study, task, self.each, self.tick)
        future.add_done_callback(lambda done: self.outcomes.put((task, _outcome(done))))


def _outcome(future: "Future[Arrays]") -> Arrays | BaseException:
    if future.cancelled():
        return Cancelled()
    return future.exception() or future.result()


@contextmanager
def threads_crew(study: Study, threads: int, blocks: int, tick: Tick) -> Iterator[Crew]:
    """Threads of this process.  With fewer blocks than threads each block gets several; the bits stay the
    same."""
    stop = threading.Event()
    each = max(1, threads // max(blocks, 1))

    def going(finished: int) -> bool:
        return not stop.is_set() and tick(finished)

    pool = ThreadPoolExecutor(min(threads, max(blocks, 1)), thread_name_prefix="nucleate-blocks")
    with threadpool_limits(1, user_api="blas"):  # each thread draws and measures by itself
        try:
            yield _Threads(study, threads, each, pool, going)
        finally:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)


def any_outcome(crew: Crew, seconds: float) -> Outcome | None:
    """The next outcome, or None if there is none for a while."""
    try:
        return crew.outcomes.get(timeout=seconds)
    except queue.Empty:
        return None
