"""Where the figures come from, and keeping to some cores."""

import os
import socket

import numpy as np
import pytest

from nucleate.bench import machine
from nucleate.checks import EPS, InputError
from nucleate.kernels.simd import LANES, PART
from nucleate.resources import cores, processor


def test_the_facts_name_versions_but_no_host_and_no_folder() -> None:
    known = {name: str(value) for name, value in machine.facts().items()}
    assert {
        "cores",
        "processor",
        "lanes",
        "python",
        "nucleate",
        "numpy",
        "scipy",
        "numba",
        "jax",
        "diffrax",
    } <= set(known)
    assert [value for value in known.values() if os.sep in value or socket.gethostname() in value] == []


def test_the_facts_name_the_processor_and_the_lanes_that_kernels_ran_with() -> None:
    known = machine.facts()
    assert all(words in str(known["processor"]) for words in processor())
    assert known["lanes"] == f"{PART} of {LANES} at a time"


def test_multiply_adds_are_made_and_counted() -> None:
    numbers = np.ones(len(machine.CHAINS) * PART)
    machine._multiply_add(machine.CHAINS, numbers, 1000)
    # each number was multiplied by 1 + 1e-9 a thousand times, rounded as often
    np.testing.assert_allclose(numbers, (1.0 + 1e-9) ** 1000, rtol=1000 * EPS)
    assert machine.multiply_add(1000) == pytest.approx(2e-9 * cores() * numbers.size * 1000)


@pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="this system cannot keep a process to some cores"
)
def test_a_process_kept_to_one_core_gets_the_others_back() -> None:
    before = os.sched_getaffinity(0)
    with machine.only_cores(1):
        assert len(os.sched_getaffinity(0)) == 1
        assert machine.facts()["cores"] == 1
    assert os.sched_getaffinity(0) == before
    with pytest.raises(InputError, match="Ask for at most that many"), machine.only_cores(len(before) + 1):
        pass


def test_where_no_process_can_be_kept_to_some_cores_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("sched_setaffinity", "sched_getaffinity"):  # macOS has neither
        monkeypatch.delattr(os, name, raising=False)
    assert machine.facts()["cores"] == os.cpu_count()
    with machine.only_cores(None):
        pass
    with pytest.raises(InputError, match="cannot keep a process to some of its cores"), machine.only_cores(1):
        pass
