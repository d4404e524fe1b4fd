"""The command `nucleate`.

Its commands are imported inside it, which takes a tenth of a second: Ctrl-C during that time ends it as it
does later.
"""

import atexit
import gc
import sys

__all__ = ["main"]

GARBAGE_OBJECTS = 100_000  # new ones after which Python looks for garbage, in place of 700


def main() -> None:
    """The command `nucleate`."""
    # else what is imported is searched for garbage again and again, and once more at the end: a sixth of the
    # time of a short command
    gc.set_threshold(GARBAGE_OBJECTS)
    atexit.register(gc.freeze)
    try:
        from nucleate.cli.app import app

        app()
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        sys.exit(130)  # errors.EXIT_INTERRUPTED, which may not be there yet
