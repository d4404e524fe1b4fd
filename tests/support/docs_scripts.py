"""The scripts beside the pages, which draw their pictures, as modules."""

import importlib.util
import sys
from types import ModuleType

from support.project import ROOT

__all__ = ["docs_script"]


def docs_script(name: str) -> ModuleType:
    """The module docs/NAME.py."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # records look their module up
    spec.loader.exec_module(module)
    return module
