"""The cosine of two outputs against gamma and n: in closed form, and by the layer itself on equiangular
tokens."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array
from nucleate.papers.long_context.equiangular_layer import (
    critical_scale,
    equiangular_tokens,
)
from nucleate.theory.long_context import critical_gamma, layer_cosine, limiting_cosine

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data, Parameters

__all__ = ["run"]


def run(workspace: "ItemWorkspace") -> "Data":
    """The curves, and the same by the layer itself, one n after the other."""
    p = workspace.parameters
    data = {"curves": workspace.dataset("curves", lambda: curves(p))}
    cost = np.cumsum([0.0, *(float(n) ** 3 for n in p["direct_n"])])
    for i, n in enumerate(p["direct_n"]):
        data[f"direct-{n}"] = workspace.dataset(f"direct-{n}", partial(direct, p, n))
        workspace.progress(cost[i + 1], cost[-1])
    return data


def curves(p: "Parameters") -> "Dataset":
    """In closed form: over n at some gamma, over gamma at some n, and where the curve is between its
    limits."""
    import xarray

    rho, n = np.array(p["rhos"]), np.array([float(one) for one in p["n"]])
    share, fine = np.array(p["shares"]), np.linspace(p["from_share"], p["to_share"], p["points"])
    log_n = np.log(n)

    def cosine(share: Array) -> Array:
        """(rho, n, share)"""
        gamma = critical_scale(rho)[:, None, None] * share
        return layer_cosine(n[:, None], rho[:, None, None], gamma * log_n[:, None])

    limits = [[limiting_cosine(float(f) * critical_gamma(float(r)), float(r)) for f in share] for r in rho]
    return xarray.Dataset(
        {
            "cosine": (("rho", "n", "share"), cosine(share)),
            "limit": (("rho", "share"), np.array(limits)),
            "curve": (("rho", "n", "fine"), cosine(fine)),
            "width": (("rho", "n"), [[transition_width(float(r), float(m)) for m in n] for r in rho]),
        },
        {"rho": rho, "n": n, "share": share, "fine": fine},
    )


def transition_width(rho: float, n: float) -> float:
    """How far gamma over its critical value goes while the cosine falls from three quarters to one quarter of
    the way between 1 and rho."""
    from scipy.optimize import brentq

    def at(level: float) -> float:
        cosine = rho + level * (1.0 - rho)
        return float(
            brentq(
                lambda share: float(layer_cosine(n, rho, share * np.log(n) / (1.0 - rho))) - cosine,
                0.0,
                20.0,
                xtol=1e-13,
            )
        )

    return at(0.25) - at(0.75)


def direct(p: "Parameters", n: int) -> "Dataset":
    """The cosines of all pairs of outputs of the layer itself: their least and largest."""
    import xarray

    from nucleate.attention import Attention, attend

    x = equiangular_tokens(n, p["direct_rho"])  # (n, n + 1)
    found = []
    for share in p["shares"]:
        beta = share * float(critical_scale(p["direct_rho"])) * np.log(n)
        A = attend(Attention(beta=beta, mask="full"), x)  # (n, n + 1)
        A /= np.linalg.norm(A, axis=-1, keepdims=True)
        cosines = (A @ A.T)[np.triu_indices(n, 1)]  # (n (n - 1) / 2,)
        expected = float(layer_cosine(n, p["direct_rho"], beta))
        found.append([cosines.min(), cosines.max(), expected])
    least, largest, formula = np.array(found).T  # (shares,) each
    return xarray.Dataset(
        {"least": ("share", least), "largest": ("share", largest), "formula": ("share", formula)},
        {"share": np.array(p["shares"])},
    )
