"""The scripts beside the pages, which draw their pictures, and those of studies, as modules."""

import importlib.util
import sys
from types import ModuleType

from support.project import ROOT

__all__ = ["docs_script", "study_script"]


def docs_script(name: str) -> ModuleType:
    """The module docs/NAME.py."""
    return _script("docs", name)


def study_script(name: str) -> ModuleType:
    """The module studies/NAME.py."""
    return _script("studies", name)


def _script(folder: str, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # records look their module up
    beside = str(ROOT / folder)
    sys.path.insert(0, beside)  # as for a script
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(beside)
    return module
