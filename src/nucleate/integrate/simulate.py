"""PLACEHOLDER with the final signature (SciPy inside); the compiled engine replaces the body."""

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from nucleate.attention import Attention, drift
from nucleate.checks import Array
from nucleate.integrate.run import Run

Method = Literal["auto", "explicit", "euler", "heun", "rk4"]
Progress = Callable[[Array, Array], object]


def simulate(
    model: Attention,
    x0: ArrayLike,
    t: float,
    save: int | str | ArrayLike = 64,
    rtol: float = 1e-8,
    atol: float = 1e-10,
    method: Method = "auto",
    dt: float | None = None,
    progress: Progress | None = None,
    *,
    max_steps: int = 1_000_000,
    time_limit: float | None = None,
    threads: int | None = None,
) -> Run:
    x0 = model.check(x0)
    times = np.linspace(0, t, save) if isinstance(save, int) else np.asarray(save, float)
    one = x0[None] if x0.ndim == 2 else x0
    frames = []
    for x in one:
        solution = solve_ivp(lambda t, y: drift(model, y.reshape(x.shape)).ravel(), (0, t), x.ravel(), t_eval=times, rtol=rtol, atol=atol)
        frames.append(solution.y.T.reshape(-1, *x.shape))
    settings = {"method": "explicit", "rtol": rtol, "atol": atol, "dt": dt}
    if x0.ndim == 2:
        return Run(model, times, frames[0], "done", 100, settings)
    return Run(model, times, np.array(frames), ("done",) * len(one), np.full(len(one), 100), settings)
