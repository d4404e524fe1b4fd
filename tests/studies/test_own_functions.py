"""Functions of one's own that a study names: where they are found, and that they travel to processes."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.small_studies import small, spread

from nucleate.checks import InputError
from nucleate.studies.ensemble import ensemble
from nucleate.studies.study import Study

STUDY = """
runs = 2
model.beta = 1
start = {n = 3, d = 2}
times = {t = 1.0, save = 2}
observables.a = {kind = "function", function = "FUNCTION"}
"""
CONSTANT = "def f(t, x):\n    return {}.0\n"


def written(folder: Path, function: str = "mine:f", **modules: str) -> Path:
    """A study in a folder, with modules beside it; in_ in front of a name puts one into the package own."""
    for name, text in modules.items():
        file = folder / f"{name.replace('in_', 'own/', 1)}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (folder / "study.toml").write_text(STUDY.replace("FUNCTION", function))
    return folder / "study.toml"


def plain(study: Study) -> dict[str, Any]:
    found: dict[str, Any] = study.plain()["observables"]["a"]
    return found


def value(study: Study) -> float:
    """What the study's function gives, whatever the tokens."""
    function = study.observables[0].function
    assert function is not None
    return float(function(0.0, None))


def test_a_function_may_stand_in_a_module_beside_the_study(tmp_path: Path) -> None:
    before = list(sys.path)
    path = written(
        tmp_path, "beside_this_study:first", beside_this_study="def first(t, x):\n    return x[0, 0]\n"
    )
    assert plain(Study.read(path))["function"] == "beside_this_study:first"
    assert sys.path == before


def test_two_studies_may_each_have_a_module_of_the_same_name(tmp_path: Path) -> None:
    one, two = (written(tmp_path / str(i), mine=CONSTANT.format(i)) for i in (1, 2))
    studies = [Study.read(one), Study.read(two), Study.read(one)]
    assert [value(study) for study in studies] == [1.0, 2.0, 1.0]
    assert [float(ensemble(path).mean("a")[-1]) for path in (one, two)] == [1.0, 2.0]
    assert plain(studies[0])["function"] == plain(studies[1])["function"] == "mine:f"
    assert plain(studies[0])["source"] != plain(studies[1])["source"]
    assert "mine" not in sys.modules


def test_a_study_that_was_moved_is_the_same_study(tmp_path: Path) -> None:
    one, two = (Study.read(written(tmp_path / name, mine=CONSTANT.format(1))) for name in ("one", "two"))
    assert one.plain() == two.plain()


@pytest.mark.parametrize(
    "mine",
    ["from helper import f\n", "def f(t, x):\n    import helper\n\n    return helper.f(t, x)\n"],
    ids=["at once", "when called"],
)
def test_what_such_a_module_imports_from_beside_it_is_its_own_too(mine: str, tmp_path: Path) -> None:
    for i in (1, 2):
        path = written(tmp_path / str(i), mine=mine, helper=CONSTANT.format(i))
        assert value(Study.read(path)) == i


@pytest.mark.parametrize("init", [{}, {"in___init__": "X = 1\n"}], ids=["a folder", "a package"])
def test_a_package_beside_the_study_may_import_within_itself(init: dict[str, str], tmp_path: Path) -> None:
    for i in (1, 2):
        modules = {"in_inner": "from .other import f\n", "in_other": CONSTANT.format(i), **init}
        study = Study.read(written(tmp_path / str(i), "own.inner:f", **modules))
        assert value(study) == i
        assert plain(study)["function"] == "own.other:f", "where it is defined, as Python names it"


def test_an_edited_module_is_read_anew(tmp_path: Path) -> None:
    for i in (1, 2, 1):  # texts of one length, within a second
        assert value(Study.read(written(tmp_path, mine=CONSTANT.format(i)))) == i


def test_functions_of_installed_packages_go_by_their_full_name(tmp_path: Path) -> None:
    study = Study.read(written(tmp_path, "support.small_studies:spread", support="raise AssertionError\n"))
    assert study.observables[0].function is spread
    assert plain(study)["function"] == "support.small_studies:spread"


def test_a_function_and_its_helpers_travel_to_a_process_that_does_not_have_them(tmp_path: Path) -> None:
    pytest.importorskip("cloudpickle", reason="Dask comes with nucleate[cluster]")
    from nucleate.studies.cluster import _pickled

    mine = "import helper\nfrom helper import f as g\n\n\ndef f(t, x):\n    return helper.f(t, x) + g(t, x)\n"
    pickled = _pickled(Study.read(written(tmp_path, mine=mine, helper=CONSTANT.format(7))))
    for name in ("mine", "helper"):
        (tmp_path / f"{name}.py").unlink()
    code = (
        "import pickle, sys\n"
        "from nucleate.studies.block import Block, compute_block\n"
        "study = pickle.loads(sys.stdin.buffer.read())\n"
        "print(compute_block(study, Block(0, 0, 2))['a'].tolist(), study.observables[0].about)\n"
    )
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, input=pickled, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode() == "[[14.0, 14.0], [14.0, 14.0]]  (mine:f)\n"


def test_a_module_that_ends_the_process_on_import_is_an_error_of_the_study(tmp_path: Path) -> None:
    path = written(tmp_path, "leaving_at_once:f", leaving_at_once="import sys\n\nsys.exit(0)\n")
    with pytest.raises(InputError, match="leaving_at_once:f cannot be imported: SystemExit"):
        Study.read(path)


def test_an_edited_function_is_another_study() -> None:
    def study(function: Any) -> Study:
        return Study.make(small(observables={"a": {"kind": "function", "function": function}}))

    assert plain(study(spread))["function"] == "support.small_studies:spread"
    assert plain(study(spread))["source"] != plain(study(lambda t, x: 0.0))["source"]
