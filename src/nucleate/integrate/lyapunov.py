"""Lyapunov exponents by the tangent flow, token by token.

Under the causal mask a token does not notice later ones, so that the variational equation is block lower
triangular, and its n (d - 1) exponents are those of the blocks on the diagonal: d - 1 for each token, the
same whatever follows it (`variational` has the equation).  The first m tokens of a run are the run of m
tokens.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nucleate.attention import Attention
from nucleate.block import Block
from nucleate.checks import Array, InputError, check_memory, finite_number
from nucleate.integrate.family import one_run, softmax_head
from nucleate.integrate.tableau import dormand_prince_5
from nucleate.kernels.model_shape import FULL, model_shape
from nucleate.kernels.threads import Stop, interruptible
from nucleate.layers import Layers

__all__ = ["Lyapunov", "lyapunov"]

MAX_TURN = 2.0  # |V| times the time between two that are kept
MAX_TIMES = 1 << 20  # that are kept
FIRST_SHARE = 0.25  # of the time, left out where nothing else is said: what comes before the attractor
BLOCKS = 8  # of the window, for the interval of an exponent
STUDENT = 2.364624  # 97.5 % quantile of Student's distribution with BLOCKS - 1 degrees of freedom
VECTORS_SEED = 20241104  # of the first tangent vectors, which do not matter


@dataclass(frozen=True, eq=False)
class Lyapunov:
    """Lyapunov exponents of one run."""

    exponents: Array  # (n, d - 1) of every token, the largest first; over the window
    half: Array  # (n, d - 1) half of their 95 % interval, from the eighths of the window
    t: Array  # (m,) times that are kept
    x: Array  # (m, n, d) the tokens then
    growth: Array  # (m, n, d - 1) logarithms of the growth of the vectors since the time before
    since: float  # the beginning of the window, which ends at t[-1]
    steps: int
    status: str  # "done", or why it is not

    @property
    def by_token(self) -> Array:
        """The largest exponent of every token, (n,)."""
        return np.asarray(self.exponents[:, 0])

    @property
    def largest(self) -> float:
        """The largest of all; of the first m tokens it is by_token[:m].max()."""
        return float(self.exponents.max())

    def __repr__(self) -> str:
        n, p = self.exponents.shape
        return (
            f"Lyapunov({n} tokens, {p} exponents each, largest {self.largest:.4g}, t from {self.since:g} to"
            f" {self.t[-1]:g}, {self.status})"
        )


def lyapunov(
    model: Attention | Block | Layers,
    x: ArrayLike,
    t: float,
    *,
    since: float | None = None,
    tol: float = 1e-7,
) -> Lyapunov:
    """The Lyapunov exponents of the run that begins at the tokens x (n, d), d - 1 for each token, over the
    time from `since` to t.

    since   where the window begins; left out, at t / 4
    tol     error of a step in places and in tangent vectors of length 1

    The model must be one softmax head with the causal mask or a window, without frozen tokens.  An exponent
    is the mean rate of growth of a small change of that token alone; the largest of all tokens up to m is how
    fast two nearby runs of m tokens part.  Of tokens that move on a smooth closed path one is 0; estimates of
    0 are off by about 1 / (t - since).
    """
    model = softmax_head(model, "Lyapunov exponents are computed", "Take nucleate.Attention(...).")
    x = one_run(model, x, "lyapunov")
    t = finite_number("t", t, above=0.0, help="It is the time up to which the run is followed.")
    since = FIRST_SHARE * t if since is None else finite_number("since", since, least=0.0)
    if not since < t:
        raise InputError(f"since must be below t = {t:g}, but is {since:g}. It begins the window.")
    tol = finite_number("tol", tol, above=0.0, help="It is the error of a step.")
    n, d = x.shape
    shape = model_shape(model, n, d)
    if shape.mask == FULL or len(shape.frozen):
        fault = "frozen tokens" if len(shape.frozen) else 'mask="full"'
        raise InputError(
            f"lyapunov needs the causal mask or a window and no frozen tokens, but the model has {fault}."
            " Only there do exponents belong to tokens."
        )
    with np.errstate(over="ignore"):
        speed = max(float(np.linalg.norm(shape.V, 2)), 1e-300)
        wanted = BLOCKS + np.ceil(t * speed / MAX_TURN)
        in_window = 1.0 + np.ceil(BLOCKS * t / (t - since))
    if not wanted <= MAX_TIMES:
        raise InputError(
            f"t |V| must be at most about {MAX_TIMES * MAX_TURN:g}, but is {t * speed:g}. Follow the run for"
            " a shorter time."
        )
    if not in_window <= MAX_TIMES:
        raise InputError(
            f"since must leave a window, but is {since:g}, and t {t:g}. An exponent is a mean over it."
        )
    m = int(max(wanted, in_window))
    check_memory(8.0 * n * (m * (2 * d - 1) + 9 * d * d), f"tangent vectors, and their growth at {m} times")
    times = t * np.arange(1, m + 1) / m  # (m,)
    times[-1] = t
    return _followed(shape, x, times, since, tol, speed)


def _followed(shape: Any, x: Array, times: Array, since: float, tol: float, speed: float) -> Lyapunov:
    m, (n, d) = len(times), x.shape
    table = dormand_prince_5()
    y = np.empty((n, d, d))  # (n, 1 + p, d) with p = d - 1
    y[:, 0], y[:, 1:] = x, tangent_frames(x)
    growth, places = np.full((m, n, d - 1), np.nan), np.full((m, n, d), np.nan)
    work = partial(
        _move, y, shape.beta * shape.A, shape.V, shape.w, times, tol, 2.0 / speed, table, growth, places
    )
    reached, steps = interruptible(work)
    status = "done" if reached == m else f"stalled after {reached} of {m} times. Take a larger tol."
    exponents, half = np.full((n, d - 1), np.nan), np.full((n, d - 1), np.nan)
    if reached == m:
        exponents, half = window_mean(growth, times, since)
    return Lyapunov(exponents, half, times, places, growth, since, int(steps), status)


def _move(
    y: Array,
    A: Array,
    V: Array,
    w: int,
    times: Array,
    tol: float,
    longest: float,
    table: Any,
    growth: Array,
    places: Array,
    stop: Stop,
) -> tuple[int, int]:
    from nucleate.integrate.tangent_steps import move

    A, V = (
        np.array(A, order="C"),
        np.array(V, order="C"),
    )  # writable, or code is compiled for those that are not
    found: tuple[int, int] = move(
        y, A, V, w, times, tol, longest, table.A, table.B, table.E, growth, places, stop
    )
    return found


def tangent_frames(x: Array) -> Array:
    """d - 1 orthonormal tangent vectors at every token of x (n, d), in no special direction, (n, d - 1,
    d)."""
    n, d = x.shape
    drawn = np.random.default_rng(VECTORS_SEED).standard_normal((n, d, d))  # (n, coordinate, vector)
    drawn[:, :, 0] = x
    return np.ascontiguousarray(np.linalg.qr(drawn)[0][:, :, 1:].mT)


def window_mean(growth: Array, times: Array, since: float) -> tuple[Array, Array]:
    """The mean rate of growth (n, p) in the window, the largest first, and half of its 95 % interval by
    Student from BLOCKS parts of the window; growth (m, n, p) at evenly spaced times (m,)."""
    tau = times[-1] / len(times)
    used = growth[np.searchsorted(times, since, side="right") :]  # (m', n, p)
    exponents = used.mean(0) / tau  # (n, p)
    parts = np.stack([part.mean(0) / tau for part in np.array_split(used, BLOCKS)])  # (BLOCKS, n, p)
    half = STUDENT * parts.std(0, ddof=1) / np.sqrt(BLOCKS)  # (n, p)
    order = np.argsort(-exponents, axis=1)  # (n, p)
    return np.take_along_axis(exponents, order, 1), np.take_along_axis(half, order, 1)
