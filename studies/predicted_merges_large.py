"""The item predicted-merges with 2000 tokens instead of 200 and 400, starts of their own: 4.3 minutes of
processor time.

    python studies/predicted_merges_large.py OUT

Cases, seeds and criteria are those of `LARGE` in the item's file, fixed before the run.  Figures, numbers and
verdicts are written into the folder OUT; a second call goes on where the first one stopped.  What is to come
is said before it begins.
"""

import sys

from study_command import Runs, item_runs, run_script

from nucleate.papers.open_questions.predicted_merges.item import ITEM, LARGE

COST = "4.3 minutes of processor time"


def main(*words: str) -> None:
    """Run, measure, judge and draw."""
    run_script(__doc__, {"large": Runs(COST, item_runs(ITEM, LARGE))}, words)


if __name__ == "__main__":
    main(*sys.argv[1:])
