"""`nucleate export`: parse, call one function, print. Heavy imports wait until they are needed."""

from pathlib import Path
from typing import Annotated

import typer

from nucleate.cli.errors import friendly_errors
from nucleate.cli.options import Quiet

__all__ = ["export"]


def export(
    run: Annotated[
        Path,
        typer.Argument(
            help="The run: what run.save or nucleate simulate --out wrote, or the store of an ensemble.",
            show_default=False,
            readable=False,
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="Where the page goes: a name that ends in .html.", show_default=False)
    ],
    which: Annotated[
        int, typer.Option("--run", help="Which run, where the file holds several; counted from 0.", min=0)
    ] = 0,
    quiet: Quiet = False,
) -> None:
    """Make a page that plays a recorded run in any browser, without server or network.

    Exit code 0: written. 2: bad input.
    """
    with friendly_errors():
        from nucleate.explorer.export import export as write

        shown, size = write(run, out, which)
        if not quiet:
            typer.echo(f"{shown.summary}\nwrote {out}, {size / 1e6:.1f} MB: open it in any browser")
