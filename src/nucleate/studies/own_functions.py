"""Functions of one's own that a study names, "module:function": beside the study, or where Python looks.

A module beside a study is loaded by its path and under a name of its own, so that two studies in different
folders may each have a mine.py.  What such a module imports from beside the study is forgotten before another
study is read, which may have a module of that name, too.
"""

import ast
import hashlib
import importlib
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from nucleate.checks import InputError
from nucleate.parse.validate import refuse, shown

__all__ = ["checksum_of", "find_function", "modules_beside", "modules_from_beside", "name_of"]

Function = Callable[..., Any]

PREFIX = "nucleate_study_"  # of the names under which modules beside a study are loaded
_folder_of: dict[str, Path] = {}  # of every module that was loaded from beside a study


def find_function(where: str, given: Any, folder: Path | None) -> tuple[Function, str]:
    """The function itself, or the one named "module:function", beside a study in `folder` first; and its
    name."""
    if callable(given):
        return given, name_of(given)
    if (
        not isinstance(given, str)
        or given.count(":") != 1
        or not all(part.isidentifier() for part in given.replace(":", ".").split("."))
    ):
        refuse(f"{where}.function", 'a function or its name, "module:function"', given)
    module, name = given.split(":")
    try:
        found: Any = _loaded(module, folder)
        loaded_as = found.__name__
        for part in name.split("."):
            found = getattr(found, part)
    except (Exception, SystemExit) as error:  # importing runs a user's code
        raise InputError(
            f"{where}.function {given} cannot be imported: {type(error).__name__}: {shown(str(error))}."
        ) from None
    if not callable(found):
        raise InputError(f"{where}.function {given} is not a function.")
    return found, name_of(found).replace(loaded_as.split(".")[0], module.split(".")[0], 1)


def name_of(function: Function) -> str:
    """module:function"""
    return (
        f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', type(function).__name__)}"
    )


def checksum_of(function: Function) -> str:
    """A checksum of the code, so that an edited function is a changed study; comments do not count."""
    try:
        text = inspect.getsource(function)
    except (OSError, TypeError):
        return "unknown"
    with suppress(SyntaxError):  # a lambda is cut out of the line it stands in
        text = ast.dump(ast.parse(textwrap.dedent(text)))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@contextmanager
def modules_beside(folder: Path | None) -> Iterator[None]:
    """Modules in this folder can be imported, and those of other studies are not taken for them."""
    if folder is None:
        yield
        return
    for name, other in _folder_of.items():
        if other != folder and not name.startswith(PREFIX):
            sys.modules.pop(name, None)
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        with suppress(ValueError):
            sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            file = getattr(sys.modules[name], "__file__", None)
            if file is not None and folder in Path(file).parents:
                _folder_of[name] = folder


def modules_from_beside() -> list[ModuleType]:
    """The modules that were loaded from beside studies: other machines do not have them."""
    return [sys.modules[name] for name in _folder_of if name in sys.modules]


def _loaded(name: str, folder: Path | None) -> ModuleType:
    """The module of that name: beside the study if there is one, else as Python finds it."""
    file = None if folder is None else _file(folder, name)
    if folder is None or file is None:
        return importlib.import_module(name)
    root, *inner = name.split(".")
    digest = hashlib.sha256(f"{file}\n".encode() + file.read_bytes()).hexdigest()[:16]
    unique = f"{PREFIX}{digest}_{root}"
    if unique not in sys.modules:
        _execute(unique, folder, root)
    return importlib.import_module(".".join([unique, *inner]))


def _execute(unique: str, folder: Path, root: str) -> None:
    """Load a module, or a package with or without __init__.py, under another name."""
    file = _file(folder, root)
    places = None if file == folder / f"{root}.py" else [str(folder / root)]
    if file is None:
        spec: ModuleSpec | None = ModuleSpec(unique, None, is_package=True)
    else:
        spec = spec_from_file_location(unique, file, submodule_search_locations=places)
    assert spec is not None
    spec.submodule_search_locations = places
    module = sys.modules[unique] = module_from_spec(spec)
    if file is None:
        return
    try:
        # not by the loader: it may take compiled code of the same second and length for that of this file
        exec(compile(file.read_bytes(), str(file), "exec"), module.__dict__)
    except BaseException:
        del sys.modules[unique]
        raise


def _file(folder: Path, name: str) -> Path | None:
    """The file of a module or package below a folder."""
    base = folder.joinpath(*name.split("."))
    return next((file for file in (base / "__init__.py", base.with_suffix(".py")) if file.is_file()), None)
