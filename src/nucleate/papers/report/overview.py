"""The report in one page: every statement once, by whose it is and how it is known."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from nucleate.papers.core.item import Word

__all__ = ["GROUPS", "KINDS_OF_STATEMENT", "Statement", "anchor", "overview"]

GROUPS: tuple[tuple[str, tuple[Word, ...]], ...] = (
    (
        "Statements of the paper that are false, or have evidence against them",
        ("disagrees", "evidence against"),
    ),
    ("Statements of the paper that hold, as far as they were tried", ("agrees", "evidence for")),
    ("Ours, proved", ("contradicted", "proved")),
    ("Ours, tried by simulation", ("observed", "not observed", "undecided")),
    ("Not decided, or not claimed by the paper", ("not testable here", "no claim")),
)
SLIPS_ITEM = "slips"  # its statements are no claims of the paper: they stand in a group of their own
SLIPS_HEADING = "Slips of print: what is printed is not what is meant"

# at the top of the report on a paper
KINDS_OF_STATEMENT = (
    "Statements of the paper are in our words, with all their hypotheses, from our notes on arXiv {arxiv}."
    " What it proves, prints or draws *agrees* or *disagrees* with what is measured here; what it conjectures"
    " is given *evidence for* or *against*, and *disagrees* where a counterexample is certain; *not testable"
    " here* is what it states and we cannot decide, *no claim* what it does not speak of. Statements of ours"
    " are *proved* in the documentation and agree with what is measured here (else: *contradicted*); or they"
    " are *observed* or *not observed*, by the criterion given with each; where the criterion has a third"
    " word, *undecided*, the interval of a number has the bound in it, and nothing else fails."
)


class Statement(NamedTuple):
    """One verdict and the item it belongs to."""

    key: str
    title: str
    part: str
    word: Word
    why: str
    proof: str


def overview(items: Mapping[str, Any]) -> list[tuple[str, list[Statement]]]:
    """The statements of a report in groups, each in the order of its words, then of the report; empty groups
    are left out."""
    statements = [
        Statement(key, summary["title"], one["part"], one["word"], one["why"], one["proof"])
        for key, summary in items.items()
        for one in summary["verdicts"]
    ]
    slips = [one for one in statements if one.key == SLIPS_ITEM]
    groups = [
        (heading, [one for word in words for one in statements if one.word == word and one not in slips])
        for heading, words in GROUPS
    ]
    return [(heading, found) for heading, found in [*groups, (SLIPS_HEADING, slips)] if found]


def anchor(heading: str) -> str:
    """What a link to a heading of a page ends in."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
