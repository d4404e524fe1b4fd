"""All commands, in the order of the help."""

from typing import Annotated

import typer

from nucleate.cli.bench import bench
from nucleate.cli.convert import convert
from nucleate.cli.doctor import doctor
from nucleate.cli.ensemble import ensemble
from nucleate.cli.errors import Command, Commands
from nucleate.cli.explore import explore
from nucleate.cli.export import export
from nucleate.cli.life import life
from nucleate.cli.printing import echo
from nucleate.cli.reproduce import reproduce
from nucleate.cli.simulate import simulate
from nucleate.cli.spectra import spectra
from nucleate.cli.trace import trace

__all__ = ["app"]

app = typer.Typer(cls=Commands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
for command in (simulate, life, ensemble, reproduce, spectra, trace, convert, explore, export, doctor):
    app.command(cls=Command)(command)
app.add_typer(bench, name="bench")


def _version(asked: bool) -> None:
    if asked:
        from nucleate import __version__

        echo(f"nucleate {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=_version)
    ] = False,
) -> None:
    """Self-attention as particles on a sphere: simulate it, measure it, draw it."""
