"""The item lifetimes with more starts, and for d = 4 and 5 more tokens: about 9 minutes of processor time.

    python studies/lifetimes_large.py OUT

The item's criteria and seeds from 10 000 on, both fixed before it was run.  Figure, numbers and verdicts are
written into the folder OUT; a second call goes on where the first one stopped.
"""

import sys
from pathlib import Path

from clouds_large import Shares

from nucleate.papers.core.numbers import from_plain
from nucleate.papers.core.runner import reproduce_item
from nucleate.papers.open_questions.lifetimes.item import ITEM, LARGE

MINUTES = 9  # of processor time


def main(out: str) -> None:
    """Run, measure, judge and draw."""
    print(f"About {MINUTES} minutes of processor time, less what {out} has already.", flush=True)
    for folder in ("figures", "data", "items"):
        (Path(out) / folder).mkdir(parents=True, exist_ok=True)
    summary = reproduce_item(Path(out), ITEM, {**ITEM.parameters, **LARGE}, display=Shares())
    for number in summary["numbers"].values():
        print(f"{number['about']}: {from_plain(number)}")
    for verdict in summary["verdicts"]:
        print(f"{verdict['word']}: {verdict['part']}. {verdict['why']}.")


if __name__ == "__main__":
    main(sys.argv[1])
