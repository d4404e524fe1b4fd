"""`nucleate convert`: parse, call one function, print. Heavy imports wait until they are needed."""

from pathlib import Path
from typing import Annotated

import typer

from nucleate.cli.errors import friendly_errors
from nucleate.cli.options import Quiet
from nucleate.cli.printing import echo

__all__ = ["convert"]


def convert(
    source: Annotated[
        Path, typer.Argument(help="A file of PyTorch: .bin, .pt, .pth.", show_default=False, readable=False)
    ],
    out: Annotated[Path, typer.Option(help="The new file, .safetensors.", show_default=False)],
    quiet: Quiet = False,
) -> None:
    """Write the tensors of a PyTorch file as safetensors, with torch's weights-only loader; needs torch.

    A file that is there already is not replaced.

    Exit code 0: done. 2: bad input, or a file with more than weights: it is not opened. 130: interrupted.
    """
    with friendly_errors("Close other programs.", one_line=False):
        from nucleate.models.convert import convert as write

        tensors = write(source, out)
        if not quiet:
            echo(f"wrote {out}: {tensors} tensors")
