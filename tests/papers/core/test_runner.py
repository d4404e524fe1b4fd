"""The reproduction as a whole and its command: resumed after an interruption, the same twice."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.hostile_files import huge_file
from support.small_items import small
from support.time_limits import not_waiting_for_ever
from typer.testing import CliRunner

from nucleate.cli.app import app
from nucleate.papers import ITEMS, PAPERS, find
from nucleate.papers.core import item_file, runner
from nucleate.papers.core.cache import ItemWorkspace
from nucleate.papers.core.item import Cost, Item
from nucleate.papers.report.markdown import BEGIN, END, page_of


def command(*words: str) -> Any:
    return CliRunner().invoke(app, ["reproduce", *words])


def little(key: str, monkeypatch: pytest.MonkeyPatch) -> Item:
    """The item with small parameters, in place of the real one."""
    one = replace(find(key), parameters=small(key), quick={})
    monkeypatch.setattr(runner, "find", lambda name: one if name == key else find(name))
    return one


def test_a_reproduction_done_twice_says_the_same_and_draws_the_same(tmp_path: Path) -> None:
    summaries, drawn = [], []
    for name in ("one", "two"):
        out = tmp_path / name
        for folder in ("figures", "data", "items"):
            (out / folder).mkdir(parents=True)
        summaries.append(
            [runner.reproduce_item(out, find(key), small(key)) for key in ("figure3", "figure4")]
        )
        drawn.append({file.name: file.read_bytes() for file in (out / "figures").iterdir()})
    assert summaries[0] == summaries[1]
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) == 3 * 2


def test_what_is_finished_is_kept_and_an_edit_makes_it_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    little("figure4", monkeypatch)
    first = runner.reproduce(tmp_path, ["figure4"])
    before = first.report.read_bytes()

    def never(*_: Any) -> Any:
        raise AssertionError("it was finished")

    with monkeypatch.context() as patch:
        patch.setattr(runner, "reproduce_item", never)
        assert runner.reproduce(tmp_path, ["figure4"]).report.read_bytes() == before
        (tmp_path / "figures" / "figure4.png").unlink()
        with pytest.raises(AssertionError, match="finished"):
            runner.reproduce(tmp_path, ["figure4"])
    assert runner.reproduce(tmp_path, ["figure4"]).report.read_bytes() == before
    with monkeypatch.context() as patch:
        patch.setattr(item_file, "made_by", lambda *modules: {"code": "edited"})
        patch.setattr(runner, "reproduce_item", never)
        with pytest.raises(AssertionError, match="finished"):
            runner.reproduce(tmp_path, ["figure4"])


def test_the_command_lists_and_refuses(tmp_path: Path) -> None:
    listed = command("--list")
    lines = [line.split()[0] for line in listed.stdout.splitlines() if line.startswith(" ")]
    assert (listed.exit_code, lines) == (0, list(ITEMS))
    unknown = command("--only", "figure33", "--out", str(tmp_path / "out"))
    assert unknown.exit_code == 2
    assert unknown.stderr.startswith(
        'Error: There is no "figure33" to reproduce. Did you mean "figure3"? Choose from: figure1, '
    )
    assert not (tmp_path / "out").exists()
    (tmp_path / "file").write_text("")
    assert command("--out", str(tmp_path / "file"), "--only", "figure4").exit_code == 2


@pytest.mark.parametrize("text", [None, "no marks", "a pipe", "without end"])
def test_a_bad_page_is_refused_before_anything_is_computed(tmp_path: Path, text: str | None) -> None:
    page = tmp_path / "README.md"
    if text == "a pipe":
        os.mkfifo(page)
    elif text == "without end":
        huge_file(page, 2**40)
    elif text is not None:
        page.write_text(text)
    with not_waiting_for_ever():
        refused = command("--only", "figure4", "--out", str(tmp_path / "out"), "--readme", str(page))
    assert refused.exit_code == 2
    assert refused.stderr.startswith(f"Error: --readme {page} ")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("paper", ["causal-clustering", "metastability"])
@pytest.mark.parametrize("what", ["pipe", "folder"])
def test_a_page_that_cannot_be_written_is_refused_before_anything_is_computed(
    tmp_path: Path, paper: str, what: str
) -> None:
    page = tmp_path / "README.md"
    page.write_text(f"{BEGIN}\n{END}\n")
    place = tmp_path / "docs" / page_of(PAPERS[paper])
    place.parent.mkdir(parents=True)
    os.mkfifo(place) if what == "pipe" else place.mkdir()
    with not_waiting_for_ever():
        refused = command("--paper", paper, "--out", str(tmp_path / "out"), "--readme", str(page))
    assert refused.exit_code == 2
    assert refused.stderr.startswith(f"Error: {place} cannot be written: it is ")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("quick", [False, True])
def test_full_and_quick_reproductions_do_not_share_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick: bool
) -> None:
    little("figure4", monkeypatch)
    runner.reproduce(tmp_path, ["figure4"], quick)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    refused = command("--only", "figure2", "--out", str(tmp_path), *["--quick"] * (not quick))
    assert refused.exit_code == 2
    other, this = ("quick", "full") if quick else ("full", "quick")
    assert (
        refused.stderr
        == f"Error: {tmp_path} holds a {other} reproduction, which a {this} one would replace. Choose another"
        " place with --out.\n"
    )
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_the_command_ends_with_the_verdicts_and_where_the_report_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    little("figure4", monkeypatch)
    done = command("--only", "figure4", "--out", str(tmp_path / "out"))
    assert done.exit_code == 0, done.output
    assert "figure4   agrees  Lemma A.1's lower and upper bound" in done.stdout
    assert done.stdout.splitlines()[-2:] == [
        f"report: {tmp_path / 'out' / 'report.html'}",
        f"numbers: {tmp_path / 'out' / 'results.json'}",
    ]
    assert "[1/1] Figure 4: the interaction function, about 1 s on two cores" in done.stderr
    again = command("--only", "figure4", "--out", str(tmp_path / "out"))
    assert "kept from before" in again.stderr
    assert again.stdout == done.stdout


def test_a_first_look_gives_a_report_of_everything_before_the_first_full_item(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted in the full version, the report has the quick one; the next call goes on from there."""
    slow = replace(find("figure4"), parameters=small("figure4"), quick={}, cost=Cost(1.0, 100.0))
    paper = replace(PAPERS["causal-clustering"], items={"figure4": "figure4"})
    monkeypatch.setattr(runner, "find", lambda name: slow)
    seen: list[dict[str, Any]] = []

    class Watch(runner._NoDisplay):
        def first_look(self, report: Path) -> None:
            seen.append(json.loads(report.with_name("results.json").read_text())["items"])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runner.reproduce(tmp_path, display=Watch(), paper=paper, first_look=True)
    assert seen[0]["figure4"]["first_look"]
    assert "First look." in (tmp_path / "report.html").read_text(encoding="utf-8")

    made: list[bool] = []
    make = runner.reproduce_item

    def counted(*words: Any) -> Any:
        made.append(words[3])  # quick
        return make(*words)

    monkeypatch.setattr(runner, "reproduce_item", counted)
    outcome = runner.reproduce(tmp_path, paper=paper, first_look=True)
    assert made == [False], "the quick version was kept"
    assert "first_look" not in outcome.results["items"]["figure4"]
    assert "Full run." in outcome.report.read_text(encoding="utf-8")


