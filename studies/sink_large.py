"""Whether the sink survives with more tokens and in more dimensions than the item sink-survival has: n = 128,
d = 4 and n = 32, d = 8, the strengths that the item had first, seeds from 2000 on; 4 minutes of processor
time.

    python studies/sink_large.py OUT [weak]

Prints, for every ingredient, strength and beta, how many of 8 starts the first token wins, how many another
token in its place, and the runs that the other wins alone.  With `weak` another study: whether x_1 wins with
weak MLPs, heads and V by layers up to the strengths that the item found, on starts from 3000 on, by the
criteria of sink_survival/weak.py; 3 minutes.  What is simulated is kept in the folder OUT; a second call goes
on where the first one stopped.
"""

import sys
from pathlib import Path

from study_command import Runs, run_script, tell, warn

from nucleate.cli.progress import ProgressBar
from nucleate.papers.core.cache import ItemWorkspace
from nucleate.papers.core.item import Parameters
from nucleate.papers.open_questions.sink_survival.data import run
from nucleate.papers.open_questions.sink_survival.item import ITEM
from nucleate.papers.open_questions.sink_survival.measures import wins
from nucleate.papers.open_questions.sink_survival.weak import WEAK, weak_numbers, weak_verdicts

SIZES = ((128, 4), (32, 8))  # n, d
STRENGTHS = {
    "rope": [1e-8, 1e-4, 1e-2, 1e-1, 1.0],
    "alibi": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0],
    "mlp": [0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0],
    "heads": [0.1, 0.3, 1.0, 3.0, 10.0],
    "layers": [0.01, 0.03, 0.1, 0.3, 1.0, 3.0],
    "noise": [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1],
}
CASES = {
    name: {**ITEM.parameters["cases"][name], "values": values, "starts": 8}
    for name, values in STRENGTHS.items()
}
LARGE: Parameters = {
    **ITEM.parameters,
    "betas": [1.0, 2.0, 3.0],
    "first_seed": 2000,
    "held_starts": 0,
    "cases": CASES,
}
COST, WEAK_COST = "4 minutes of processor time", "3 minutes of processor time"


def main(*words: str) -> None:
    """Run and count, or judge."""
    run_script(__doc__, {"large": Runs(COST, make_large), "weak": Runs(WEAK_COST, make_weak)}, words)


def make_large(out: Path) -> None:
    """Size by size."""
    for n, d in SIZES:
        p = {**LARGE, "n": n, "d": d}
        with ProgressBar(f"n = {n}, d = {d}") as progress:
            data = run(ItemWorkspace(ITEM.key, out / f"n{n}-d{d}", p, progress, warn))
        for ingredient, case in CASES.items():
            won = wins(data[ingredient]["overlap"].values[..., :2, :])  # (start, value, beta, 2)
            for v, strength in enumerate(STRENGTHS[ingredient]):
                for b, beta in enumerate(LARGE["betas"]):
                    first, other = won[:, v, b].T  # (starts,)
                    print(
                        f"n = {n}, d = {d}, {ingredient}, {case['label']} = {strength:g}, beta = {beta:g}:"
                        f" {first.sum()} of {len(first)}, another token {other.sum()}, alone"
                        f" {(other & ~first).sum()}",
                        flush=True,
                    )


def make_weak(out: Path) -> None:
    """Weak strengths on new starts, size by size."""
    for name, p in WEAK.items():
        with ProgressBar(f"weak, {name}") as progress:
            data = run(ItemWorkspace(ITEM.key, out / f"weak-{name}", p, progress, warn))
        numbers = dict(weak_numbers(data, p))
        tell(numbers.values(), weak_verdicts(numbers, p))


if __name__ == "__main__":
    main(*sys.argv[1:])
