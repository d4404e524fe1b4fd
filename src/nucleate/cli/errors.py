"""How a command ends when it cannot go on: words on stderr and an exit code, never a traceback."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

from nucleate.cli.help_words import name_values
from nucleate.cli.printing import echo

__all__ = [
    "EXIT_BAD_INPUT",
    "EXIT_INTERRUPTED",
    "EXIT_UNFINISHED",
    "Command",
    "Commands",
    "Group",
    "friendly_errors",
]

EXIT_UNFINISHED, EXIT_BAD_INPUT, EXIT_INTERRUPTED = 1, 2, 130  # exit codes
RENAMED_OPTIONS = {
    "--store": "--out",
    "--plot": "--out",
    "--html": "--out",
    "--json": "--out",
    "--live": "--simulate-heads",
}
# what the functions behind the commands call an option
ARGUMENTS = {"tokens": "n", "dimension": "d", "time": "t"}
WHOLE = (int, "a whole number", "Write digits only, such as 64.")
REAL = (float, "a number", "Write it with a point, such as 0.5.")
# what is read as a number, by how its value is shown in the help, or by the name of its type
NUMBERS: dict[str | None, tuple[type, str, str]] = {
    "<int>": WHOLE,
    "integer": WHOLE,
    "<number>": REAL,
    "float": REAL,
}
CONVERT_TARGET = "The target of convert is now --out: nucleate convert SOURCE --out TARGET."


@contextmanager
def friendly_errors(
    memory: str = "Ask for fewer tokens, dimensions, runs or frames.",
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
        words = Command.in_typed_words(str(error))
        echo(f"Error: {' '.join(words.split()) if one_line else words}", err=True)
        raise typer.Exit(EXIT_BAD_INPUT) from None
    except MemoryError:
        echo(f"Error: This does not fit into memory. {memory}", err=True)
        raise typer.Exit(EXIT_BAD_INPUT) from None
    except KeyboardInterrupt:
        echo(interrupted(), err=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None


class Command(TyperCommand):
    """A command that knows how it was called before, and how its options were written now."""

    typed: ClassVar[dict[str, str]] = {}  # options as they were written, by the names functions have for them

    @classmethod
    def in_typed_words(cls, words: str) -> str:
        """An error of a function in the words of the user: "-n must be", not "n must be"."""
        name = words.partition(" ")[0]
        return cls.typed[name] + words.removeprefix(name) if name in cls.typed else words

    def get_params(self, ctx: Any) -> list[Any]:
        found = super().get_params(ctx)
        name_values(found, ctx)
        return found

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _refuse_empty(args)
        Command.typed = {
            ARGUMENTS.get(parameter.name, parameter.name): option
            for parameter in self.params
            for option in parameter.opts
            if option.startswith("-")
            for word in args
            if word.partition("=")[0] == option or (len(option) == 2 and word.startswith(option))
        }
        written = list(args)  # before they are parsed, and used up
        words = [word for word in written if not word.startswith("-")]
        try:
            return super().parse_args(ctx, args)
        except Exception as error:  # Typer brings Click with it, or not: its classes have no one name
            old = getattr(error, "option_name", "")
            if old in RENAMED_OPTIONS:
                raise typer.BadParameter(f"{old} is now {RENAMED_OPTIONS[old]}.", ctx=ctx) from None
            if self.name == "convert" and len(words) == 2 and "--out" not in args:
                raise typer.BadParameter(CONVERT_TARGET, ctx=ctx) from None
            parameter = getattr(error, "param", None)
            if parameter is not None:
                _refuse_other_than_numbers(parameter, written)
            raise


def _refuse_other_than_numbers(parameter: Any, args: list[str]) -> None:
    """Say which value is not the number that an option needs, if that is what is wrong."""
    from nucleate.checks import shortened

    # older Typers name the type, newer ones have it only as it is shown
    shown = parameter.metavar or getattr(getattr(parameter, "type", None), "name", None)
    kind, what, help = NUMBERS.get(shown, (str, "", ""))
    name = ARGUMENTS.get(parameter.name, parameter.name)
    for value in _values(Command.typed.get(name, ""), args):
        try:
            kind(value)
        except ValueError:
            echo(f"Error: {Command.typed[name]} must be {what}, but is {shortened(value)}. {help}", err=True)
            raise typer.Exit(EXIT_BAD_INPUT) from None


def _values(option: str, args: list[str]) -> list[str]:
    """What stands behind an option: as a word of its own, or in the same one."""
    found = []
    for word, after in zip(args, [*args[1:], ""], strict=True):
        if word == option:
            found.append(after)
        elif option and word.startswith(option if len(option) == 2 else f"{option}="):
            found.append(word.removeprefix(option).removeprefix("="))
    return found


def _refuse_empty(args: list[str]) -> None:
    """No word is empty: as a path it would mean the folder we are in, and a forgotten variable fill it."""
    for before, word in zip(["", *args], args, strict=False):
        name, is_long, value = word.partition("=")
        if not word or (is_long and not value and name.startswith("--")):
            what = name or (before if before.startswith("-") else "A word of the command")
            echo(f"Error: {what} is empty. Write what it should be, or leave it out.", err=True)
            raise typer.Exit(EXIT_BAD_INPUT)


class Group(TyperGroup):
    """Several commands under one word, such as `bench`."""

    def get_params(self, ctx: Any) -> list[Any]:
        found = super().get_params(ctx)
        name_values(found, ctx)
        return found


class Commands(Group):
    """All commands: Ctrl-C before one of them has its own words for it ends it the same way."""

    def make_context(self, *words: Any, **settings: Any) -> Any:
        with _interrupted():
            return super().make_context(*words, **settings)

    def invoke(self, ctx: Any) -> Any:
        try:
            with _interrupted():
                return super().invoke(ctx)
        finally:
            Command.typed = {}


@contextmanager
def _interrupted() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        echo("Interrupted.", err=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None
