"""`nucleate spectra` and `nucleate convert`: parse, call one function, print.  Heavy imports wait until they
are needed."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nucleate.shell import polite

if TYPE_CHECKING:
    from nucleate.models.spectra import Spectra

    Progress = Callable[[int, int], object]
    Writer = Callable[[Spectra, Path, Progress], None]

__all__ = ["convert", "spectra_command"]

EVERY = 5.0  # seconds between two lines where there is no terminal
MOST_LINES = 100  # heads up to which all are listed


def spectra_command(write: "Writer") -> Callable[..., None]:
    """The command `nucleate spectra`; `write` puts what was found into a file or folder (pictures are drawn
    in a later room)."""

    def spectra(
        path: Annotated[
            Path,
            typer.Argument(
                help="A checkpoint: its folder, or its .safetensors or .gguf file.", show_default=False
            ),
        ],
        out: Annotated[
            list[Path] | None,
            typer.Option(
                help=(
                    "Write here: all numbers (.json), one line per head (.csv), a page (.html), the map of"
                    " all heads (.png, .pdf, .svg), "
                    "or a folder with all of these and a picture per layer (no ending). May be repeated."
                ),
                show_default="nothing",
            ),
        ] = None,
        mapping: Annotated[
            str | None,
            typer.Option(
                help=(
                    "For an unknown architecture: a .toml file that names its tensors, or a known one it is"
                    " like."
                ),
                show_default="recognised",
            ),
        ] = None,
        draws: Annotated[
            int, typer.Option(help="Heads drawn at random initialisation, to compare with.")
        ] = 256,
        seed: Annotated[
            int, typer.Option(help="Seed of these draws, and of the start of --live; at least 0.")
        ] = 0,
        live: Annotated[
            bool,
            typer.Option(
                "--live",
                help="Also simulate every head alone, and say what happened beside what Table 1 says.",
            ),
        ] = False,
        tokens: Annotated[
            int | None, typer.Option("--tokens", "-n", help="Number of tokens of --live.", show_default="64")
        ] = None,
        heads: Annotated[
            bool,
            typer.Option("--heads", help=f"List every head, also where there are more than {MOST_LINES}."),
        ] = False,
        quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
    ) -> None:
        """Put every attention head of a model into the atlas of Table 1: spectrum of its value matrix,
        effective beta.

        Exit code 0: done. 2: bad input, such as a file that cannot be trusted. 130: interrupted.
        """
        with polite("Close other programs.", one_line=False):
            from nucleate.checks import InputError
            from nucleate.models.spectra import spectra as read
            from nucleate.models.table import check_out

            if tokens is not None and not live:
                raise InputError("--tokens is given, but without --live nothing is simulated. Add --live.")
            targets = [check_out(one) for one in out or []]
            began = time.perf_counter()
            with _progress("heads", quiet) as progress:
                found = read(path, mapping, draws=draws, seed=seed, progress=progress)
            if live:
                from nucleate.models.all_heads import DEFAULT_TOKENS, simulate_all_heads

                with _progress("heads simulated", quiet) as progress:
                    outcomes = simulate_all_heads(
                        path, DEFAULT_TOKENS if tokens is None else tokens, None, seed, mapping, progress
                    )
                found = replace(found, outcomes=outcomes)
            for target in targets:
                with _progress("pictures", quiet) as progress:
                    write(found, target, progress)
            if not quiet:
                _tell(found, heads)
                typer.echo(
                    f"\ntook {time.perf_counter() - began:.1f} s"
                    + (f"; wrote {', '.join(map(str, targets))}" if targets else "")
                )

    return spectra


def convert(
    source: Annotated[Path, typer.Argument(help="A file of PyTorch: .bin, .pt, .pth.", show_default=False)],
    target: Annotated[Path, typer.Argument(help="The new file, .safetensors.", show_default=False)],
) -> None:
    """Write the tensors of a PyTorch file as safetensors, with torch's weights-only loader; needs torch.

    Exit code 0: done. 2: bad input, or a file that holds more than weights; it is never opened in another
    way. 130: interrupted.
    """
    with polite("Close other programs.", one_line=False):
        from nucleate.models.convert import convert as make

        typer.echo(f"wrote {target}: {make(source, target)} tensors")


def _tell(found: "Spectra", every: bool) -> None:
    from nucleate.models.table import head_table, layer_table

    typer.echo(f"{found}\n")
    typer.echo(
        head_table(found.heads, found.outcomes)
        if every or len(found.heads) <= MOST_LINES
        else layer_table(found)
    )
    if found.outcomes:
        typer.echo(f"\n{found.outcomes}")


@contextmanager
def _progress(words: str, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """A bar if stderr is a terminal, else a line every few seconds."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield (lambda done, total: None) if quiet else _Line(words)
        return
    with Progress(
        TextColumn(words),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    ) as bar:
        task = bar.add_task(words, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


class _Line:
    """A line on stderr every few seconds."""

    def __init__(self, words: str) -> None:
        self.words, self.last = words, time.perf_counter()

    def __call__(self, done: int, total: int) -> None:
        if time.perf_counter() - self.last >= EVERY:
            self.last = time.perf_counter()
            print(f"{done} of {total} {self.words}", file=sys.stderr, flush=True)
