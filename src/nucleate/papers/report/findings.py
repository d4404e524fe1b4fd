"""What a report opens with: a few findings with their numbers, and one picture."""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from nucleate.papers.core.item import Word
from nucleate.papers.core.numbers import Number, from_plain
from nucleate.papers.core.paper import Finding, Paper
from nucleate.papers.report.overview import overview

__all__ = ["MAX_FINDINGS", "FoundStatement", "findings", "opening_picture"]

MAX_FINDINGS = 5


class FoundStatement(NamedTuple):
    """One finding in words, with the verdict it rests on and the item it belongs to."""

    key: str
    title: str
    word: Word
    words: str


def findings(paper: Paper, items: Mapping[str, Any]) -> list[FoundStatement]:
    """The findings of a paper whose items are there; of a paper without any, its first statements."""
    if not paper.findings:
        first = [one for _, statements in overview(items) for one in statements][:MAX_FINDINGS]
        return [FoundStatement(one.key, one.title, one.word, one.part) for one in first]
    return [_found(one, items[one.key]) for one in paper.findings if one.key in items]


def _found(finding: Finding, summary: Mapping[str, Any]) -> FoundStatement:
    (verdict,) = [one for one in summary["verdicts"] if one["part"].startswith(finding.statement)]
    numbers: dict[str, Number] = {name: from_plain(plain) for name, plain in summary["numbers"].items()}
    words = verdict["part"]
    if verdict["word"] == finding.word:
        with suppress(KeyError):  # other parameters may measure other numbers
            words = re.sub(r"-(?=\d)", "−", finding.words.format_map(numbers))
    return FoundStatement(finding.key, summary["title"], verdict["word"], words)


def opening_picture(paper: Paper, items: Mapping[str, Any]) -> tuple[str, str] | None:
    """The key of the item and the name of the picture that the report opens with; None while it is not
    there."""
    for key, summary in items.items():
        for name in summary["figures"]:
            if name == paper.picture or not paper.picture:
                return key, name
    return None