def test_ctrl_c_ends_the_command_with_130_and_the_same_command_goes_on(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "nucleate", "reproduce", "--only", "life", "--out", "out"]
    process = subprocess.Popen(
        words, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    pieces, deadline = (
        tmp_path / "out" / "data" / "life",
        time.monotonic() + 300.0,
    )  # to compile on a busy machine
    while not (pieces / "beta16-0000.zarr").is_dir() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert said.endswith(
        "Interrupted. What is finished is kept in out; the same command goes on from there.\n"
    )
    workspace = ItemWorkspace("life", pieces, find("life").parameters)
    workspace.dataset("beta16-0000", lambda: pytest.fail("it was finished"))
    assert [name.name for name in pieces.iterdir() if name.name.startswith(".")] == [], (
        "nothing half written is left"
    )


def test_every_paper_writes_a_report_of_its_own(tmp_path: Path) -> None:
    for name, paper in PAPERS.items():
        for folder in ("items", "figures"):
            (tmp_path / name / folder).mkdir(parents=True)
        outcome = runner.write_report(tmp_path / name, quick=True, paper=paper)
        assert outcome.report == tmp_path / name / "report.html"
        assert outcome.results["paper"] == paper.citation
        text = outcome.report.read_text(encoding="utf-8")
        assert f"<h1>{paper.title}, reproduced</h1>" in text
        assert f"arXiv {paper.arxiv}." in text


def test_only_finished_items_are_in_the_report(tmp_path: Path) -> None:
    for name in ("items", "figures"):
        (tmp_path / name).mkdir()
    (tmp_path / "items" / "figure4.json").write_text("{broken")
    outcome = runner.write_report(tmp_path, quick=True)
    assert outcome.results["items"] == {}
    assert "Quick run" in outcome.report.read_text(encoding="utf-8")
