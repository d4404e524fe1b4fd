"""The cache of compiled code: what makes it stale and what does not, where it is, whose it is, how damage and
a full disk are borne, and when it is removed."""

import errno
import fcntl
import functools
import hashlib
import os
import pickle
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import nucleate
from nucleate.kernels import code_cache as cache
from nucleate.kernels import compile as compile_module
from nucleate.kernels.compile import compiled
from nucleate.source_hash import modules_used

MONTH = 31 * 86400.0
NAME_A_FOLDER = "Name a folder of your own in NUCLEATE_CACHE."
UNTIL_THEN = "Until it can, it is compiled anew every time."
COMPILE = """
import numpy as np
from nucleate.kernels.code_cache import cache_folder
from nucleate.kernels.compile import take_next
from nucleate.observe.grid import spread
take_next(np.zeros(1, dtype=np.int64))
spread(np.ones((3, 2)), np.zeros(3, dtype=np.intp))
hits = [sum(function.stats.cache_hits.values()) for function in (take_next, spread)]
files = sorted(path.name for path in cache_folder().rglob("*.nbc"))
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


def test_a_pipe_in_the_place_of_the_mark_makes_nobody_wait(tmp_path: Path) -> None:
    folder = folder_of_age(tmp_path, "a" * 16, MONTH)
    (folder / cache.IN_USE).unlink()
    os.mkfifo(folder / cache.IN_USE)
    os.utime(folder / cache.IN_USE, (0.0, 0.0))

    def both() -> None:
        cache._prune(tmp_path)  # removes it
        folder.mkdir()
        os.mkfifo(folder / cache.IN_USE)
        cache._use(folder)

    waits = threading.Thread(target=both, daemon=True)
    waits.start()
    waits.join(30.0)
    assert not waits.is_alive()
    assert folder.is_dir()


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


# Whose it is


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home and a temporary folder of our own, and nothing said yet."""
    for name in ("home", "tmp"):
        (tmp_path / name).mkdir()
    (tmp_path / "tmp").chmod(0o1777)
    for name in ("NUCLEATE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setattr(cache, "_code_hash", lambda *_: "0123456789abcdef")
    monkeypatch.setattr(cache, "_say", functools.cache(cache._say.__wrapped__))
    return tmp_path.resolve()


def found_folder() -> Path | None:
    found: Path | None = cache.cache_folder.__wrapped__()
    if found is not None:
        assert stat.S_IMODE(found.stat().st_mode) == 0o700
        assert found.stat().st_uid == os.geteuid()
    return found


def parent_of_found() -> Path:
    found = found_folder()
    assert found is not None
    return found.parent


def test_the_cache_is_in_the_folder_named_or_that_of_the_user(
    places: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert parent_of_found() == places / "home" / ".cache" / "nucleate"
    monkeypatch.setenv("XDG_CACHE_HOME", str(places / "xdg"))
    assert parent_of_found() == places / "xdg" / "nucleate"
    monkeypatch.setenv("NUCLEATE_CACHE", str(places / "named"))
    assert parent_of_found() == places / "named"
    assert not caplog.records


def test_a_place_that_cannot_be_written_is_passed_over(
    places: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (places / "home" / ".cache").touch()
    assert parent_of_found() == places / "tmp" / f"nucleate-{os.geteuid()}"
    assert not caplog.records


@pytest.mark.parametrize(
    ("name", "why"),
    [("file", "{} is no folder"), ("file/deep", "{} is no folder"), ("closed", "Permission denied")],
)
def test_a_named_folder_that_cannot_be_used_is_told_in_one_line(
    places: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, name: str, why: str
) -> None:
    (places / "file").touch()
    (places / "closed").mkdir()
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: "closed" not in str(path) and may(path, mode))
    monkeypatch.setenv("NUCLEATE_CACHE", str(places / name))
    for _ in range(2):
        found = found_folder()
        assert found is not None
        assert found.parent == places / "tmp" / f"nucleate-{os.geteuid()}"
    said = f"NUCLEATE_CACHE names {places / name}, which cannot be used: {why.format(places / 'file')}."
    instead = f"Compiled code is kept in {found} instead."
    assert [record.message for record in caplog.records] == [f"{said} {instead}"]


@pytest.mark.parametrize("variable", ["NUCLEATE_CACHE", "XDG_CACHE_HOME", "HOME"])
def test_a_folder_that_others_can_write_is_not_used_and_one_line_says_so(
    places: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, variable: str
) -> None:
    (places / "open").mkdir()
    (places / "open").chmod(0o777)
    monkeypatch.setenv(variable, str(places / "open"))
    for _ in range(2):
        found = found_folder()
        assert found is not None
        assert found.parent == places / "tmp" / f"nucleate-{os.geteuid()}"
    assert [record.message for record in caplog.records] == [
        f"{places / 'open'} can be written by other users. Compiled code is kept in {found} instead."
    ]


def test_where_the_name_in_the_temporary_folder_is_taken_a_fresh_one_is_made_and_found_again(
    places: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (places / "home" / ".cache").touch()
    taken = places / "tmp" / f"nucleate-{os.geteuid()}"
    taken.symlink_to(places / "theirs")
    (places / "theirs").mkdir()
    (places / "theirs").chmod(0o777)
    fresh = parent_of_found()
    assert fresh.name.startswith(f"{taken.name}-")
    assert parent_of_found() == fresh  # not one more at every start
    assert len(caplog.records) == 1
    assert not any((places / "theirs").iterdir())


@pytest.mark.parametrize("home", [None, "/proc/nowhere"])
def test_without_a_home_and_a_temporary_folder_there_is_no_cache_and_one_line_says_so(
    places: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, home: str | None
) -> None:
    def nowhere() -> str:
        raise FileNotFoundError("No usable temporary directory found")

    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(tempfile, "gettempdir", nowhere)
    if home is None:
        monkeypatch.setattr(Path, "home", no_home)
    else:
        monkeypatch.setenv("HOME", home)
    for _ in range(2):
        assert found_folder() is None
    assert [record.message for record in caplog.records] == [
        "No folder can be written. Compiled code is not kept, and made anew every time. " + NAME_A_FOLDER
    ]


COMPILE_ONE = """
import numpy as np
from nucleate.kernels.compile import take_next
print(take_next(np.ones(1, dtype=np.int64)), sum(take_next.stats.cache_hits.values()))
"""


def compile_one(folder: Path, **environment: str) -> tuple[str, str]:
    """What the kernel returned with its cache hits, and what was said."""
    done = subprocess.run(
        [sys.executable, "-c", COMPILE_ONE],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "NUCLEATE_CACHE": str(folder), **environment},
    )
    return done.stdout.strip(), done.stderr


class RunsCode:
    """Unpickled, it makes a file: what a planted file could do, and worse."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


def test_what_could_have_been_planted_is_never_unpickled(tmp_path: Path) -> None:
    folder, ran = tmp_path / "cache", tmp_path / "ran"
    assert compile_one(folder)[0] == "1 0"
    planted = pickle.dumps(RunsCode(ran))
    for path in [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".code"]:
        path.write_bytes(hashlib.sha256(planted).digest() + planted if path.suffix == ".nbc" else planted)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o777)
    answer, said = compile_one(folder, TMPDIR=str(tmp_path))
    assert answer == "1 0"
    assert said.startswith(f"{folder} can be written by other users. ")
    assert said.count("\n") == 1
    folder.chmod(0o700)  # mended by its owner, who did not look inside
    assert compile_one(folder) == ("1 0", "")
    assert compile_one(folder) == ("1 1", "")
    assert not ran.exists()


# Damage, and a full disk


def test_a_file_cut_short_or_changed_anywhere_is_never_unpickled_and_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[None] = []
    monkeypatch.setattr(cache, "_say_damaged", lambda: said.append(None))
    files = cache.CodeFiles(tmp_path, "module.function")
    files.save("key", "code")
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    assert files.load("key") == "code"
    assert files.load("other key") is None
    cuts = [whole[:size] for size in range(len(whole))]
    flips = [
        whole[:i] + bytes([whole[i] ^ (1 << bit)]) + whole[i + 1 :]
        for i in range(len(whole))
        for bit in (0, 7)
    ]
    monkeypatch.setattr(pickle, "loads", lambda _: pytest.fail("damaged bytes were unpickled"))
    for damaged in (*cuts, *flips, whole + b"x", pickle.dumps(RunsCode(tmp_path / "ran"))):
        path.write_bytes(damaged)
        assert files.load("key") is None
        assert not path.exists()
    assert len(said) == len(cuts) + len(flips) + 2


def test_what_is_no_file_of_ours_is_removed_and_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "_say_damaged", lambda: None)
    files = cache.CodeFiles(tmp_path, "module.function")
    files.save("key", "code")
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    (tmp_path / "elsewhere").write_bytes(whole)
    makes: list[Callable[[], object]] = [
        path.mkdir,
        lambda: (path / "deep").mkdir(parents=True),
        lambda: path.symlink_to(tmp_path / "elsewhere"),
        lambda: path.symlink_to(path),
        lambda: os.mkfifo(path),
    ]
    for make in makes:
        path.unlink()
        make()
        assert files.load("key") is None
        files.save("key", "code")
        assert files.load("key") == "code"
    assert (tmp_path / "elsewhere").read_bytes() == whole
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([path.name, "elsewhere"])
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)  # another user's
    assert files.load("key") is None


@pytest.mark.parametrize("what", ["file", "dangling link", "pipe"])
def test_what_is_no_folder_is_removed_and_made_anew_with_one_line(what: str, tmp_path: Path) -> None:
    cache_folder = tmp_path / "cache"
    assert compile_one(cache_folder) == ("1 0", "")
    (folder,) = (path.parent for path in cache_folder.rglob("*.nbc"))
    shutil.rmtree(folder)
    if what == "file":
        folder.touch()
    elif what == "pipe":
        os.mkfifo(folder)
    else:
        folder.symlink_to(tmp_path / "gone")
    said = f"Damaged files of compiled code in {folder.parent} are made anew.\n"
    assert compile_one(cache_folder) == ("1 0", said)
    assert compile_one(cache_folder) == ("1 1", "")
    assert not (tmp_path / "gone").exists()


def test_damaged_code_is_compiled_anew_with_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    assert compile_one(folder) == ("1 0", "")
    (path,) = folder.rglob("*.nbc")
    whole = path.read_bytes()
    for damaged in (b"", whole[:100], whole[:-1], whole[:-9] + bytes(9)):
        path.write_bytes(damaged)
        answer, said = compile_one(folder)
        assert answer == "1 0"
        assert said == f"Damaged files of compiled code in {path.parents[1]} are made anew.\n"
    assert compile_one(folder) == ("1 1", "")


def one_more(x: int) -> int:
    return x + 1


def test_on_a_full_disk_all_is_compiled_and_nothing_kept_with_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(path: Path, content: bytes) -> int:
        with path.open("wb") as file:
            file.write(content[: len(content) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(cache, "_say", functools.cache(cache._say.__wrapped__))
    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", full)
        for _ in range(2):
            assert compiled(one_more)(1) == 2
    assert [record.message for record in caplog.records] == [
        f"Compiled code cannot be kept in {tmp_path}: No space left on device. {UNTIL_THEN}"
    ]
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    compiled(one_more)(1)
    again = compiled(one_more)
    assert again(1) == 2
    assert sum(again.stats.cache_hits.values()) == 1


def test_without_a_cache_all_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_module, "cache_folder", lambda: None)
    assert compiled(one_more)(1) == 2


def test_processes_that_compile_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(lambda _: compile_one(tmp_path / "cache"), range(3)))
    assert {answer[0] for answer, _ in answers} == {"1"}
    assert {said for _, said in answers} == {""}
    assert compile_one(tmp_path / "cache") == ("1 1", "")
    assert len(list((tmp_path / "cache").rglob("*.nbc*"))) == 1


def test_the_hash_of_the_code_is_kept_until_a_file_changes_and_never_trusted_when_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[str, ...]] = []
    (tmp_path / "cache").mkdir()
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
        assert code_hash(tmp_path / "cache", "nucleate.one") == "0123456789abcdef"
        assert len(calls) == 1
    (tmp_path / "package" / "one.py").write_text("x = 12\n")
    code_hash(tmp_path / "cache", "nucleate.one")
    assert len(calls) == 2
    (kept,) = (tmp_path / "cache").glob("*.code")
    for damage in (b"", b"\xff\xfe", b"one two three", b"wrong 0000000000000000"):
        kept.write_bytes(damage)
        assert code_hash(tmp_path / "cache", "nucleate.one") == "0123456789abcdef"
    assert len(calls) == 6
