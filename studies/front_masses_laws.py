"""Which of two laws the masses of clusters behind the front are nearer to, Gamma or log-normal: on starts
that neither has seen; 6 minutes of processor time.

    python studies/front_masses_laws.py [STARTS]

`front_masses.py` found a Gamma law to 5 % on the second half of its starts, and asked no other law but
two that are far off.  A referee then found a log-normal law of the same spread nearer on some of the same
starts.  So it is asked of others.  Clusters are those of `front_masses.py`, with each mass over the mean of
its start.

Hypothesis: the masses of a start with m clusters are nearer to m independent log-normal variables over
their mean than to m Gamma ones.  The one parameter of each law is fitted on FITTED starts of
`front_masses.py`, by the mean squared spread.

Criterion, written before these runs, for each beta.  Take the shares of clusters with at most each of
MASSES of the mean, start by start, less the law's for as many clusters, and of their means over the
starts the root of the mean square over MASSES: the misfit.  Log-normal nearer: observed if the 95 %
interval of the Gamma law's misfit less the log-normal's, from starts drawn again, is above 0; not
observed if it is below, else undecided.  Each law to 5 %: observed if every 95 % interval of a difference
is within MAX_OFF of 0, as in `front_masses.py`.  Seeds are those after the last of `front_masses.py`,
which no other run had.
"""

import sys

import numpy as np
from front_masses import (
    BETAS,
    DRAWS,
    FIRST_SEED,
    MASSES,
    MAX_OFF,
    TOKENS,
    gamma_shape,
    law_shares,
    masses_of,
    shares_below,
)
from front_masses import STARTS as EARLIER_STARTS
from study_command import ending, starts_asked

from nucleate.checks import Array
from nucleate.cli.progress import ProgressBar
from nucleate.papers.core.criteria import above, within, word_of
from nucleate.papers.core.item import Word
from nucleate.papers.core.numbers import Number, mean_of

STARTS, FITTED = 400, 300
RESAMPLES, SEED = 2000, 0


def log_normal_width(every: list[Array]) -> float:
    """The standard deviation of their logarithms for which log-normal variables over their mean have, of all
    starts, the squared spread measured."""
    from scipy.optimize import brentq

    size, count = np.unique([len(one) for one in every], return_counts=True)
    squared = np.mean([one.var() for one in every])

    def beyond(width: float) -> float:
        spread = [relative_log_normal(width, m).var(1).mean() for m in size.tolist()]
        return float(np.average(spread, weights=count) - squared)

    return float(brentq(beyond, 1e-3, 2.0))


def relative_log_normal(width: float, clusters: int) -> Array:
    """Draws of so many masses over their mean, (DRAWS, clusters)."""
    drawn = np.exp(width * np.random.default_rng(clusters).standard_normal((DRAWS, clusters)))
    return np.asarray(drawn / drawn.mean(1, keepdims=True))


def log_normal_shares(width: float, clusters: int) -> Array:
    """What `law_shares` is for the Gamma law, (masses,)."""
    relative = relative_log_normal(width, clusters)
    return np.array([(relative <= one).mean() for one in MASSES])


def misfit(differences: Array) -> Array:
    """Of differences (..., start, masses) of shares, (...)."""
    return np.sqrt((differences.mean(-2) ** 2).mean(-1))


def judged(fitted: list[Array], held: list[Array]) -> tuple[Word, dict[str, list[Number]], Number]:
    """The word, the differences from each law at each of MASSES, and how much nearer the log-normal is."""
    a, width = gamma_shape(fitted), log_normal_width(fitted)
    sizes = {len(one) for one in held}
    laws = {
        f"Gamma law of shape {a:.3g}": {m: law_shares(a, m) for m in sizes},
        f"log-normal law of width {width:.3g}": {m: log_normal_shares(width, m) for m in sizes},
    }
    off, every = {}, []
    for name, law in laws.items():
        differences = np.stack([shares_below(one) - law[len(one)] for one in held])  # (start, masses)
        off[name] = [
            mean_of(column, f"at most {x:g}") for x, column in zip(MASSES, differences.T, strict=True)
        ]
        every.append(differences)
    drawn = np.random.default_rng(SEED).integers(len(held), size=(RESAMPLES, len(held)))
    gamma, log_normal = every
    again = misfit(gamma[drawn]) - misfit(log_normal[drawn])  # (RESAMPLES,)
    low, high = np.quantile(again, [0.025, 0.975])
    nearer = Number(float(misfit(gamma) - misfit(log_normal)), "misfit of the Gamma law less", low, high)
    return word_of([above(nearer, 0.0)]), off, nearer


def main(*words: str) -> None:
    """Simulate, fit, judge."""
    with ending("Nothing is kept: the same command begins anew."):
        judge(starts_asked(__doc__, words, STARTS, 2, "All are held out."))


def judge(starts: int) -> None:
    """What is found from so many new starts for each beta."""
    print(
        f"{starts} starts of {TOKENS} tokens for each beta: 6 minutes of processor time for 400", flush=True
    )
    for i, beta in enumerate(BETAS):
        first, new = FIRST_SEED + 1000 * i, FIRST_SEED + 1000 * i + EARLIER_STARTS
        seeds = [*range(first, first + min(FITTED, starts)), *range(new, new + starts)]
        found = []
        with ProgressBar(f"beta = {beta:g}") as progress:
            for done, seed in enumerate(seeds, start=1):
                found.append(masses_of(beta, seed)[0])
                progress(done, len(seeds))
        word, off, nearer = judged(found[:-starts], found[-starts:])
        print(f"beta = {beta:g}: log-normal nearer than Gamma: {word}, by {nearer}.")
        for name, numbers in off.items():
            print(f"  {name}, to {MAX_OFF:.0%}: {word_of([within(one, 0.0, MAX_OFF) for one in numbers])}")
            for one in numbers:
                print(f"    share with {one.about} of the mean, less the law's: {one}")


if __name__ == "__main__":
    main(*sys.argv[1:])
