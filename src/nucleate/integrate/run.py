"""The record of a simulation: what was asked, what came out, and how it ended. The tokens of a real
transformer have the same record: their time is depth (`hidden_states`)."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nucleate.attention import Attention, Window
from nucleate.block import Block
from nucleate.checks import Array, InputError, finite_number
from nucleate.conveniences import convenience
from nucleate.integrate.checkpoint import Checkpoint
from nucleate.integrate.status import STATUS_HELP
from nucleate.layers import Layers, Model
from nucleate.mlp import MLP, Potential
from nucleate.printable import printable

if TYPE_CHECKING:  # heavy to import, and needed for annotations only
    from matplotlib.axes import Axes
    from xarray import Dataset

__all__ = ["Agreement", "Run", "described"]

FINEST_TOLERANCE = 1e-13  # below this a smaller one only adds rounding
AGREEING_DISTANCE = 1e-6  # two runs so close agree
IN_FLIGHT_DISTANCE = 1e-3  # so far apart a token has left in one run, and waits in the other


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """Tokens over time.  One run: x (m, n, d).  b runs: x (b, m, n, d), one status and step count each.

    Of a real transformer (`nucleate.trace`, `Run.from_hidden_states`) the times are layers: t = 0 after the
    embedding, t = L after the last block; x are directions, norms lengths, and tokens and parts are there.
    """

    model: (
        Any  # an Attention, a Block or Layers; over depth a Checkpoint, the name and sizes of a transformer
    )
    t: Array  # (m,) the saved times
    x: Array  # (m, n, d) or (b, m, n, d)
    # "done", or the reason it is not; frames never reached: cut off (one run) or NaN (b runs)
    status: str | tuple[str, ...]
    steps: int | NDArray[np.int64]  # accepted steps
    settings: Mapping[str, Any]  # method, rtol, atol, dt, ...: what redoes the run
    notes: Mapping[str, Any] = field(default_factory=dict)  # where the start came from: seed and so on
    # (m, n) or (b, m, n) lengths of the tokens, whose directions are x; None where lengths do not count
    norms: Array | None = None
    # over depth: the n tokens as strings, of b texts for each; None if not known
    tokens: tuple[str, ...] | tuple[tuple[str, ...], ...] | None = None
    # over depth: what blocks read and add, by name: "normed", "attention" and "mlp" (L, n, d), "weights"
    # (L, H, n, n), "logits" (n, vocabulary), "ids" (n,); with (b,) in front where x has it
    parts: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    @classmethod
    def from_hidden_states(
        cls,
        states: Any,
        tokens: Sequence[Any] | None = None,
        parts: Mapping[str, Any] | None = None,
        model: Checkpoint | None = None,
    ) -> "Run":
        """A run over depth from hidden states that were computed elsewhere.

        states   (L+1, n, d), or (b, L+1, n, d): before the first block and after every one; or one array or
                 tensor for each layer, (n, d) or (b, n, d); or an output of transformers with hidden_states,
                 whose last state comes after the final normalisation
        tokens   the n tokens as strings; of b texts one list for each
        parts    further arrays by name, of the shapes that Run.parts has
        model    whose states these are: a Checkpoint
        """
        from nucleate.integrate.hidden_states import from_hidden_states

        return from_hidden_states(states, tokens, parts, model)

    @property
    def over_depth(self) -> bool:
        """Whether these are the hidden states of a real transformer, whose time is depth."""
        return isinstance(self.model, Checkpoint)

    def __repr__(self) -> str:
        return f"Run({self.summary})"

    def _repr_html_(self) -> str:
        return convenience("Run, in a notebook")(self)

    @property
    def summary(self) -> str:
        """One line: who, for how long, by which method, with what end, and what to do if it is not "done"."""
        return printable(self._summary())

    def _summary(self) -> str:
        *runs, m, n, d = self.x.shape
        if self.over_depth:
            texts = f"{runs[0]} text{'s' * (runs[0] != 1)} of " if runs else ""
            kept = f"; with {', '.join(self.parts)}" if self.parts else ""
            return (
                f"{texts}{n} token{'s' * (n != 1)}, d = {d}, of {self.model}; hidden states before the first"
                f" and after every one of {m - 1} block{'s' * (m != 2)}{kept}; {self.ending}"
            )
        span = f"t = {self.t[0]:g} to {self.t[-1]:g} in {m} frames" if m > 1 else f"{m} frame{'s' * (m != 1)}"
        who = f"{runs[0]} runs of {n} tokens" if runs else f"{n} token{'s' * (n != 1)}"
        return (
            f"{who}, d = {d}, {described(self.model)}; {span}; {self.settings.get('method')},"
            f" {_count(self.steps)}; {self.ending}" + (f". {self.status_help}" if self.status_help else "")
        )

    @property
    def done(self) -> bool:
        """Whether every run reached the end."""
        return self.ending == "done"

    @property
    def ending(self) -> str:
        """The status in words; for b runs how many ended in which way: "63 done, 1 max steps"."""
        if isinstance(self.status, str):
            return self.status
        ways = Counter(self.status)
        return (
            next(iter(ways))
            if len(ways) == 1
            else ", ".join(f"{count} {way}" for way, count in ways.most_common())
        )

    @property
    def status_help(self) -> str:
        """What happened and what to do about it, for each status that is not "done"; "" if all are."""
        if isinstance(self.status, str):
            return "" if self.done else STATUS_HELP.get(self.status, "")
        ways = [way for way in dict.fromkeys(self.status) if way != "done" and way in STATUS_HELP]
        return " ".join(f'"{way}": {STATUS_HELP[way]}' for way in ways)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the data (.zarr, .npz), a picture (.png, .pdf, .svg) or an animation (.gif, .mp4)."""
        from nucleate.integrate.storage import save

        save(self, path)

    def to_xarray(self) -> "Dataset":
        """The run with named dimensions (run,) time, token, coordinate, and with its model and settings; over
        depth layer instead of time."""
        from nucleate.integrate.storage import to_xarray

        return to_xarray(self)

    def plot(self, ax: "Axes | None" = None, which: int = 0) -> "Axes":
        """Draw the run (for b runs, number `which`): angles over time on the circle, trajectories on
        spheres."""
        return convenience("Run.plot")(self, ax, which=which)

    def explore(self, which: int = 0, height: int = 720) -> Any:
        """The explorer's player of the run (for b runs, number `which`) inside a notebook, offline; `height`
        in pixels.  Its save(path) writes the page as .html."""
        return convenience("Run.explore")(self, which, height)

    def check(
        self, factor: float = 100.0, *, time_limit: float | None = None, threads: int | None = None
    ) -> "Agreement":
        """Run again from the first frame with tolerances `factor` times smaller (fixed steps: half dt), and
        compare.

        time_limit, threads   of the second run, as for `simulate`; what it reaches in time is compared
        """
        from nucleate.integrate.simulate import simulate

        factor = finite_number("factor", factor, above=1.0, help="The tolerances are divided by it.")
        if self.over_depth:
            raise InputError(
                f"A check runs a model of ours again, but this run holds hidden states of {self.model.name}."
                ' Trace it again with precision="double" and compare.'
            )
        if len(self.t) < 2:
            raise InputError(
                f"A check needs two frames, but this run has {len(self.t)}. Simulate for longer."
            )
        # (m,) late steps may share one double of t
        alone = np.append(True, self.t[1:] > self.t[:-1]) & np.append(self.t[1:] > self.t[:-1], True)
        if alone.sum() < 2:
            raise InputError(
                f"A check needs two frames at times of their own, but only {alone.sum()} of {len(self.t)}"
                " have one. Save fewer."
            )
        self._check_can_be_rerun()
        rtol, atol, dt = self.settings["rtol"], self.settings["atol"], self.settings.get("dt")
        if dt is not None:
            dt = dt / 2.0
        else:
            shrink = min(max(1.0 / factor, FINEST_TOLERANCE / (rtol + atol)), 1.0)
            rtol, atol = shrink * rtol, shrink * atol
        again = simulate(
            self.model,
            self.x[..., 0, :, :],  # (n, d) or (b, n, d)
            t=float(self.t[-1] - self.t[0]),
            save=self.t[alone] - self.t[0],
            rtol=rtol,
            atol=atol,
            method=self.settings.get("method", "auto"),
            dt=dt,
            max_steps=10 * self.settings.get("max_steps", 1_000_000),
            time_limit=time_limit,
            threads=threads,
            device=self.settings.get("device", "cpu"),
            seed=self.settings.get("seed"),
            path_dt=self.settings.get("path_dt"),
        )
        both = np.flatnonzero(alone)[: again.x.shape[-3]]  # frames of both
        # NaN where a frame is missing
        apart = np.linalg.norm(self.x[..., both, :, :] - again.x[..., : len(both), :, :], axis=-1).max(-1)
        difference = np.full(len(self.t), np.nan)  # (m,)
        difference[both] = np.fmax.reduce(np.atleast_2d(apart), axis=0)
        tried = f"dt = {dt:g}" if dt is not None else f"rtol = {rtol:g}, atol = {atol:g}"
        return Agreement(self.t, difference, f"{again.settings.get('method')}, {tried}", again.ending)

    def _check_can_be_rerun(self) -> None:
        """Refuse models of which no finer run exists, or none from the first frame on."""
        if isinstance(self.model, Layers) and self.model.discrete:
            raise InputError(
                "Discrete layers take one step each, so that there is no finer run to check with. Leave"
                " discrete out."
            )
        changing = isinstance(self.model, Layers) or self.norms is not None
        if (changing or (isinstance(self.model, Block) and self.model.norm == "sqrt")) and self.t[0] > 0.0:
            raise InputError(
                f"What moves these tokens changes with time, but the first frame is at {self.t[0]:g}. Save"
                " time 0 too."
            )


