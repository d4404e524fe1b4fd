"""The command `nucleate`.

Its commands are imported inside it, which takes a tenth of a second: Ctrl-C during that time ends it as it
does later.
"""

import sys

__all__ = ["main"]


def main() -> None:
    """The command `nucleate`."""
    try:
        from nucleate.cli.app import app

        app()
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        sys.exit(130)  # errors.EXIT_INTERRUPTED, which may not be there yet
