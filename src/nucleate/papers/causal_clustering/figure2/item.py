"""Figure 2: tokens on the circle gather around centers; a Rényi center is lost between t = 75 and t = 150.

A center is lost when it comes within MERGED of an earlier center. The start is uniform(n, d, seed) with the
first seed from which exactly one center is lost between the two times, from at least APART away at t = 75, so
that the eye can see it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array, InputError
from nucleate.papers.core.item import Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number, compared, exact, mean_of, share_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

    from nucleate.integrate.run import Run
    from nucleate.papers.core.cache import Desk

BETA, N = 64.0, 200
DELTA = 4.0 / BETA**0.5
BEFORE, AFTER = 75.0, 150.0
SNAPSHOTS = (0.0, 5.0, 20.0, BEFORE, AFTER)
TIMES = np.linspace(0.0, AFTER, 601)  # every quarter; every snapshot is among them
MERGED = DELTA / 10
APART = DELTA / 2
Centers = NDArray[np.int64]


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


def run(desk: "Desk") -> Data:
    """The run of the figure, the same with tighter tolerances, and many other starts."""
    chosen = desk.run("run", lambda: evolution(chosen_seed()))
    desk.at(0.4)
    careful = desk.run("careful", lambda: evolution(int(chosen.notes["seed"]), rtol=1e-11, atol=1e-13))
    desk.at(0.6)
    return {
        "run": chosen,
        "careful": careful,
        "starts": desk.dataset("starts", lambda: starts(desk.p["starts"])),
    }


def evolution(seed: int, rtol: float = 1e-8, atol: float = 1e-10) -> "Run":
    """The run of the figure from the start `seed`."""
    from dataclasses import replace

    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.sphere import uniform

    run = simulate(Attention(BETA), uniform(N, 2, seed), AFTER, save=TIMES, rtol=rtol, atol=atol)
    return replace(run, notes={"start": "uniform(n, d, seed)", "seed": seed})


def centers(x: Array) -> tuple[Centers, Centers]:
    """The strong and the Rényi centers of the start x (n, 2); afterwards they move with their tokens."""
    from nucleate.observe.centers import renyi_centers

    return renyi_centers(x, DELTA, strong=True), renyi_centers(x, DELTA)


def losses(run: "Run", renyi: Centers) -> list[Loss]:
    """Every Rényi center that is lost during the run, with the first earlier center it meets."""
    from nucleate.sphere import distance

    found = []
    before, after = (int(np.searchsorted(run.t, t)) for t in (BEFORE, AFTER))
    for i, token in enumerate(renyi[1:], start=1):
        apart = distance(run.x[:, renyi[:i]], run.x[:, [token]])  # (m, i) to each earlier center
        frame = int((apart.min(1) <= MERGED).argmax())
        if apart[frame].min() <= MERGED:  # argmax of nothing is 0, and at t = 0 all are DELTA apart
            j = int(apart[frame].argmin())
            crossed = np.interp(-MERGED, -apart[frame - 1 : frame + 1, j], run.t[frame - 1 : frame + 1])
            found.append(
                Loss(
                    int(token), int(renyi[j]), float(crossed), float(apart[before, j]), float(apart[after, j])
                )
            )
    return found


def chosen_seed(most: int = 1000) -> int:
    """The first seed whose run loses exactly one Rényi center between the two snapshots, for all to see."""
    from nucleate.papers.core.cache import finished

    for seed in range(most):
        run = finished(evolution(seed))
        late = [loss for loss in losses(run, centers(run.x[0])[1]) if loss.time > BEFORE]
        if len(late) == 1 and late[0].shown:
            return seed
    raise InputError(
        f"None of {most} seeds loses one Rényi center between t = {BEFORE:g} and t = {AFTER:g}. Choose a seed"
        " yourself."
    )


def starts(count: int) -> "Dataset":
    """Of many other starts: how many centers they have, how far these move until t = 150, and how many are
    seen lost between the snapshots."""
    import xarray

    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.cache import finished
    from nucleate.sphere import distance, uniform

    # (b, n, 2)
    x0 = np.stack([uniform(N, 2, np.random.SeedSequence(2, spawn_key=(i,))) for i in range(count)])
    run = finished(simulate(Attention(BETA), x0, AFTER, save=[0.0, BEFORE, AFTER], rtol=1e-7, atol=1e-9))
    rows = []
    for x in run.x:  # (3, n, 2)
        strong, renyi = centers(x[0])
        only = np.setdiff1d(renyi, strong)
        moved = distance(x[0], x[2])  # (n,)
        gone = [
            k
            for i, k in enumerate(renyi)
            if i
            and (_apart(x, renyi[:i], k)[1] >= APART).all()
            and (_apart(x, renyi[:i], k)[2] <= MERGED).any()
        ]
        rows.append(
            (
                len(strong),
                len(renyi),
                moved[strong].mean(),
                moved[only].mean() if len(only) else np.nan,
                len(gone),
            )
        )
    names = ("strong", "renyi", "strong_moved", "only_renyi_moved", "lost")
    return xarray.Dataset(
        {
            name: ("start", np.array(column, dtype=np.float64))
            for name, column in zip(names, zip(*rows, strict=True), strict=True)
        }
    )


def _apart(x: Array, earlier: Centers, token: int) -> Array:
    """Distances (3, earlier) of a center from earlier ones in three frames x (3, n, 2)."""
    from nucleate.sphere import distance

    return distance(x[:, earlier], x[:, [token]])


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """Centers, losses, and how typical they are."""
    from nucleate.sphere import distance

    run, careful, many = data["run"], data["careful"], data["starts"]
    strong, renyi = centers(run.x[0])
    late = [loss for loss in losses(run, renyi) if loss.time > BEFORE]
    shown = [loss for loss in late if loss.shown]
    again = {loss.token: loss for loss in losses(careful, renyi)}
    moved = distance(run.x[0], run.x[-1])  # (n,)
    tighter = "distance to a run with tolerances a thousand times tighter"
    numbers = {
        "seed": exact(run.notes["seed"], "seed of the start shown"),
        "strong_centers": exact(len(strong), "strong Rényi centers of the start shown"),
        "renyi_centers": exact(len(renyi), "Rényi centers of the start shown, the strong ones among them"),
        "lost_between": exact(
            len(shown), "Rényi centers seen to be lost between t = 75 and t = 150", expected=1.0
        ),
        "lost_late": exact(
            len(late), "Rényi centers lost between t = 75 and t = 150, seen or not", expected=1.0
        ),
    }
    for loss in shown[:1]:
        other = again[loss.token].time if loss.token in again else np.inf
        numbers |= {
            "lost_token": exact(loss.token, "the one that is lost, counted from 0"),
            "lost_to": exact(loss.to, "the earlier center it is lost to"),
            "lost_at": compared(loss.time, other, "time at which it comes within δ/10 of that", tighter),
            "distance_before": exact(loss.distance_before, "distance of the two at t = 75"),
            "distance_after": exact(loss.distance_after, "and at t = 150"),
        }
    return numbers | {
        "strong_moved": compared(
            moved[strong].max(),
            distance(careful.x[0], careful.x[-1])[strong].max(),
            "farthest that a strong center has moved by t = 150, in the start shown",
            tighter,
        ),
        "starts_with_loss": share_of(
            int((many["lost"].values > 0).sum()),
            many.sizes["start"],
            "other starts in which a Rényi center is seen to be lost between the snapshots",
        ),
        "mean_strong_moved": mean_of(
            many["strong_moved"].values,
            f"way of a strong center by t = 150, mean over {many.sizes['start']} starts",
        ),
        "mean_only_renyi_moved": mean_of(
            many["only_renyi_moved"].values[np.isfinite(many["only_renyi_moved"].values)],
            "way of a Rényi center that is not strong, mean over starts that have one",
        ),
    }


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    lost = numbers["lost_between"].value == 1 and numbers["lost_late"].value == 1
    when = (
        f", token {numbers['lost_token'].value:.0f} at t = {numbers['lost_at'].value:.1f}"
        if "lost_at" in numbers
        else ""
    )
    share = numbers["starts_with_loss"]
    strong, other = numbers["mean_strong_moved"], numbers["mean_only_renyi_moved"]
    still = (
        strong.high is not None
        and other.low is not None
        and strong.high < other.low
        and strong.value < DELTA / 10
    )
    return (
        Verdict(
            "a Rényi center disappears between t = 75 and t = 150",
            "agrees" if lost else "disagrees",
            f"{numbers['lost_between'].value:.0f} is seen to be lost{when}; of other starts {share.value:.0%}"
            " show such a loss",
        ),
        Verdict(
            "strong centers hardly move, other Rényi centers drift and merge",
            "agrees" if still else "disagrees",
            f"by t = 150 a strong center has moved {strong.value:.3f} on average, another Rényi center"
            f" {other.value:.3f}; δ is {DELTA:g}",
        ),
    )


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """A row of snapshots above the angles over time."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from nucleate import plot

    run = data["run"]
    strong, renyi = centers(run.x[0])
    shown = [loss for loss in losses(run, renyi) if loss.shown]
    figure = Figure(figsize=(11.0, 6.6), layout="constrained")
    parts: Any = figure.subfigures(2, 1, height_ratios=[1.0, 1.75])
    top, bottom = parts
    for ax, time in zip(top.subplots(1, len(SNAPSHOTS)), SNAPSHOTS, strict=True):
        x = run.x[np.searchsorted(run.t, time)]  # (n, 2)
        plot.circle(x, ax, centers=renyi, strong=strong)
        ax.set_title(f"t = {time:g}")
        for loss in shown if time == BEFORE else []:
            arrow = {"arrowstyle": "->", "lw": 0.8, "color": plot.palette_of(ax).ink}
            ax.annotate(
                "lost soon",
                x[loss.token],
                0.45 * x[loss.token],
                ha="center",
                va="center",
                fontsize=9,
                arrowprops=arrow,
            )
    ax = bottom.subplots()
    plot.angles(run, ax, first=0, centers=renyi, strong=strong)
    palette = plot.palette_of(ax)
    for time in SNAPSHOTS[1:-1]:
        ax.axvline(time, color=palette.grey(0.5), linewidth=0.8, linestyle=":")
    for loss in shown:
        at = np.arctan2(*run.x[np.searchsorted(run.t, loss.time), loss.to][::-1])
        ax.plot(
            loss.time,
            at,
            "o",
            markersize=11,
            markerfacecolor="none",
            markeredgecolor=palette.ink,
            markeredgewidth=1.2,
        )
        ax.annotate(
            f"lost at t = {loss.time:.0f}", (loss.time, at), (10, 10), textcoords="offset points", fontsize=10
        )
    dot: dict[str, Any] = {"marker": "o", "linestyle": "-", "linewidth": 1.6, "markersize": 7}
    handles = [
        Line2D([], [], color=palette.red, label="strong Rényi center", **dot),
        Line2D([], [], color=palette.ink, markerfacecolor="none", label="Rényi center", **dot),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False)
    return {"figure2": figure}


