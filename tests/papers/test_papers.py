"""Papers and their items: registered once, found by name; a new paper is a folder and its name."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import nucleate
from nucleate.checks import InputError
from nucleate.papers import DEFAULT, FOLDERS, ITEMS, PAPERS, chosen, chosen_papers, find, paper_of

SOURCE = Path(nucleate.__file__).parent


def test_every_item_has_its_three_files_and_its_key_for_a_name() -> None:
    for key, package in ITEMS.items():
        assert find(key).key == key
        assert all(importlib.util.find_spec(f"{package}.{name}") for name in ("item", "data", "figures"))


def test_every_folder_with_an_item_is_registered_and_no_key_stands_for_two() -> None:
    folders = {(path.parts[-3], path.parts[-2]) for path in (SOURCE / "papers").glob("*/*/item.py")}
    assert folders == {
        (package, folder)
        for package, paper in zip(FOLDERS, PAPERS.values(), strict=True)
        for folder in paper.items.values()
    }
    assert len(ITEMS) == sum(len(paper.items) for paper in PAPERS.values())


def test_a_paper_is_called_like_its_folder_and_every_item_knows_its_paper() -> None:
    assert [paper.name for paper in PAPERS.values()] == list(PAPERS)
    assert next(iter(PAPERS)) == DEFAULT == "causal-clustering"
    for paper in PAPERS.values():
        assert paper.arxiv in paper.citation
        for key in paper.items:
            assert paper_of(key) is paper
            named = "" if paper.name == DEFAULT else f" --paper {paper.name}"
            assert find(key).command(quick=True) == f"nucleate reproduce{named} --only {key} --quick"


def test_every_item_says_its_cost_and_all_papers_together_take_at_most_two_hours() -> None:
    costs = [find(key).cost for key in ITEMS]
    assert all(0.0 < cost.quick <= 60.0 and 0.0 < cost.full <= 600.0 for cost in costs)
    assert sum(cost.full for cost in costs) <= 7200.0


def test_papers_are_asked_for_by_name_and_a_wrong_name_is_told_the_right_ones() -> None:
    assert [paper.name for paper in chosen_papers()] == [DEFAULT]
    assert [paper.name for paper in chosen_papers(["all"])] == list(PAPERS)
    assert [paper.name for paper in chosen_papers([f"{list(PAPERS)[-1]},{DEFAULT}", DEFAULT])] == [
        DEFAULT,
        list(PAPERS)[-1],
    ]
    with pytest.raises(
        InputError, match=r'no paper "causal" to reproduce. .*Choose from: causal-clustering, '
    ):
        chosen_papers(["causal"])


def test_items_are_asked_for_by_name_in_the_order_of_the_report() -> None:
    assert chosen() == list(PAPERS[DEFAULT].items)
    assert chosen((), list(PAPERS.values())) == list(ITEMS)
    assert chosen(["table1,figure2", "figure2"]) == ["figure2", "table1"]
    with pytest.raises(
        InputError, match=r'"phase-diagram" is an item of the paper perspective, .* Add --paper perspective'
    ):
        chosen(["phase-diagram"])
    with pytest.raises(InputError, match='no "fig3" to reproduce'):
        chosen(["figure1", "fig3"])


def test_a_second_paper_is_a_folder_and_its_name(tmp_path: Path) -> None:
    copy = tmp_path / "nucleate"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__", "page", "explorer"))
    front = copy / "papers" / "__init__.py"
    text = front.read_text(encoding="utf-8")
    assert text.count('    "causal_clustering",\n') == 1
    front.write_text(
        text.replace("# by its name", 'FOLDERS = (*FOLDERS, "second")\n# by its name', 1), encoding="utf-8"
    )
    item = copy / "papers" / "second" / "claim"
    item.mkdir(parents=True)
    (item / "__init__.py").touch()
    (item / "item.py").write_text('ITEM = "an item"\n')
    (item.parent / "__init__.py").write_text(
        "from nucleate.papers.core.paper import Paper\n"
        'PAPER = Paper("Second", "Somebody", "2601.00000", __name__, {"second-claim": "claim"})\n'
    )
    code = (
        "from nucleate.papers import PAPERS, chosen, find;"
        " print(chosen((), [PAPERS['second']])[-1], find('second-claim'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "second-claim an item\n"
