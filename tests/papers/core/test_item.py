"""What every item is: it tells all that the report needs, and is judged by its worst verdict."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.small_items import (
    SMALL,
    made,
    words_with,
)

from nucleate.papers import ITEMS, find
from nucleate.papers.core.item import KINDS, WORDS, Verdict, headline
from nucleate.papers.report.overview import GROUPS, anchor

DOCS = Path(__file__).resolve().parents[3] / "docs"
GOOD_WORDS = {"agrees", "evidence for", "proved", "observed", "undecided", "not testable here", "no claim"}
# what an item is there to find
EXPECTED_BAD_WORDS: dict[str, set[str]] = {
    "conjecture1": {"disagrees", "not observed"},
    "capture": {"not observed"},
    "clouds": {"not observed"},
    "cluster-counts": {"not observed"},
    "law": {"not observed"},
    "lemma5.1": {"not observed"},
    "lifetimes": {"not observed"},  # at exponents as small as here the slope is not 1
    "merge-order": {"not observed"},
    "predicted-merges": {"not observed"},
    "sink-survival": {"not observed"},  # two starts and two ingredients say nothing
    "causal-front": {"not observed"},
    "slips": {"disagrees"},
    "table1": {"disagrees", "evidence against", "not observed"},
}


def verdict_of(word: Any) -> Verdict:
    return Verdict("", word, "", "page.md#heading" if word in KINDS["ours, proved"] else "")


@pytest.mark.parametrize("key", list(ITEMS))
def test_every_item_tells_all_that_the_report_needs(key: str) -> None:
    one = find(key)
    assert all(
        [one.title, one.source, one.statement, one.parameters, one.choices, one.criteria, one.captions]
    )
    assert set(one.quick) <= set(one.parameters)
    json.dumps(dict(one.parameters))
    figures = made(key).item.draw(made(key).data, made(key).numbers, made(key).p)
    assert list(figures) == list(one.captions)
    assert len(one.captions[next(iter(figures))]) > 40


def test_every_item_has_small_parameters_for_these_tests() -> None:
    assert set(SMALL) == set(ITEMS)


@pytest.mark.parametrize("key", list(ITEMS))
def test_no_verdict_is_bad_with_the_data_as_they_are(key: str) -> None:
    found = made(key)
    verdicts = found.item.verdicts(found.numbers, found.p)
    assert {verdict.word for verdict in verdicts} <= GOOD_WORDS | EXPECTED_BAD_WORDS.get(key, set()), verdicts
    assert all(verdict.why and verdict.part for verdict in verdicts)


@pytest.mark.parametrize("key", list(ITEMS))
def test_what_is_called_proved_has_its_proof_in_the_documentation(key: str) -> None:
    for verdict in made(key).item.verdicts(made(key).numbers, made(key).p):
        if verdict.proof:
            page, heading = verdict.proof.split("#")
            headings = re.findall(r"^#+ (.*)$", (DOCS / page).read_text(encoding="utf-8"), flags=re.M)
            assert heading in map(anchor, headings), f"{verdict.part}: no heading {verdict.proof}"


@pytest.mark.parametrize("key", list(ITEMS))
def test_nothing_of_ours_stands_in_the_paper_s_statement(key: str) -> None:
    found = made(key)
    assert not re.search(r"\bours?\b|\bwe\b", found.item.statement.lower())
    for verdict in found.item.verdicts(found.numbers, found.p):
        assert "(ours" not in verdict.part, "the word says whose it is"


def test_every_word_is_of_one_kind_and_in_one_group_of_the_report() -> None:
    assert sorted(word for words in KINDS.values() for word in words) == sorted(WORDS)
    assert sorted(word for _, words in GROUPS for word in words) == sorted(WORDS)
    assert Verdict("", "observed", "").kind == "ours, observed"
    assert Verdict("", "proved", "", "page.md#heading").kind == "ours, proved"
    for word, proof in (("proved", ""), ("agrees", "page.md#heading")):
        with pytest.raises(AssertionError, match="but the proof"):
            Verdict("", word, "", proof)  # type: ignore[arg-type]  # plain texts


def test_the_headline_is_the_worst_then_the_most_cautious() -> None:
    def judged(*words: Any) -> str:
        return headline(tuple(verdict_of(word) for word in words))

    assert judged("agrees", "disagrees", "evidence for") == "disagrees"
    assert judged("agrees", "evidence for", "not testable here") == "evidence for"
    assert judged("agrees", "not testable here") == "agrees"
    assert {judged(word) for word in WORDS} == set(WORDS)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("life", ["agrees", "observed", "observed"]),
        ("lemma3.1", ["agrees", "agrees", "proved", "proved"]),
        ("theorem4.1", ["agrees", "proved", "observed"]),
        # the third is observed with all ensembles: 16 runs of one leave the two powers too uncertain
        ("lemma5.1", ["agrees", "proved", "not observed", "observed", "observed"]),
        ("theorem5.2", ["agrees", "agrees", "observed", "observed"]),
        ("lemma5.3", ["agrees", "agrees", "proved", "proved"]),
        ("lemmaA.1", ["agrees", "agrees", "agrees", "agrees", "proved"]),
        ("slips", ["disagrees"] * 5),
        # the fifth is observed with a thousand runs of every family: the interval of ten reaches below 1 %
        (
            "conjecture1",
            ["disagrees", "disagrees", "proved", "proved", "not observed", "observed", "no claim"],
        ),
        ("conjecture2", ["evidence for"] * 2 + ["proved"] * 3 + ["observed"]),
        ("lemmaC.1", ["agrees", "proved", "proved", "observed"]),
        ("law", ["agrees", "evidence for", "not observed", "observed"]),
        ("dimension", ["evidence for", "evidence for", "observed", "observed"]),
        # the second is observed with a million tokens: among fewer the first ones, which are no small
        # perturbation, count for more
        ("capture", ["proved", "not observed", "observed"]),
    ],
)
def test_the_small_items_come_out_as_the_large_ones_do(key: str, words: list[str]) -> None:
    assert words_with(key) == words