ITEM = Item(
    key="figure2",
    title="Figure 2: tokens gather around centers",
    statement=(
        "With Q = K = V = I, 200 tokens on the circle at β = 64 quickly gather into clusters around centers:"
        " strong Rényi centers (farther than δ = 4β^(−1/2) from every earlier token) hardly move but do not"
        " explain all clusters; Rényi centers (farther than δ from every earlier center) explain more, but"
        " drift and merge. Between t = 75 and t = 150 one Rényi center disappears."
    ),
    parameters={
        "Q, K, V": "I",
        "n": N,
        "d": 2,
        "beta": BETA,
        "delta": DELTA,
        "snapshots": list(SNAPSHOTS),
        "merged_within": MERGED,
        "apart_at_75": APART,
        "starts": 400,
    },
    quick={"starts": 100},
    choices=(
        (
            "The start: uniform(n, d, seed) with the first seed from which exactly one Rényi center is lost"
            " between the two snapshots, in plain sight. The share of other starts that show the same is"
            " measured."
        ),
        (
            "Lost means within δ/10 of an earlier center; in plain sight means at least δ/2 away from it at t"
            " = 75, and within δ/10 at t = 150."
        ),
        "The snapshots other than t = 75 and t = 150.",
    ),
    criteria=(
        "First: agrees if from the chosen start exactly one Rényi center is lost between the snapshots."
        " Second: agrees if over many starts strong centers have moved less than δ/10 on average by t = 150,"
        " and less than other Rényi centers by more than both 95 % intervals."
    ),
    captions={
        "figure2": (
            "Two hundred tokens at five times, and their angles over time. Strong Rényi centers are red and"
            " filled, other Rényi centers black rings; colours run from the first token, dark, to the last."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
)
