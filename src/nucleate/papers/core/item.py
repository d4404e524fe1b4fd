"""What every figure, table and claim of a paper is here: one record of the same shape, made once in the
item.py of its folder.

    run(workspace)          simulates, and keeps what it needs on the disk
    measure(data, p)        numbers with their uncertainty
    verdicts(numbers, p)    what they say about the paper, by the criteria that stand in the record
    draw(data, numbers, p)  pictures, in whatever style is set
    slips(numbers)          what is misprinted in the paper, and how we know

p are the parameters; `measure`, `verdicts`, `draw` and `slips` are pure.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from nucleate.papers.core.numbers import Number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from nucleate.papers.core.cache import ItemWorkspace

__all__ = ["WORDS", "Data", "Item", "Numbers", "Parameters", "Slip", "Verdict", "Word", "headline"]

Word = Literal["agrees", "disagrees", "evidence for", "evidence against", "not testable here"]
# the first one found is the headline
WORDS: tuple[Word, ...] = ("disagrees", "evidence against", "evidence for", "agrees", "not testable here")

Parameters = Mapping[str, Any]
Data = Mapping[str, Any]  # runs and datasets by name
Numbers = Mapping[str, Number]


@dataclass(frozen=True)
class Verdict:
    """What the measured numbers say about one statement of the paper."""

    part: str  # which statement
    word: Word
    why: str


@dataclass(frozen=True)
class Slip:
    """A slip in the print."""

    printed: str
    right: str
    evidence: str


@dataclass(frozen=True)
class Item:
    """One figure, table or claim."""

    key: str
    title: str
    statement: str  # the paper's, in our words
    parameters: Parameters
    quick: Parameters  # what --quick changes
    choices: tuple[str, ...]  # what was left to us, and how we chose
    criteria: str  # of the verdicts
    captions: Mapping[str, str]  # of the pictures, by name; their order is that of the report
    run: Callable[["ItemWorkspace"], Data]
    measure: Callable[[Data, Parameters], Numbers]
    verdicts: Callable[[Numbers, Parameters], tuple[Verdict, ...]]
    draw: Callable[[Data, Numbers, Parameters], "Mapping[str, Figure]"]
    slips: Callable[[Numbers], tuple[Slip, ...]] = lambda numbers: ()
    user_file: Callable[[], str] = lambda: ""  # identifies a file of the user's that it depends on

    def parameters_of(self, quick: bool) -> dict[str, Any]:
        """The parameters of a full or a quick run."""
        return {**self.parameters, **(self.quick if quick else {})}

    def command(self, quick: bool) -> str:
        """What redoes it alone."""
        return f"nucleate reproduce --only {self.key}" + " --quick" * quick

    def summary(self, numbers: Numbers, p: Parameters, quick: bool) -> dict[str, Any]:
        """Everything but the pictures, as plain data for results.json."""
        verdicts = self.verdicts(numbers, p)
        return {
            "title": self.title,
            "statement": self.statement,
            "parameters": dict(p),
            "choices": list(self.choices),
            "criteria": self.criteria,
            "numbers": {name: number.plain() for name, number in numbers.items()},
            "verdict": headline(verdicts),
            "verdicts": [asdict(verdict) for verdict in verdicts],
            "slips": [asdict(slip) for slip in self.slips(numbers)],
            "figures": {name: self.captions[name] for name in self.captions},
            "command": self.command(quick),
        }


def headline(verdicts: tuple[Verdict, ...]) -> Word:
    """One word for all: the worst, then the most cautious."""
    found = {verdict.word for verdict in verdicts}
    return next(word for word in WORDS if word in found)
