"""The limit equation of many tokens on the sphere beside runs of 50 000 tokens, and far beyond any run.

    python studies/causal_front_sphere.py OUT [shape]

With `shape` only the runs, once more with new seeds, and with what every token sees; no figure.
Hypothesis and criteria, written before the runs, are in
`nucleate.papers.open_questions.causal_front.sphere_limit`.  What it costs is said before it begins; numbers
and verdicts are printed, data and the figure written into the folder OUT; a second call goes on where the
first one stopped.
"""

import sys
from pathlib import Path

from study_command import Runs, run_script, tell, warn

from nucleate.cli.progress import ProgressBar
from nucleate.papers.core.cache import ItemWorkspace, made_by
from nucleate.papers.open_questions.causal_front import sphere_runs
from nucleate.papers.open_questions.causal_front.item import ITEM
from nucleate.papers.open_questions.causal_front.sphere_figure import draw_sphere_limit
from nucleate.papers.open_questions.causal_front.sphere_limit import (
    sphere_limit_numbers,
    sphere_limit_verdicts,
)
from nucleate.papers.open_questions.causal_front.sphere_runs import (
    SPHERE_LIMIT,
    SPHERE_SHAPE,
    run_sphere_limit,
)

COST, SHAPE_COST = "19 minutes of processor time", "9 minutes of processor time"


def main(*words: str) -> None:
    """Run, measure and judge; draw, but for `shape`."""
    run_script(
        __doc__,
        {
            "limit": Runs(COST, lambda out: make_limit(out, "limit")),
            "shape": Runs(SHAPE_COST, lambda out: make_limit(out, "shape")),
        },
        words,
    )


def make_limit(out: Path, which: str) -> None:
    """One of the two sets."""
    parameters = {"limit": SPHERE_LIMIT, "shape": SPHERE_SHAPE}[which]
    p = {**parameters, "made_by": made_by(sphere_runs.__name__)}
    with ProgressBar(which) as progress:
        folder = out / "data" / f"{ITEM.key}-sphere-{which}"
        data = run_sphere_limit(ItemWorkspace(ITEM.key, folder, p, progress, warn))
        numbers = sphere_limit_numbers(data, p)
    tell(numbers.values(), sphere_limit_verdicts(numbers, p))
    if which == "limit":
        (out / "figures").mkdir(exist_ok=True)
        figure = draw_sphere_limit(data, numbers, p)
        figure.savefig(out / "figures" / "causal-front-limit-sphere.png", dpi=150)


if __name__ == "__main__":
    main(*sys.argv[1:])
