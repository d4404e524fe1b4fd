"""ensemble: from a study to a finished store, or on from where it was interrupted."""

import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from nucleate.checks import InputError, file_error, function_or_none, whole_number
from nucleate.kernels.simd import LANES
from nucleate.kernels.threads import ctrl_c_stops, pick_threads
from nucleate.notebook import shown_progress, vanishing
from nucleate.studies.block import Block, Report
from nucleate.studies.durable_files import MEND_AND_RUN_AGAIN, Damaged, locked
from nucleate.studies.partial_store import PartialStore, Tell, check_store, partial_store_folder
from nucleate.studies.result import Ensemble, load_ensemble
from nucleate.studies.store import RUN_AGAIN
from nucleate.studies.study import Study
from nucleate.studies.workers import Workers, next_outcome, thread_workers

__all__ = ["Progress", "as_study", "ensemble", "runs_per_block"]

Progress = Callable[[int, int], object]  # runs that are done, runs in all; False cancels

MAX_BLOCK_BYTES = 2**25  # of frames
MAX_RUNS_PER_BLOCK = 128
MIN_BLOCKS_PER_THREAD = 4  # so that no thread waits long for the last block of another
POLL_SECONDS = 0.2  # Ctrl-C is noticed, and progress shown, at least this often


def ensemble(
    study: Study | Mapping[str, Any] | str | os.PathLike[str],
    store: str | os.PathLike[str] | None = None,
    *,
    runs: int | None = None,
    threads: int | None = None,
    block: int | None = None,
    cluster: str | None = None,
    device: str | None = None,
    precision: str | None = None,
    progress: Progress | None = None,
    tell: Tell | None = None,
) -> Ensemble:
    """Run a study, and keep its results in a Zarr store; called again, go on where it was interrupted.

    study      a Study, the same as a dict, or the path of a TOML file
    store      where the results go, a name that ends in .zarr; without one they are kept in memory
    runs       instead of the study's own number; more than before extends the store
    threads    all cores unless said otherwise
    block      runs that are computed and written at a time; the store does not depend on it
    cluster    "local", or the address of a Dask scheduler: compute on its workers
    device     "cpu", or "gpu", an NVIDIA card; precision "double", or "mixed" on a card: as for simulate, and
               instead of the study's own
    progress   called as progress(done, runs) from time to time; returning False stops as Ctrl-C does
    tell       called with a line about damage that was found; a warning unless given

    After a crash, Ctrl-C (a KeyboardInterrupt) or a full disk the same call goes on; no run is lost but those
    of the blocks under way.
    """
    study = as_study(study, runs)
    if device is not None or precision is not None:
        study = study.with_device(device, precision)
    threads = pick_threads(threads)
    size = (
        runs_per_block(study, threads)
        if block is None
        else whole_number("block", block, least=1, help="It is a number of runs.")
    )
    if cluster is not None:
        from nucleate.studies.cluster import check_cluster

        if study.fixed["device"] == "gpu":
            raise InputError(
                f'device "gpu" computes on the card of this machine, but cluster is {cluster!r}. Leave one of'
                " them out."
            )
        check_cluster(cluster)
    if study.fixed["device"] == "gpu":
        from nucleate.gpu.device import check_gpu

        check_gpu()
    function_or_none("progress", progress, of="(done, runs)")
    progress = shown_progress(progress, "runs of the study")
    function_or_none("tell", tell, of="one line of text")
    say = tell or (lambda words: warnings.warn(words, RuntimeWarning, stacklevel=3))
    with vanishing(progress):
        if store is None:
            with tempfile.TemporaryDirectory(prefix="nucleate-") as folder:
                path = Path(folder, "ensemble.zarr")
                return _run_study(study, path, threads, size, cluster, progress, say).in_memory()
        return _run_study(study, check_store(store), threads, size, cluster, progress, say)


def as_study(study: Study | Mapping[str, Any] | str | os.PathLike[str], runs: int | None = None) -> Study:
    """A study from any of the forms it comes in."""
    if isinstance(study, str | os.PathLike):
        return Study.read(study, runs)
    if isinstance(study, Study):
        return study if runs is None else study.with_runs(runs)
    if isinstance(study, Mapping):
        return Study.make(study if runs is None else {**study, "runs": runs})
    raise InputError(
        f"study must be a Study, a dict or the path of a TOML file, but is {type(study).__name__}."
    )


