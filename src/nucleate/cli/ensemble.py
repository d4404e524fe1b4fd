"""`nucleate ensemble`: parse, call one function, print. Heavy imports wait until they are needed."""

import time
from pathlib import Path
from typing import Annotated

import typer

from nucleate.cli.errors import friendly_errors
from nucleate.cli.options import Device, Precision, Quiet, Threads
from nucleate.cli.printing import echo
from nucleate.cli.progress import ProgressBar

__all__ = ["ensemble"]

MEMORY = "Ask for fewer tokens or frames, or for smaller blocks."
ENSEMBLE_PICTURES = (".png", ".pdf", ".svg")


def ensemble(
    study: Annotated[
        Path,
        typer.Argument(
            help="The study: a TOML file, such as studies/figure3.toml of a checkout.",
            show_default=False,
            readable=False,
        ),
    ],
    out: Annotated[
        list[Path] | None,
        typer.Option(
            help=(
                "Where the results go, a name that ends in .zarr: the same command again goes on. Also the"
                " picture of mean and quantiles (.png, .pdf, .svg). May be repeated."
            ),
            show_default=False,
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            help="Runs per point; more than before extends the store.", show_default="the study's own"
        ),
    ] = None,
    threads: Threads = None,
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
    device: Device = None,
    precision: Precision = None,
    show: Annotated[
        list[str] | None,
        typer.Option(help="Observable to draw. May be repeated.", show_default="all that can be drawn"),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the study, say what it would cost, and stop.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Run a study of many runs; interrupted, the same command goes on where it was.

    Exit code 0: finished; runs that ended early are counted. 2: bad input or files. 130: interrupted.
    """
    progress = ProgressBar("simulating", quiet, unit="runs")
    with friendly_errors(MEMORY, lambda: _interrupted(progress)):
        from nucleate.studies.ensemble import as_study
        from nucleate.studies.ensemble import ensemble as run

        store, pictures = _targets(out or [], dry_run)
        table = as_study(study, runs)
        if device is not None or precision is not None:
            table = table.with_device(device, precision)
        if pictures:
            from nucleate.plot.studies import observables_to_draw

            # refused now, not after all the work
            observables_to_draw(
                {one.name: one.dims for one in table.observables}, list(table.grid), show or []
            )
        if dry_run:
            from nucleate.kernels.threads import pick_threads
            from nucleate.studies.estimate import cost

            echo(f"{table}\n{cost(table, pick_threads(threads))}")
            return
        began = time.perf_counter()
        with progress:
            found = run(
                table, store, threads=threads, block=block, cluster=cluster, progress=progress, tell=_warn
            )
        took = time.perf_counter() - began
        for path in pictures:
            from nucleate.plot.studies import write_ensemble

            write_ensemble(found, path, show or [])
        if not quiet:
            echo(f"{found.summary}\ntook {took:.1f} s; wrote {', '.join(map(str, [store, *pictures]))}")


def _targets(out: list[Path], dry_run: bool) -> tuple[Path | None, list[Path]]:
    """The store, which only a dry run may lack, and the pictures."""
    from nucleate.checks import InputError
    from nucleate.integrate.storage import check_target

    stores = [path for path in out if path.suffix.lower() == ".zarr"]
    pictures = [path for path in out if path.suffix.lower() in ENSEMBLE_PICTURES]
    for path in out:
        if path not in stores + pictures:
            raise InputError(
                f"--out {path} has the ending {path.suffix or '(none)'}, but an ensemble is kept as .zarr and"
                f" drawn as {', '.join(ENSEMBLE_PICTURES)}. Choose one of these."
            )
    if len(stores) > 1:
        raise InputError(
            f"--out names {len(stores)} stores, {stores[0]} and {stores[1]}. Choose one of them."
        )
    if not stores and not dry_run:
        raise InputError(
            "--out names no store. Say where the results go, such as --out out.zarr, or add --dry-run."
        )
    return stores[0] if stores else None, [check_target(path) for path in pictures]


def _interrupted(progress: ProgressBar) -> str:
    reached = f" after {progress.done:.0f} of {progress.total:.0f} runs" if progress.total else ""
    return f"Interrupted{reached}. Finished blocks are kept; the same command goes on from there."


def _warn(words: str) -> None:
    echo(f"Warning: {words}", err=True)
