"""No two modules import each other, directly or through others."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import nucleate

SOURCE = Path(nucleate.__file__).parent


def module_name(file: Path) -> str:
    parts = file.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(body: Iterable[ast.AST], functions: bool) -> Iterator[str]:
    """What statements import, inside functions too or only when the module is loaded; not what they import
    for type checkers alone.  Of `from a import b` both a.b, if that is a module, and a."""
    for node in body:
        match node:
            case ast.ImportFrom():
                yield str(node.module)
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.If() if "TYPE_CHECKING" in ast.unparse(node.test):
                yield from imported(node.orelse, functions)
            case ast.FunctionDef() | ast.AsyncFunctionDef() if not functions:
                pass
            case _:
                for field in ("body", "orelse", "handlers", "finalbody"):
                    yield from imported(getattr(node, field, ()), functions)


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules that reach each other (Tarjan's algorithm would be faster; this is short)."""
    reached: dict[str, set[str]] = {}
    for name in graph:
        found, waiting = set[str](), [name]
        while waiting:
            new = graph[waiting.pop()] - found
            found |= new
            waiting += new
        reached[name] = found
    groups = {
        tuple(sorted(other for other in reached[name] if name in reached[other]))
        for name in graph
        if name in reached[name]
    }
    return sorted(list(group) for group in groups)


def imports_of_the_package(functions: bool) -> dict[str, set[str]]:
    files = {module_name(file): file for file in SOURCE.rglob("*.py")}
    found = {
        name: set(imported(ast.parse(file.read_text()).body, functions)) & set(files)
        for name, file in files.items()
    }
    # a module may import from the packages it is in, which are loaded before it
    return {name: {one for one in used if not name.startswith(f"{one}.")} for name, used in found.items()}


def test_no_modules_import_each_other_when_they_are_loaded() -> None:
    assert cycles(imports_of_the_package(functions=False)) == []


def test_no_modules_of_papers_import_each_other_inside_functions_either() -> None:
    graph = imports_of_the_package(functions=True)
    papers = {name: used for name, used in graph.items() if name.startswith("nucleate.papers")}
    assert cycles({name: used & set(papers) for name, used in papers.items()}) == []


TEXT = """
import a
if TYPE_CHECKING:
    import b
else:
    import c
try:
    import d
except ImportError:
    import e
def f():
    import g
class C:
    import h
"""


def test_cycles_are_found_wherever_they_are() -> None:
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": set()}) == [["a", "b", "c"]]
    assert list(imported(ast.parse(TEXT).body, functions=False)) == ["a", "c", "d", "e", "h"]
    assert list(imported(ast.parse(TEXT).body, functions=True)) == ["a", "c", "d", "e", "g", "h"]
