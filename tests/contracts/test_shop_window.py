"""What a stranger meets first: the names, the commands, the README, the order of the rooms."""

import ast
import dataclasses
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import nucleate

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "nucleate"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]

# From the top down: a room imports only from itself and from rooms before it in this list.
ROOMS = [
    "checks",
    "shell",
    "sphere",
    "attention",
    "kernels",
    "integrate",
    "observe",
    "theory",
    "ensemble",
    "models",
    "plot",
]
ROOMS += ["paper", "bench", "explorer", "cli"]
AGAINST_THE_STREAM = {
    ("integrate/run.py", "plot"): "run.plot() draws itself, so that a notebook needs one line",
    ("integrate/storage.py", "plot"): "run.save(path) writes pictures too: the ending of the name decides",
    ("observe/life.py", "plot"): "a life draws and saves itself, as a run does",
    ("ensemble/result.py", "plot"): "so does an ensemble",
    ("ensemble/command.py", "plot"): "--plot writes its picture",
}


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    """The fenced code blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.M | re.S)


def name_of(requirement: str) -> str:
    return re.split(r"[^\w-]", requirement)[0].replace("_", "-").lower()


def python(code: str, **environment: str) -> str:
    """What a fresh interpreter prints when it runs `code`."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@cache
def commands() -> dict[str, Any]:
    """Every command and group of commands by its words: "" (nucleate itself), "simulate", "bench", "bench
    drift"."""
    import typer

    from nucleate.cli.main import app

    def walk(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        yield " ".join(words), command
        for name, inner in getattr(command, "commands", {}).items():
            yield from walk(inner, (*words, name))

    return dict(walk(typer.main.get_command(app), ()))


@cache
def targets() -> set[str]:
    phony = re.search(r"^\.PHONY:(.*)$", page("Makefile"), flags=re.M)
    assert phony
    return set(phony[1].split())


# --- names


def test_exports_are_exactly_the_names_in_all_and_each_resolves() -> None:
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    typed = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("nucleate")
        for alias in node.names
    }
    assert sorted(nucleate.__all__) == sorted({*typed, "__version__"}), (
        "what mypy sees and what Python finds must be the same names"
    )
    assert len(set(nucleate.__all__)) == len(nucleate.__all__)
    for name in nucleate.__all__:
        assert getattr(nucleate, name) is not None
        assert name in dir(nucleate)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'atention'"):
        nucleate.atention  # noqa: B018  # the access itself is the test


def test_every_public_name_is_on_the_api_page() -> None:
    text = page("docs/api.md")
    assert [name for name in nucleate.__all__ if f":: nucleate.{name}\n" not in text] == []


def test_the_glossary_has_every_field_of_every_public_record() -> None:
    text = page("docs/glossary.md")
    records = [
        (name, one) for name in nucleate.__all__ if dataclasses.is_dataclass(one := getattr(nucleate, name))
    ]
    fields = [f"{name}.{field.name}" for name, record in records for field in dataclasses.fields(record)]
    assert len(fields) > 10
    assert [field for field in fields if f"`{field}`" not in text] == []


def test_every_way_a_run_can_end_is_explained() -> None:
    from nucleate.integrate.status import STATUS

    text = page("docs/numerics.md")
    assert [status for status in STATUS if status != "running" and f'| `"{status}"` |' not in text] == []


def test_every_public_function_and_class_says_what_it_is() -> None:
    assert [name for name in nucleate.__all__ if not (getattr(nucleate, name).__doc__ or "").strip()] == []


# --- starting up


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
        for extra in ("explorer", "cluster", "models", "trace", "bench", "video")
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


# --- commands


def test_every_command_and_option_has_help() -> None:
    silent = [words for words, command in commands().items() if not (command.help or "").strip()]
    silent += [
        f"{words} {option.name}"
        for words, command in commands().items()
        for option in command.params
        if not (getattr(option, "help", None) or "").strip()
    ]
    assert silent == []


def test_every_command_is_in_the_readme() -> None:
    assert {"simulate", "reproduce"} <= set(commands())
    leaves = [words for words, command in commands().items() if not hasattr(command, "commands")]
    assert [words for words in leaves if f"`nucleate {words}`" not in page("README.md")] == []


def test_every_command_and_target_that_the_pages_name_exists() -> None:
    leaves = {words for words, command in commands().items() if not hasattr(command, "commands")}
    wrong = []
    for file in PAGES:
        text = file.read_text(encoding="utf-8")
        named = re.findall(r"`nucleate ([a-z]+(?: [a-z]+)?)", text)
        wrong += [
            f"{file.name}: nucleate {words}"
            for words in named
            if words not in commands() and words.split()[0] not in leaves
        ]
        wrong += [
            f"{file.name}: make {target}"
            for target in re.findall(r"`make ([a-z-]+)", text)
            if target not in targets()
        ]
    assert wrong == []


def shell_lines() -> list[str]:
    return [
        line
        for file in PAGES
        for block in blocks(file.read_text(encoding="utf-8"), "sh")
        for line in block.splitlines()
        if line.strip()
    ]


@pytest.mark.parametrize("line", shell_lines())
def test_every_shell_line_on_the_pages_can_be_typed(line: str) -> None:
    program, *words = shlex.split(line, comments=True)
    if program == "make":
        assert set(words) <= targets()
    elif program == "nucleate":
        name = max((name for name in commands() if words[: len(name.split())] == name.split()), key=len)
        assert not hasattr(commands()[name], "commands"), f"no such command: {line}"
        known = {
            option
            for parameter in commands()[name].params
            for option in (*parameter.opts, *parameter.secondary_opts)
        }
        assert {word for word in words if re.match(r"--?[a-z]", word)} <= known
    else:
        assert line.startswith("python -m pip install "), f"nothing here checks {program}"


