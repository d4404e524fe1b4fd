"""Lemma 5.3: gradients of energies beside velocities, and energies along runs."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data

__all__ = ["FROZEN_TOKENS", "gradients", "identity", "run"]

FROZEN_TOKENS = 3  # in every configuration of the first part
# of the complex-step derivative: its square is lost against 1, so that the derivative is good to rounding
COMPLEX_STEP = 1e-30
SEED = 53


def run(workspace: "ItemWorkspace") -> "Data":
    """Random configurations, and energies along runs."""
    p = workspace.parameters
    compared = workspace.dataset("identity", lambda: identity(p["betas"], p["configurations"], p["n"]))
    workspace.progress(0.3, 1.0)
    energies = workspace.dataset(
        "energies", lambda: energies_along_runs(p["beta"], p["starts"], p["n"], p["t"])
    )
    return {"identity": compared, "energies": energies}


def gradients(phi: Array, theta: Array, a: Array, beta: float, factor: float) -> tuple[Array, Array]:
    """(dE_k/dphi_k, Z_k), (b, n) each, with E_k = -factor (sum over earlier and frozen tokens), by a complex
    step: no derivative is worked out."""
    n = phi.shape[-1]
    z = phi[:, :, None] + 1j * COMPLEX_STEP  # (b, n, 1) every token a little off the real line
    earlier = np.tri(n, k=-1)  # (n, n) j < k
    to_tokens = (np.exp(beta * (np.cos(z - phi[:, None, :]) - 1.0)) * earlier).sum(-1)  # (b, n)
    to_frozen = (np.exp(beta * (np.cos(z - theta[:, None, :]) - 1.0)) * a[:, None, :]).sum(-1)  # (b, n)
    return -factor * (to_tokens + to_frozen).imag / COMPLEX_STEP, 1.0 + (to_tokens + to_frozen).real


def identity(betas: list[float], configurations: int, n: int) -> "Dataset":
    """Random tokens and frozen tokens: phi_k' by the equation and by the compiled kernels, and
    -(dE_k/dphi_k)/Z_k with the factor 1/beta and without."""
    import xarray

    from nucleate.attention import Attention, Frozen
    from nucleate.kernels.dispatch import drift

    rng = np.random.default_rng(SEED)
    names = ("equation", "compiled", "gradient", "printed", "asymmetry")
    rows: dict[str, list[Array]] = {name: [] for name in names}
    for beta in betas:
        phi = _angles(rng, configurations, n, beta)  # (b, n)
        theta, a = (
            rng.uniform(-np.pi, np.pi, (configurations, FROZEN_TOKENS)),
            rng.uniform(1.0, 5.0, (configurations, FROZEN_TOKENS)),
        )
        model = Attention(np.full(configurations, beta), frozen=Frozen(_points(theta), a))
        slope, Z = gradients(phi, theta, a, beta, 1.0 / beta)
        rows["equation"].append(_angular_velocity(phi, drift(model, _points(phi), "reference")))
        rows["compiled"].append(_angular_velocity(phi, drift(model, _points(phi), "pairwise")))
        rows["gradient"].append(-slope / Z)
        rows["printed"].append(-gradients(phi, theta, a, beta, 1.0)[0] / Z)
        rows["asymmetry"].append(_asymmetry(phi, beta))
    axes = ("beta", "configuration", "token")
    return xarray.Dataset(
        {name: (axes[: 1 + np.ndim(column[0])], np.stack(column)) for name, column in rows.items()},
        {"beta": np.array(betas)},
    )


def _angles(rng: np.random.Generator, b: int, n: int, beta: float) -> Array:
    """Angles (b, n): half of the tokens anywhere, half within a few beta^(-1/2) of one of these, where forces
    are strong."""
    phi = rng.uniform(-np.pi, np.pi, (b, n))
    phi[:, n // 2 :] = phi[:, : n - n // 2] + 2.0 * min(1.0, beta**-0.5) * rng.standard_normal(
        (b, n - n // 2)
    )
    return phi


def _points(phi: Array) -> Array:
    return np.stack([np.cos(phi), np.sin(phi)], axis=-1)


def _angular_velocity(phi: Array, v: Array) -> Array:
    """phi' from the velocity v (..., 2) of the point at angle phi."""
    return np.asarray(-np.sin(phi) * v[..., 0] + np.cos(phi) * v[..., 1])


def _asymmetry(phi: Array, beta: float) -> Array:
    """(b,) how far d(Z_k phi_k')/dphi_j is from its mirror image in k and j, which it would equal if one
    energy drove all tokens.

    The numerator of token k is the sum over j < k of h(phi_j - phi_k): its derivative by phi_j is g, that of
    token j's by phi_k is 0.
    """
    from nucleate.theory.interaction import interaction_slope

    g = interaction_slope(phi[:, None, :] - phi[:, :, None], beta) * np.tri(phi.shape[-1], k=-1)  # (b, n, n)
    return np.asarray(np.abs(g - g.swapaxes(1, 2)).max((1, 2)))


def energies_along_runs(beta: float, starts: int, n: int, t: float) -> "Dataset":
    """Energies along runs from uniform starts; and the balance of dE_k/dt at one time of each, by
    differences."""
    import xarray

    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.observe.energies import token_energies
    from nucleate.papers.core.interruption import uninterrupted
    from nucleate.sphere import uniform

    model = Attention(beta)
    x0 = uniform(n, 2, SEED, runs=starts)  # (b, n, 2)
    times = np.concatenate([[0.0], np.geomspace(1e-2, t, 240)])
    run = uninterrupted(simulate(model, x0, t, save=times))
    x = run.x[:, np.searchsorted(times, 1.0)]  # (b, n, 2) a time at which all move
    return xarray.Dataset(
        {
            "energy": (("start", "time", "token"), token_energies(model, run.x), {"long_name": "E_k"}),
            "done": ("start", np.array([status == "done" for status in run.status], dtype=np.int8)),
            **balance(beta, x),
        },
        {"time": times},
    )


def balance(beta: float, x: Array) -> dict[str, tuple[tuple[str, str], Array]]:
    """dE_k/dt along a short run from x, (b, n), and its two parts: -Z_k phi_k'^2, and what earlier tokens
    bring by moving."""
    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.kernels.dispatch import drift
    from nucleate.observe.energies import token_energies
    from nucleate.theory.interaction import interaction

    model, step = Attention(beta), 1e-3
    ahead = simulate(model, x, 4.0 * step, save=step * np.arange(5), rtol=1e-12, atol=1e-13).x  # (b, 5, n, 2)
    E = token_energies(model, ahead)  # (b, 5, n)
    middle = ahead[:, 2]  # (b, n, 2)
    phi = np.arctan2(middle[..., 1], middle[..., 0])  # (b, n)
    speed = _angular_velocity(phi, drift(model, middle))  # (b, n)
    # (b, n, n) h(phi_j - phi_k), j < k
    pull = interaction(phi[:, None, :] - phi[:, :, None], beta) * np.tri(phi.shape[-1], k=-1)
    axes = ("start", "token")
    return {
        "rate": (axes, (8.0 * (E[:, 3] - E[:, 1]) - (E[:, 4] - E[:, 0])) / (12.0 * step)),
        "own": (axes, -pull.sum(-1) * speed),  # dE_k/dphi_k phi_k' = -Z_k phi_k'^2
        "brought": (axes, (pull * speed[:, None, :]).sum(-1)),  # dE_k/dphi_j = h(phi_j - phi_k)
    }
