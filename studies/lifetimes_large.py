"""The item lifetimes with more starts, and for d = 4 and 5 more tokens: about 9 minutes of processor time.

    python studies/lifetimes_large.py OUT

The item's criteria and seeds from 10 000 on, both fixed before it was run.  Figure, numbers and verdicts are
written into the folder OUT; a second call goes on where the first one stopped.
"""

import sys

from study_command import Runs, item_runs, run_script

from nucleate.papers.open_questions.lifetimes.item import ITEM, LARGE

COST = "9 minutes of processor time"


def main(*words: str) -> None:
    """Run, measure, judge and draw."""
    run_script(__doc__, {"large": Runs(COST, item_runs(ITEM, LARGE))}, words)


if __name__ == "__main__":
    main(*sys.argv[1:])
