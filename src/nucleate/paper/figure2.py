"""Figure 2: tokens on the circle gather around centers; a Rényi center is lost between t = 75 and t = 150.

From the paper: Q = K = V = I, n = 200, d = 2, beta = 64, delta = 4 beta^(-1/2), snapshots at t = 75 and t = 150, strong
centers red and Rényi centers black. Ours: the start, the other snapshots, and what "lost" means. A center is lost when it
comes within delta/10 of an earlier center. The start is uniform(n, d, seed) with the first seed from which exactly one
center is lost between the two times, from at least delta/2 away at t = 75, so that the eye can see it.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nucleate import __version__, plot
from nucleate.attention import Attention
from nucleate.checks import InputError
from nucleate.integrate.run import Run
from nucleate.integrate.simulate import simulate
from nucleate.integrate.storage import replacing
from nucleate.observe.centers import renyi_centers
from nucleate.sphere import distance, uniform

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Loss", "chosen_seed", "evolution", "losses", "make"]

BETA, N = 64.0, 200
DELTA = 4.0 / BETA**0.5
BEFORE, AFTER = 75.0, 150.0
SNAPSHOTS = (0.0, 5.0, 20.0, BEFORE, AFTER)
TIMES = np.linspace(0.0, AFTER, 601)  # every quarter; every snapshot is among them
MERGED = DELTA / 10
APART = DELTA / 2


@dataclass(frozen=True)
class Loss:
    """A Rényi center that came within MERGED of an earlier one. Tokens are counted from 0."""

    token: int
    to: int
    time: float
    distance_before: float  # between the two at t = 75
    distance_after: float  # and at t = 150

    @property
    def shown(self) -> bool:
        """Whether the two snapshots show it."""
        return BEFORE < self.time <= AFTER and self.distance_before >= APART and self.distance_after <= MERGED


def make(out: Path, seed: int | None = None) -> list[Path]:
    """Simulate and draw; figure2.png, figure2.pdf and results.json in the folder `out`."""
    seed = chosen_seed() if seed is None else seed
    run = evolution(seed)
    if not run.done:
        raise InputError(f"The run from seed {seed} did not finish: {run.ending}. Choose another seed.")
    strong, renyi = centers(run)
    lost = losses(run, renyi)
    files = [out / "figure2.png", out / "figure2.pdf", out / "results.json"]
    drawing = draw(run, strong, renyi, lost)
    for file in files[:2]:
        plot.save_figure(drawing, file)
    with replacing(files[2]) as part:
        part.write_text(json.dumps(results(run, seed, strong, renyi, lost), indent=2) + "\n", encoding="utf-8")
    return files


def evolution(seed: int) -> Run:
    """The run of the figure from the start `seed`."""
    return simulate(Attention(BETA), uniform(N, 2, seed), AFTER, save=TIMES)


def centers(run: Run) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The strong and the Rényi centers, found at t = 0; afterwards they move with their tokens."""
    return renyi_centers(run.x[0], DELTA, strong=True), renyi_centers(run.x[0], DELTA)


def losses(run: Run, renyi: NDArray[np.int64]) -> list[Loss]:
    """Every Rényi center that is lost during the run, with the first earlier center it meets."""
    found = []
    before, after = (int(np.searchsorted(run.t, t)) for t in (BEFORE, AFTER))
    for i, token in enumerate(renyi[1:], start=1):
        apart = distance(run.x[:, renyi[:i]], run.x[:, [token]])  # (m, i) to each earlier center
        frame = int((apart.min(1) <= MERGED).argmax())
        if apart[frame].min() <= MERGED:  # argmax of nothing is 0, and at t = 0 all are DELTA apart
            j = int(apart[frame].argmin())
            crossed = np.interp(-MERGED, -apart[frame - 1 : frame + 1, j], run.t[frame - 1 : frame + 1])
            found.append(Loss(int(token), int(renyi[j]), round(float(crossed), 3), float(apart[before, j]), float(apart[after, j])))
    return found


