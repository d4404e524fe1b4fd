"""What every test gets: no screen, and the same examples from hypothesis on every machine."""

import os

from hypothesis import settings

os.environ.setdefault("MPLBACKEND", "Agg")

# No deadline: the first example may compile a kernel.
settings.register_profile("nucleate", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("nucleate")
