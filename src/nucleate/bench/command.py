"""`nucleate bench`: measured ratios."""

import typer

bench = typer.Typer(help="Measure speed, against peers and with the accuracy reached.", no_args_is_help=True)


@bench.callback()
def _group() -> None:
    """Measure speed, against peers and with the accuracy reached."""