def chosen_seed(most: int = 1000) -> int:
    """The first seed whose run loses exactly one Rényi center between the two snapshots, for all to see."""
    for seed in range(most):
        run = evolution(seed)
        late = [loss for loss in losses(run, centers(run)[1]) if loss.time > BEFORE]
        if len(late) == 1 and late[0].shown:
            return seed
    raise InputError(f"None of {most} seeds loses one Rényi center between t = {BEFORE:g} and t = {AFTER:g}. Choose a seed yourself.")


def results(run: Run, seed: int, strong: NDArray[np.int64], renyi: NDArray[np.int64], lost: list[Loss]) -> dict[str, Any]:
    """What the figure says, in numbers."""
    agreement = run.check()
    return {
        "figure": 2,
        "paper": {"Q, K, V": "I", "n": N, "d": 2, "beta": BETA, "delta": DELTA, "mask": "causal", "snapshots": [BEFORE, AFTER]},
        "ours": {
            "seed": seed,
            "start": f"uniform(n={N}, d=2, seed={seed})",
            "snapshots": list(SNAPSHOTS),
            "merged_within": MERGED,
            "apart_at_75": APART,
        },
        "strong_centers": {"count": len(strong), "tokens_from_0": strong.tolist()},
        "renyi_centers": {"count": len(renyi), "tokens_from_0": renyi.tolist()},
        "lost": [asdict(loss) for loss in lost],
        "lost_between_75_and_150": [loss.token for loss in lost if loss.shown],
        "run": {"status": run.status, "steps": int(run.steps), **{name: run.settings.get(name) for name in ("method", "rtol", "atol")}},
        "check": {"digits": agreement.digits, "largest_difference": agreement.worst, "against": agreement.against},
        "nucleate": __version__,
    }


def draw(run: Run, strong: NDArray[np.int64], renyi: NDArray[np.int64], lost: list[Loss]) -> "Figure":
    """A row of snapshots above the angles over time."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    figure = Figure(figsize=(11.0, 6.6), layout="constrained")
    parts: Any = figure.subfigures(2, 1, height_ratios=[1.0, 1.75])
    top, bottom = parts
    shown = [loss for loss in lost if loss.shown]
    for ax, time in zip(top.subplots(1, len(SNAPSHOTS)), SNAPSHOTS, strict=True):
        x = run.x[np.searchsorted(run.t, time)]  # (n, 2)
        plot.circle(x, ax, centers=renyi, strong=strong)
        ax.set_title(f"t = {time:g}")
        for loss in shown if time == BEFORE else []:
            arrow = {"arrowstyle": "->", "lw": 0.8, "color": plot.look(ax).ink}
            ax.annotate("lost soon", x[loss.token], 0.45 * x[loss.token], ha="center", va="center", fontsize=9, arrowprops=arrow)
    ax = bottom.subplots()
    plot.angles(run, ax, first=0, centers=renyi, strong=strong)
    look = plot.look(ax)
    for time in SNAPSHOTS[1:-1]:
        ax.axvline(time, color=look.grey(0.5), linewidth=0.8, linestyle=":")
    for loss in shown:
        at = np.arctan2(*run.x[np.searchsorted(run.t, loss.time), loss.to][::-1])
        ax.plot(loss.time, at, "o", markersize=11, markerfacecolor="none", markeredgecolor=look.ink, markeredgewidth=1.2)
        ax.annotate(f"lost at t = {loss.time:.0f}", (loss.time, at), (10, 10), textcoords="offset points", fontsize=10)
    dot: dict[str, Any] = {"marker": "o", "linestyle": "-", "linewidth": 1.6, "markersize": 7}
    handles = [
        Line2D([], [], color=look.red, label="strong Rényi center", **dot),
        Line2D([], [], color=look.ink, markerfacecolor="none", label="Rényi center", **dot),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False)
    return figure
