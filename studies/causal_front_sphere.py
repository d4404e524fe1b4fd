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

from clouds_large import Shares

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

MINUTES, SHAPE_MINUTES = 19, 9  # of processor time


def main(out: str, some: str = "limit") -> None:
    """Run, measure and judge; draw, but for `shape`."""
    parameters, minutes = {"limit": (SPHERE_LIMIT, MINUTES), "shape": (SPHERE_SHAPE, SHAPE_MINUTES)}[some]
    print(f"About {minutes} minutes of processor time, less what {out} has already.", flush=True)
    (Path(out) / "figures").mkdir(parents=True, exist_ok=True)
    p = {**parameters, "made_by": made_by(sphere_runs.__name__)}

    def progress(done: float, total: float) -> None:
        Shares().at(ITEM.key, done / total)

    data = run_sphere_limit(
        ItemWorkspace(ITEM.key, Path(out) / "data" / f"{ITEM.key}-sphere-{some}", p, progress)
    )
    numbers = sphere_limit_numbers(data, p)
    for number in numbers.values():
        print(f"{number.about}: {number}")
    for verdict in sphere_limit_verdicts(numbers, p):
        print(f"{verdict.word}: {verdict.part}. {verdict.why}.")
    if some == "limit":
        figure = draw_sphere_limit(data, numbers, p)
        figure.savefig(Path(out) / "figures" / "causal-front-limit-sphere.png", dpi=150)


if __name__ == "__main__":
    main(*sys.argv[1:])
