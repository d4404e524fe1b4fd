"""The item predicted-merges with 2000 tokens instead of 200 and 400, starts of their own: 4.3 minutes of
processor time.

    python studies/predicted_merges_large.py OUT

Cases, seeds and criteria are those of `LARGE` in the item's file, fixed before the run.  Figures, numbers and
verdicts are written into the folder OUT; a second call goes on where the first one stopped.  What is to come
is said before it begins.
"""

import sys
from pathlib import Path

from clouds_large import Shares

from nucleate.papers.core.runner import reproduce_item
from nucleate.papers.open_questions.predicted_merges.item import ITEM, LARGE


def main(out: str) -> None:
    """Run, measure, judge and draw."""
    print(f"4.3 minutes of processor time when it was measured, less what is in {out} already", flush=True)
    for folder in ("figures", "data", "items"):
        (Path(out) / folder).mkdir(parents=True, exist_ok=True)
    summary = reproduce_item(Path(out), ITEM, {**ITEM.parameters, **LARGE}, display=Shares())
    for verdict in summary["verdicts"]:
        print(f"{verdict['word']}: {verdict['part']}. {verdict['why']}.")


if __name__ == "__main__":
    main(sys.argv[1])