@dataclass(frozen=True, eq=False)
class Agreement:
    """How far a run and its more careful twin are apart."""

    t: Array  # (m,)
    # (m,) the largest distance |x - x'| of any token of any run; NaN where one of the two has no frame at
    # that time
    difference: Array
    against: str  # the twin's method and tolerances
    status: str  # how the twin ended

    @property
    def worst(self) -> float:
        """The largest difference at any time."""
        return float(np.fmax.reduce(self.difference))

    @property
    def digits(self) -> int:
        """How many decimal digits of every coordinate agree at every saved time: 0 to 15."""
        return int(np.clip(np.floor(-np.log10(max(self.worst, 1e-300))), 0, 15)) if self.worst >= 0 else 0

    def __str__(self) -> str:
        if not self.worst >= 0:
            return f"Nothing to compare: the rerun with {self.against} ended at once ({self.status})."
        when = self.t[int(np.nanargmax(self.difference))]
        text = (
            f"{self.digits} digits agree with a rerun with {self.against}: the largest difference is"
            f" {self.worst:.1e}, at t = {when:g}."
        )
        if self.worst > IN_FLIGHT_DISTANCE:
            close = int((self.difference <= AGREEING_DISTANCE).sum())
            looked = int(np.isfinite(self.difference).sum())
            text += (
                f" At {close} of {looked} times they are within {AGREEING_DISTANCE:g}; a token in flight is"
                " elsewhere when its flight begins a little later."
            )
        return text if self.status == "done" else f"{text} The rerun did not finish: {self.status}."


