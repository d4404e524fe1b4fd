"""Work in threads."""

import threading
import time

import pytest

from nucleate import Attention, simulate, uniform
from nucleate.papers.core.interruption import go_on
from nucleate.papers.core.threads import all_in_threads, in_threads


def test_work_in_threads_keeps_its_order_and_tells_when_it_is_over() -> None:
    assert in_threads(lambda i: i * i, range(10)) == [i * i for i in range(10)]
    stop = [False]

    def broken(i: int) -> int:
        raise KeyError(i)

    with pytest.raises(KeyError):
        in_threads(broken, range(3), stop)
    assert stop == [True]


def test_simulations_of_other_pieces_end_when_one_fails() -> None:
    ends: list[str] = []
    model, x = Attention(9.0), uniform(9, 3, seed=0)
    assert simulate(model, x, 1.0).done  # compiled

    def piece(i: int) -> None:
        if i == 0:
            raise KeyError(i)
        run = simulate(model, x, 1e9, max_steps=10**12, method="explicit", time_limit=60.0)
        ends.append(str(run.status))

    with pytest.raises(KeyError):
        in_threads(piece, range(2))
    assert ends in ([], ["cancelled"])  # not begun, or ended at once


def test_jobs_keep_their_names_and_tell_how_many_are_done() -> None:
    told: list[tuple[float, float]] = []
    found = all_in_threads(
        {"a": lambda: 1, "b": lambda: 2, "c": lambda: 3}, lambda done, total: told.append((done, total))
    )
    assert list(found.items()) == [("a", 1), ("b", 2), ("c", 3)]
    assert told[-1] == (3, 3)
    assert len(told) == 3


def test_work_in_python_ends_when_a_piece_beside_it_fails() -> None:
    ends: list[str] = []

    def piece(i: int) -> None:
        if i == 0:
            raise KeyError(i)
        end = time.monotonic() + 60.0
        try:
            while time.monotonic() < end:
                go_on()
        except KeyboardInterrupt:
            ends.append("stopped")

    with pytest.raises(KeyError):
        in_threads(piece, range(2))
    end = time.monotonic() + 60.0
    while not ends and time.monotonic() < end and pieces_left():
        time.sleep(0.01)
    assert ends in ([], ["stopped"])  # not begun, or ended at once
    assert not pieces_left()


def pieces_left() -> bool:
    return any(one.name.startswith("nucleate-papers") for one in threading.enumerate())


def test_pieces_of_a_piece_end_when_one_beside_it_fails() -> None:
    began, ends = threading.Event(), list[str]()

    def inner(_: int) -> None:
        began.set()
        end = time.monotonic() + 60.0
        while time.monotonic() < end:
            try:
                go_on()
            except BaseException:
                ends.append("stopped")
                raise
            time.sleep(0.01)
        ends.append("awaited")

    def piece(i: int) -> None:
        if i == 1:
            in_threads(inner, range(2))
        elif began.wait(60.0):
            raise KeyError(i)

    with pytest.raises(KeyError):
        in_threads(piece, range(2))
    assert set(ends) == {"stopped"}
