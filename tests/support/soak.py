"""Larger counts for `make soak`.

A test that has one carries it in its mark, `@pytest.mark.soak(kills=KILLS)`: `make soak` finds the test by
the mark, and prints the count.
"""

import os

SOAK = bool(os.environ.get("NUCLEATE_SOAK"))
MAX_SECONDS = 1500.0  # after which `make soak` begins no further test
