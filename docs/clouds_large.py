"""The item clouds with as many runs as open-questions/clouds.md has, and those of its late tokens: about an
hour on two cores.

    python docs/clouds_large.py OUT

Figures, numbers and verdicts are written into the folder OUT; a second call goes on where the first one
stopped.
"""

import sys
from pathlib import Path

from nucleate.papers.core.runner import reproduce_item
from nucleate.papers.open_questions.clouds.item import ITEM, LARGE

MINUTES = 60  # on two cores


class Shares:
    """Prints how far it is."""

    def begin(self, key: str, title: str, seconds: float) -> None:
        """Nothing."""

    def at(self, key: str, share: float) -> None:
        """The share that is done."""
        print(f"{share:.0%}", flush=True)

    def end(self, key: str, summary: object, seconds: float, reused: bool) -> None:
        """Nothing."""


def main(out: str) -> None:
    """Run, measure, judge and draw."""
    print(f"This takes about {MINUTES} minutes on two cores, less what {out} has already.", flush=True)
    for folder in ("figures", "data", "items"):
        (Path(out) / folder).mkdir(parents=True, exist_ok=True)
    summary = reproduce_item(Path(out), ITEM, {**ITEM.parameters, **LARGE}, display=Shares())
    for verdict in summary["verdicts"]:
        print(f"{verdict['word']}: {verdict['part']}. {verdict['why']}.")


if __name__ == "__main__":
    main(sys.argv[1])
