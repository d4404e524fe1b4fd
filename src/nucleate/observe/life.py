"""The whole life of a metastable state: tokens gather, and clusters merge one by one until one is left."""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import log1p
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nucleate.attention import Attention
from nucleate.block import Block
from nucleate.checks import Array, InputError, finite_number, function_or_none, shortened, whole_number
from nucleate.conveniences import convenience
from nucleate.integrate.family import one_run, softmax_head
from nucleate.integrate.run import Run
from nucleate.integrate.simulate import Progress, simulate
from nucleate.integrate.storage import check_target
from nucleate.kernels.model_shape import model_shape
from nucleate.layers import Layers
from nucleate.notebook import shown_progress, vanishing
from nucleate.observe.clusters import check_radius
from nucleate.observe.merges import Merges, merges, sharpness, usual_radius
from nucleate.sphere import uniform

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Life", "life", "life_time"]

LAST_TIME = 1e300  # doubles end at 1.8e308
STILL_PICTURES = (".png", ".pdf", ".svg")


@dataclass(frozen=True, eq=False, repr=False)
class Life:
    """A run that goes on until one cluster is left, and its merges."""

    run: Run  # every step
    merges: Merges

    @property
    def t_f(self) -> float:
        """When the clusters had formed and counting starts; NaN if they never did."""
        return self.merges.t_f

    @property
    def radius(self) -> float:
        """The distance at which a leader is lost."""
        return self.merges.radius

    @property
    def staircase(self) -> tuple[Array, NDArray[np.int64]]:
        """Times, t_f first, and the number of clusters from each on."""
        return self.merges.staircase

    @property
    def whole(self) -> bool:
        """Whether the run reached its end and left one cluster."""
        return self.run.done and self.merges.left == 1

    @property
    def ending(self) -> str:
        """How it ended, in words."""
        if self.run.status == "interrupted":
            return f"interrupted at t = {self.run.t[-1]:.3g}"
        if not self.run.done:
            return (
                f"the run ended early, at t = {self.run.t[-1]:.3g} ({self.run.ending}), with"
                f" {_clusters(self.merges.left)}"
            )
        return f"{_clusters(self.merges.left)} at t = {self.run.t[-1]:.3g}"

    def plot(self, axes: "tuple[Axes, Axes] | None" = None) -> "tuple[Axes, Axes]":
        """Tokens over time above the staircase of cluster counts."""
        return convenience("Life.plot")(self, axes)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture (.png, .pdf, .svg), an animation (.gif, .mp4), or the run as data (.zarr, .npz)
        with the merges in its notes."""
        path = check_target(path)
        if path.suffix.lower() in STILL_PICTURES:
            convenience("Life.save, pictures")(self, path)
        else:
            self.run.save(path)

    def _repr_html_(self) -> str:
        return convenience("Life, in a notebook")(self)

    def __repr__(self) -> str:
        return f"Life({self.run.summary}; {len(self.merges)} merges)"

    def __str__(self) -> str:
        """The table of merges."""
        lines = [self.run.summary]
        if self.merges.leaders.size:
            lines += [
                (
                    f"{_clusters(len(self.merges.leaders))} at t = {self.t_f:.4g}, led by tokens"
                    f" {', '.join(map(str, self.merges.leaders))} (from 0)"
                )
            ]
            lines += ["", "      time  leader lost  to leader  clusters left"] if self.merges.events else []
            lines += [
                f"{event.time:>10.4g}  {event.lost:>11}  {event.into:>9}  {event.left:>13}"
                for event in self.merges
            ]
        else:
            lines += [
                (
                    "merges were not looked for"
                    if self.run.status == "interrupted"
                    else "the tokens never gathered into clusters"
                )
            ]
        return "\n".join(lines if self.whole else [*lines, "", f"Not a whole life: {self.ending}."])


@overload
def life(
    beta: float,
    n: int = 200,
    d: int = 2,
    seed: int = 0,
    *,
    t: float | None = None,
    radius: float | None = None,
    rtol: float = 1e-8,
    atol: float = 1e-10,
    progress: Progress | None = None,
    time_limit: float | None = None,
) -> Life: ...


@overload
def life(
    model: Attention | Block,
    x0: ArrayLike,
    /,
    *,
    t: float | None = None,
    radius: float | None = None,
    rtol: float = 1e-8,
    atol: float = 1e-10,
    progress: Progress | None = None,
    time_limit: float | None = None,
) -> Life: ...


def life(
    beta: float | Attention | Block | Layers,
    n: int | ArrayLike = 200,
    d: int = 2,
    seed: int = 0,
    *,
    t: float | None = None,
    radius: float | None = None,
    rtol: float = 1e-8,
    atol: float = 1e-10,
    progress: Progress | None = None,
    time_limit: float | None = None,
) -> Life:
    """Simulate until one cluster is left, every step kept, and find the merges; see `merges` for what is
    counted.

    life(beta, n, d, seed)   n tokens with Q = K = V = I from the uniform start `seed`
    life(model, x0)          tokens x0 (n, d) of your own under an Attention with a causal or window mask

    t          the time to stop at; left out, one by which the last merge is over. That is known for V = cI
               with c > 0 without frozen tokens: for any other model t must be given
    radius     the distance at which a cluster is taken to have merged with another; 0.1 w unless given, with
               w = beta^(-1/2), or (beta |K^T Q|)^(-1/2) where there are Q and K
    rtol, atol, time_limit   as for `simulate`
    progress   called as progress(done, total), in logarithms of time; returning False cancels

    A life that was cut short, or ends with more than one cluster, says so: `whole` is False, and `ending`
    gives the reason.
    """
    notes: dict[str, Any]
    function_or_none("progress", progress, of="(done, total)")
    progress = shown_progress(progress, "following a life, in powers of ten of time")
    if isinstance(beta, Attention | Block | Layers):
        model = softmax_head(beta, "A life is followed", "Simulate it: nucleate.simulate(model, x0, t).")
        if (d, seed) != (2, 0):
            raise InputError(
                "life(model, x0) takes no d and no seed. Draw the start: x0 = uniform(n, d, seed)."
            )
        x0, notes = _one_start(model, n), {"start": "x0, as given"}
    else:
        model = Attention(finite_number("beta", beta, least=0.0, help="It is the inverse temperature."))
        n = whole_number("n", n, least=1, help="It is the number of tokens. With tokens, pass a model first.")
        x0, notes = uniform(n, d, seed), {"start": "uniform(n, d, seed)", "seed": seed}
    t = _last_merge(model, x0) if t is None else t
    radius = usual_radius(sharpness(model)) if radius is None else check_radius(radius)
    with vanishing(progress):
        run = simulate(
            model,
            x0,
            t,
            save="steps",
            rtol=rtol,
            atol=atol,
            progress=None if progress is None else _in_decades(progress),
            time_limit=time_limit,
        )
    none = Merges(radius, np.nan, np.empty(0, dtype=np.int64), ())
    # where time was over before the first step there is nothing to find, and nothing to compile for it
    nothing = run.status == "interrupted" or (run.status == "time limit" and run.steps == 0)
    found = none if nothing else merges(run, radius)
    return Life(replace(run, notes={**notes, "life": _noted(found)}), found)


def _one_start(model: Attention, x0: ArrayLike | int) -> Array:
    """x0 (n, d), if its life can be followed under this model."""
    if model.mask == "full":
        raise InputError(
            'life needs a mask under which no token sees a later one, but the mask is "full". There clusters'
            ' have no first member that leads them: use mask="causal" or Window(w).'
        )
    if np.ndim(x0) == 0:
        raise InputError(
            f"x0 must be tokens (n, d), but is {shortened(x0)}. life(model, x0) takes a start of your own,"
            " such as nucleate.uniform(n, d, seed)."
        )
    return one_run(model, x0, "life")


def _last_merge(model: Attention, x0: Array) -> float:
    """A time by which the last merge is over under this model: V = cI only sets the pace."""
    shape = model_shape(model, *x0.shape)
    if model.frozen is not None or not shape.scalar or shape.scale <= 0.0:
        why = "has frozen tokens" if model.frozen is not None else "has another V than cI with c > 0"
        raise InputError(
            f"t must be given, for the model {why}: there clusters may stay apart for ever. Take t=1e6, say."
        )
    return min(life_time(shape.z, shape.n) / shape.scale, LAST_TIME)


def _in_decades(progress: Progress) -> Progress:
    """`progress`, told logarithms of time instead of times: every decade of a life takes about as long."""
    return lambda done, total: progress(log1p(done), log1p(total))


def life_time(beta: float, n: int) -> float:
    """A time by which the last merge is over if Q = K = V = I: two nearly opposite tokens need e^(2 beta) and
    a logarithm.

    100 units let the tokens gather; ten times n make room for clusters that start out nearly balanced between
    two others.
    """
    return float(min(100.0 + 10.0 * min(n, 1e8) * float(np.exp(min(2.0 * beta, 690.0))), LAST_TIME))


def _noted(found: Merges) -> Mapping[str, Any]:
    """The merges as plain numbers and lists, for the file."""
    t_f = found.t_f if np.isfinite(found.t_f) else None
    return {
        "radius": found.radius,
        "t_f": t_f,
        "leaders": found.leaders.tolist(),
        "merges": [asdict(event) for event in found],
    }


def _clusters(count: int) -> str:
    return f"{count} cluster{'s' * (count != 1)}"
