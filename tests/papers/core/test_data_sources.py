"""What an item's data depend on is found from the imports of its data.py: that code, and no other."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import nucleate
from nucleate import source_hash
from nucleate.papers import ITEMS, find
from nucleate.papers.causal_clustering.conjectures import counterexamples
from nucleate.papers.core.cache import made_by
from nucleate.source_hash import modules_used

SOURCE = Path(nucleate.__file__).parent
PAPER = "nucleate.papers.causal_clustering"
SMALL = ("figure4", "lemmaA.1", "lemmaC.1")  # items that use few modules, so that these tests are fast
Edit = Callable[[str, str, str], set[str]]


def forget() -> None:
    for value in vars(source_hash).values():
        if hasattr(value, "cache_clear"):
            value.cache_clear()


@pytest.fixture
def edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Edit]:
    """A function that edits a file in a copy of the package, and tells which items are computed anew."""
    copy = tmp_path / "nucleate"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__", "page"))
    monkeypatch.setattr(source_hash, "PACKAGE", copy)

    def marks() -> dict[str, str]:
        forget()
        return {key: made_by(f"{ITEMS[key]}.data")["code"] for key in SMALL}

    before = marks()

    def edit(file: str, old: str, new: str) -> set[str]:
        text = (copy / file).read_text(encoding="utf-8")
        assert old in text, f"{file} has no {old!r}"
        (copy / file).write_text(text.replace(old, new, 1), encoding="utf-8")
        after = marks()
        (copy / file).write_text(text, encoding="utf-8")
        return {key for key in SMALL if before[key] != after[key]}

    yield edit
    forget()  # what follows hashes the package itself again


def test_an_edit_of_code_computes_anew_what_uses_it_and_one_of_words_nothing(edited: Edit) -> None:
    data = "papers/causal_clustering/lemmaC1/data.py"
    assert edited(data, "import numpy as np\n", "import numpy as np  # a word\n") == set()
    assert edited(data, '"""', '"""Another word. ') == set()
    assert edited(data, "MIN_STARTS = 6", "MIN_STARTS = 7") == {"lemmaC.1"}
    threads = "papers/core/threads.py"
    assert edited(threads, '"""', '"""Another word. ') == set()
    assert edited(threads, "failed[0] = True", "failed[0] = False") == {"lemmaC.1"}
    assert edited("theory/interaction.py", "\ndef ", "\nmore = 1\n\n\ndef ") == {"figure4", "lemmaA.1"}
    for file in ("item.py", "figures.py", "measures.py"):
        assert (
            edited(f"papers/causal_clustering/lemmaC1/{file}", "\n__all__ = ", "\nmore = 1\n__all__ = ")
            == set()
        )


def users(module: str) -> set[str]:
    """The items whose data use a module."""
    return {key for key, package in ITEMS.items() if module in modules_used(f"{package}.data")}


def test_every_item_depends_on_what_its_data_are_computed_with() -> None:
    in_threads = {"life", "theorem4.1", "lemma5.1", "lemmaC.1", "table1", "law", "dimension", "capture"}
    in_threads |= {"conjecture1", "conjecture2", "predicted-merges", "cluster-counts", "who-leads"}
    in_threads |= {"sink-survival", "clouds", "lifetimes", "causal-front"}
    assert users("nucleate.papers.core.threads") == in_threads
    assert users(f"{PAPER}.figure1.data") == {"figure1", "figure6"}
    assert users(f"{PAPER}.theorem52.conditions") == {"theorem5.2", "slips"}
    assert users(f"{PAPER}.conjectures.counterexamples") == {"conjecture1", "conjecture2"}
    assert users(f"{PAPER}.shared.cluster_runs") == {"law", "dimension", "capture"}
    unsimulated = {"figure4", "figure5", "lemmaA.1", "lemmaC.1"}
    unsimulated |= {"merge-order", "attention-scale", "almost-equiangular", "random-values"}
    assert users("nucleate.integrate.simulate") >= set(ITEMS) - unsimulated


@pytest.mark.parametrize("key", list(ITEMS))
def test_data_use_nothing_that_judges_draws_or_reports(key: str) -> None:
    used = [name for name in modules_used(f"{ITEMS[key]}.data") if name.startswith("nucleate.papers")]
    assert f"{ITEMS[key]}.data" in used
    for name in used:
        assert name.rsplit(".", 1)[1] not in ("papers", "item", "figures", "measures", "runner", "cache")
        assert ".report" not in name
        assert not any(one.startswith("nucleate.plot") for one in source_hash._imports(name)), name


@pytest.mark.parametrize("key", list(ITEMS))
def test_what_is_said_of_an_item_depends_on_its_three_files_and_on_all_that_draws(key: str) -> None:
    used = modules_used(f"{ITEMS[key]}.item", "nucleate.plot")
    assert {f"{ITEMS[key]}.{name}" for name in ("item", "data", "figures")} <= set(used)
    assert {"nucleate.plot.styles", "nucleate.plot.files", "nucleate.papers.core.numbers"} <= set(used)


def test_files_that_an_item_reads_count_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = find("conjecture1").parameters["counterexamples"]
    assert known == counterexamples.files_mark()
    folder = tmp_path / "files"
    shutil.copytree(counterexamples.FOLDER, folder)
    monkeypatch.setattr(counterexamples, "FOLDER", folder)
    assert counterexamples.files_mark() == known
    file = folder / "non_normal.toml"
    file.write_text(file.read_text(encoding="utf-8").replace("beta = 0.1", "beta = 0.2"), encoding="utf-8")
    assert counterexamples.files_mark() != known