def described(model: Model) -> str:
    """What moves the tokens, in a few words: "beta = 9, causal", "2 heads, beta = 1, full, pre norm, MLP"."""
    if isinstance(model, Layers):
        kind = "discrete layers" if model.discrete else "layers"
        return f"{len(model.blocks)} {kind} of dt = {model.dt:g}: {described(model.blocks[0])}"
    if isinstance(model, Attention):
        return ", ".join(_of_heads((model,)))
    parts = [f"{len(model.heads)} head{'s' * (len(model.heads) != 1)}", *_of_heads(model.heads)]
    if model.norm != "post":
        parts.append(f"{model.norm} norm")
    if model.mlp is not None:
        parts.append({MLP: "MLP", Potential: "potential"}.get(type(model.mlp), "a term of one's own"))
    if model.exclude_self:
        parts.append("self excluded")
    if model.noise is not None:
        parts.append(f"noise {model.noise:g}")
    return ", ".join(parts)


def _of_heads(heads: tuple[Attention, ...]) -> list[str]:
    """beta, masks, weights and positions of heads, each kind once."""
    if not heads:
        return []
    masks = [f"window {head.mask.w}" if isinstance(head.mask, Window) else head.mask for head in heads]
    weights = [f"{head.weights} weights" for head in heads if head.weights != "softmax"]
    positions = [type(head.position).__name__ for head in heads if head.position is not None]
    beta = _span(np.concatenate([np.atleast_1d(head.beta) for head in heads]))
    return [f"beta = {beta}", *dict.fromkeys([*masks, *weights, *positions])]


def _count(steps: Any) -> str:
    return "1 step" if np.max(steps) == 1 else f"{_span(steps)} steps"


def _span(value: Any) -> str:
    """One number, or the smallest and the largest: "64", "1 to 9"."""
    low, high = np.min(value).item(), np.max(value).item()
    low, high = (str(end) if isinstance(end, int) else f"{end:g}" for end in (low, high))
    return low if low == high else f"{low} to {high}"
