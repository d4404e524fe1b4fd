"""The item clouds with as many runs as open-questions/clouds.md has: about 35 minutes of processor time.

    python studies/clouds_large.py OUT [late | kinds [d8] [d3] [d4] [beta1-d8] [beta1-d4] | sizes]

With `late`, only its runs of late tokens, about eight minutes, and no figure. With `kinds`, a study of its
own: late exponents of symmetric V, and with drawn Q and K, beside those of general V, at β = 16 for d = 8, 3
and 4 and at β = 1 for d = 8 and 4, or the sets that are named, with the criteria of clouds/kinds.py. With
`sizes`, another: general V with d = 8 and d = 4, and with 256 tokens, with the criteria of clouds/sizes.py.
Figures, numbers and verdicts are written into the folder OUT; a second call goes on where the first one
stopped.
"""

import sys
from pathlib import Path

from nucleate.papers.core.cache import ItemWorkspace, made_by
from nucleate.papers.core.runner import reproduce_item
from nucleate.papers.open_questions.clouds import kind_runs, late_runs
from nucleate.papers.open_questions.clouds.item import ITEM, LARGE
from nucleate.papers.open_questions.clouds.kind_figures import draw_kinds
from nucleate.papers.open_questions.clouds.kind_runs import KIND_SETS, run_kinds
from nucleate.papers.open_questions.clouds.kinds import kind_numbers, kind_verdicts
from nucleate.papers.open_questions.clouds.late import late_numbers, late_verdicts
from nucleate.papers.open_questions.clouds.late_runs import run_late
from nucleate.papers.open_questions.clouds.size_figures import draw_sizes
from nucleate.papers.open_questions.clouds.sizes import SIZE_TABLES, run_sizes, size_numbers, size_verdicts

MINUTES, LATE_MINUTES, SIZES_MINUTES = 35, 8, 22  # of processor time
KINDS_MINUTES = {"d8": 14, "d3": 6, "d4": 6, "beta1-d8": 13, "beta1-d4": 6}  # of that, set by set
KINDS_PICTURES = {"clouds-kinds": ("d8", "d3"), "clouds-kinds-more": ("d4", "beta1-d8", "beta1-d4")}


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


def kinds_main(out: str, names: list[str]) -> None:
    """Run, measure, judge and draw kinds of V, set by set."""
    unknown = [name for name in names if name not in KIND_SETS]
    if unknown:
        sys.exit(f"There is no set {unknown[0]}. There are {', '.join(KIND_SETS)}.")
    _say_cost(out, sum(KINDS_MINUTES[name] for name in names))
    (Path(out) / "figures").mkdir(parents=True, exist_ok=True)
    found = {}
    for name in names:
        one = KIND_SETS[name]
        folder, code = Path(out) / "data" / f"{ITEM.key}-kinds", made_by(kind_runs.__name__)
        workspace = ItemWorkspace(ITEM.key, folder, {**one.parameters, "made_by": code})
        found[name] = run_kinds(workspace, name, lambda done, total: Shares().at(ITEM.key, done / total))
        numbers = dict(kind_numbers(found[name], one))
        for number in numbers.values():
            print(f"{number.about}: {number}")
        for verdict in kind_verdicts(numbers, one):
            print(f"{verdict.word}: {verdict.part}. {verdict.why}.")
    for picture, sets in KINDS_PICTURES.items():
        drawn = {KIND_SETS[name]: found[name] for name in sets if name in found}
        if drawn:
            draw_kinds(drawn).savefig(Path(out) / "figures" / f"{picture}.png", dpi=150)


def sizes_main(out: str) -> None:
    """Run, measure, judge and draw general V by d and by number of tokens."""
    _say_cost(out, SIZES_MINUTES)
    folder, code = Path(out) / "data" / f"{ITEM.key}-sizes", made_by(late_runs.__name__)
    workspace = ItemWorkspace(ITEM.key, folder, {**SIZE_TABLES, "made_by": code})
    found = run_sizes(workspace, lambda done, total: Shares().at(ITEM.key, done / total))
    numbers = dict(size_numbers(found))
    for number in numbers.values():
        print(f"{number.about}: {number}")
    for verdict in size_verdicts(numbers):
        print(f"{verdict.word}: {verdict.part}. {verdict.why}.")
    (Path(out) / "figures").mkdir(parents=True, exist_ok=True)
    draw_sizes(found).savefig(Path(out) / "figures" / "clouds-sizes.png", dpi=150)


def _say_cost(out: str, minutes: int) -> None:
    print(f"About {minutes} minutes of processor time, less what {out} has already.", flush=True)


if __name__ == "__main__":
    modes = {"": main, "late": late_main, "sizes": sizes_main}
    if sys.argv[2:3] == ["kinds"]:
        kinds_main(sys.argv[1], sys.argv[3:] or list(KIND_SETS))
    elif len(sys.argv) > 1 and " ".join(sys.argv[2:]) in modes:
        modes[" ".join(sys.argv[2:])](sys.argv[1])
    else:
        sys.exit(__doc__)
