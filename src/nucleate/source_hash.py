"""What a result depends on: the code of the modules really used, found from their imports.

A module counts with its syntax tree, less docstrings: comments, formatting and documentation change nothing.
What it imports from this package counts too, wherever in the file it does so, and so on. Files are read once
a process: what runs is what was loaded, whatever is edited meanwhile.
"""

import ast
import hashlib
import threading
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

__all__ = ["modules_used", "source_hash"]

PACKAGE = Path(__file__).resolve().parent

MAX_ATTEMPTS, RETRY_SECONDS = 20, 0.01  # to parse a file

_parsing = threading.Lock()


@cache
def source_hash(*modules: str, without: tuple[str, ...] = ()) -> str:
    """A checksum of the code of these modules of nucleate, and of all that they import from it; but for the
    modules and packages `without`, and what is imported by these alone."""
    digest = hashlib.sha256()
    for name in modules_used(*modules, without=without):
        digest.update(f"{name} {_module_hash(name)}\n".encode())
    return digest.hexdigest()[:16]


@cache
def modules_used(*modules: str, without: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The names of these modules and of all that they import, directly or not, sorted."""
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name not in found and not any(f"{name}.".startswith(f"{left_out}.") for left_out in without):
            found.add(name)
            waiting += _imports(name)
    return tuple(sorted(found))


@cache
def _module_hash(name: str) -> str:
    """A checksum of the code of one module."""
    return hashlib.sha256(ast.dump(_tree(name)).encode()).hexdigest()


@cache
def _tree(name: str) -> ast.Module:
    """The syntax tree of a module, without its docstrings."""
    path = _path(name)
    if path is None:
        raise ModuleNotFoundError(f"{name} is no module of nucleate", name=name)
    tree = _parsed(path.read_bytes())
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.Module() | ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                if ast.get_docstring(node, clean=False) is not None:
                    del node.body[0]
        waiting += _statements(node)
    return tree


def _parsed(source: bytes) -> ast.Module:
    """The syntax tree of a text.

    Python 3.11 counts the depth of trees for all threads together (cpython issue 106905), so that it fails if
    another thread parses meanwhile, say to show a traceback; then it is tried again.
    """
    with _parsing:
        for _ in range(MAX_ATTEMPTS - 1):
            try:
                return ast.parse(source)
            except SystemError:
                time.sleep(RETRY_SECONDS)
        return ast.parse(source)


@cache
def _imports(name: str) -> tuple[str, ...]:
    """The modules of nucleate that a module imports, those for type checkers alone left out."""
    return tuple(sorted(set(_imported(_tree(name)))))


def _imported(tree: ast.AST) -> Iterator[str]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            waiting += node.orelse
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if _path(alias.name) is not None)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "nucleate":
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (module for module in inner if _path(module) is not None)
            if any(_path(module) is None for module in inner) and node.module != "nucleate":
                yield str(node.module)
        waiting += _statements(node)


def _statements(node: ast.AST) -> list[ast.AST]:
    """What is directly in a node, but for expressions: they are most of a tree, and neither docstrings nor
    imports are in them."""
    return [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr)]


def _path(name: str) -> Path | None:
    """The file of a module of nucleate; None for anything else."""
    parts = name.split(".")
    if parts[0] != "nucleate":
        return None
    base = PACKAGE.joinpath(*parts[1:])
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None
