"""Options that several commands have."""

from typing import Annotated

import typer

__all__ = ["Quiet", "Threads"]

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
Threads = Annotated[int | None, typer.Option(help="Number of threads.", show_default="all cores")]
