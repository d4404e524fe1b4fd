"""The notebooks hold what a run gave, and the program that runs them notices when it would not.

`make docs` runs them."""

import copy
import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support.project import ROOT, page

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def runner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("run_notebooks", ROOT / "docs" / "run_notebooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def notebook(*cells: str) -> dict[str, Any]:
    code: list[dict[str, Any]] = [
        {
            "cell_type": "code",
            "id": f"c{i}",
            "metadata": {},
            "execution_count": None,
            "outputs": [],
            "source": cell,
        }
        for i, cell in enumerate(cells)
    ]
    return {"cells": code, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_holds_the_outputs_of_one_run_in_order_and_is_on_the_pages(file: Path) -> None:
    found = json.loads(file.read_text(encoding="utf-8"))
    code = [cell for cell in found["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert sum(bool(cell["outputs"]) for cell in code) >= 4
    assert "error" not in {one["output_type"] for cell in code for one in cell["outputs"]}
    assert len({cell["id"] for cell in found["cells"]}) == len(found["cells"])
    assert file.stat().st_size < 400_000
    assert f"notebooks/{file.stem}\n" in page("docs/index.md")
    text = "".join("".join(cell["source"]) for cell in found["cells"] if cell["cell_type"] == "markdown")
    linked = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
    assert [link for link in linked if "://" not in link and not (file.parent / link).is_file()] == []


def test_make_docs_runs_them() -> None:
    assert "docs/run_notebooks.py --check" in page("Makefile")
    assert len(NOTEBOOKS) == 5


def test_outputs_are_those_of_a_notebook(runner: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "one.ipynb"
    drawn = "import matplotlib.pyplot as plt\nplt.plot([1, 2]);"
    file.write_text(json.dumps(notebook("x = 2\nprint('a')\nx + 1", drawn, "x\n", "x;")))
    first, second, third, fourth = (cell["outputs"] for cell in runner.run(file)["cells"])
    assert runner.told(first) == ["a\n", "text/plain: 3"]
    assert runner.told(second) == ["image/png text/plain: <Figure>"]
    assert runner.told(third) == ["text/plain: 2"], "the cells share their names"
    assert fourth == []


def test_another_output_is_told_and_another_count_of_steps_is_not(runner: ModuleType) -> None:
    now = notebook("print('191 steps, 7 clusters')")
    now["cells"][0]["outputs"] = [
        {"output_type": "stream", "name": "stdout", "text": ["191 steps, 7 clusters"]}
    ]
    stored = copy.deepcopy(now)
    stored["cells"][0]["outputs"][0]["text"] = ["190 steps, 7 clusters"]
    assert runner.differences(stored, now) == []
    stored["cells"][0]["outputs"][0]["text"] = ["191 steps, 8 clusters"]
    assert len(runner.differences(stored, now)) == 1


def test_a_cell_that_fails_ends_the_run(runner: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "one.ipynb"
    file.write_text(json.dumps(notebook("1 / 0")))
    with pytest.raises(SystemExit, match="ZeroDivisionError"):
        runner.run(file)