def runs_per_block(study: Study, threads: int) -> int:
    """Whole groups of runs that share vector registers, a run to a lane; 32 MB of frames at most; and blocks
    enough for every thread to have four; on a card as many as fill it."""
    n, d = study.largest
    if study.fixed["device"] == "gpu":
        from nucleate.gpu.card_frames import runs_of_block

        return min(runs_of_block(len(study.times), n, d), study.runs)
    fits = int(MAX_BLOCK_BYTES / (8.0 * (len(study.times) * n * d + study.weights_per_run)))
    share = -(-study.runs * study.points // (MIN_BLOCKS_PER_THREAD * threads))
    size = max(1, min(MAX_RUNS_PER_BLOCK, fits, max(share, LANES)))
    return size if size < LANES else size // LANES * LANES


def _run_study(
    study: Study,
    path: Path,
    threads: int,
    size: int,
    cluster: str | None,
    progress: Progress | None,
    tell: Tell,
) -> Ensemble:
    with locked(partial_store_folder(path)), _disk_errors_explained(path):
        partial_store = PartialStore(study, path, tell)
        counter = _RunCounter(partial_store.done, study.points * study.runs, progress)
        missing = list(partial_store.missing(size))
        try:
            if missing:
                with _workers(study, threads, len(missing), cluster, counter.report, tell) as workers:
                    _compute(iter(missing), workers, partial_store, counter)
            partial_store.finish()
        except BaseException:
            partial_store.abandon()
            raise
    return load_ensemble(path)


@contextmanager
def _disk_errors_explained(path: Path) -> Iterator[None]:
    """What the disk refuses, and what was damaged meanwhile, in one sentence."""
    try:
        yield
    except InputError:  # it has words already, though it may be an OSError too
        raise
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        message = f"{path} cannot be written: {error.strerror or error}{where}. {MEND_AND_RUN_AGAIN}"
        raise file_error(message, error) from error
    except Damaged as damage:
        raise InputError(f"{path} cannot be written: {damage}. {RUN_AGAIN}") from None


def _workers(
    study: Study, threads: int, blocks: int, cluster: str | None, report: Report, tell: Tell
) -> AbstractContextManager[Workers]:
    if cluster is None:
        return thread_workers(study, threads, blocks, report)
    from nucleate.studies.cluster import cluster_workers

    return cluster_workers(study, threads, cluster, tell)


def _compute(
    missing: Iterator[Block], workers: Workers, partial_store: PartialStore, counter: "_RunCounter"
) -> None:
    """Keep the workers busy, and write what they hand back; this thread is the only one that writes.

    Ctrl-C is heard between two blocks: anywhere else it could leave a thread that nobody knows of.
    """
    under_way = 0
    with ctrl_c_stops(np.zeros(1, dtype=np.uint8)) as ctrl_c:
        while True:
            while under_way < workers.capacity and (block := next(missing, None)) is not None:
                workers.submit(block)
                under_way += 1
            if not under_way:
                return
            outcome = next_outcome(workers, POLL_SECONDS)
            if ctrl_c.pressed:
                raise KeyboardInterrupt
            with ctrl_c.raising():
                counter.show()
            if outcome is None:
                continue
            block, result = outcome
            under_way -= 1
            if isinstance(result, BaseException):
                raise result
            partial_store.keep(block, result)
            with ctrl_c.raising():
                counter.kept(block.last - block.first)


class _RunCounter:
    """Counts runs: those on the disk, and those that the blocks under way have finished."""

    def __init__(self, done: int, total: int, progress: Progress | None) -> None:
        self.done, self.total, self.progress = done, total, progress
        self.finished = done  # by the workers; may run ahead of what is on the disk

    def report(self, finished: int) -> bool:
        self.finished += finished  # two threads at once may lose a count; it is only shown
        return True

    def kept(self, runs: int) -> None:
        self.done += runs
        self.show()

    def show(self) -> None:
        """Tell how many runs are done; stop if that is answered with False."""
        done = min(max(self.done, self.finished), self.total)
        if self.progress is not None and self.progress(done, self.total) is False:
            raise KeyboardInterrupt
