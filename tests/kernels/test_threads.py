"""Work dealt out among threads: all of it done once, errors carried back, nobody left waiting."""

import os
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
        first, *others = share([partial(int, job) for job in range(size)])
        assert first == 0
        assert sorted(others) == list(range(1, size))


def test_a_thread_that_cannot_wait_is_none_that_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    # Code to wait with is compiled when it is first called, and stored: where the disk is full that fails.
    from nucleate.kernels import threads

    def fail(*_: object) -> None:
        raise OSError("planted")

    monkeypatch.setattr(threads, "_tell_and_wait", fail)
    monkeypatch.setattr(threads, "_crew", lambda size, process: threads.Crew(size))
    for _ in range(3):
        with pytest.raises(OSError, match="planted"):
            share([lambda: None] * 2)  # told to the caller, before there is a thread that could die of it


def test_nobody_stays_awake_for_more_threads_than_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    from nucleate.kernels import threads

    awake: dict[int, int] = {}  # looks, by the number of others
    monkeypatch.setattr(threads, "wait_for", lambda done, others, looks: awake.__setitem__(others, looks))
    monkeypatch.setattr(threads, "pick_threads", lambda threads: 3)
    for size in (2, 3, 4):
        share([lambda: None] * size)
    assert (awake[1], awake[2], awake[3]) == (threads.LOOKS, threads.LOOKS, 0)


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


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux lets threads be kept off a core")
def test_threads_are_kept_off_the_core_of_the_caller_but_never_without_any() -> None:
    from nucleate.kernels.threads import Crew

    threads = Crew(2)
    mine = os.sched_getaffinity(0)
    for core in mine:
        threads.keep_off(core)
        for thread in threads.threads:
            assert thread.native_id is not None
            assert os.sched_getaffinity(thread.native_id) == (mine - {core} or mine)
    assert os.sched_getaffinity(0) == mine


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
