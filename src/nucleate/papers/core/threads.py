"""Independent pieces of work, as many at once as there are cores."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["all_in_threads", "in_threads"]

Work = TypeVar("Work")
Result = TypeVar("Result")


def all_in_threads(
    jobs: Mapping[str, Callable[[], Result]], progress: Callable[[float, float], object]
) -> dict[str, Result]:
    """What every job returns, by its name.  They are begun in their order; `progress` is told how many are
    done, and of how many."""
    done: list[str] = []

    def one(name: str) -> Result:
        found = jobs[name]()
        done.append(name)
        progress(len(done), len(jobs))
        return found

    return dict(zip(jobs, in_threads(one, jobs), strict=True))


def in_threads(
    work: Callable[[Work], Result], pieces: Iterable[Work], stop: list[bool] | None = None
) -> list[Result]:
    """`work` on every piece; the results in the order of the pieces.

    stop   [False], and [True] from the moment one piece has failed, for work that takes long and looks at it;
           simulations look by themselves
    """
    from nucleate.kernels.threads import pick_threads, stopped_by, what_stops

    failed = [False] if stop is None else stop
    stopped = what_stops()  # this thread may itself have a piece of a larger work

    def unless_failed(piece: Work) -> Result:
        with stopped_by(lambda: failed[0] or stopped()):
            return work(piece)

    with ThreadPoolExecutor(pick_threads(None), thread_name_prefix="nucleate-papers") as pool:
        try:
            futures = [pool.submit(unless_failed, piece) for piece in pieces]
            return [future.result() for future in futures]
        except BaseException:
            failed[0] = True
            pool.shutdown(wait=False, cancel_futures=True)
            raise
