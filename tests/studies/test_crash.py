"""Whatever happens to the process, the disk or the files: no run is lost or doubled, and the end is the same
to the last byte.

`make soak` does the full counts.
"""

import errno
import os
import random
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.small_studies import contents, small
from support.soak import SOAK

from nucleate.checks import Array, InputError
from nucleate.studies import durable_files
from nucleate.studies.block import Block, compute_block
from nucleate.studies.ensemble import ensemble
from nucleate.studies.partial_store import PartialStore
from nucleate.studies.result import load_ensemble
from nucleate.studies.study import Study

KILLS = 200 if SOAK else 20
DAMAGES = 200  # flips, and as many cuts
MENDED = 1 if SOAK else 20  # every so many damages are mended too


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder where the small study was interrupted when all its blocks were there, and half of them removed
    again."""
    folder = tmp_path_factory.mktemp("blocks")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PartialStore, "finish", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            ensemble(small(), folder / "out.zarr", block=7)
    found = sorted((folder / "out.zarr.parts/blocks").glob("*.block"))
    assert len(found) == 8
    for file in found[1::2]:
        file.unlink()
    return folder


def _interrupted(_: PartialStore) -> None:
    raise KeyboardInterrupt


# --- kill -9


DRIVER = """
# Forks: the parent has everything imported and compiled; the child runs the ensemble
# and is killed at a random moment.
import os, random, shutil, signal, sys, time
from pathlib import Path
from support.small_studies import contents, small
from nucleate.studies.block import warm_up
from nucleate.studies.durable_files import read_block
from nucleate.studies.ensemble import ensemble
from nucleate.studies.store import intact, read_manifest
from nucleate.studies.study import Study
import zarr, xarray

kills, folder = int(sys.argv[1]), Path(sys.argv[2])
path, parts = folder / "out.zarr", folder / "out.zarr.parts"
few, many = small(), small(runs=31)
for point in range(2):
    warm_up(Study.make(many), point)
moments = random.Random(kills)

def child(study, where, block):
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            ensemble(study, where, block=block, threads=2)
            code = 0
        finally:
            os._exit(code)
    return pid

def ended(pid):
    return os.waitpid(pid, os.WNOHANG)[0] == pid

def whole(path, runs):
    # Without Zarr, whose threads do not survive a fork.
    manifest = read_manifest(path)
    assert all(intact(path, name, digest) for name, digest in manifest.files.items()), "half visible"
    assert manifest.runs in runs, manifest.runs

def nothing_doubled():
    seen = set()
    for file in sorted(parts.glob("blocks/*.block")):
        _, block, _ = read_block(file)
        for run in range(block.first, block.last):
            assert (block.point, run) not in seen, "doubled"
            seen.add((block.point, run))
    return seen

# Before one is timed: what a whole study compiles is then kept, and nobody is killed while compiling it.
assert os.waitpid(child(few, folder / "first.zarr", 2), 0)[1] == 0
reference, span = {}, 0.0
for study in (few, many):
    began = time.perf_counter()
    assert os.waitpid(child(study, folder / f"{study['runs']}.zarr", 2), 0)[1] == 0
    span = max(span, time.perf_counter() - began)
    reference[study["runs"]] = contents(folder / f"{study['runs']}.zarr")

killed = finished = 0
while killed < kills:
    # First the small study from nothing, then its extension:
    # the store that is there must stay readable throughout.
    extend = path.exists()
    study, before = (many if extend else few), set()
    while True:
        pid = child(study, path, moments.choice([1, 2, 5]))
        end = time.perf_counter() + moments.random() * span
        while time.perf_counter() < end and not (over := ended(pid)):
            time.sleep(0.001)
        if not (over or ended(pid)):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            killed += 1
        if path.exists():
            whole(path, {few["runs"], many["runs"]} if extend else {few["runs"]})
        else:
            assert not extend or (parts / "old").exists(), "the old store is gone"
            there = nothing_doubled()
            assert before <= there, "lost"
            before = there
        if path.exists() and not parts.exists() and read_manifest(path).runs == study["runs"]:
            break
    assert contents(path) == reference[study["runs"]], "other bytes"
    finished += 1
    if extend:
        shutil.rmtree(path)
