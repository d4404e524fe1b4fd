"""The runs of Figure 3, as a study of nucleate.ensemble."""

import shutil
from typing import TYPE_CHECKING, Any

from nucleate.papers.causal_clustering.figure3.explained import (
    clusters_explained,
    tokens_near_random_ones,
)

if TYPE_CHECKING:
    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data, Parameters

__all__ = ["KINDS", "observable_name", "run", "study"]

KINDS = {"renyi": "Rényi centers", "strong": "strong Rényi centers"}


def study(p: "Parameters") -> dict[str, Any]:
    """The runs of the figure as a study of nucleate.ensemble; its shares within β^(−1/2) are those of
    studies/figure3.toml."""
    observables: dict[str, dict[str, Any]] = {
        observable_name(kind, radius): {
            "kind": "consumed",
            "centers": kind,
            "delta": "4/sqrt(beta)",
            "radius": f"{radius:g}/sqrt(beta)",
        }
        for radius in p["radii"]
        for kind in KINDS
    }
    own = {
        "near_random": (tokens_near_random_ones, ["time", "as_many_as"]),
        "clusters_explained": (clusters_explained, ["share"]),
    }
    observables |= {
        name: {"kind": "function", "function": function, "each": "run", "dims": dims}
        for name, (function, dims) in own.items()
    }
    return {
        "title": "Share of tokens consumed by centers (paper, Figure 3)",
        "runs": p["runs"],
        "seed": p["seed"],
        "model": {"beta": p["beta"]},
        "start": {"n": p["n"], "d": 2},
        "times": {"t": p["t"], "save": p["frames"], "rtol": 1e-6, "atol": 1e-9},
        "observables": observables,
    }


def observable_name(kind: str, radius: float) -> str:
    """Of the share of tokens within a radius, in units of β^(−1/2), of centers of a kind."""
    return f"{kind}_{radius:g}".replace(".", "p")


def run(workspace: "ItemWorkspace") -> "Data":
    """The ensemble; its store resumes by itself."""
    from nucleate.source_hash import source_hash
    from nucleate.studies.block import identity
    from nucleate.studies.ensemble import ensemble
    from nucleate.studies.study import Study

    table = Study.make(study(workspace.parameters))
    # named after the study and the code: runs of different ones are never mixed
    name = f"runs-{identity(table)[:12]}-{source_hash(__name__)[:12]}"
    workspace.folder.mkdir(parents=True, exist_ok=True)
    for old in workspace.folder.iterdir():
        if old.name.startswith("runs-") and name not in old.name and old.is_dir():
            shutil.rmtree(old, ignore_errors=True)
    found = ensemble(
        table,
        workspace.folder / f"{name}.zarr",
        progress=workspace.progress,
        tell=workspace.tell,
    )
    return {"ensemble": found.in_memory().data}
