"""The table of conveniences: every entry leads to a function, and some method asks for it."""

import ast

import pytest
from support.project import SOURCE

from nucleate.conveniences import FUNCTIONS, convenience


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_entry_leads_to_a_function(name: str) -> None:
    function = convenience(name)
    assert callable(function)
    assert f"{function.__module__}:{function.__name__}" == FUNCTIONS[name]


def test_every_entry_is_asked_for_and_nothing_else_is() -> None:
    asked = [
        str(node.args[0].value)
        for file in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "convenience"
        and isinstance(node.args[0], ast.Constant)
    ]
    assert sorted(asked) == sorted(FUNCTIONS)


def test_an_entry_that_is_not_there_is_no_convenience() -> None:
    with pytest.raises(KeyError, match=r"Run\.paint"):
        convenience("Run.paint")
