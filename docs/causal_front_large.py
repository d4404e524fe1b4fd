"""The item causal-front with the runs that open-questions/front.md has: a million tokens on the circle,
100 000 on the sphere; 4500 s of processor time, or about 40 minutes on two cores.

    python docs/causal_front_large.py OUT

Figures, numbers and verdicts are written into the folder OUT; a second call goes on where the first one
stopped.
"""

import sys
from pathlib import Path

from clouds_large import Shares

from nucleate.papers.core.runner import reproduce_item
from nucleate.papers.open_questions.causal_front.item import ITEM, LARGE


def main(out: str) -> None:
    """Run, measure, judge and draw."""
    for folder in ("figures", "data", "items"):
        (Path(out) / folder).mkdir(parents=True, exist_ok=True)
    summary = reproduce_item(Path(out), ITEM, {**ITEM.parameters, **LARGE}, display=Shares())
    for verdict in summary["verdicts"]:
        print(f"{verdict['word']}: {verdict['part']}. {verdict['why']}.")


if __name__ == "__main__":
    main(sys.argv[1])
