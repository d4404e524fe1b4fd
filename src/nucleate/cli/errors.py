"""How a command ends when it cannot go on: words on stderr and an exit code, never a traceback."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperCommand

__all__ = ["BAD_INPUT", "INTERRUPTED", "UNFINISHED", "Command", "friendly_errors"]

UNFINISHED, BAD_INPUT, INTERRUPTED = 1, 2, 130  # exit codes
RENAMED_OPTIONS = {
    "--store": "--out",
    "--plot": "--out",
    "--html": "--out",
    "--json": "--out",
    "--live": "--simulate-heads",
}


@contextmanager
def friendly_errors(
    memory: str = "Ask for fewer tokens, runs or frames.",
    interrupted: Callable[[], str] = lambda: "Interrupted.",
    one_line: bool = True,
) -> Iterator[None]:
    """Bad input, or too little memory, ends with one line and exit code 2, Ctrl-C with 130.

    memory        what to do when it does not suffice
    interrupted   what to say after Ctrl-C
    one_line      False where an error lists what was found, line by line
    """
    from nucleate.checks import InputError

    try:
        yield
    except InputError as error:
        typer.echo(f"Error: {' '.join(str(error).split()) if one_line else error}", err=True)
        raise typer.Exit(BAD_INPUT) from None
    except MemoryError:
        typer.echo(f"Error: This does not fit into memory. {memory}", err=True)
        raise typer.Exit(BAD_INPUT) from None
    except KeyboardInterrupt:
        typer.echo(interrupted(), err=True)
        raise typer.Exit(INTERRUPTED) from None


class Command(TyperCommand):
    """A command that knows the names which options had before."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except Exception as error:  # Typer brings Click with it, or not: its classes have no one name
            old = getattr(error, "option_name", "")
            if old not in RENAMED_OPTIONS:
                raise
            raise typer.BadParameter(f"{old} is now {RENAMED_OPTIONS[old]}.", ctx=ctx) from None
