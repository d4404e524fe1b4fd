"""Work dealt out among threads: all of it done once, errors carried back, nobody left waiting."""

import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial

import pytest

from nucleate import Attention, InputError, drift, uniform
from nucleate.kernels.threads import Stop, interruptible, pick_threads, share


def test_every_job_is_done_once_and_the_first_on_the_calling_thread() -> None:
    done: list[tuple[int, int]] = []
    for _ in range(100):
        done.clear()
        share([partial(lambda job: done.append((job, threading.get_ident())), job) for job in range(5)])
        assert sorted(job for job, _ in done) == list(range(5))
        assert dict(done)[0] == threading.get_ident()


def test_an_error_in_any_job_reaches_the_caller_after_all_have_ended() -> None:
    def fail() -> None:
        raise ValueError("planted")

    for bad in range(3):
        ended: list[int] = []
        jobs: list[Callable[[], object]] = [
            fail if job == bad else partial(ended.append, job) for job in range(3)
        ]
        with pytest.raises(ValueError, match="planted"):
            share(jobs)
        assert len(ended) == 2
    share([lambda: None] * 3)  # and the threads go on


def test_what_the_jobs_return_comes_back() -> None:
    for size in (1, 2, 5):
        assert sorted(share([partial(int, job) for job in range(size)])) == list(range(size))


def test_nobody_waits_for_threads_that_others_keep_busy() -> None:
    go_on, busy = threading.Event(), threading.Barrier(pick_threads(None) + 1)

    def hold() -> None:
        busy.wait(10.0)
        go_on.wait(10.0)

    others = threading.Thread(target=share, args=([hold] * max(2, pick_threads(None)),))
    others.start()
    busy.wait(10.0)  # by now every thread of the pool holds
    assert sorted(share([partial(int, job) for job in range(4)])) == [0, 1, 2, 3]
    assert others.is_alive()
    go_on.set()
    others.join()


def test_jobs_may_share_work_themselves() -> None:
    assert share([lambda: sum(share([lambda: 1] * 3))] * 5) == [3] * 5


def test_threads_are_kept_and_are_no_more_than_the_cores() -> None:
    def kept() -> set[str]:
        return {thread.name for thread in threading.enumerate() if thread.name.startswith("nucleate-tokens")}

    for size in (2, 3, 5, 9, 30):
        assert len(share([lambda: None] * size)) == size
    before = kept()
    assert 1 <= len(before) <= max(1, pick_threads(None) - 1)
    for _ in range(20):
        share([lambda: None] * 4)
    assert before <= kept()
    assert len(kept()) <= max(1, pick_threads(None) - 1)


def in_another_process(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout


def test_threads_end_with_the_interpreter() -> None:
    code = """
import threading
from nucleate.kernels.threads import share
share([lambda: None] * 3)
print(all(not thread.daemon for thread in threading.enumerate()))
"""
    assert in_another_process(code) == "True\n"  # they are waited for, and it does end


def test_work_is_shared_after_a_fork_too() -> None:
    code = """
import os
from nucleate.kernels.threads import share
print(share([lambda: 1] * 3), flush=True)
child = os.fork()
if child == 0:
    print(share([lambda: 2] * 3), flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""
    assert in_another_process(code) == "[1, 1, 1]\n[2, 2, 2]\n"


def test_several_threads_may_share_work_at_once() -> None:
    x = uniform(20, 3, seed=0, runs=40)
    model = Attention(4.0)
    expected = drift(model, x, kernel="pairwise", threads=1)
    wrong: list[int] = []

    def user(which: int) -> None:
        for _ in range(30):
            if not (drift(model, x, kernel="pairwise", threads=2) == expected).all():
                wrong.append(which)

    users = [threading.Thread(target=user, args=(which,)) for which in range(4)]
    for one in users:
        one.start()
    for one in users:
        one.join()
    assert wrong == []


def test_a_long_job_sees_the_stop_flag_when_the_caller_is_interrupted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from nucleate.kernels import threads

    seen = threading.Event()

    def job(stop: Stop) -> None:
        while not stop[0]:
            pass
        seen.set()

    def press(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(threads, "wait", press)
    with pytest.raises(KeyboardInterrupt):
        interruptible(job)
    assert seen.is_set()


def test_the_number_of_threads_is_checked() -> None:
    assert pick_threads(None) >= 1
    assert pick_threads(3) == 3
    with pytest.raises(InputError, match="threads must be"):
        pick_threads(0)
