"""`nucleate bench`: parse, measure, print. Heavy imports wait until they are needed."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nucleate.cli.errors import Command, Group, friendly_errors
from nucleate.cli.options import Quiet
from nucleate.cli.progress import ProgressBar

if TYPE_CHECKING:
    from nucleate.bench.table import Section

__all__ = ["bench"]

bench = typer.Typer(
    cls=Group, help="Measure speed and accuracy beside other tools, in the same run.", no_args_is_help=True
)

ROUNDS, QUICK_ROUNDS = (
    {"drift": 7, "batch": 3, "life": 3, "ensemble": 2, "gpu": 3, "family": 3, "trace": 3},
    2,
)
TABLE_WIDTH = 120  # characters, where tables do not go to a terminal

Quick = Annotated[
    bool,
    typer.Option("--quick", help="Smaller systems and fewer rounds: to see that it works, not to quote."),
]
Out = Annotated[
    Path | None, typer.Option(help="Write all numbers here: a name that ends in .json.", show_default="none")
]
Cores = Annotated[
    int | None, typer.Option(help="Keep everyone to this many cores.", show_default="all cores")
]


@bench.callback()
def _group() -> None:
    """Measure speed and accuracy beside other tools, in the same run."""


@bench.command(cls=Command)
def drift(quick: Quick = False, out: Out = None, threads: Cores = None, quiet: Quiet = False) -> None:
    """Velocities: pairs a second beside NumPy and JAX; linear time in d = 2, 3 and 4, to a million tokens."""
    _measure("drift", [], quick, out, threads, quiet)


@bench.command(cls=Command)
def batch(
    runs: Annotated[
        int | None,
        typer.Option(
            help="How many runs; fewer with --quick.", show_default="500 of Figure 3; 24 in larger dimension"
        ),
    ] = None,
    dimension: Annotated[
        int, typer.Option("--dimension", "-d", help="2 is the circle: the systems of Figures 3 and 1.")
    ] = 2,
    quick: Quick = False,
    out: Out = None,
    threads: Cores = None,
    quiet: Quiet = False,
) -> None:
    """Whole runs: seconds and accuracy beside SciPy and diffrax, of Figures 3 and 1 or on spheres."""
    _measure("batch", [runs, dimension], quick, out, threads, quiet)


@bench.command(cls=Command)
def life(quick: Quick = False, out: Out = None, threads: Cores = None, quiet: Quiet = False) -> None:
    """Whole lives to t = 1e60: seconds, ends and merge times beside LSODA; the cost of a step."""
    _measure("life", [], quick, out, threads, quiet)


@bench.command(cls=Command)
def ensemble(
    runs: Annotated[int, typer.Option(help="How many runs of Figure 3; at most 64 with --quick.")] = 5000,
    quick: Quick = False,
    out: Out = None,
    threads: Cores = None,
    quiet: Quiet = False,
) -> None:
    """Whole ensembles, on the disk: seconds beside the bare engine, SciPy and diffrax; processes; memory."""
    _measure("ensemble", [runs], quick, out, threads, quiet)


@bench.command(cls=Command)
def family(quick: Quick = False, out: Out = None, threads: Cores = None, quiet: Quiet = False) -> None:
    """Heads, norms, positions, layers: seconds and accuracy beside diffrax and torch; the cost of a block."""
    _measure("family", [], quick, out, threads, quiet)


@bench.command(cls=Command)
def gpu(
    runs: Annotated[int, typer.Option(help="How many runs of Figure 3; at most 64 with --quick.")] = 5000,
    quick: Quick = False,
    out: Out = None,
    threads: Cores = None,
    quiet: Quiet = False,
) -> None:
    """On an NVIDIA card: runs, velocities, one large system and a study, beside diffrax and torch."""
    _measure("gpu", [runs], quick, out, threads, quiet)


@bench.command(cls=Command)
def trace(
    model: Annotated[
        Path | None,
        typer.Option(help="A Llama: a folder or a file.", show_default="random, as large as SmolLM2-135M"),
    ] = None,
    quick: Quick = False,
    out: Out = None,
    threads: Cores = None,
    quiet: Quiet = False,
) -> None:
    """Hidden states of 1,000 tokens: seconds and accuracy beside the transformers library."""
    _measure("trace", [model], quick, out, threads, quiet)


def _measure(
    command: str,
    sizes: Sequence[int | Path | None],
    quick: bool,
    out: Path | None,
    threads: int | None,
    quiet: bool,
) -> None:
    """Measure and show; bad input ends with one line and exit code 2, Ctrl-C with 130."""
    with friendly_errors():
        from nucleate.bench.machine import only_cores
        from nucleate.bench.table import check_json

        check_json(out)  # before what takes long to load
        from nucleate.bench import batch, drift, ensemble, family, gpu, life, trace

        benches: dict[str, Callable[..., Iterator[Section]]] = {
            "drift": drift.sections,
            "batch": batch.sections,
            "life": life.sections,
            "ensemble": ensemble.sections,
            "gpu": gpu.sections,
            "family": family.sections,
            "trace": trace.sections,
        }
        rounds = QUICK_ROUNDS if quick else ROUNDS[command]
        with only_cores(threads), ProgressBar(f"bench {command}", quiet) as progress:
            _show(command, benches[command](*sizes, quick, rounds, progress.say), rounds, out, progress)


def _show(
    command: str, sections: Iterator["Section"], rounds: int, out: Path | None, progress: ProgressBar
) -> None:
    """Print each table as it comes, then write the numbers."""
    from rich.console import Console

    from nucleate.bench.machine import facts
    from nucleate.bench.table import show, write_json

    console = Console(quiet=progress.quiet)
    if not console.is_terminal:
        console = Console(width=TABLE_WIDTH, quiet=progress.quiet)
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
        progress.stop()  # a bar and a table would write over each other
        show(section, console)
        progress.start()
        done.append(section)
    if out is not None:
        write_json(out, command, machine, rounds, done)
        console.print(f"wrote {out}", markup=False, highlight=False)
