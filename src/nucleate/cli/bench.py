"""`nucleate bench`: parse, measure, print. Heavy imports wait until a command needs them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nucleate.shell import polite

if TYPE_CHECKING:
    from nucleate.bench.table import Section
    from nucleate.bench.timing import Tell

__all__ = ["bench"]

bench = typer.Typer(
    help="Measure speed and accuracy beside other tools, in the same run.", no_args_is_help=True
)

ROUNDS, QUICK_ROUNDS = {"drift": 7, "batch": 3, "life": 3, "ensemble": 2}, 2
WIDTH = 120  # of tables that go to a file

Quick = Annotated[
    bool,
    typer.Option("--quick", help="Smaller systems and fewer rounds: to see that it works, not to quote."),
]
Json = Annotated[
    Path | None, typer.Option("--json", help="Write all numbers to this file.", show_default="none")
]
Threads = Annotated[
    int | None, typer.Option(help="Keep everyone to this many cores.", show_default="all cores")
]


@bench.callback()
def _group() -> None:
    """Measure speed and accuracy beside other tools, in the same run."""


@bench.command()
def drift(quick: Quick = False, json: Json = None, threads: Threads = None) -> None:
    """Velocities: pairs a second beside NumPy and JAX, and linear time on the circle up to a million
    tokens."""
    with _measuring("drift", json, threads) as tell:
        from nucleate.bench.drift import sections

        rounds = QUICK_ROUNDS if quick else ROUNDS["drift"]
        _show("drift", sections(quick, rounds, tell), rounds, json)


@bench.command()
def batch(
    runs: Annotated[int, typer.Option(help="How many runs of Figure 3; at most 16 with --quick.")] = 500,
    quick: Quick = False,
    json: Json = None,
    threads: Threads = None,
) -> None:
    """Whole runs: seconds and accuracy beside SciPy and diffrax, on the systems of the paper's Figures 3 and
    1."""
    with _measuring("batch", json, threads) as tell:
        from nucleate.bench.batch import sections

        rounds = QUICK_ROUNDS if quick else ROUNDS["batch"]
        _show("batch", sections(runs, quick, rounds, tell), rounds, json)


@bench.command()
def life(quick: Quick = False, json: Json = None, threads: Threads = None) -> None:
    """Whole lives to t = 1e60: seconds, ends and merge times beside LSODA, and the cost of a step up to 5000
    tokens."""
    with _measuring("life", json, threads) as tell:
        from nucleate.bench.life import sections

        rounds = QUICK_ROUNDS if quick else ROUNDS["life"]
        _show("life", sections(quick, rounds, tell), rounds, json)


@bench.command()
def ensemble(
    runs: Annotated[int, typer.Option(help="How many runs of Figure 3; at most 64 with --quick.")] = 5000,
    quick: Quick = False,
    json: Json = None,
    threads: Threads = None,
) -> None:
    """A whole ensemble, on the disk: its cost beyond the engine and beside SciPy and diffrax, threads against
    processes, memory."""
    with _measuring("ensemble", json, threads) as tell:
        from nucleate.bench.ensemble import sections

        rounds = QUICK_ROUNDS if quick else ROUNDS["ensemble"]
        _show("ensemble", sections(runs, quick, rounds, tell), rounds, json)


@contextmanager
def _measuring(command: str, json: Path | None, threads: int | None) -> Iterator["Tell"]:
    """Say on a terminal what is being measured; bad input ends with one line and exit code 2, Ctrl-C with
    130."""
    from rich.console import Console
    from rich.markup import escape

    with polite():
        from nucleate.bench.machine import only_cores
        from nucleate.bench.table import check_json

        check_json(json)
        # Seldom redrawn: drawing takes time from what is measured.
        with (
            only_cores(threads),
            Console(stderr=True).status(f"bench {command}", refresh_per_second=2) as status,
        ):
            yield lambda words: status.update(escape(words))


def _show(command: str, sections: Iterator["Section"], rounds: int, json: Path | None) -> None:
    """Print each table as it comes, then write the numbers."""
    from rich.console import Console

    from nucleate.bench.machine import facts
    from nucleate.bench.table import show, write_json

    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    machine = facts()
    console.print(
        ", ".join(f"{name} {value}" for name, value in machine.items()), markup=False, highlight=False
    )
    console.print(
        f"Times are the best of {rounds} rounds in which all take turns; the first call, compilation"
        " included, is apart.",
        highlight=False,
    )
    console.print("ratio = time of the other / time of nucleate.\n", highlight=False)
    done = []
    for section in sections:
        show(section, console)
        done.append(section)
    if json is not None:
        write_json(json, command, machine, rounds, done)
        console.print(f"wrote {json}", markup=False, highlight=False)
