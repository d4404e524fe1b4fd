"""Options that several commands have."""

from typing import Annotated

import typer

__all__ = ["Device", "Precision", "Quiet", "Threads"]

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
Threads = Annotated[int | None, typer.Option(help="Number of threads.", show_default="all cores")]
Device = Annotated[
    str | None,
    typer.Option(
        help="cpu; gpu (an NVIDIA card: explicit and fixed steps, the extra gpu).",
        show_default="cpu, or what the study says",
    ),
]
Precision = Annotated[
    str | None,
    typer.Option(
        help="double; mixed (with --device gpu: pairs in single precision, for tolerances from 1e-6).",
        show_default="double, or what the study says",
    ),
]
