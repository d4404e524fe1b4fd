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
from pathlib import Path

from clouds_large import Shares

from nucleate.papers.core.item import Parameters
from nucleate.papers.core.runner import reproduce_item
from nucleate.papers.open_questions.causal_front.item import (
    ITEM,
    LARGE,
    MILLION,
    MILLION_SPHERE,
    NEW_SEEDS,
    TEN_MILLION,
)

# what differs from the item, and what it took
SIZES: dict[str, tuple[Parameters, str]] = {
    "large": (LARGE, "20 to 31 minutes of processor time"),
    "million": (MILLION, "21 minutes of processor time and 2.5 GB of memory, on two cores"),
    "sphere": (MILLION_SPHERE, "107 minutes on two cores that did other work meanwhile"),
    "ten": (TEN_MILLION, "30 minutes of processor time and 7 GB of memory"),
    "seeds": (NEW_SEEDS, "96 s of processor time"),
}


def main(out: str, size: str = "large") -> None:
    """Run, measure, judge and draw."""
    some, cost = SIZES[size]
    print(f"{size}: {cost} when it was measured, less what is in {out} already", flush=True)
    for folder in ("figures", "data", "items"):
        (Path(out) / folder).mkdir(parents=True, exist_ok=True)
    summary = reproduce_item(Path(out), ITEM, {**ITEM.parameters, **some}, display=Shares())
    for verdict in summary["verdicts"]:
        print(f"{verdict['word']}: {verdict['part']}. {verdict['why']}.")


if __name__ == "__main__":
    main(*sys.argv[1:])
