"""What a hash of the sources depends on: code that is used, and nothing else."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.source_copies import forget

from nucleate import source_hash as hashing

TOP = """
def four():
    from nucleate.middle import two

    return 2 * two()
"""
FILES = {
    "__init__.py": "from nucleate.numbers import ONE\n",
    "numbers.py": '"""Numbers."""\n\nONE = 1\n',
    "middle.py": "from nucleate.numbers import ONE\n\n\ndef two():\n    return ONE + ONE\n",
    "top.py": TOP,
    "unused.py": "THREE = 3\n",
    "typed.py": "Number = int\n",
    "room/__init__.py": "",
    "room/inner.py": "SIX = 6\n",
}
Write = Callable[[str, str], str]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """A small package in the place of nucleate: writes one of its files, gives the hash of nucleate.top."""
    monkeypatch.setattr(hashing, "PACKAGE", tmp_path)
    (tmp_path / "room").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)

    def put(name: str, text: str) -> str:
        (tmp_path / name).write_text(text)
        forget()
        return hashing.source_hash("nucleate.top")

    yield put
    forget()


@pytest.mark.parametrize(
    "text",
    [
        f'"""Words."""\n{TOP}',
        TOP.replace("four():", "four():\n    '''Words.'''"),
        TOP.replace("four():", "four():  # words"),
        TOP.replace("import two", "import (\n        two,\n    )").replace(
            "2 * two()", "(2 *\n        two())"
        ),
    ],
    ids=["module docstring", "docstring", "comment", "formatting"],
)
def test_comments_docstrings_and_formatting_change_nothing(write: Write, text: str) -> None:
    before = write("top.py", TOP)
    assert write("top.py", text) == before


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("top.py", TOP.replace("2 * two", "3 * two")),
        ("middle.py", FILES["middle.py"].replace("ONE + ONE", "ONE - ONE")),
        ("numbers.py", "ONE = 1.0\n"),
    ],
    ids=["itself", "imported", "imported by what is imported"],
)
def test_code_changes_the_hash_however_far_away_it_is(write: Write, name: str, text: str) -> None:
    before = write("top.py", TOP)
    assert write(name, text) != before


def test_what_is_not_imported_does_not_count(write: Write) -> None:
    before = write("top.py", TOP)
    assert write("unused.py", "THREE = 4\n") == before
    assert write("__init__.py", "") == before


def test_imports_for_type_checkers_do_not_count(write: Write) -> None:
    typed = "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from nucleate.typed import Number\n"
    code = f"{typed}else:\n    from nucleate.unused import THREE as Number\n{TOP}"
    before = write("top.py", code)
    used = hashing.modules_used("nucleate.top")
    assert "nucleate.typed" not in used
    assert "nucleate.unused" in used  # what is imported otherwise
    assert write("typed.py", "Number = float\n") == before


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("from nucleate.room import inner", {"nucleate.room.inner"}),
        ("from nucleate.room.inner import SIX", {"nucleate.room.inner"}),
        ("import nucleate.room.inner", {"nucleate.room.inner"}),
        ("from nucleate import unused", {"nucleate.unused"}),
        ("from nucleate import __version__", set()),
        ("import json", set()),
    ],
)
def test_every_way_to_import_a_module_is_seen(write: Write, line: str, found: set[str]) -> None:
    write("top.py", f"{line}\n")
    assert set(hashing.modules_used("nucleate.top")) - {"nucleate.top"} == found


def test_a_module_that_is_not_there_is_no_module(write: Write) -> None:
    write("top.py", TOP)
    with pytest.raises(ModuleNotFoundError, match=r"nucleate\.nowhere is no module"):
        hashing.source_hash("nucleate.nowhere")


def test_files_are_read_once_a_process(write: Write, tmp_path: Path) -> None:
    before = write("top.py", TOP)
    (tmp_path / "top.py").write_text("FIVE = 5\n")
    assert hashing.source_hash("nucleate.top") == before


def test_what_is_simulated_and_measured_depends_on_no_picture() -> None:
    forget()
    used = hashing.modules_used("nucleate.observe.life", "nucleate.studies.result", "nucleate.theory.atlas")
    assert "nucleate.integrate.simulate" in used
    assert [
        name for name in used if name.startswith(("nucleate.plot", "nucleate.cli", "nucleate.papers"))
    ] == []