print(killed, finished)
"""


@pytest.mark.soak(kills=KILLS)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_kill_9_at_random_moments_loses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    words = [sys.executable, "-c", textwrap.dedent(DRIVER), str(KILLS), str(tmp_path)]
    here = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]),
    }
    done = subprocess.run(words, capture_output=True, text=True, timeout=1800, env=here, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    killed, finished = map(int, done.stdout.split())
    assert killed >= KILLS
    assert finished >= 1


def test_a_store_that_was_moved_aside_by_a_crash_is_put_back(
    tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where names cannot be swapped in one step, a crash may come between moving the old store and the new
    one."""
    from nucleate.studies import workers

    monkeypatch.setattr(workers, "compute_block", None)  # nothing may be computed again
    (tmp_path / "out.zarr.parts").mkdir()
    shutil.copytree(finished, tmp_path / "out.zarr.parts/old")
    ensemble(small(), tmp_path / "out.zarr")
    assert contents(tmp_path / "out.zarr") == contents(finished)
    assert [path.name for path in tmp_path.iterdir()] == ["out.zarr"]


@pytest.mark.parametrize("swap", [True, False], ids=["swapped in one step", "moved in two"])
def test_the_new_store_takes_the_place_of_the_old(
    swap: bool, tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nucleate.studies import store

    if not swap:
        monkeypatch.setattr(store, "_exchange", lambda a, b: False)
    shutil.copytree(finished, tmp_path / "out.zarr")
    ensemble(small(runs=30), tmp_path / "out.zarr")
    assert load_ensemble(tmp_path / "out.zarr").data.sizes["run"] == 30
    assert [path.name for path in tmp_path.iterdir()] == ["out.zarr"]


# --- two writers


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    refusals: list[subprocess.CompletedProcess[str]] = []

    def progress(done: int, total: int) -> None:
        words = [
            sys.executable,
            "-c",
            (
                f"from nucleate.studies.ensemble import ensemble; ensemble({small()!r},"
                f" {str(tmp_path / 'out.zarr')!r})"
            ),
        ]
        if not refusals:
            refusals.append(subprocess.run(words, capture_output=True, text=True, timeout=60, check=False))

    ensemble(small(), tmp_path / "out.zarr", progress=progress)
    assert refusals[0].returncode != 0
    assert "out.zarr.parts is in use: another process is writing this ensemble" in refusals[0].stderr
    assert load_ensemble(tmp_path / "out.zarr").data.sizes["run"] == 24


# --- nothing computed, nothing bound


def test_a_call_that_fails_before_its_first_block_leaves_nothing_behind(tmp_path: Path) -> None:
    def broken(t: float, x: Array) -> float:
        if t > 0.0:
            raise RuntimeError("not today")
        return 0.0

    with pytest.raises(InputError, match="not today"):
        ensemble(small(observables={"own": {"kind": "function", "function": broken}}), tmp_path / "out.zarr")
    assert list(tmp_path.iterdir()) == []


def test_parts_without_a_block_bind_nobody(tmp_path: Path, finished: Path) -> None:
    """A kill before the first block leaves study.json alone."""
    parts = tmp_path / "out.zarr.parts"
    parts.mkdir()
    PartialStore(Study.make(small(seed=99)), tmp_path / "out.zarr", print)
    assert sorted(one.name for one in parts.iterdir()) == ["blocks", "study.json"]
    ensemble(small(), tmp_path / "out.zarr")
    assert contents(tmp_path / "out.zarr") == contents(finished)


# --- every k-th write fails


@contextmanager
def failing(k: int, code: int) -> Iterator[list[str]]:
    """The k-th call that changes the disk fails; the calls that were made."""
    calls: list[str] = []

    def wrap(name: str) -> Callable[..., Any]:
        real = getattr(os, name)

        def call(*words: Any, **named: Any) -> Any:
            calls.append(name)
            if len(calls) == k:
                raise OSError(
                    code,
                    os.strerror(code),
                    str(words[0]) if isinstance(words[0], str | os.PathLike) else None,
                )
            return real(*words, **named)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in ("write", "fsync", "replace", "rename", "mkdir"):
            patch.setattr(os, name, wrap(name))
        yield calls


@pytest.mark.soak(writes="all" if SOAK else "every third")
@pytest.mark.parametrize("extend", [False, True], ids=["from nothing", "extending"])
def test_every_write_may_fail_and_the_next_call_completes(extend: bool, tmp_path: Path) -> None:
    tiny = small(runs=6, grid={"beta": [4.0]}, observables={"renyi": {"kind": "consumed", "radius": 0.1}})
    study = {**tiny, "runs": 8} if extend else tiny
    ensemble(tiny, tmp_path / "whole.zarr")
    ensemble(study, tmp_path / "reference.zarr")
    reference = contents(tmp_path / "reference.zarr")
    path, k, refused = tmp_path / "out.zarr", 0, 0
    while True:
        k += 1 if SOAK or k < 30 else 3
        for name in ("out.zarr", "out.zarr.parts"):
            shutil.rmtree(tmp_path / name, ignore_errors=True)
        if extend:
            shutil.copytree(tmp_path / "whole.zarr", path)
        message = ""
        with failing(k, (errno.ENOSPC, errno.EIO)[k % 2]) as calls:
            try:
                ensemble(study, path, block=3, threads=1)
            except InputError as error:
                message = str(error)
        assert bool(message) == (len(calls) >= k) or contents(path) == reference, (k, calls[-1])
        if message:
            refused += 1
            assert "out.zarr" in message
            assert "No space left" in message or "Input/output error" in message
            if extend:
                assert load_ensemble(path).data.sizes["run"] in (6, 8), "earlier results stay readable"
        ensemble(study, path, block=3)
        assert contents(path) == reference, (k, calls[-1])
        assert not path.with_name("out.zarr.parts").exists()
        if len(calls) < k:
            break
    assert refused > 25


@pytest.mark.skipif(sys.platform == "win32", reason="limits on file sizes are POSIX")
def test_a_file_system_that_refuses_large_files_ends_with_one_line(tmp_path: Path) -> None:
    code = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
from nucleate.cli import main as cli
from support.small_studies import small
from support.small_studies import toml
open("study.toml", "w").write(toml(small(observables={"way": {"kind": "trajectory"}})))
sys.argv = ["nucleate", "ensemble", "study.toml", "--out", "out.zarr", "--quiet"]
cli.main()
"""
    here = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]),
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        env=here,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "out.zarr.parts" in done.stderr
    assert "File too large" in done.stderr
    assert done.stderr.count("\n") == 1


# --- damage


def flip(data: bytes, dice: random.Random) -> bytes:
    # often in the head, which is short
    at = dice.randrange(min(len(data), 100) if dice.random() < 0.3 else len(data))
    return data[:at] + bytes([data[at] ^ (1 << dice.randrange(8))]) + data[at + 1 :]


def cut(data: bytes, dice: random.Random) -> bytes:
    return data[: dice.randrange(len(data))]


DAMAGE = pytest.mark.parametrize("damage", [flip, cut], ids=["flips", "cuts"])


@pytest.mark.soak(damages=DAMAGES, mended=DAMAGES // MENDED)
@DAMAGE
def test_damage_to_a_finished_store_is_named_and_mended(
    damage: Callable[[bytes, random.Random], bytes], tmp_path: Path, finished: Path
) -> None:
    path, reference, dice = tmp_path / "out.zarr", contents(finished), random.Random(1)
    shutil.copytree(finished, path)
    for i in range(DAMAGES):
        name = dice.choice(sorted(reference))
        (path / name).write_bytes(damage(reference[name], dice))
        with pytest.raises(InputError, match=r"out\.zarr is") as refusal:
            load_ensemble(path)
        assert name in str(refusal.value)
        if i % MENDED == 0:
            told: list[str] = []
            ensemble(small(), path, tell=told.append)
            assert name in told[0]
            assert contents(path) == reference
        (path / name).write_bytes(reference[name])


@pytest.mark.soak(damages=DAMAGES, mended=DAMAGES // MENDED)
@DAMAGE
def test_damage_to_the_parts_is_named_and_mended(
    damage: Callable[[bytes, random.Random], bytes], tmp_path: Path, blocks: Path, finished: Path
) -> None:
    reference, dice = contents(blocks), random.Random(2)
    names = sorted(name for name in reference if Path(name).name != "lock")
    assert len(names) == 5, "four blocks and study.json"
    for i in range(DAMAGES):
        name = dice.choice(names)
        broken = damage(reference[name], dice)
        if name.endswith(".block"):
            (tmp_path / Path(name).name).write_bytes(broken)
            with pytest.raises(durable_files.Damaged):
                durable_files.read_block(tmp_path / Path(name).name)
        if i % MENDED:
            continue
        shutil.copytree(blocks, tmp_path / "again", dirs_exist_ok=True)
        (tmp_path / "again" / name).write_bytes(broken)
        told: list[str] = []
        ensemble(small(), tmp_path / "again/out.zarr", tell=told.append)
        assert Path(name).name in told[0]
        assert contents(tmp_path / "again/out.zarr") == contents(finished)
        shutil.rmtree(tmp_path / "again")


def test_any_blocks_may_be_missing(tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(PartialStore, "finish", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            ensemble(small(), tmp_path / "out.zarr", block=1)
    found = sorted((tmp_path / "out.zarr.parts/blocks").glob("*.block"))
    for file in random.Random(0).sample(found, 20):
        file.unlink()
    ensemble(small(), tmp_path / "out.zarr", block=5)
    assert contents(tmp_path / "out.zarr") == contents(finished)


def test_a_missing_chunk_costs_its_own_runs_only(
    tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nucleate.studies import workers

    computed: list[Block] = []

    def watched(study: Study, block: Block, *rest: Any) -> Any:
        computed.append(block)
        return compute_block(study, block, *rest)

    shutil.copytree(finished, tmp_path / "out.zarr")
    (tmp_path / "out.zarr/renyi/c/1/0/0").unlink()
    monkeypatch.setattr(workers, "compute_block", watched)
    told: list[str] = []
    ensemble(small(), tmp_path / "out.zarr", tell=told.append)
    assert {block.point for block in computed} == {1}
    assert sum(block.last - block.first for block in computed) == 24
    assert "renyi/c/1/0/0" in told[0]
    assert contents(tmp_path / "out.zarr") == contents(finished)


def test_damage_is_a_warning_unless_somebody_listens(tmp_path: Path, finished: Path) -> None:
    shutil.copytree(finished, tmp_path / "out.zarr")
    (tmp_path / "out.zarr/steps/zarr.json").unlink()
    with pytest.warns(RuntimeWarning, match=r"steps/zarr\.json"):
        ensemble(small(), tmp_path / "out.zarr")


def test_a_block_of_another_study_is_refused(tmp_path: Path, blocks: Path) -> None:
    shutil.copytree(blocks, tmp_path, dirs_exist_ok=True)
    (tmp_path / "out.zarr.parts/study.json").unlink()
    with pytest.raises(InputError, match="belongs to another study"):
        ensemble(small(seed=4), tmp_path / "out.zarr")


# --- the same bytes however it is cut


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("block", [1, 7, 64, 10_000], ids=["1", "7", "64", "all"])
def test_threads_and_blocks_leave_every_byte_as_it_is(
    threads: int, block: int, tmp_path: Path, finished: Path
) -> None:
    ensemble(small(), tmp_path / "out.zarr", threads=threads, block=block)
    assert contents(tmp_path / "out.zarr") == contents(finished)


def test_interruptions_with_other_blocks_leave_every_byte_as_it_is(tmp_path: Path, finished: Path) -> None:
    class Stopped(Exception):
        pass

    dice, path = random.Random(0), tmp_path / "out.zarr"
    seen: list[int] = []

    def progress(done: int, total: int) -> None:
        seen.append(done)
        if done > seen[0] + 4:
            raise Stopped

    for _ in range(6):
        seen.clear()
        try:
            ensemble(
                small(), path, block=dice.choice([1, 3, 5]), threads=dice.choice([1, 2]), progress=progress
            )
        except Stopped:
            continue
    ensemble(small(), path)
    assert contents(path) == contents(finished)
