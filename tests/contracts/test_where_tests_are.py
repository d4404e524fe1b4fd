"""The test of any module is where tests/README.md says."""

import re
from pathlib import Path

import pytest
from support.long_files import LONG_FILES
from support.project import SOURCE, TESTS, page

NAMES = re.compile(r"`([^`]+)`")


def subjects() -> list[str]:
    """What has a test of its own: every module, and the folder of every item in the place of its modules."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        item = next((folder for folder in path.parents if (folder / "item.py").exists()), None)
        if item is not None and item.parent != SOURCE / "papers":
            found.add(item.relative_to(SOURCE).as_posix())
        elif path.name not in ("__init__.py", "__main__.py"):
            found.add(path.relative_to(SOURCE).as_posix())
    return sorted(found)


def own_test(subject: str) -> Path:
    """The file, or the folder of a room of one file, that is named after it."""
    path = Path(subject)
    if path.parent == Path():
        return TESTS / path.stem
    return TESTS / path.parent / f"test_{path.stem}.py"


def table() -> dict[str, list[str]]:
    """Which files test what has none of its own."""
    rows = (
        page("tests/README.md")
        .partition("| module | tested by |\n|---|---|\n")[2]
        .partition("\n\n")[0]
        .splitlines()
    )
    found: dict[str, list[str]] = {}
    for row in rows:
        _, modules, files, _ = row.split("|")
        found |= {module: NAMES.findall(files) for module in NAMES.findall(modules)}
    return found


@pytest.mark.parametrize("subject", subjects())
def test_every_module_has_a_test_file_of_its_name_or_a_row_that_says_where(subject: str) -> None:
    own, named = own_test(subject), table().get(subject)
    assert own.exists() != (named is not None), (
        f"{own} is missing, and tests/README.md has no row for {subject}"
        if named is None
        else f"{subject} has {own}: take its row out of tests/README.md"
    )
    if own.is_dir():
        assert list(own.glob("test_*.py"))


def test_the_files_that_are_begun_first_are_there() -> None:
    assert [file for file in LONG_FILES if not (TESTS / file).is_file()] == []


def test_the_table_names_what_there_is() -> None:
    rows = table()
    assert len(rows) > 10, "the table is found"
    assert [subject for subject in rows if subject not in subjects()] == []
    assert [file for files in rows.values() for file in files if not (TESTS / file).is_file()] == []
    assert all(rows.values())
