"""Blocks on the workers of a Dask cluster: one of our own on this machine, or one whose scheduler is running
already.

Workers compute and hand the arrays back; this process alone writes, so workers need no common disk.  The
block of a worker that dies is computed by another.  A worker's threads each take one block, on one thread: no
more threads run than the cluster has.
"""

import logging
import multiprocessing
import os
import queue
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from nucleate.checks import FileError, InputError, MissingPackageError, shortened
from nucleate.studies.block import (
    Block,
    Cancelled,
    ComputedBlock,
    compute_block,
    made_with,
    processor,
    warm_up,
)
from nucleate.studies.own_functions import modules_from_beside
from nucleate.studies.partial_store import Tell
from nucleate.studies.study import Study
from nucleate.studies.workers import Outcome, Workers

__all__ = ["check_cluster", "cluster_workers"]

CONNECT_SECONDS = 30.0  # to find the scheduler, which a job may have started a moment ago
START_TRIES = 2  # to start a cluster of our own, whose workers may be killed at once
RECOUNT_SECONDS = 1.0  # between two counts of the threads of the cluster, which may grow and shrink
MAX_GIVEN_UP = 5  # times that Dask may give a block up, each after several dead workers
BLOCKS_PER_THREAD = 2  # one under way and one waiting
ONE_THREAD_ENVIRONMENT = dict.fromkeys(
    ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)


@contextmanager
def cluster_workers(study: Study, count: int, address: str, tell: Tell) -> Iterator[Workers]:
    """Workers of the cluster at `address`, or of one started here, "local", with `count` of them."""
    distributed = _distributed()
    with ExitStack() as stack:
        stack.enter_context(_dask_logs_silenced())
        client = stack.enter_context(
            _local(distributed, count) if address == "local" else _client(distributed, address)
        )
        workers = _ClusterWorkers(distributed, client, _pickled(study), tell)
        try:
            yield workers
        finally:
            workers.stop()


def check_cluster(address: str) -> None:
    """Refuse what can be no cluster, before anything is begun."""
    distributed = _distributed()
    if isinstance(address, str) and address == "local":
        return _check_shared_locks()
    if not _is_address(address):
        raise InputError(
            f"--cluster is {shortened(address)}, but must be local or the address of a scheduler, tcp or tls,"
            ' with its port. Write it as in "tcp://127.0.0.1:8786".'
        )
    if address.startswith("tls") and not distributed.Security().get_connection_args("client")["ssl_context"]:
        raise InputError(
            f"--cluster {address} needs a certificate, and Dask knows of none. Name it in Dask's"
            " configuration, under distributed.comm.tls."
        )


def _is_address(address: object) -> bool:
    if not isinstance(address, str):
        return False
    try:
        parts = urlsplit(address)
        return parts.scheme in ("tcp", "tls") and bool(parts.hostname and parts.port) and not parts.path
    except ValueError:  # a port that is none
        return False


def _check_shared_locks() -> None:
    """Processes that Dask starts share locks with this one, which Linux keeps in /dev/shm."""
    try:
        multiprocessing.get_context("spawn").Lock()
    except (OSError, ImportError) as error:
        raise FileError(
            f"--cluster local needs memory that processes share, /dev/shm on Linux: {error}. Mount it, or"
            " leave --cluster out; threads give the same results."
        ) from None


@contextmanager
def _dask_logs_silenced() -> Iterator[None]:
    """Dask reports a lost connection with a traceback in its log; ours is an error of one line."""
    names = [
        name for name in logging.root.manager.loggerDict if name.split(".")[0] in ("distributed", "tornado")
    ]
    levels = {handler: handler.level for name in names for handler in logging.getLogger(name).handlers}
    try:
        for handler in levels:
            handler.setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for handler, level in levels.items():
            handler.setLevel(level)


def _distributed() -> Any:
    """Dask's package, or the advice to install it."""
    try:
        return import_module("distributed")
    except ImportError as error:
        raise MissingPackageError(
            f"--cluster needs Dask, which cannot be imported ({error}). Install it: pip install"
            " 'nucleate[cluster]'."
        ) from None


@contextmanager
def _local(distributed: Any, workers: int) -> Iterator[Any]:
    import dask

    settings = {
        "distributed.nanny.pre-spawn-environ": ONE_THREAD_ENVIRONMENT,
        "distributed.scheduler.active-memory-manager.start": False,
    }
    with (
        dask.config.set(settings),
        _local_cluster(distributed, workers) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def _local_cluster(distributed: Any, workers: int) -> Any:
    """A cluster of our own; Dask gives it up if one worker is lost while it starts, so it is tried again."""
    error: Exception | None = None
    for _ in range(START_TRIES):
        try:
            return distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                dashboard_address="127.0.0.1:0",
                silence_logs=50,
            )
        except Exception as refused:
            error = refused
    assert error is not None
    raise InputError(
        f"--cluster local: its workers did not start ({_in_words(error.__cause__ or error)}). They may lack"
        ' memory, and a script must ask for them below if __name__ == "__main__"; without --cluster threads'
        " give the same results."
    )


