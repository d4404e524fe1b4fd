"""Independent pieces of work, as many at once as there are cores."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["in_threads"]

Work = TypeVar("Work")
Result = TypeVar("Result")


def in_threads(
    work: Callable[[Work], Result], pieces: Iterable[Work], stop: list[bool] | None = None
) -> list[Result]:
    """`work` on every piece; the results in the order of the pieces.

    stop   [False], and [True] from the moment one piece has failed, for work that takes long and looks at it;
           simulations look by themselves
    """
    from nucleate.kernels.threads import pick_threads, stopped_by

    failed = [False] if stop is None else stop

    def unless_failed(piece: Work) -> Result:
        with stopped_by(lambda: failed[0]):
            return work(piece)

    with ThreadPoolExecutor(pick_threads(None), thread_name_prefix="nucleate-papers") as pool:
        try:
            futures = [pool.submit(unless_failed, piece) for piece in pieces]
            return [future.result() for future in futures]
        except BaseException:
            failed[0] = True
            pool.shutdown(wait=False, cancel_futures=True)
            raise
