"""docs/reliability.md names tests that there are, and every count that `make soak` raises."""

import ast
import re

import pytest
from support.project import TESTS, page

NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def rows() -> list[list[str]]:
    """The cells of every row: promise, tests, in make test, in make soak."""
    lines = [line for line in page("docs/reliability.md").splitlines() if line.startswith("| ")]
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines
        if not line.startswith("| promise |")
    ]


def defined_in(file: str) -> dict[str, list[str]]:
    """The tests of a file, each with its decorators."""
    tree = ast.parse((TESTS.parent / file).read_text(encoding="utf-8"))
    return {
        node.name: [ast.unparse(one) for one in node.decorator_list]
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def is_soak(decorators: list[str]) -> bool:
    return any(one.startswith("pytest.mark.soak(") for one in decorators)


def soak_tests() -> set[tuple[str, str]]:
    files = [file.relative_to(TESTS.parent).as_posix() for file in sorted(TESTS.rglob("test_*.py"))]
    return {
        (file, name) for file in files for name, decorators in defined_in(file).items() if is_soak(decorators)
    }


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0][:40])
def test_every_promise_names_tests_that_there_are_and_a_count(row: list[str]) -> None:
    promise, tests, count, soak = row
    named = NAMED.findall(tests)
    assert named, f"no test holds: {promise}"
    assert count, f"how often is it tried: {promise}"
    for file, name in named:
        assert (TESTS.parent / file).is_file(), file
        assert name in defined_in(file), f"{file} has no test {name}"
    assert bool(soak) == any(is_soak(defined_in(file)[name]) for file, name in named), promise


def test_the_page_has_all_that_make_soak_attacks() -> None:
    assert soak_tests()
    assert soak_tests() - set(NAMED.findall(page("docs/reliability.md"))) == set()


def test_a_file_with_a_larger_count_has_a_test_that_make_soak_finds() -> None:
    larger = re.compile(r"^from support\.soak import .*\bSOAK\b", flags=re.M)
    files = [file for file in TESTS.rglob("test_*.py") if larger.search(file.read_text(encoding="utf-8"))]
    assert files
    marked = {file for file, _ in soak_tests()}
    assert [file.name for file in files if file.relative_to(TESTS.parent).as_posix() not in marked] == []
