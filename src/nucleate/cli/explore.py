"""`nucleate explore` and `nucleate export`: parse, call one function, print.  Heavy imports wait until they
are needed."""

import importlib.util
import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote, unquote

import typer

from nucleate.shell import polite

if TYPE_CHECKING:
    from nucleate.explorer.server import Server

__all__ = ["explore", "export"]

NEEDED = ("starlette", "uvicorn", "websockets")
PORTS = range(1024, 65536)
LONGEST_LINK = 200_000  # characters

Stored = Annotated[
    Path,
    typer.Argument(
        help="The run: what run.save or nucleate simulate --out wrote, or the store of an ensemble.",
        show_default=False,
    ),
]


def explore(
    path: Annotated[
        Path | None,
        typer.Argument(
            help="A stored run or ensemble to open, or a folder of such; nothing outside it is read.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(help="Port of this machine to serve at.", show_default="8765, or any free one"),
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
    ] = True,
    link: Annotated[
        str | None,
        typer.Option(help="A link copied from the explorer: open at its state.", show_default="none"),
    ] = None,
) -> None:
    """Watch tokens in the browser: a page on this machine, for this machine only; Ctrl-C ends it.

    Exit code 0: ended. 2: bad input, or a port that is taken.
    """
    with polite():
        _needed()
        state = None if link is None else _state(link)
        _port(port)
        from nucleate.explorer.built_page import page_text
        from nucleate.explorer.server import Explorer, serve
        from nucleate.explorer.stored_runs import open_folder

        explorer = Explorer(page_text(), open_folder(path), state)
        fragment = "" if state is None else "#" + quote(json.dumps(state), safe="")
        with suppress(KeyboardInterrupt):  # the usual way to end it
            serve(explorer, port, lambda serving: _ready(serving, fragment, browser))
        typer.echo("The explorer has ended.")


def export(
    run: Stored,
    html: Annotated[
        Path, typer.Option(help="Where the page goes: a name that ends in .html.", show_default=False)
    ],
    which: Annotated[
        int, typer.Option("--run", help="Which run, where the file holds several; counted from 0.", min=0)
    ] = 0,
) -> None:
    """Make a page that plays a recorded run in any browser, without server or network.

    Exit code 0: written. 2: bad input.
    """
    with polite():
        from nucleate.explorer.export import export as write

        shown, size = write(run, html, which)
        typer.echo(f"{shown.summary}\nwrote {html}, {size / 1e6:.1f} MB: open it in any browser")


def _needed() -> None:
    from nucleate.checks import MissingPackageError

    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingPackageError(
            f"The explorer needs {', '.join(missing)}, which is not installed. Install it: python -m pip"
            " install 'nucleate[explorer]'."
        )


def _port(port: int | None) -> None:
    from nucleate.checks import InputError

    if port is not None and port not in PORTS:
        raise InputError(f"--port must lie between {PORTS[0]} and {PORTS[-1]}, but is {port}.")


def _state(link: str) -> Any:
    """The state in a link: all that follows its #."""
    from nucleate.checks import InputError
    from nucleate.explorer.page_requests import strict_json

    if len(link) > LONGEST_LINK or "#" not in link:
        raise InputError(
            "--link must be a link copied from the explorer, with all that follows its #. Put it between"
            " quotes."
        )
    try:
        state = strict_json(unquote(link.partition("#")[2]))
    except InputError:
        state = None
    if not isinstance(state, dict):
        raise InputError(
            "--link does not hold a state of the explorer: what follows its # was cut or changed. Copy it"
            " again."
        )
    return state


def _ready(serving: "Server", fragment: str, browser: bool) -> None:
    typer.echo(
        f"The explorer is at\n\n    {serving.address}{fragment}\n\nfor this machine only. Press Ctrl-C to"
        " end it."
    )
    if browser:
        import webbrowser

        if not webbrowser.open(serving.address + fragment):
            typer.echo("No browser could be opened: open the address by hand.", err=True)
