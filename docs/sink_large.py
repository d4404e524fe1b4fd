"""Whether the sink survives with more tokens and in more dimensions than the item sink-survival has: n = 128,
d = 4 and n = 32, d = 8, the item's strengths, seeds from 2000 on; 11 minutes of processor time.

    python docs/sink_large.py

Prints, for every ingredient, strength and beta, how many of 8 starts the first token wins, how many another
token in its place, and the runs that the other wins alone.
"""

from functools import partial

import numpy as np

from nucleate.papers.core.threads import in_threads
from nucleate.papers.open_questions.sink_survival.data import overlaps
from nucleate.papers.open_questions.sink_survival.item import ITEM
from nucleate.papers.open_questions.sink_survival.measures import wins

SIZES = ((128, 4), (32, 8))  # n, d
BETAS = (1.0, 2.0, 3.0)
SEEDS = range(2000, 2008)
INGREDIENTS = ("rope", "alibi", "mlp", "heads", "layers", "noise")


def main() -> None:
    """Ingredient by ingredient."""
    for n, d in SIZES:
        for ingredient in INGREDIENTS:
            case = ITEM.parameters["cases"][ingredient]
            for strength in case["values"]:
                for beta in BETAS:
                    one = partial(overlaps, ingredient, strength, beta, (n, d), [case["depth"]], False)
                    won = wins(np.stack(in_threads(one, SEEDS))[:, 0, :2])  # (starts, 2)
                    first, other = won.T
                    print(
                        f"n = {n}, d = {d}, {ingredient}, {case['label']} = {strength:g}, beta = {beta:g}:"
                        f" {first.sum()} of {len(SEEDS)}, another token {other.sum()}, alone"
                        f" {(other & ~first).sum()}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
