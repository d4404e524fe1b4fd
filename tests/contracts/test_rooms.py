"""Data flows one way through the rooms, and each has its place on the pages and in the tests."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.project import ROOT, SOURCE, TESTS, blocks, page

# A room imports only from itself and from rooms before it in this list.
ROOMS = [
    "durations",
    "printable",
    "resources",
    "checks",
    "notebook",
    "source_hash",
    "sphere",
    "positions",
    "attention",
    "mlp",
    "norms",
    "block",
    "layers",
    "noise",
    "gradients",
    "parse",
    "conveniences",
    "kernels",
    "integrate",
    "gpu",
    "observe",
    "theory",
    "studies",
    "models",
    "plot",
    "tracing",
    "papers",
    "bench",
    "explorer",
    "cli",
]
# the public names and the command see everything; the doors for JAX and PyTorch hand theirs to gradients.py
FRONT = ("__init__", "__main__", "jax", "torch")
OTHER_TESTS = {"browser", "contracts", "slurm", "support"}  # what is of no single room, and helpers


def is_there(room: str) -> bool:
    return (SOURCE / room).is_dir() or (SOURCE / f"{room}.py").is_file()


def imports(file: Path) -> Iterator[list[str]]:
    """What a file imports, wherever in the file it does, as parts of a dotted name; also by import_module."""
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.ImportFrom():
                assert node.level == 0, f"{file}: write imports in full"
                yield from ([*(node.module or "").split("."), alias.name] for alias in node.names)
            case ast.Import():
                yield from (alias.name.split(".") for alias in node.names)
            case ast.Call(
                func=ast.Name(id="import_module") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield name.split(".")


def rooms_imported(file: Path) -> set[str]:
    parts = [name for name in imports(file) if name[0] == "nucleate" and name[1:] != ["__version__"]]
    return {name[1] if len(name) > 1 else "nucleate" for name in parts}


def test_a_room_imports_only_from_rooms_before_it() -> None:
    wrong = []
    for file in sorted(SOURCE.rglob("*.py")):
        room = file.relative_to(SOURCE).parts[0].removesuffix(".py")
        before = ROOMS[: ROOMS.index(room) + 1] if room in ROOMS else []
        if room not in FRONT:
            wrong += [
                f"{file.relative_to(SOURCE)} imports nucleate.{other}"
                for other in sorted(rooms_imported(file) - set(before))
            ]
    assert wrong == []


@pytest.mark.parametrize(
    ("line", "room"),
    [
        ("import nucleate.plot", "plot"),
        ("from nucleate import plot", "plot"),
        ("from nucleate.plot.files import write", "plot"),
        ("def draw():\n    from nucleate.plot import write_run", "plot"),
        ("importlib.import_module('nucleate.plot.files')", "plot"),
        ("import nucleate", "nucleate"),
    ],
)
def test_every_way_to_import_a_room_is_seen(line: str, room: str, tmp_path: Path) -> None:
    (tmp_path / "file.py").write_text(line)
    assert rooms_imported(tmp_path / "file.py") == {room}


def test_the_page_of_the_architecture_lists_the_rooms_in_their_order() -> None:
    there = [room for room in ROOMS if is_there(room)]
    text = page("docs/architecture.md")
    listed = [room for room in re.findall(r"^\| `(\w+)` \|", text, flags=re.M) if room in ROOMS]
    assert listed[: len(set(listed))] == there


def test_every_room_has_its_tests_in_a_folder_of_its_name() -> None:
    folders = {folder.name for folder in TESTS.iterdir() if any(folder.glob("test_*.py"))}
    assert [room for room in ROOMS if is_there(room) and room not in folders] == []
    assert folders - set(ROOMS) - OTHER_TESTS == set()


def test_no_test_file_imports_from_another() -> None:
    wrong = [
        f"{file.relative_to(TESTS)} imports {'.'.join(name)}"
        for file in sorted(TESTS.rglob("*.py"))
        for name in imports(file)
        if any(part == "conftest" or part.startswith("test_") for part in name) or name[0] == "tests"
    ]
    assert wrong == []


# docs/architecture.md


def test_every_file_that_the_architecture_names_is_there() -> None:
    named = re.findall(r"`((?:tests/)?[\w/]+\.(?:py|md))`", page("docs/architecture.md"))
    assert len(named) > 20
    missing = [name for name in named if not (ROOT / name).is_file() and not (SOURCE / name).is_file()]
    assert missing == []


def room_of(file: Path) -> int:
    """The place of a file's room in the order of rooms."""
    return ROOMS.index(file.parts[0].removesuffix(".py"))


def walks() -> list[str]:
    return blocks(page("docs/architecture.md"), "text")


@pytest.mark.parametrize("walk", walks(), ids=lambda walk: walk.split(":")[0])
def test_a_walk_names_functions_that_are_there_and_calls_no_later_room(walk: str) -> None:
    callers: list[Path] = []  # the file of the line at each depth
    for line in walk.splitlines():
        depth, (file, name) = (len(line) - len(line.lstrip())) // 4, line.strip().split(":")
        tree = ast.parse((SOURCE / file).read_text())
        there = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        assert name in there, line
        callers[depth:] = [Path(file)]
        if depth:
            caller = callers[depth - 1]
            assert room_of(Path(file)) <= room_of(caller), f"{caller} calls {line}"
            assert re.search(rf"\b{name}\b", (SOURCE / caller).read_text()), f"{caller} calls no {line}"


def test_there_are_walks_of_six_commands() -> None:
    assert [walk.split(".py")[0] for walk in walks()] == [
        "cli/simulate",
        "cli/ensemble",
        "cli/reproduce",
        "cli/spectra",
        "cli/trace",
        "cli/explore",
    ]
