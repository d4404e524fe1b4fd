"""Papers and their items: registered once, found by name; a new paper is a folder and its name."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import nucleate
from nucleate.checks import InputError
from nucleate.papers import ITEMS, PAPERS, chosen, find

SOURCE = Path(nucleate.__file__).parent


def test_every_item_has_its_three_files_and_its_key_for_a_name() -> None:
    for key, package in ITEMS.items():
        assert find(key).key == key
        assert all(importlib.util.find_spec(f"{package}.{name}") for name in ("item", "data", "figures"))


def test_every_folder_with_an_item_is_registered_and_no_key_stands_for_two() -> None:
    folders = {path.parent.name for path in (SOURCE / "papers").glob("*/*/item.py")}
    assert folders == {folder for paper in PAPERS for folder in paper.items.values()}
    assert len(ITEMS) == sum(len(paper.items) for paper in PAPERS)


def test_items_are_asked_for_by_name_in_the_order_of_the_report() -> None:
    assert chosen() == list(ITEMS)
    assert chosen(["table1,figure2", "figure2"]) == ["figure2", "table1"]
    with pytest.raises(InputError, match='no "fig3" to reproduce'):
        chosen(["figure1", "fig3"])


def test_a_second_paper_is_a_folder_and_its_name(tmp_path: Path) -> None:
    copy = tmp_path / "nucleate"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__", "page", "explorer"))
    front = copy / "papers" / "__init__.py"
    text = front.read_text(encoding="utf-8")
    assert text.count('FOLDERS = ("causal_clustering",)') == 1
    front.write_text(text.replace('"causal_clustering",', '"causal_clustering", "second"'), encoding="utf-8")
    item = copy / "papers" / "second" / "claim"
    item.mkdir(parents=True)
    (item / "__init__.py").touch()
    (item / "item.py").write_text('ITEM = "an item"\n')
    (item.parent / "__init__.py").write_text(
        "from nucleate.papers.core.paper import Paper\n"
        'PAPER = Paper("Second", "Somebody", __name__, {"second-claim": "claim"})\n'
    )
    code = "from nucleate.papers import chosen, find; print(chosen()[-1], find('second-claim'))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "second-claim an item\n"
