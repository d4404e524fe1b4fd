"""The page opened in the browser, without its token on a command line, where every user of the machine can
read it.

The browser is given a file that leads to the page.  Only its owner may read it, and it is removed as soon as
the page has been asked for.  A code that is good once would not do: whoever watches the command lines uses it
before a browser has started.  The file lies in the home folder under a name without a dot, the one place that
browsers installed as a snap may read too; those of Flatpak are handed it by the desktop.
"""

import os
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

__all__ = ["open_browser"]

REDIRECT_SECONDS = 60.0  # for a browser to start and to ask for the page
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}"><title>nucleate</title></head>
<body><p><a href="{address}">The explorer</a></p></body></html>
"""


def open_browser(address: str, asked_for: Event) -> bool:
    """Open the address in the browser, and wait until its page has been asked for; whether there is a
    browser."""
    with suppress(OSError), _redirect_file(address) as file:
        if webbrowser.open(file.as_uri()):
            asked_for.wait(REDIRECT_SECONDS)
            return True
    return False


@contextmanager
def _redirect_file(address: str) -> Iterator[Path]:
    """A file that leads to the address, for its owner's eyes only."""
    with TemporaryDirectory(prefix="nucleate-", dir=_folder(), ignore_cleanup_errors=True) as folder:
        file = Path(folder, "explorer.html")
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(handle, "w", encoding="utf-8") as page:
            page.write(PAGE.format(address=escape(address)))
        yield file


def _folder() -> Path | None:
    """The home folder, or None, the usual one for temporary files."""
    try:
        home = Path.home()
    except RuntimeError:  # it has none
        return None
    return home if os.access(home, os.W_OK | os.X_OK) else None
