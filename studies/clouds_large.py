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
from collections.abc import Sequence
from pathlib import Path

from study_command import Runs, item_runs, make_in, tell, warn, with_out

from nucleate.cli.progress import ProgressBar
from nucleate.papers.core.cache import ItemWorkspace, made_by
from nucleate.papers.open_questions.clouds import kind_runs, late_runs
from nucleate.papers.open_questions.clouds.item import ITEM, LARGE
from nucleate.papers.open_questions.clouds.kind_figures import draw_kinds
from nucleate.papers.open_questions.clouds.kind_runs import KIND_SETS, run_kinds
from nucleate.papers.open_questions.clouds.kinds import kind_numbers, kind_verdicts
from nucleate.papers.open_questions.clouds.late import late_numbers, late_verdicts
from nucleate.papers.open_questions.clouds.late_runs import run_late
from nucleate.papers.open_questions.clouds.size_figures import draw_sizes
from nucleate.papers.open_questions.clouds.sizes import SIZE_TABLES, run_sizes, size_numbers, size_verdicts

MINUTES = {"all": 35, "late": 8, "sizes": 22}  # of processor time
# the same of the kinds, set by set
KINDS_MINUTES = {"d8": 14, "d3": 6, "d4": 6, "beta1-d8": 13, "beta1-d4": 6}
KINDS_PICTURES = {"clouds-kinds": ("d8", "d3"), "clouds-kinds-more": ("d4", "beta1-d8", "beta1-d4")}


def main(*words: str) -> None:
    """Run, measure and judge what is asked for."""
    line = with_out(__doc__)
    line.add_argument("runs", nargs="?", choices=["all", "late", "kinds", "sizes"], default="all")
    line.add_argument(
        "sets", nargs="*", metavar="SET", default=[], help=f"of kinds: some of {', '.join(KIND_SETS)}"
    )
    asked = line.parse_args(words)
    unknown = [name for name in asked.sets if name not in KIND_SETS]
    if unknown:
        line.error(f"there is no set {unknown[0]}; there are {', '.join(KIND_SETS)}")
    if asked.sets and asked.runs != "kinds":
        line.error(f"only kinds has sets, not {asked.runs}")
    sets = asked.sets or list(KIND_SETS)
    minutes = {**MINUTES, "kinds": sum(KINDS_MINUTES[name] for name in sets)}[asked.runs]
    make_runs = {
        "all": item_runs(ITEM, LARGE),
        "late": make_late,
        "kinds": lambda out: make_kinds(out, sets),
        "sizes": make_sizes,
    }[asked.runs]
    make_in(asked.out, Runs(f"{minutes} minutes of processor time", make_runs))


def make_late(out: Path) -> None:
    """Late tokens alone."""
    p = {**ITEM.parameters, **LARGE}
    with ProgressBar("late tokens") as progress:
        data = run_late(ItemWorkspace(ITEM.key, out / "data" / ITEM.key, p, tell=warn), progress)
    numbers = dict(late_numbers(data, p))
    tell(numbers.values(), late_verdicts(numbers, p))


def make_kinds(out: Path, names: Sequence[str]) -> None:
    """Kinds of V, set by set."""
    found = {}
    for name in names:
        one = KIND_SETS[name]
        folder, code = out / "data" / f"{ITEM.key}-kinds", made_by(kind_runs.__name__)
        with ProgressBar(name) as progress:
            workspace = ItemWorkspace(ITEM.key, folder, {**one.parameters, "made_by": code}, tell=warn)
            found[name] = run_kinds(workspace, name, progress)
        numbers = dict(kind_numbers(found[name], one))
        tell(numbers.values(), kind_verdicts(numbers, one))
    (out / "figures").mkdir(exist_ok=True)
    for picture, sets in KINDS_PICTURES.items():
        drawn = {KIND_SETS[name]: found[name] for name in sets if name in found}
        if drawn:
            draw_kinds(drawn).savefig(out / "figures" / f"{picture}.png", dpi=150)


def make_sizes(out: Path) -> None:
    """General V by d and by number of tokens."""
    folder, code = out / "data" / f"{ITEM.key}-sizes", made_by(late_runs.__name__)
    with ProgressBar("sizes") as progress:
        workspace = ItemWorkspace(ITEM.key, folder, {**SIZE_TABLES, "made_by": code}, tell=warn)
        found = run_sizes(workspace, progress)
    numbers = dict(size_numbers(found))
    tell(numbers.values(), size_verdicts(numbers))
    (out / "figures").mkdir(exist_ok=True)
    draw_sizes(found).savefig(out / "figures" / "clouds-sizes.png", dpi=150)


if __name__ == "__main__":
    main(*sys.argv[1:])
