"""`nucleate ensemble`: parse, call one function, print.  Heavy imports wait until they are needed."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nucleate.shell import polite

if TYPE_CHECKING:
    from nucleate.studies.result import Ensemble

__all__ = ["ensemble"]

MEMORY = "Ask for fewer tokens or frames, or for smaller blocks."
EVERY = 5.0  # seconds between two lines where there is no terminal
PICTURES = (".png", ".pdf", ".svg")


def ensemble(
    study: Annotated[
        Path, typer.Argument(help="The study: a TOML file, such as studies/figure3.toml.", show_default=False)
    ],
    store: Annotated[
        Path | None,
        typer.Option(help="Where the results go: a name that ends in .zarr. The same command again goes on."),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            help="Runs per point; more than before extends the store.", show_default="the study's own"
        ),
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Number of threads.", show_default="all cores")] = None,
    block: Annotated[
        int | None,
        typer.Option(
            help="Runs computed and written at a time; results do not depend on it.", show_default="by size"
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            help="Compute on Dask workers: local, or the address of a scheduler, tcp://host:port.",
            show_default="threads",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw mean and quantiles here: .png, .pdf or .svg.", show_default="no picture"),
    ] = None,
    show: Annotated[
        list[str] | None,
        typer.Option(help="Observable to draw. May be repeated.", show_default="all that can be drawn"),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the study, say what it would cost, and stop.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Run a study of many runs; interrupted, the same command goes on where it was.

    Exit code 0: finished; runs that ended early are kept and counted. 2: bad input, or a file that cannot be
    read or written. 130: interrupted.
    """
    reached = [0, 0]  # runs done, runs in all
    with polite(MEMORY, lambda: _interrupted(reached)):
        from nucleate.checks import InputError
        from nucleate.studies.ensemble import as_study
        from nucleate.studies.ensemble import ensemble as run

        if plot is not None and plot.suffix.lower() not in PICTURES:
            raise InputError(
                f"--plot {plot} has the ending {plot.suffix or '(none)'}, but pictures are"
                f" {', '.join(PICTURES)}. Choose one of these."
            )
        if store is None and not dry_run:
            raise InputError(
                "--store is missing. Say where the results go, such as --store out.zarr, or add --dry-run."
            )
        table = as_study(study, runs)
        if plot is not None:
            from nucleate.plot.studies import drawn_names

            # refused now, not after all the work
            drawn_names({one.name: one.dims for one in table.observables}, list(table.grid), show or [])
        if dry_run:
            from nucleate.kernels.threads import pick_threads
            from nucleate.studies.estimate import cost

            typer.echo(f"{table}\n{cost(table, pick_threads(threads))}")
            return
        began = time.perf_counter()
        with _progress(quiet, reached) as progress:
            found = run(
                table, store, threads=threads, block=block, cluster=cluster, progress=progress, tell=_warn
            )
        if not quiet:
            typer.echo(f"{found.summary}\ntook {time.perf_counter() - began:.1f} s; wrote {store}")
        if plot is not None:
            _draw(found, plot, show or [], quiet)


def _interrupted(reached: list[int]) -> str:
    kept = f" after {reached[0]} of {reached[1]} runs" if reached[1] else ""
    return f"Interrupted{kept}. Finished blocks are kept; the same command goes on from there."


def _warn(words: str) -> None:
    typer.echo(f"Warning: {words}", err=True)


@contextmanager
def _progress(quiet: bool, reached: list[int]) -> Iterator[Callable[[int, int], None]]:
    """A bar with rate and time left if stderr is a terminal, else a line every few seconds."""
    from rich.console import Console

    console = Console(stderr=True)

    def noted(shown: Callable[[int, int], None]) -> Callable[[int, int], None]:
        def progress(done: int, total: int) -> None:
            reached[:] = done, total
            shown(done, total)

        return progress

    if quiet:
        yield noted(lambda done, total: None)
    elif console.is_terminal:
        with _bar(console) as update:
            yield noted(update)
    else:
        yield noted(_Line())


@contextmanager
def _bar(console: Any) -> Iterator[Callable[[int, int], None]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("runs"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True, refresh_per_second=4) as bar:
        task, pace = bar.add_task("runs", total=None, rate=""), _Pace()

        def update(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, rate=pace(done, total))

        yield update


class _Pace:
    """Runs a second and time left, counted from the first call: what was there before took no time."""

    def __init__(self) -> None:
        self.first: tuple[float, int] | None = None

    def __call__(self, done: int, total: int) -> str:
        now = time.perf_counter()
        if self.first is None:
            self.first = now, done
        began, before = self.first
        if done <= before or now <= began:
            return ""
        rate = (done - before) / (now - began)
        left = (total - done) / rate
        return f"{rate:.3g} runs/s, {_clock(left)} left"


class _Line:
    """A line on stderr every few seconds."""

    def __init__(self) -> None:
        self.pace, self.last = _Pace(), time.perf_counter()

    def __call__(self, done: int, total: int) -> None:
        words = self.pace(done, total)
        if time.perf_counter() - self.last >= EVERY:
            self.last = time.perf_counter()
            print(f"{done} of {total} runs{f', {words}' if words else ''}", file=sys.stderr, flush=True)


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def _draw(found: "Ensemble", path: Path, names: list[str], quiet: bool) -> None:
    from nucleate.plot.studies import picture

    picture(found, path, names)
    if not quiet:
        typer.echo(f"wrote {path}")
