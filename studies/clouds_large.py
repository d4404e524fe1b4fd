"""The item clouds with as many runs as open-questions/clouds.md has: about 35 minutes of processor time.

    python studies/clouds_large.py OUT [late | kinds [8 | 3]]

With `late`, only its runs of late tokens, about eight minutes, and no figure. With `kinds`, a study of its
own: late exponents of symmetric V, and with drawn Q and K, beside those of general V, for d = 8 and d = 3 or
one of them, with the criteria of clouds/kinds.py. Figures, numbers and verdicts are written into
the folder OUT; a second call goes on where the first one stopped.
"""

import sys
from pathlib import Path

from nucleate.papers.core.cache import ItemWorkspace
from nucleate.papers.core.runner import reproduce_item
from nucleate.papers.open_questions.clouds.item import ITEM, LARGE
from nucleate.papers.open_questions.clouds.kinds import (
    KIND_RUNS,
    draw_kinds,
    kind_numbers,
    kind_verdicts,
    run_kinds,
)
from nucleate.papers.open_questions.clouds.late import late_numbers, late_verdicts
from nucleate.papers.open_questions.clouds.late_runs import run_late

MINUTES, LATE_MINUTES = 35, 8  # of processor time
KINDS_MINUTES = {8: 14, 3: 6}  # of that, dimension by dimension


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


def kinds_main(out: str, dimensions: list[int]) -> None:
    """Run, measure, judge and draw kinds of V, dimension by dimension."""
    _say_cost(out, sum(KINDS_MINUTES[d] for d in dimensions))
    (Path(out) / "figures").mkdir(parents=True, exist_ok=True)
    found = {}
    for d in dimensions:
        workspace = ItemWorkspace(ITEM.key, Path(out) / "data" / f"{ITEM.key}-kinds", KIND_RUNS[d])
        found[d] = run_kinds(workspace, d, lambda done, total: Shares().at(ITEM.key, done / total))
        numbers = dict(kind_numbers(found[d], d, KIND_RUNS[d]))
        for number in numbers.values():
            print(f"{number.about}: {number}")
        for verdict in kind_verdicts(numbers, d, KIND_RUNS[d]):
            print(f"{verdict.word}: {verdict.part}. {verdict.why}.")
    draw_kinds(found).savefig(Path(out) / "figures" / "clouds-kinds.png", dpi=150)


def _say_cost(out: str, minutes: int) -> None:
    print(f"About {minutes} minutes of processor time, less what {out} has already.", flush=True)


if __name__ == "__main__":
    if sys.argv[2:3] == ["kinds"]:
        kinds_main(sys.argv[1], [int(d) for d in sys.argv[3:]] or list(KIND_RUNS))
    else:
        (late_main if sys.argv[2:] == ["late"] else main)(sys.argv[1])
