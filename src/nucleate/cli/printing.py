"""Words on the terminal: names and texts out of files are shown there, and must not steer it."""

import typer

from nucleate.printable import printable

__all__ = ["echo"]


def echo(words: object, err: bool = False) -> None:
    r"""Print a line, on stderr if `err`; control characters in it as \x1b."""
    typer.echo(printable(str(words)), err=err)
