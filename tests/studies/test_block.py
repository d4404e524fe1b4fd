"""A block of runs holds what simulate and the observables give, and depends on the code that computes it."""

import os
import subprocess
import sys

import numpy as np
import pytest
from support.small_studies import small
from support.source_copies import SourceCopy

import nucleate as nc
from nucleate.attention import Attention
from nucleate.source_hash import modules_used
from nucleate.studies.block import UNUSED_MODULES, Block, Cancelled, compute_block, made_with, processor
from nucleate.studies.matrices import drawn
from nucleate.studies.points import stream
from nucleate.studies.study import Study


def test_a_block_holds_what_simulate_and_the_observables_give() -> None:
    study = Study.make(
        small(
            model={"V": {"random": "gaussian"}},
            observables={**small()["observables"], "top": {"kind": "from_top"}},
        )
    )
    found = compute_block(study, Block(1, 3, 6))
    for i, run in enumerate(range(3, 6)):
        V = drawn({"random": "gaussian", "scale": 1.0}, 2, [stream(3, run, 3)])
        assert V is not None
        x0 = nc.uniform(8, 2, np.random.SeedSequence(3, spawn_key=(run,)))
        alone = nc.simulate(Attention(16.0, V=V), x0[None], 3.0, save=5, rtol=1e-6, atol=1e-9)
        assert np.array_equal(found["ends"][i], alone.x[0, -1])
        assert found["steps"][i] == alone.steps[0]  # type: ignore[index]  # one per run
        assert found["groups"][i, -1] == nc.clusters(alone.x[0, -1], 0.1).max() + 1
        values, vectors = np.linalg.eig(V[0])
        if np.isreal(values).all():
            top = vectors[:, values.argmax()]
            angle = np.arccos(np.minimum(np.abs(alone.x[0, -1] @ top), 1.0)).max()
            assert abs(found["top"][i, -1] - angle) < 1e-7  # arccos loses half the digits near 1
        else:
            assert found["top"][i, -1] < 1e-7  # complex: L is the whole plane


def test_a_block_that_was_stopped_gives_nothing() -> None:
    with pytest.raises(Cancelled):
        compute_block(
            Study.make(small(times={"t": 1e4, "method": "euler", "dt": 1e-4, "max_steps": 10**9})),
            Block(0, 0, 3),
            1,
            lambda _: False,
        )


# --- what results depend on


@pytest.fixture(scope="module")
def before() -> dict[str, str]:
    """What results depend on while nothing is edited."""
    return made_with()


def test_the_code_that_counts_is_that_of_drawing_integrating_and_measuring() -> None:
    used = modules_used("nucleate.studies.block", without=UNUSED_MODULES)
    rooms = {".".join(name.split(".")[1:2]) for name in used}
    assert {"attention", "kernels", "integrate", "observe", "theory", "studies"} <= rooms
    assert rooms.isdisjoint({"plot", "models", "papers", "bench", "explorer", "cli"})
    assert {"nucleate.studies.store", "nucleate.integrate.storage"}.isdisjoint(used)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("theory/atlas.py", "\n\n\ndef ", "\n\n\n# a remark\ndef "),
        ("kernels/pairwise.py", '\n"""', ' And more.\n"""'),
        ("integrate/storage.py", "\n\n\ndef ", "\n\n\nX = 1\n\n\ndef "),
        ("plot/styles.py", "\n\n\ndef ", "\n\n\nX = 1\n\n\ndef "),
        ("studies/store.py", "ZSTD_LEVEL = 3", "ZSTD_LEVEL = 4"),
    ],
    ids=["comment", "docstring", "saving a run", "drawing", "compression"],
)
def test_what_no_result_depends_on_changes_no_mark(
    file: str, old: str, new: str, before: dict[str, str], source_copy: SourceCopy
) -> None:
    source_copy.edit(file, old, new)
    assert made_with() == before


@pytest.mark.parametrize(
    "file", ["kernels/pairwise.py", "sphere.py", "theory/atlas.py", "studies/observables.py"]
)
def test_code_that_computes_changes_the_mark(
    file: str, before: dict[str, str], source_copy: SourceCopy
) -> None:
    source_copy.edit(file, "\n\n\ndef ", "\n\n\nX = 1\n\n\ndef ")
    assert made_with()["code"] != before["code"]
    assert {**made_with(), "code": before["code"]} == before


def test_the_kind_of_processor_is_that_for_which_code_is_compiled() -> None:
    def kind(**environment: str) -> str:
        words = [sys.executable, "-c", "from nucleate.studies.block import processor; print(processor())"]
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=120, check=True, env={**os.environ, **environment}
        )
        return done.stdout.strip()

    other = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    assert kind() == processor(), "the same in every process of a machine"
    assert kind(**other) == kind(**other) != processor()
    assert " generic " in kind(**other)
