"""Lemma 5.3: gradients of energies beside velocities, energies along runs, sums of energies that rise, and
where tokens among frozen ones end."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data

__all__ = ["FROZEN_TOKENS", "energy_rates", "gradients", "identity", "run", "three_places"]

FROZEN_TOKENS = 3  # in every configuration of the first part
# of the complex-step derivative: its square is lost against 1, so that the derivative is good to rounding
COMPLEX_STEP = 1e-30
SEED = 53
SUM_BETAS = (1.0, 4.0, 9.0)
SUM_WEIGHTS = 10.0 ** np.arange(-6.0, 6.5, 1.0)  # w_3 = ... = w_n of the sums, w_2 = 1
SUM_ANGLES = 10.0 ** -np.arange(1.0, 10.5, 0.5)  # of token 2 from opposite the first one
END_BETAS = (1.0, 4.0, 9.0)
END_TOKENS = 12


def run(workspace: "ItemWorkspace") -> "Data":
    """Random configurations, energies along runs, sums of energies, and ends."""
    p = workspace.parameters
    compared = workspace.dataset("identity", lambda: identity(p["betas"], p["configurations"], p["n"]))
    workspace.progress(0.3, 1.0)
    energies = workspace.dataset(
        "energies", lambda: energies_along_runs(p["beta"], p["starts"], p["n"], p["t"])
    )
    workspace.progress(0.8, 1.0)
    sums = workspace.dataset("sums", lambda: rising_sums(p["sum_tokens"]))
    ends = workspace.dataset("ends", lambda: ends_among_frozen(p["end_runs"]))
    return {"identity": compared, "energies": energies, "sums": sums, "ends": ends}


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


def energy_rates(phi: Array, beta: float) -> Array:
    """dE_k/dt of tokens at angles phi (n,), (n,): a complex step along their velocity."""
    from nucleate.attention import Attention, drift

    speed = _angular_velocity(phi, drift(Attention(beta), _points(phi)))  # (n,)
    z = phi + 1j * COMPLEX_STEP * speed
    earlier = np.tri(len(phi), k=-1)  # (n, n)
    E = -(np.exp(beta * (np.cos(z[:, None] - z) - 1.0)) * earlier).sum(-1) / beta  # (n,)
    return np.asarray(E.imag / COMPLEX_STEP)


def three_places(n: int, angle: float) -> Array:
    """Angles (n,): token 1 at 0, token 2 `angle` from opposite it, all others in the middle of the longer arc
    between the two, where they are at rest."""
    phi = np.full(n, (np.pi - angle) / 2.0 + np.pi)
    phi[:2] = 0.0, np.pi - angle
    return phi


def rising_sums(sizes: list[int]) -> "Dataset":
    """Of E_2 + w (E_3 + ... + E_n), for many w: the greatest rate with which it changes over the `angle` of
    `three_places`, as a share of its terms."""
    import xarray

    found = np.empty((len(SUM_BETAS), len(sizes), len(SUM_WEIGHTS)))
    for i, beta in enumerate(SUM_BETAS):
        for j, n in enumerate(sizes):
            rates = np.stack([energy_rates(three_places(n, angle), beta) for angle in SUM_ANGLES])
            weight = np.ones((len(SUM_WEIGHTS), n))
            weight[:, 2:] = SUM_WEIGHTS[:, None]
            terms = rates[None] * weight[:, None]  # (weights, angles, n)
            found[i, j] = (terms.sum(-1) / np.abs(terms).sum(-1)).max(1)
    return xarray.Dataset(
        {"rate": (("beta", "tokens", "weight"), found)},
        {"beta": np.array(SUM_BETAS), "tokens": np.array(sizes), "weight": SUM_WEIGHTS},
    )


def ends_among_frozen(runs: int) -> "Dataset":
    """Tokens from uniform starts among frozen ones anywhere, with weights 1 to 5, under no condition: the
    largest speed left at the end, (beta, run)."""
    import xarray

    from nucleate.attention import Attention, Frozen
    from nucleate.integrate.simulate import simulate
    from nucleate.kernels.dispatch import drift
    from nucleate.papers.core.interruption import uninterrupted
    from nucleate.sphere import uniform

    speed, done = [], []
    for i, beta in enumerate(END_BETAS):
        rng = np.random.default_rng([SEED, i])
        theta = rng.uniform(-np.pi, np.pi, (runs, FROZEN_TOKENS))
        a = rng.uniform(1.0, 5.0, (runs, FROZEN_TOKENS))
        model = Attention(np.full(runs, beta), frozen=Frozen(_points(theta), a))
        # no force is weaker than e^{-2 beta} times the sine of its angle, over Z
        end = 1e3 * (END_TOKENS + 5.0 * FROZEN_TOKENS) * np.exp(2.0 * beta)
        run = uninterrupted(simulate(model, uniform(END_TOKENS, 2, SEED + i, runs=runs), end, save=[end]))
        speed.append(np.linalg.norm(drift(model, run.x[:, -1]), axis=-1).max(1))
        done.append([status == "done" for status in run.status])
    return xarray.Dataset(
        {
            "speed": (("beta", "run"), np.array(speed)),
            "done": (("beta", "run"), np.array(done, dtype=np.int8)),
        },
        {"beta": np.array(END_BETAS)},
    )
