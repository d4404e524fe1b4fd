"""Figure 2: many starts, and one of them for the picture.

A center is lost when it comes within MERGE_DISTANCE of an earlier center. How often that happens between t =
75 and t = 150 is counted over many starts. The picture illustrates it: its start is uniform(n, d, seed) with
the first seed from which exactly one center is lost between the two times, from at least SEPARATION away at t
= 75, so that the eye can see it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array, InputError

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.integrate.run import Run
    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data

__all__ = [
    "BETA",
    "DELTA",
    "MERGE_DISTANCE",
    "SEPARATION",
    "SNAPSHOT_AFTER",
    "SNAPSHOT_BEFORE",
    "TIMES",
    "Loss",
    "N",
    "centers",
    "chosen_seed",
    "evolution",
    "losses",
    "run",
]

BETA, N = 64.0, 200
DELTA = 4.0 / BETA**0.5
SNAPSHOT_BEFORE, SNAPSHOT_AFTER = 75.0, 150.0  # times: a center is lost between the two
TIMES = np.linspace(0.0, SNAPSHOT_AFTER, 601)  # every quarter; every snapshot is among them
MERGE_DISTANCE = DELTA / 10  # of an earlier center: a center that is nearer is lost
SEPARATION = DELTA / 2  # between the two at t = 75, at least, for a loss that can be seen
Centers = NDArray[np.int64]


@dataclass(frozen=True)
class Loss:
    """A Rényi center that came within MERGE_DISTANCE of an earlier one. Tokens are counted from 0."""

    token: int
    to: int
    time: float
    distance_before: float  # between the two at t = 75
    distance_after: float  # and at t = 150

    @property
    def shown(self) -> bool:
        """Whether the two snapshots show it."""
        between = SNAPSHOT_BEFORE < self.time <= SNAPSHOT_AFTER
        return between and self.distance_before >= SEPARATION and self.distance_after <= MERGE_DISTANCE


def run(workspace: "ItemWorkspace") -> "Data":
    """The run of the figure, the same with tighter tolerances, and many other starts."""
    chosen = workspace.run("run", lambda: evolution(chosen_seed()))
    workspace.progress(0.4, 1.0)
    careful = workspace.run("careful", lambda: evolution(int(chosen.notes["seed"]), rtol=1e-11, atol=1e-13))
    workspace.progress(0.6, 1.0)
    many = workspace.dataset("starts", lambda: starts(workspace.parameters["starts"]))
    return {"run": chosen, "careful": careful, "starts": many}


def evolution(seed: int, rtol: float = 1e-8, atol: float = 1e-10) -> "Run":
    """The run of the figure from the start `seed`."""
    from dataclasses import replace

    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.sphere import uniform

    run = simulate(Attention(BETA), uniform(N, 2, seed), SNAPSHOT_AFTER, save=TIMES, rtol=rtol, atol=atol)
    return replace(run, notes={"start": "uniform(n, d, seed)", "seed": seed})


def centers(x: Array) -> tuple[Centers, Centers]:
    """The strong and the Rényi centers of the start x (n, 2); afterwards they move with their tokens."""
    from nucleate.observe.centers import renyi_centers

    return renyi_centers(x, DELTA, strong=True), renyi_centers(x, DELTA)


def losses(run: "Run", renyi: Centers) -> list[Loss]:
    """Every Rényi center that is lost during the run, with the first earlier center it meets."""
    from nucleate.sphere import distance

    found = []
    before, after = (int(np.searchsorted(run.t, t)) for t in (SNAPSHOT_BEFORE, SNAPSHOT_AFTER))
    for i, token in enumerate(renyi[1:], start=1):
        distances = distance(run.x[:, renyi[:i]], run.x[:, [token]])  # (m, i) to each earlier center
        frame = int((distances.min(1) <= MERGE_DISTANCE).argmax())
        if distances[frame].min() <= MERGE_DISTANCE:  # argmax of nothing is 0, and at t = 0 all are apart
            j = int(distances[frame].argmin())
            both = slice(frame - 1, frame + 1)
            crossed = np.interp(-MERGE_DISTANCE, -distances[both, j], run.t[both])
            found.append(
                Loss(
                    int(token),
                    int(renyi[j]),
                    float(crossed),
                    float(distances[before, j]),
                    float(distances[after, j]),
                )
            )
    return found


def chosen_seed(max_seeds: int = 1000) -> int:
    """The first seed whose run loses exactly one Rényi center between the two snapshots, for all to see."""
    from nucleate.papers.core.interruption import uninterrupted

    for seed in range(max_seeds):
        run = uninterrupted(evolution(seed))
        late = [loss for loss in losses(run, centers(run.x[0])[1]) if loss.time > SNAPSHOT_BEFORE]
        if len(late) == 1 and late[0].shown:
            return seed
    raise InputError(
        f"None of {max_seeds} seeds loses one Rényi center between t = {SNAPSHOT_BEFORE:g} and t ="
        f" {SNAPSHOT_AFTER:g}. Choose a seed yourself."
    )


def starts(count: int) -> "Dataset":
    """Of many other starts: how many centers they have, how far these move until t = 150, how many have
    merged with an earlier one by then, and how many between the snapshots, in plain sight or at all."""
    import xarray

    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.interruption import uninterrupted
    from nucleate.sphere import uniform

    x0 = uniform(N, 2, seed=2, runs=count)  # (b, n, 2)
    run = uninterrupted(
        simulate(
            Attention(BETA),
            x0,
            SNAPSHOT_AFTER,
            save=[0.0, SNAPSHOT_BEFORE, SNAPSHOT_AFTER],
            rtol=1e-7,
            atol=1e-9,
        )
    )
    rows = [_of_start(x) for x in run.x]
    return xarray.Dataset(
        {name: ("start", np.array([row[name] for row in rows], dtype=np.float64)) for name in rows[0]}
    )


def _of_start(x: Array) -> dict[str, float]:
    """The counts of one start, from its frames x (3, n, 2)."""
    from nucleate.sphere import distance

    strong, renyi = centers(x[0])
    is_strong = np.isin(renyi, strong)  # (centers,)
    moved = distance(x[0], x[2])[renyi]  # (centers,)
    nearest = np.array(
        [distance(x[1:, renyi[:i]], x[1:, [k]]).min(1) if i else [np.inf] * 2 for i, k in enumerate(renyi)]
    )  # (centers, 2) from an earlier center, at each snapshot
    before, after = nearest.T
    merged = after <= MERGE_DISTANCE  # (centers,)

    def share(of: NDArray[np.bool_], where: NDArray[np.bool_]) -> float:
        return float(of[where].mean()) if where.any() else np.nan

    return {
        "strong": len(strong),
        "renyi": len(renyi),
        "strong_moved": moved[is_strong].mean(),
        "only_renyi_moved": moved[~is_strong].mean() if not is_strong.all() else np.nan,
        "strong_merged": share(merged, is_strong),
        "only_renyi_merged": share(merged, ~is_strong),
        "lost": (merged & (before >= SEPARATION)).sum(),
        "lost_at_all": (merged & (before > MERGE_DISTANCE)).sum(),
    }
