"""Which law the masses of clusters behind the front have: a Gamma law, its shape fitted on half of the starts
and tried on the other half; 3.6 minutes of processor time.

    python studies/front_masses.py [STARTS]

Clusters on the circle as in the item causal-front: of the last factor e of 10 000 tokens at its last time,
those with at least a tenth of an even share.  Each mass is taken over the mean of its start.

Hypothesis: the masses of a start with m clusters are m independent Gamma variables of shape a over their
mean (a symmetric Dirichlet law).  a is the one whose mean squared spread is that of the first half of the
starts.

Criterion, written before these runs, for each beta.  At each of MASSES take the share of clusters with at
most so much of the mean, start by start in the other half, less the law's share for as many clusters.
Observed if every 95 % interval is within MAX_OFF of 0, and the largest difference is below those of two
nulls, start by start at the mass where each null is farthest off: a = 1, tokens shared out by independent
random cuts, and regions nearest to as many random places.  Not observed if a part fails by its whole
interval, else undecided.  Laws that are nearer to each other than MAX_OFF are not told apart.  Seeds are from
FIRST_SEED on, which no other run had.
"""

import math
import sys

import numpy as np
from study_command import ending, starts_asked

import nucleate as nc
from nucleate.checks import Array
from nucleate.cli.progress import ProgressBar
from nucleate.papers.core.criteria import Part, above, within, word_of
from nucleate.papers.core.interruption import uninterrupted
from nucleate.papers.core.item import Word
from nucleate.papers.core.numbers import Number, mean_of
from nucleate.papers.open_questions.causal_front.data import clusters_of, expected_clusters, shares_of
from nucleate.theory.causal_front import fastest_degree

BETAS, TOKENS, TIME, STARTS = (49.0, 196.0), 10_000, 14.0, 600
FIRST_SEED = 80_000
MASSES = (0.6, 0.8, 1.0, 1.2, 1.5)  # over the mean
MAX_OFF = 0.05  # of the share of clusters with at most that mass
DRAWS = 4000  # of the law, for every number of clusters
SAMPLE = 2000  # tokens that clusters are counted from
RTOL = 1e-5


def masses_of(beta: float, seed: int) -> tuple[Array, Array]:
    """Masses over their mean, of the clusters of one start and of regions around as many random places,
    (clusters,) each."""
    x0 = nc.uniform(TOKENS, 2, seed)
    run = nc.simulate(nc.Attention(beta), x0, TIME, save=2, rtol=RTOL, atol=RTOL / 100.0)
    assert uninterrupted(run).status == "done", run.status
    late = np.unique(np.linspace(TOKENS / math.e, TOKENS - 1, SAMPLE).astype(np.int64))
    mass = clusters_of(run.x[-1][late], beta**-0.5)[1]
    mass = mass[mass > 0.1 / expected_clusters(fastest_degree(beta), 2)]
    random = shares_of(x0[late], nc.uniform(len(mass), 2, np.random.default_rng((2, seed))))
    return mass / mass.mean(), random / random.mean()


def gamma_shape(every: list[Array]) -> float:
    """The a for which m Gamma variables over their mean have, of all starts, the squared spread measured: a
    start with m clusters has (m - 1) / (m a + 1) on average."""
    from scipy.optimize import brentq

    size = np.array([len(one) for one in every])
    squared = np.mean([one.var() for one in every])
    return float(brentq(lambda a: np.mean((size - 1.0) / (size * a + 1.0)) - squared, 1e-3, 1e6))


def shares_below(mass: Array) -> Array:
    """The share of a start's clusters with at most each of MASSES of the mean, (masses,)."""
    return np.array([(mass <= one).mean() for one in MASSES])


def law_shares(a: float, clusters: int) -> Array:
    """The same of the law, for so many clusters, (masses,)."""
    drawn = np.random.default_rng(clusters).gamma(a, size=(DRAWS, clusters))
    relative = drawn / drawn.mean(1, keepdims=True)
    return np.array([(relative <= one).mean() for one in MASSES])


def judged(every: list[Array], random: list[Array]) -> tuple[Word, float, list[Number], dict[str, Number]]:
    """The word, the shape, what the other half of the starts has more than the law at each of MASSES, and by
    how much each null is farther off."""
    half = len(every) // 2
    a, held = gamma_shape(every[:half]), every[half:]
    laws = {
        shape: {m: law_shares(shape, m) for m in {len(one) for one in held}} for shape in sorted({a, 1.0})
    }
    seen = np.stack([shares_below(one) for one in held])  # (start, masses)
    law, even = (np.stack([laws[shape][len(one)] for one in held]) for shape in (a, 1.0))
    places = np.stack([shares_below(one) for one in random[half:]])
    off = [mean_of(column, f"at most {x:g}") for x, column in zip(MASSES, (seen - law).T, strict=True)]
    worst = max(abs(one.value) for one in off)
    farther: dict[str, Number] = {}
    for name, null in (("random cuts, a = 1", even), ("random places", places)):
        apart = seen - null
        k = int(np.abs(apart.mean(0)).argmax())
        farther[name] = mean_of(np.sign(apart[:, k].mean()) * apart[:, k] - worst, name)
    parts: list[Part] = [within(one, 0.0, MAX_OFF) for one in off]
    parts += [above(one, 0.0) for one in farther.values()]
    return word_of(parts), a, off, farther


def main(*words: str) -> None:
    """Simulate, fit, judge."""
    with ending("Nothing is kept: the same command begins anew."):
        judge(starts_asked(__doc__, words, STARTS, 4, "Half of them are held out."))


def judge(starts: int) -> None:
    """What is found from so many starts for each beta."""
    print(
        f"{starts} starts of {TOKENS} tokens for each beta: 3.6 minutes of processor time for 600", flush=True
    )
    for i, beta in enumerate(BETAS):
        found = []
        with ProgressBar(f"beta = {beta:g}") as progress:
            for k in range(starts):
                found.append(masses_of(beta, FIRST_SEED + 1000 * i + k))
                progress(k + 1, starts)
        word, a, off, farther = judged([one[0] for one in found], [one[1] for one in found])
        spread = mean_of([one[0].std() for one in found], "spread")
        print(f"beta = {beta:g}: {word}. Shape {a:.3g} from {starts // 2} starts; spread of all {spread};")
        number = mean_of([len(one[0]) for one in found], "clusters")
        print(f"  {sum(len(one[0]) for one in found)} clusters, {number} a start.")
        for one in off:
            print(f"  share with {one.about} of the mean, less the law's: {one}")
        for name, one in farther.items():
            print(f"  {name}: farther off by {one}")


if __name__ == "__main__":
    main(*sys.argv[1:])
