"""Tests on a real SLURM: `make test-slurm` runs them, in an environment that has dask-jobqueue.  Elsewhere
they are left out."""

import importlib.util
from collections.abc import Iterator

import pytest
from support.slurm import Slurm, slurm_of_one_machine

if importlib.util.find_spec("dask_jobqueue") is None:
    collect_ignore_glob = ["*.py"]


@pytest.fixture(scope="session")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    """One SLURM for all tests."""
    with slurm_of_one_machine(tmp_path_factory.mktemp("slurm")) as started:
        yield started
