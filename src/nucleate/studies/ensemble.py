"""ensemble: from a study to a finished store, or on from where it was interrupted."""

import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from nucleate.checks import InputError, file_error, whole_number
from nucleate.kernels.threads import pick_threads
from nucleate.studies.block import Task, Tick
from nucleate.studies.durable_files import AGAIN, Damaged, locked
from nucleate.studies.partial_store import Shelf, Tell, check_store, parts_of
from nucleate.studies.result import Ensemble, load_ensemble
from nucleate.studies.store import ANEW
from nucleate.studies.study import Study
from nucleate.studies.workers import Crew, any_outcome, threads_crew

__all__ = ["Progress", "as_study", "block_runs", "ensemble"]

Progress = Callable[[int, int], object]  # runs that are done, runs in all

BLOCK_BYTES = 2**25  # of frames that a block may hold
MOST_BLOCK_RUNS = 128
LANES = 8  # runs that go side by side on the circle
PATIENCE = 0.2  # seconds between two looks at the keyboard


def ensemble(
    study: Study | Mapping[str, Any] | str | os.PathLike[str],
    store: str | os.PathLike[str] | None = None,
    *,
    runs: int | None = None,
    threads: int | None = None,
    block: int | None = None,
    cluster: str | None = None,
    progress: Progress | None = None,
    tell: Tell | None = None,
) -> Ensemble:
    """Run a study, and keep its results in a Zarr store; called again, go on where it was interrupted.

    study      a Study, the same as a dict, or the path of a TOML file
    store      where the results go, a name that ends in .zarr; without one they are kept in memory
    runs       instead of the study's own number; more than before extends the store
    threads    all cores unless said otherwise
    block      runs that are computed and written at a time; the store does not depend on it
    cluster    "local", or the address of a Dask scheduler, "tcp://host:port": compute on its workers
    progress   called as progress(done, runs) from time to time
    tell       called with a line about damage that was found; a warning unless given

    After a crash, Ctrl-C or a full disk the same call goes on; no run is lost but those of the blocks under
    way.
    """
    study = as_study(study, runs)
    workers = pick_threads(threads)
    size = (
        block_runs(study, workers)
        if block is None
        else whole_number("block", block, least=1, help="It is a number of runs.")
    )
    if cluster is not None:
        from nucleate.studies.cluster import check_cluster

        check_cluster(cluster)
    say = tell or (lambda words: warnings.warn(words, RuntimeWarning, stacklevel=3))
    if store is None:
        with tempfile.TemporaryDirectory(prefix="nucleate-") as folder:
            return _run(
                study, Path(folder, "ensemble.zarr"), workers, size, cluster, progress, say
            ).in_memory()
    return _run(study, check_store(store), workers, size, cluster, progress, say)


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


def block_runs(study: Study, workers: int) -> int:
    """Runs per block: whole groups of lanes, 32 MB of frames at most, and blocks enough for every thread to
    have four."""
    n, d = study.largest
    fits = int(BLOCK_BYTES / (8.0 * len(study.times) * n * d))
    share = -(-study.runs * study.points // (4 * workers))
    size = max(1, min(MOST_BLOCK_RUNS, fits, max(share, LANES)))
    return size if size < LANES else size // LANES * LANES


def _run(
    study: Study,
    path: Path,
    workers: int,
    size: int,
    cluster: str | None,
    progress: Progress | None,
    tell: Tell,
) -> Ensemble:
    with locked(parts_of(path)), _explained(path):
        shelf = Shelf(study, path, tell)
        meter = _Meter(shelf.done, study.points * study.runs, progress)
        tasks = list(shelf.missing(size))
        try:
            if tasks:
                with _crew(study, workers, len(tasks), cluster, meter.tick, tell) as crew:
                    _work_off(shelf, crew, iter(tasks), meter)
            shelf.finish()
        except BaseException:
            shelf.leave()
            raise
    return load_ensemble(path)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """What the disk refuses, and what was damaged meanwhile, in our words."""
    try:
        yield
    except InputError:  # it has words already, though it may be an OSError too
        raise
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        message = f"{path} cannot be written: {error.strerror or error}{where}. {AGAIN}"
        raise file_error(message, error) from error
    except Damaged as damage:
        raise InputError(f"{path} cannot be written: {damage}. {ANEW}") from None


def _crew(
    study: Study, workers: int, blocks: int, cluster: str | None, tick: Tick, tell: Tell
) -> AbstractContextManager[Crew]:
    if cluster is None:
        return threads_crew(study, workers, blocks, tick)
    from nucleate.studies.cluster import cluster_crew

    return cluster_crew(study, workers, cluster, tell)


def _work_off(shelf: Shelf, crew: Crew, tasks: Iterator[Task], meter: "_Meter") -> None:
    """Keep the crew busy, and write what it hands back; this thread is the only one that writes."""
    under_way = 0
    while True:
        while under_way < crew.room and (task := next(tasks, None)) is not None:
            crew.submit(task)
            under_way += 1
        if not under_way:
            return
        outcome = any_outcome(crew, PATIENCE)
        meter.show()
        if outcome is None:
            continue
        task, result = outcome
        under_way -= 1
        if isinstance(result, BaseException):
            raise result
        shelf.keep(task, result)
        meter.kept(task.last - task.first)


class _Meter:
    """Counts runs: those on the disk, and those that the blocks under way have finished."""

    def __init__(self, done: int, total: int, progress: Progress | None) -> None:
        self.done, self.total, self.progress = done, total, progress
        self.finished = done  # by the threads; may run ahead of what is kept

    def tick(self, finished: int) -> bool:
        self.finished += finished  # threads may lose a count to each other; it is only shown
        return True

    def kept(self, runs: int) -> None:
        self.done += runs
        self.show()

    def show(self) -> None:
        if self.progress is not None:
            self.progress(min(max(self.done, self.finished), self.total), self.total)
