"""Kernels are made and launched by one thread at a time, whatever the number of threads that ask."""

import importlib.util
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("numba.cuda") is None, reason="Numba without its CUDA part"
)


def at_once(work: Callable[[], object], threads: int = 4) -> None:
    """All threads begin together."""
    barrier = threading.Barrier(threads)

    def wait_and_work() -> None:
        barrier.wait()
        work()

    crowd = [threading.Thread(target=wait_and_work) for _ in range(threads)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()


def test_threads_launch_one_after_the_other() -> None:
    from nucleate.gpu.device import Kernel

    inside, most = [0], [0]

    class Dispatcher:
        def __getitem__(self, configuration: object) -> Callable[..., None]:
            assert configuration == (1, 32)
            return self.launch

        def launch(self, *arguments: Any) -> None:
            assert arguments == ("x",)
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            time.sleep(0.01)
            inside[0] -= 1

    at_once(lambda: Kernel(Dispatcher())[1, 32]("x"))
    assert most == [1]


def test_what_makes_kernels_is_called_once_for_all_threads() -> None:
    from nucleate.gpu.device import made_once

    made = []

    @made_once
    def make(d: int) -> object:
        time.sleep(0.01)
        made.append(d)
        return object()

    found = []
    at_once(lambda: found.append(make(3)))
    assert made == [3]
    assert len(set(map(id, found))) == 1
