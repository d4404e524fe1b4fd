"""`nucleate reproduce`: its list, its lines of progress, and what it refuses; tests/papers has the rest."""

from collections.abc import Generator, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.command_line import nucleate

from nucleate.papers import DEFAULT, ITEMS, PAPERS
from nucleate.papers.core import runner


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What `reproduce` is asked for; it tells of an item that was made and of one that was kept."""
    calls: list[Any] = []

    def reproduce(
        out: Path, only: Iterable[str], quick: bool, watch: Any, tell: Any, paper: Any, first_look: bool
    ) -> Generator[SimpleNamespace, None, None]:
        calls.append((out, list(only), quick, watch, first_look))
        assert set(only) <= set(paper.items)
        if watch is not None:
            watch.stage(2, "")
            for kept in (False, True):
                watch.begin("figure4", "Figure 4", 40.2)
                watch.at("figure4", 0.5)
                watch.end("figure4", {"verdict": "agrees"}, 1.25, kept)
        verdict = {"word": "agrees", "part": "the part"}
        items = {key: {"verdicts": [verdict]} for key in ITEMS}
        made = SimpleNamespace(report=out / "report.html", results={"items": items})
        if first_look:
            yield made
            calls.append((out, "in full"))
        yield made

    monkeypatch.setattr(runner, "reproduce_in_stages", reproduce)
    return calls


def test_it_lists_what_there_is_and_refuses_the_rest() -> None:
    for words in ([], ["--quiet"]):
        listed = nucleate("reproduce", "--list", *words)
        names = [line.split()[0] for line in listed.stdout.splitlines()]
        expected = [name for paper in PAPERS.values() for name in (f"{paper.name}:", *paper.items)]
        assert (listed.exit_code, names) == (0, expected)
    of_one = nucleate("reproduce", "--list", "--paper", DEFAULT, "--only", "figure4")
    assert of_one.stdout.splitlines() == [
        (
            "causal-clustering: Clustering in Causal Attention Masking, arXiv 2411.04990; about 1 s on two"
            " cores, quick about 1 s"
        ),
        "  figure4   about 1 s, quick about 1 s      Figure 4: the interaction function",
    ]
    unknown = nucleate("reproduce", "--only", "figure99")
    assert (unknown.exit_code, unknown.stdout) == (2, "")
    assert unknown.stderr.startswith("Error: ")
    assert "figure99" in unknown.stderr
    unknown = nucleate("reproduce", "--paper", "causal-clusterin", "--list")
    assert (unknown.exit_code, unknown.stdout) == (2, "")
    assert unknown.stderr.startswith(
        'Error: There is no paper "causal-clusterin" to reproduce. Did you mean "causal-clustering"? Choose'
    )
    Path("reproduction").write_text("a file")
    refused = nucleate("reproduce", "--only", "figure4")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr.startswith("Error: reproduction ")


def test_a_line_says_where_it_is_and_the_table_comes_last(asked: list[Any]) -> None:
    done = nucleate("reproduce", "--only", "figure4,figure3", "--quick")
    assert done.exit_code == 0, done.output
    assert asked[0][:3] == (Path("reproduction-quick"), ["figure3", "figure4"], True)
    assert done.stderr.splitlines() == [
        "[1/2] Figure 4, about 40 s on two cores",
        "      agrees, 1.2 s",
        "[2/2] Figure 4, about 40 s on two cores",
        "      agrees, kept from before",
    ]
    assert done.stdout.splitlines() == [
        "",
        "figure3   agrees  the part",
        "figure4   agrees  the part",
        "",
        "report: reproduction-quick/report.html",
        "numbers: reproduction-quick/results.json",
    ]


def test_quiet_says_nothing(asked: list[Any]) -> None:
    done = nucleate("reproduce", "--out", "mine", "--quiet")
    assert (done.exit_code, done.output) == (0, "")
    assert asked == [
        (Path("mine"), list(PAPERS[DEFAULT].items), False, None, True),
        (Path("mine"), "in full"),
    ]


def test_quick_versions_come_first_unless_items_are_named(asked: list[Any]) -> None:
    done = nucleate("reproduce")
    assert done.stderr.startswith(
        "21 items, with a first report of all after about 3 min: about 25 min on two"
    )
    assert asked[-2][-1]
    for words in (["--only", "figure4"], ["--quick"]):
        nucleate("reproduce", *words)
        assert not asked[-1][-1]


def test_every_other_paper_has_a_folder_of_its_own(asked: list[Any]) -> None:
    done = nucleate("reproduce", "--paper", "all", "--quick", "--quiet")
    assert done.exit_code == 0, done.output
    first, *others = PAPERS.values()
    assert [call[:2] for call in asked] == [
        (Path("reproduction-quick"), list(first.items)),
        *((Path("reproduction-quick") / paper.name, list(paper.items)) for paper in others),
    ]


def test_the_first_look_of_every_paper_comes_before_any_is_made_in_full(asked: list[Any]) -> None:
    done = nucleate("reproduce", "--paper", "all", "--quiet")
    assert done.exit_code == 0, done.output
    in_full = [call[1] == "in full" for call in asked]
    assert in_full == [False] * len(PAPERS) + [True] * len(PAPERS)
    assert [call[0] for call in asked[: len(PAPERS)]] == [call[0] for call in asked[len(PAPERS) :]]
