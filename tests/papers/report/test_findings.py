"""What a report opens with says what the verdicts say now."""

from typing import Any

from nucleate.papers import DEFAULT, PAPERS
from nucleate.papers.core.numbers import exact
from nucleate.papers.core.paper import Finding, Paper
from nucleate.papers.report.findings import findings, opening_picture

FINDING = Finding("one", "tokens gather", "agrees", "They do, with {slope.value:.2f}.")
PAPER = Paper("", "", "", "nucleate.papers.none", {"one": "one"}, (FINDING,))


def items(word: str, **numbers: float) -> dict[str, Any]:
    verdict = {"part": "tokens gather everywhere", "word": word, "why": "", "proof": ""}
    measured = {name: exact(value, "").plain() for name, value in numbers.items()}
    return {"one": {"title": "One", "verdicts": [verdict], "numbers": measured, "figures": {"picture": ""}}}


def test_a_finding_is_told_only_while_its_verdict_stands() -> None:
    assert findings(PAPER, items("agrees", slope=-0.5))[0].words == "They do, with −0.50."
    flipped = findings(PAPER, items("disagrees", slope=-0.5))[0]
    assert (flipped.word, flipped.words) == ("disagrees", "tokens gather everywhere")
    assert findings(PAPER, items("agrees"))[0].words == "tokens gather everywhere"  # nothing measured
    assert findings(PAPER, {}) == []


def test_every_finding_of_the_first_paper_names_a_statement_and_a_word_it_can_have(
    results: dict[str, Any],
) -> None:
    paper = PAPERS[DEFAULT]
    assert [one.key for one in findings(paper, results["items"])] == [one.key for one in paper.findings]
    assert 3 <= len(paper.findings) <= 5
    assert opening_picture(paper, results["items"]) == ("life", "life")


def test_a_paper_without_findings_opens_with_its_first_statements(results: dict[str, Any]) -> None:
    paper = Paper("", "", "", "nucleate.papers.none", {})
    found = findings(paper, results["items"])
    assert len(found) == 5
    assert {one.word for one in found} <= {"disagrees", "evidence against"}
    assert opening_picture(paper, {}) is None
