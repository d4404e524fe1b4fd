"""The cache of compiled code: what makes it stale and what does not, where it is, and when it is removed."""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import nucleate
from nucleate.kernels import compile as cache
from nucleate.source_hash import modules_used

MONTH = 31 * 86400.0
COMPILE = """
import numpy as np
from nucleate.kernels.compile import cache_folder, take_next
from nucleate.observe.grid import spread
take_next(np.zeros(1, dtype=np.int64))
spread(np.ones((3, 2)), np.zeros(3, dtype=np.intp))
hits = [sum(function.stats.cache_hits.values()) for function in (take_next, spread)]
files = sorted(path.name for path in cache_folder().rglob("*.nb?"))
print(hits, len(files), cache_folder().name)
"""


def test_hashed_is_the_compiled_code_and_what_it_imports() -> None:
    compiled = cache._compiled_modules()
    assert {"nucleate.kernels.pairwise", "nucleate.kernels.simd", "nucleate.integrate.explicit"} < {*compiled}
    used = modules_used(*compiled)
    for module in ("nucleate.integrate.storage", "nucleate.integrate.simulate", "nucleate.observe.grid"):
        assert module not in used


def test_comments_and_docstrings_recompile_nothing_and_code_does(tmp_path: Path) -> None:
    package = tmp_path / "nucleate"
    shutil.copytree(
        Path(nucleate.__file__).parent,
        package,
        ignore=shutil.ignore_patterns("__pycache__", "page", "papers"),
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUCLEATE_CACHE": str(tmp_path / "cache")}

    def compile_two() -> tuple[str, str]:
        """Cache hits of a function of kernels and one of observe with the files there are; and the folder."""
        done = subprocess.run(
            [sys.executable, "-c", COMPILE], capture_output=True, text=True, check=True, env=environment
        )
        counts, _, folder = done.stdout.strip().rpartition(" ")
        return counts, folder

    def add_to_code(name: str) -> None:
        with (package / name).open("a") as file:
            file.write("\nUNUSED = 1\n")

    first, folder = compile_two()
    assert first.startswith("[0, 0] ")
    found = first.replace("[0, 0]", "[1, 1]")
    assert compile_two() == (found, folder)
    for name in ("kernels/compile.py", "kernels/pairwise.py", "integrate/storage.py", "observe/grid.py"):
        file = package / name
        file.write_text(f"# one line more\n{file.read_text()}".replace('"""', '"""Of late: ', 1))
    add_to_code("integrate/storage.py")
    assert compile_two() == (found, folder)
    add_to_code("observe/grid.py")
    counts, same = compile_two()
    assert (counts[:6], same) == ("[1, 0]", folder)  # other rooms' functions are compiled anew by themselves
    add_to_code("kernels/pairwise.py")
    counts, other = compile_two()
    assert counts.startswith("[0, 0] ")
    assert other != folder


def folder_of_age(parent: Path, name: str, seconds: float, mark: bool = True) -> Path:
    """A cache folder as it is that long after its last use; without a mark as earlier versions left it."""
    (parent / name / "nucleate.kernels.simd-").mkdir(parents=True)
    (parent / name / "nucleate.kernels.simd-" / "simd.hmax-.py311.nbi").write_bytes(b"index")
    if mark:
        (parent / name / cache.IN_USE).touch()
    then = time.time() - seconds
    for path in (*(parent / name).iterdir(), parent / name):
        os.utime(path, (then, then))
    return parent / name


def test_folders_that_nobody_has_used_for_a_month_are_removed(tmp_path: Path) -> None:
    old, older = (folder_of_age(tmp_path, digit * 16, MONTH, mark=digit == "a") for digit in "ab")
    recent = folder_of_age(tmp_path, "c" * 16, 86400.0)
    cache._prune(tmp_path)
    assert [old.exists(), older.exists(), recent.exists()] == [False, False, True]


def test_hashes_that_were_made_a_month_ago_are_removed(tmp_path: Path) -> None:
    names = ("a" * 16 + ".code", "b" * 16 + ".code", "secret.code")
    for name, seconds in zip(names, (MONTH, 86400.0, MONTH), strict=True):
        (tmp_path / name).write_text("state hash")
        os.utime(tmp_path / name, (time.time() - seconds,) * 2)
    cache._prune(tmp_path)
    assert [(tmp_path / name).exists() for name in names] == [False, True, True]


def test_a_folder_in_use_stays_however_old_its_mark_is(tmp_path: Path) -> None:
    folder = folder_of_age(tmp_path, "a" * 16, MONTH)
    with (folder / cache.IN_USE).open() as file:
        fcntl.flock(file, fcntl.LOCK_SH)  # what a process that uses it holds
        cache._prune(tmp_path)
        assert folder.exists()
    cache._prune(tmp_path)
    assert not folder.exists()


def test_using_a_folder_marks_it_and_locks_it(tmp_path: Path) -> None:
    folder = folder_of_age(tmp_path, "a" * 16, MONTH)
    cache._use(folder)
    assert (folder / cache.IN_USE).stat().st_mtime > time.time() - 60.0
    os.utime(folder / cache.IN_USE, (0.0, 0.0))
    cache._prune(tmp_path)
    assert folder.exists()


def test_what_is_not_a_cache_folder_is_left_alone(tmp_path: Path) -> None:
    elsewhere = folder_of_age(tmp_path / "elsewhere", "a" * 16, MONTH)
    (tmp_path / "parent").mkdir()
    link = tmp_path / "parent" / ("b" * 16)
    link.symlink_to(elsewhere)
    thesis = folder_of_age(tmp_path / "parent", "thesis", MONTH)
    photos = tmp_path / "parent" / ("c" * 16)  # looks like one by its name alone
    (photos / "2019").mkdir(parents=True)
    os.utime(photos, (0.0, 0.0))
    cache._prune(tmp_path / "parent")
    assert [path.exists() for path in (elsewhere, link, thesis, photos)] == [True] * 4


def test_a_place_that_cannot_be_written_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUCLEATE_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "tmp"))
    folder = cache.cache_folder.__wrapped__()
    assert folder.parent == tmp_path / "tmp" / f"nucleate-{os.getuid()}"
    assert os.access(folder, os.W_OK)


def test_the_hash_of_the_code_is_kept_until_a_file_changes_and_never_trusted_when_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[str, ...]] = []
    monkeypatch.setenv("NUCLEATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "PACKAGE", tmp_path / "package")

    def source_hash(*modules: str) -> str:
        calls.append(modules)
        return "0123456789abcdef"

    monkeypatch.setattr(cache, "source_hash", source_hash)
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "one.py").write_text("x = 1\n")
    monkeypatch.setattr(cache, "_package_state", cache._package_state.__wrapped__)
    code_hash = cache._code_hash.__wrapped__
    for _ in range(3):
        assert code_hash("nucleate.one") == "0123456789abcdef"
        assert len(calls) == 1
    (tmp_path / "package" / "one.py").write_text("x = 12\n")
    code_hash("nucleate.one")
    assert len(calls) == 2
    (kept,) = (tmp_path / "cache").glob("*.code")
    for damage in (b"", b"\xff\xfe", b"one two three", b"wrong 0000000000000000"):
        kept.write_bytes(damage)
        assert code_hash("nucleate.one") == "0123456789abcdef"
    assert len(calls) == 6
