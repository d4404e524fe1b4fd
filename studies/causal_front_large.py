"""The item causal-front with larger runs: 100 000 tokens on the circle, 20 000 on the sphere, 200 starts of
the limit equation to s = 105; 20 to 31 minutes of processor time.

    python studies/causal_front_large.py OUT [large | million | sphere | ten | seeds]

With `million` there are a million tokens on the circle, three starts for each beta, with seeds of their own:
21 minutes of processor time, and 2.5 GB of memory on two cores.  With `sphere` there are a million on the
sphere as well, four starts, and six for each beta on the circle, with seeds of their own; far from the
beginning the limit equation is solved as in the item: 107 minutes by the clock, on two cores that did other
work meanwhile.  With `ten` there are ten million on the circle, four starts at one beta, to t = 10: about 30
minutes of processor time and 7 GB of memory.  With `seeds` the sizes are the item's, and the seeds others:
for the criteria that were written after the item's own runs; 96 s of processor time.  Figures, numbers and
verdicts are written into the folder OUT; a second call goes on where the first one stopped.  What is to come
is said before it begins.
"""

import sys

from study_command import Runs, item_runs, run_script

from nucleate.papers.open_questions.causal_front.item import (
    ITEM,
    LARGE,
    MILLION,
    MILLION_SPHERE,
    NEW_SEEDS,
    TEN_MILLION,
)

RUNS = {
    "large": Runs("20 to 31 minutes of processor time", item_runs(ITEM, LARGE)),
    "million": Runs("21 minutes of processor time, 2.5 GB of memory", item_runs(ITEM, MILLION)),
    "sphere": Runs(
        "107 minutes by the clock on two cores that did other work", item_runs(ITEM, MILLION_SPHERE)
    ),
    "ten": Runs("30 minutes of processor time, 7 GB of memory", item_runs(ITEM, TEN_MILLION)),
    "seeds": Runs("96 s of processor time", item_runs(ITEM, NEW_SEEDS)),
}


def main(*words: str) -> None:
    """Run, measure, judge and draw."""
    run_script(__doc__, RUNS, words)


if __name__ == "__main__":
    main(*sys.argv[1:])
