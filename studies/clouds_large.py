"""The item clouds with as many runs as open-questions/clouds.md has: about 40 minutes of processor time.

    python studies/clouds_large.py OUT [late]

With `late`, only its runs of late tokens, about eight minutes, and no figure. Figures, numbers and verdicts
are written into the folder OUT; a second call goes on where the first one stopped.
"""

import sys
from pathlib import Path

from nucleate.papers.core.cache import ItemWorkspace
from nucleate.papers.core.runner import reproduce_item
from nucleate.papers.open_questions.clouds.item import ITEM, LARGE
from nucleate.papers.open_questions.clouds.late import late_numbers, late_verdicts
from nucleate.papers.open_questions.clouds.late_runs import run_late

MINUTES, LATE_MINUTES = 40, 8  # of processor time


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
    _say_cost(out, MINUTES)
    for folder in ("figures", "data", "items"):
        (Path(out) / folder).mkdir(parents=True, exist_ok=True)
    summary = reproduce_item(Path(out), ITEM, {**ITEM.parameters, **LARGE}, display=Shares())
    for verdict in summary["verdicts"]:
        print(f"{verdict['word']}: {verdict['part']}. {verdict['why']}.")


def late_main(out: str) -> None:
    """Run, measure and judge late tokens alone."""
    _say_cost(out, LATE_MINUTES)
    p = {**ITEM.parameters, **LARGE}
    workspace = ItemWorkspace(ITEM.key, Path(out) / "data" / ITEM.key, p)
    data = run_late(workspace, lambda done, total: Shares().at(ITEM.key, done / total))
    numbers = dict(late_numbers(data, p))
    for number in numbers.values():
        print(f"{number.about}: {number}")
    for verdict in late_verdicts(numbers, p):
        print(f"{verdict.word}: {verdict.part}. {verdict.why}.")


def _say_cost(out: str, minutes: int) -> None:
    print(f"About {minutes} minutes of processor time, less what {out} has already.", flush=True)


if __name__ == "__main__":
    (late_main if sys.argv[2:] == ["late"] else main)(sys.argv[1])
