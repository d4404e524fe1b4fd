"""`nucleate explore`: parse, call one function, print. Heavy imports wait until they are needed."""

import importlib.util
import json
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote, unquote

import typer

from nucleate.cli.errors import friendly_errors
from nucleate.cli.printing import echo

if TYPE_CHECKING:
    from nucleate.explorer.server import Server

__all__ = ["explore"]

NEEDED_PACKAGES = ("starlette", "uvicorn", "websockets")
PORTS = range(1024, 65536)
MAX_LINK_CHARACTERS = 200_000


def explore(
    path: Annotated[
        Path | None,
        typer.Argument(
            help="A stored run or ensemble to open, or a folder of such; nothing outside it is read.",
            show_default=False,
            readable=False,
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
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the address and errors only.")] = False,
) -> None:
    """Watch tokens in the browser: a page on this machine, for this machine only; Ctrl-C ends it.

    Exit code 0: ended. 2: bad input, or a port that is taken.
    """
    with friendly_errors():
        _check_packages()
        state = None if link is None else _state(link)
        _check_port(port)
        from nucleate.explorer.built_page import page_text
        from nucleate.explorer.server import Explorer, serve
        from nucleate.explorer.stored_runs import open_folder

        explorer = Explorer(page_text(), open_folder(path), state)
        fragment = "" if state is None else "#" + quote(json.dumps(state), safe="")
        with suppress(KeyboardInterrupt):  # the usual way to end it
            serve(explorer, port, lambda serving: _ready(serving, fragment, browser, quiet))
        if not quiet:
            echo("The explorer has ended.")


def _check_packages() -> None:
    from nucleate.checks import MissingPackageError

    missing = [name for name in NEEDED_PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingPackageError(
            f"The explorer needs {', '.join(missing)}, which is not installed. Install it: python -m pip"
            " install 'nucleate[explorer]'."
        )


def _check_port(port: int | None) -> None:
    from nucleate.checks import InputError

    if port is not None and port not in PORTS:
        raise InputError(f"--port must lie between {PORTS[0]} and {PORTS[-1]}, but is {port}.")


def _state(link: str) -> Any:
    """The state in a link: all that follows its #."""
    from nucleate.checks import InputError
    from nucleate.explorer.page_requests import strict_json

    if len(link) > MAX_LINK_CHARACTERS or "#" not in link:
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


def _ready(serving: "Server", fragment: str, browser: bool, quiet: bool) -> None:
    address = f"{serving.address}{fragment}"
    about = f"The explorer is at\n\n    {address}\n\nfor this machine only. Press Ctrl-C to end it."
    echo(address if quiet else about)
    if browser:
        threading.Thread(target=_open_browser, args=(address, serving.explorer.asked_for)).start()


def _open_browser(address: str, asked_for: threading.Event) -> None:
    """On a thread of its own: a browser in the terminal does not return before it is left."""
    from nucleate.explorer.browser import open_browser

    if not open_browser(address, asked_for):
        echo("No browser could be opened: open the address by hand.", err=True)