@contextmanager
def _client(distributed: Any, address: str) -> Iterator[Any]:
    try:
        # other Dask work of this process goes on as it was
        client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise FileError(
            f"--cluster {address}: no scheduler answers there within {CONNECT_SECONDS:g} s"
            f" ({type(error).__name__}). Start one: dask scheduler."
        ) from None
    with client:
        yield client


class _ClusterWorkers:
    """The workers of a cluster."""

    def __init__(self, distributed: Any, client: Any, study: bytes, tell: Tell) -> None:
        self.distributed, self.client, self.study, self.tell = distributed, client, study, tell
        self.outcomes: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self.futures: dict[Block, Any] = {}
        self.given_up: dict[Block, int] = {}
        self.stopped = False
        self.counted_at, self.threads = -np.inf, 0
        if not self._count_threads():
            tell("The cluster has no workers yet; waiting for some.")

    @property
    def capacity(self) -> int:
        """Blocks that may wait or be under way at a time."""
        return BLOCKS_PER_THREAD * max(1, self._count_threads())

    def submit(self, block: Block) -> None:
        future = self.client.submit(compute_on_worker, self.study, tuple(block), made_with(), pure=False)
        self.futures[block] = future  # Dask drops a result to which no reference is held
        future.add_done_callback(lambda done: self._done(block, done))

    def stop(self) -> None:
        self.stopped = True
        if self.futures:
            self.client.cancel(list(self.futures.values()), force=True)
        self.futures.clear()

    def _done(self, block: Block, future: Any) -> None:
        """Called on a thread of Dask's: fetch the arrays, or try again if workers died meanwhile."""
        if self.stopped:
            return
        try:
            result: ComputedBlock | BaseException = future.result()
        except self.distributed.KilledWorker:
            self.given_up[block] = self.given_up.get(block, 0) + 1
            if self.given_up[block] < MAX_GIVEN_UP:
                return self.submit(block)
            result = InputError(
                f"Workers died again and again of runs {block.first} to {block.last - 1} of point"
                f" {block.point}. Give them more memory."
            )
        except BaseException as error:
            result = error if isinstance(error, InputError) else _cluster_failed(error)
        self.futures.pop(block, None)
        self.outcomes.put((block, result))

    def _count_threads(self) -> int:
        """Threads of all workers, asked for once a second."""
        now = time.monotonic()
        if now - self.counted_at > RECOUNT_SECONDS:
            before, self.threads = self.threads, int(sum(self.client.nthreads().values()))
            self.counted_at = now
            if before and not self.threads:
                self.tell("The cluster has lost all its workers; waiting for others.")
        return self.threads


def _cluster_failed(error: BaseException) -> InputError:
    return InputError(
        f"The cluster failed: {_in_words(error)}. What was finished is kept; run the same command again."
    )


def _in_words(error: BaseException) -> str:
    return textwrap.shorten(f"{type(error).__name__}: {error}", 200, placeholder="...").rstrip(".")


def _pickled(study: Study) -> bytes:
    """The study, pickled so that workers need not have the modules of one's own functions."""
    import cloudpickle

    modules = {
        sys.modules[one.function.__module__]
        for one in study.observables
        if one.function is not None and one.function.__module__ in sys.modules
    }
    own = [
        module
        for module in modules.union(modules_from_beside())
        if module.__name__.split(".")[0] not in ("nucleate", "__main__", "numpy", "builtins")
    ]
    for module in own:
        cloudpickle.register_pickle_by_value(module)
    try:
        return bytes(cloudpickle.dumps(study))
    finally:
        for module in own:
            cloudpickle.unregister_pickle_by_value(module)


# On the worker


def compute_on_worker(pickled: bytes, block: tuple[int, int, int], versions: dict[str, str]) -> ComputedBlock:
    """Compute one block on one thread of this worker."""
    if versions != made_with():
        differs = ", ".join(
            f"{name} is {made_with().get(name)} instead of {version}"
            for name, version in versions.items()
            if made_with().get(name) != version
        )
        raise InputError(
            f"A worker has other versions than the process that writes: {differs}. Install the same"
            " everywhere."
        )
    study = _unpickled(pickled)
    _warm_up_once(pickled)
    try:
        return ComputedBlock(compute_block(study, Block(*block), threads=1), processor())
    except Cancelled:
        raise InputError("A worker was interrupted.") from None


@cache
def _unpickled(pickled: bytes) -> Study:
    import pickle

    study = pickle.loads(pickled)
    assert isinstance(study, Study)
    return study


@cache
def _warm_up_once(pickled: bytes) -> None:
    """The first worker of a machine compiles, the others wait and find the result on the disk."""
    import fcntl

    from threadpoolctl import threadpool_limits

    from nucleate.kernels.code_cache import cache_folder

    threadpool_limits(1, user_api="blas")  # for as long as this worker lives: its blocks run side by side
    folder = cache_folder()
    if folder is None:  # nothing to wait for
        return warm_up(_unpickled(pickled), 0)
    handle = os.open(folder / "compiling", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        warm_up(_unpickled(pickled), 0)
    finally:
        os.close(handle)
