"""`nucleate export`: parse, call one function, print. Heavy imports wait until they are needed."""

from pathlib import Path
from typing import Annotated

import typer

from nucleate.cli.errors import friendly_errors
from nucleate.cli.options import Quiet
from nucleate.cli.printing import echo

__all__ = ["export"]


def export(
    run: Annotated[
        Path | None,
        typer.Argument(
            help="The run: what run.save or nucleate simulate --out wrote, or the store of an ensemble.",
            show_default=False,
            readable=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Where the page of a run goes: a name that ends in .html.", show_default=False),
    ] = None,
    which: Annotated[
        int, typer.Option("--run", help="Which run, where the file holds several; counted from 0.", min=0)
    ] = 0,
    site: Annotated[
        Path | None,
        typer.Option(
            help=(
                "Instead of a run: write the explorer itself as index.html into this folder, to be opened"
                " from there or put on any host. It computes runs of up to 500 tokens in the browser."
            ),
            show_default=False,
        ),
    ] = None,
    recordings: Annotated[
        bool,
        typer.Option(
            help="With --site: compute the presets that are beyond the browser, and put the runs inside."
        ),
    ] = True,
    quiet: Quiet = False,
) -> None:
    """Make a page of a recorded run, or of the explorer itself, that needs neither server nor network.

    Exit code 0: written. 2: bad input.
    """
    with friendly_errors():
        if site is not None:
            return _write_site(site, run, out, recordings, quiet)
        from nucleate.checks import InputError

        if run is None or out is None:
            missing = "the run" if run is None else "--out"
            raise InputError(
                f"A page needs a run and --out, but {missing} is missing. Write nucleate export run.zarr"
                " --out page.html, or nucleate export --site folder."
            )
        from nucleate.explorer.export import export as write

        shown, size = write(run, out, which)
        if not quiet:
            echo(f"{shown.summary}\nwrote {out}, {size / 1e6:.1f} MB: open it in any browser")


def _write_site(folder: Path, run: Path | None, out: Path | None, recordings: bool, quiet: bool) -> None:
    from nucleate.checks import InputError
    from nucleate.cli.progress import ProgressBar

    if run is not None or out is not None:
        given = "--out" if run is None else str(run)
        raise InputError(
            f"--site writes the explorer itself, but {given} is given too. Leave one of them out."
        )
    from nucleate.explorer.site import write_site

    with ProgressBar("computing presets", quiet, unit="presets", before="preparing presets") as progress:
        made = write_site(folder, recordings, progress)
    if quiet:
        return
    echo(f"wrote {made.page}, {made.size / 1e6:.1f} MB: open it in any browser, or put it on any host")
    echo(f"presets: {len(made.computed)} computed in the page, {len(made.recorded)} recorded inside")
    if made.left_out:
        echo(f"left to nucleate itself: {', '.join(made.left_out)}")