def test_every_target_has_a_line_of_help() -> None:
    shown = subprocess.run(
        ["make", "-s", "-C", str(ROOT), "help"], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    assert set(re.findall(r"^make ([a-z-]+) +\S", shown, flags=re.M)) == targets()


def test_an_old_python_is_refused_with_the_reason(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        (tmp_path / name).write_text(page(name))
    old = tmp_path / "old-python"
    old.write_text(
        f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -c 'import sys; sys.version_info = (3, 9);"
        ' exec(sys.argv[1])\' "$2"\n'
    )
    old.chmod(0o755)
    done = subprocess.run(
        ["make", "-C", str(tmp_path), "install", f"PYTHON={old}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert "needs Python 3.11 or newer, but" in done.stderr
    assert "is Python 3.9" in done.stderr
    assert not (tmp_path / ".venv").exists()


# --- pages


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(block, id=f"{file.name}-{i}")
        for file in PAGES
        for i, block in enumerate(blocks(file.read_text(encoding="utf-8"), "python"))
    ],
)
def test_python_on_the_pages_runs(lines: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib.pyplot as plt

    monkeypatch.chdir(tmp_path)
    try:
        exec(compile(lines, "page", "exec"), {})
    finally:
        plt.close("all")


def test_the_readme_has_about_ten_lines_of_python_first() -> None:
    first = blocks(page("README.md"), "python")[0]
    assert 8 <= len([line for line in first.splitlines() if line.strip()]) <= 12


def test_every_link_and_picture_on_the_pages_is_there() -> None:
    missing = []
    for file in PAGES:
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", file.read_text(encoding="utf-8")):
            if "://" not in link and not (file.parent / link).is_file():
                missing.append(f"{file.name}: {link}")
    assert missing == []


def test_the_newest_version_in_the_changelog_is_the_package_version() -> None:
    versions = re.findall(r"^## \[(\d[^\]]*)\]", page("CHANGELOG.md"), flags=re.M)
    assert versions[0] == PROJECT["version"] == nucleate.__version__


def test_every_dependency_is_pinned_in_the_constraints() -> None:
    pins = dict(
        line.split("==") for line in page("constraints.txt").splitlines() if line and not line.startswith("#")
    )
    extras = PROJECT["optional-dependencies"]
    asked = [*PROJECT["dependencies"], *extras["dev"], *extras["docs"], *extras["video"], *extras["bench"]]
    assert [name_of(line) for line in asked if name_of(line) not in pins] == []


def test_no_file_names_a_private_place() -> None:
    private = re.compile(r"/[r]oot/|/[h]ome/|/[U]sers/|/[w]ork/|[p]ypi\.org|[p]ythonhosted|[e]xtra-index-url")
    folders = ("src", "tests", "docs", ".ci")
    files = [
        *(file for file in ROOT.iterdir() if file.is_file()),
        *(file for folder in folders for file in (ROOT / folder).rglob("*") if file.is_file()),
    ]
    texts = [
        file
        for file in files
        if file.suffix in {".py", ".md", ".toml", ".txt", ".json", ".csv", ""} and "_build" not in file.parts
    ]
    assert len(texts) > 20
    assert [
        f"{file.relative_to(ROOT)}: {found[0]}"
        for file in texts
        if (found := private.search(file.read_text(encoding="utf-8", errors="replace")))
    ] == []


# --- rooms


def rooms_imported(file: Path) -> Iterator[str]:
    """The rooms a file imports from, wherever in the file it does."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: write imports in full"
            origin = (node.module or "").split(".")
            if origin == ["nucleate"]:
                yield from (alias.name for alias in node.names if alias.name != "__version__")
            elif origin[0] == "nucleate":
                yield origin[1]
        elif isinstance(node, ast.Import):
            yield from (
                [*alias.name.split("."), "nucleate"][1]
                for alias in node.names
                if alias.name.split(".")[0] == "nucleate"
            )


def test_a_room_imports_only_from_rooms_above_it() -> None:
    wrong, used = [], set()
    for file in sorted(SOURCE.rglob("*.py")):
        name = file.relative_to(SOURCE).as_posix()
        if name in ("__init__.py", "__main__.py"):  # the shop window and the front door see everything
            continue
        room = name.split("/")[0].removesuffix(".py")
        for other in rooms_imported(file):
            if (name, other) in AGAINST_THE_STREAM:
                used.add((name, other))
            elif room not in ROOMS or other not in ROOMS[: ROOMS.index(room) + 1]:
                wrong.append(f"{name} imports nucleate.{other}")
    assert wrong == []
    assert used == set(AGAINST_THE_STREAM), "an exception that nothing uses should go"


def test_the_pages_list_the_rooms_in_their_order() -> None:
    there = [room for room in ROOMS if (SOURCE / room).is_dir() or (SOURCE / f"{room}.py").is_file()]
    for name in ("README.md", "docs/architecture.md"):
        listed = [room for room in re.findall(r"^\| `(\w+)` \|", page(name), flags=re.M) if room in ROOMS]
        expected = [room for room in there if room != "checks" or name != "README.md"]
        assert listed[: len(expected)] == expected, name
