"""Starting up is quick, and needs nothing that is not installed."""

import subprocess
import sys

import pytest
from support.project import PROJECT, name_of, python

import nucleate


def test_importing_nucleate_loads_no_other_package() -> None:
    loaded = python(
        "import sys; before = set(sys.modules); import nucleate; print(*set(sys.modules) - before)"
    ).split()
    assert {name.split(".")[0] for name in loaded} - set(sys.stdlib_module_names) == {"nucleate"}


@pytest.mark.parametrize("arguments", [["--help"], ["simulate", "--help"], ["--version"]], ids=" ".join)
def test_help_and_version_load_nothing_heavy(arguments: list[str]) -> None:
    code = f"""
import sys
from nucleate.cli.main import main
sys.argv = ["nucleate", *{arguments!r}]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print("LOADED", *{{m.split(".")[0] for m in sys.modules}})
"""
    loaded = set(python(code).rpartition("LOADED")[2].split())
    assert "nucleate" in loaded
    assert loaded & {"numba", "llvmlite", "xarray", "zarr", "matplotlib", "scipy", "pandas"} == set()


def test_everything_public_works_with_no_extras_installed() -> None:
    extras = [
        name_of(line)
        for extra in ("explorer", "cluster", "models", "torch", "bench", "video")
        for line in PROJECT["optional-dependencies"][extra]
    ]
    code = f"""
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {[name.replace("-", "_") for name in extras]!r}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
try:
    import {extras[0]}
except ModuleNotFoundError:
    import nucleate
    for name in nucleate.__all__:
        getattr(nucleate, name)
    from nucleate.cli.main import main
    sys.argv = ["nucleate", "--help"]
    main()
"""
    assert "simulate" in python(code)


def test_the_module_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nucleate", "--version"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert nucleate.__version__ in done.stdout
