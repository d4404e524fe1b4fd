"""What the scripts of this folder share: their command line, the cost that is said first, the lock of the
folder that they write into, what they found, and how they end.

    python studies/SCRIPT.py OUT [RUNS]

Exit code 0: done, whatever the verdicts.  2: bad input.  130: interrupted.
"""

import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from nucleate.checks import InputError, whole_number
from nucleate.cli.progress import ProgressBar
from nucleate.papers.core.item import Item, Parameters, Verdict
from nucleate.papers.core.numbers import Number, from_plain
from nucleate.papers.core.runner import reproduce_item
from nucleate.studies.durable_files import locked

__all__ = [
    "Runs",
    "arguments",
    "ending",
    "item_runs",
    "make_in",
    "run_script",
    "starts_asked",
    "tell",
    "warn",
    "with_out",
]

BAD_INPUT, INTERRUPTED = 2, 130  # exit codes, as of the commands of nucleate


class Runs(NamedTuple):
    """Runs that a script can make."""

    cost: str
    make: Callable[[Path], None]  # in a folder that is there, and nobody else's


def run_script(doc: str | None, runs: Mapping[str, Runs], words: Sequence[str]) -> None:
    """The whole of a script that is called with these words: OUT and, where there are several, one of the
    runs, of which the first is the usual one."""
    line, usual = with_out(doc), next(iter(runs))
    if len(runs) > 1:
        line.add_argument("runs", nargs="?", choices=list(runs), default=usual, help=f"usually {usual}")
    asked = line.parse_args(words)
    make_in(asked.out, runs[getattr(asked, "runs", usual)])


def arguments(doc: str | None) -> ArgumentParser:
    """A command line whose help is the script's docstring."""
    return ArgumentParser(description=doc, formatter_class=RawDescriptionHelpFormatter)


def with_out(doc: str | None) -> ArgumentParser:
    """The same for a script that takes OUT."""
    line = arguments(doc)
    line.add_argument("out", metavar="OUT", type=Path, help="a folder of yours, in which all is kept")
    return line


def starts_asked(doc: str | None, words: Sequence[str], usual: int, least: int, help: str) -> int:
    """The number of starts, of a script that takes nothing else."""
    line = arguments(doc)
    line.add_argument("starts", metavar="STARTS", nargs="?", type=int, default=usual, help=f"usually {usual}")
    return whole_number("STARTS", line.parse_args(words).starts, least=least, help=help)


def make_in(out: Path, runs: Runs) -> None:
    """Say what the runs cost, and make what is not there yet."""
    kept = f"What is finished is kept in {out}; the same command goes on from there."
    with ending(kept), locked(out, "a study"):
        print(f"About {runs.cost}, less what {out} has already.", flush=True)
        runs.make(out)


@contextmanager
def ending(kept: str) -> Iterator[None]:
    """Bad input ends with one line, and Ctrl-C with one that says what is kept."""
    try:
        yield
    except InputError as error:
        sys.stderr.write(f"Error: {' '.join(str(error).split())}\n")
        sys.exit(BAD_INPUT)
    except MemoryError:
        sys.stderr.write("Error: This does not fit into memory. Close other programs.\n")
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:
        sys.stderr.write(f"Interrupted. {kept}\n")
        sys.exit(INTERRUPTED)


def item_runs(item: Item, changes: Parameters) -> Callable[[Path], None]:
    """An item of a report with some other parameters: its data, numbers and figures."""

    def make_item(out: Path) -> None:
        for folder in ("figures", "data", "items"):
            (out / folder).mkdir(exist_ok=True)
        with ProgressBar(item.key) as progress:
            p = {**item.parameters, **changes}
            summary = reproduce_item(out, item, p, progress=progress, tell=warn)
        tell(
            [from_plain(number) for number in summary["numbers"].values()],
            [
                Verdict(one["part"], one["word"], one["why"], one.get("proof", ""))
                for one in summary["verdicts"]
            ],
        )

    return make_item


def warn(words: str) -> None:
    """Of damage that was found."""
    sys.stderr.write(f"Warning: {words}\n")


def tell(numbers: Iterable[Number], verdicts: Iterable[Verdict]) -> None:
    """Every number, then every verdict."""
    for number in numbers:
        print(f"{number.about}: {number}")
    for verdict in verdicts:
        print(f"{verdict.word}: {verdict.part}. {verdict.why}.", flush=True)
