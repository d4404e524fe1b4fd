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
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nucleate.papers import DEFAULT, paper_of
from nucleate.papers.core.numbers import Number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from nucleate.papers.core.cache import ItemWorkspace

__all__ = [
    "KINDS",
    "WORDS",
    "Cost",
    "Data",
    "Item",
    "Kind",
    "Numbers",
    "Parameters",
    "Slip",
    "Verdict",
    "Word",
    "headline",
]

Word = Literal[
    "agrees",  # a theorem, figure or number of the paper, and what is measured here
    "disagrees",
    "evidence for",  # a conjecture of the paper
    "evidence against",
    "not testable here",  # stated by the paper, but not to be decided with what is here
    "no claim",  # the paper states nothing; what is measured is only described
    "proved",  # by us, in docs/, and what is measured is as it says
    "contradicted",  # what is measured is not as our proof says: one of the two is wrong
    "observed",  # by us, by the criterion that was written down before
    "not observed",
    "undecided",  # not observed, but no part fails by a whole interval: one has the bound in it
]
Kind = Literal["the paper's", "ours, proved", "ours, observed"]
KINDS: Mapping[Kind, tuple[Word, ...]] = {
    "the paper's": (
        "agrees",
        "disagrees",
        "evidence for",
        "evidence against",
        "not testable here",
        "no claim",
    ),
    "ours, proved": ("proved", "contradicted"),
    "ours, observed": ("observed", "not observed", "undecided"),
}
# the first one found is the headline
WORDS: tuple[Word, ...] = (
    "disagrees",
    "contradicted",
    "evidence against",
    "not observed",
    "undecided",
    "evidence for",
    "observed",
    "agrees",
    "proved",
    "not testable here",
    "no claim",
)

Parameters = Mapping[str, Any]
Data = Mapping[str, Any]  # runs and datasets by name
Numbers = Mapping[str, Number]


@dataclass(frozen=True)
class Verdict:
    """What the measured numbers say about one statement: its word tells whether the statement is the paper's
    or ours, and if ours, whether it is proved or observed."""

    part: str  # the statement, to be read without the rest of the item
    word: Word
    why: str
    proof: str = ""  # of ours: page and heading in docs/, as in "conjectures.md#symmetric-v"

    def __post_init__(self) -> None:
        assert bool(self.proof) == (self.kind == "ours, proved"), f"{self.word}, but the proof: {self.proof}"

    @property
    def kind(self) -> Kind:
        """Whose statement it is, and how it is known if it is ours."""
        return next(kind for kind, words in KINDS.items() if self.word in words)


@dataclass(frozen=True)
class Slip:
    """A slip in the print."""

    printed: str
    right: str
    evidence: str


class Cost(NamedTuple):
    """The seconds that an item takes on two idle cores, measured."""

    quick: float
    full: float

    def of(self, quick: bool) -> float:
        """Of a full or a quick run."""
        return self.quick if quick else self.full


@dataclass(frozen=True)
class Item:
    """One figure, table or claim."""

    key: str
    title: str
    cost: Cost
    source: str  # where the paper speaks of it
    statement: str  # the paper's, in our words, with all its hypotheses and nothing of ours
    parameters: Parameters
    quick: Parameters  # what --quick changes
    choices: tuple[str, ...]  # what was left to us, and how we chose
    criteria: str  # of the verdicts
    captions: Mapping[str, str]  # of the pictures, by name; their order is that of the report
    run: Callable[["ItemWorkspace"], Data]
    measure: Callable[[Data, Parameters], Numbers]
    verdicts: Callable[[Numbers, Parameters], tuple[Verdict, ...]]
    draw: Callable[[Data, Numbers, Parameters], "Mapping[str, Figure]"]
    ours: str = ""  # what we ask or state beyond the paper
    slips: Callable[[Numbers], tuple[Slip, ...]] = lambda numbers: ()
    user_file: Callable[[], str] = lambda: ""  # identifies a file of the user's that it depends on

    def parameters_of(self, quick: bool) -> dict[str, Any]:
        """The parameters of a full or a quick run."""
        return {**self.parameters, **(self.quick if quick else {})}

    def command(self, quick: bool) -> str:
        """What redoes it alone."""
        paper = paper_of(self.key).name
        named = f" --paper {paper}" * (paper != DEFAULT)
        return f"nucleate reproduce{named} --only {self.key}" + " --quick" * quick

    def summary(self, numbers: Numbers, p: Parameters, quick: bool) -> dict[str, Any]:
        """Everything but the pictures, as plain data for results.json."""
        verdicts = self.verdicts(numbers, p)
        return {
            "title": self.title,
            "source": self.source,
            "statement": self.statement,
            "ours": self.ours,
            "parameters": dict(p),
            "choices": list(self.choices),
            "criteria": self.criteria,
            "numbers": {name: number.plain() for name, number in numbers.items()},
            "verdict": headline(verdicts),
            "verdicts": [{**asdict(verdict), "kind": verdict.kind} for verdict in verdicts],
            "slips": [asdict(slip) for slip in self.slips(numbers)],
            "figures": {name: self.captions[name] for name in self.captions},
            "command": self.command(quick),
            "seconds": self.cost.of(quick),
        }


def headline(verdicts: tuple[Verdict, ...]) -> Word:
    """One word for all: the worst, then the most cautious."""
    found = {verdict.word for verdict in verdicts}
    return next(word for word in WORDS if word in found)
