"""A laboratory for self-attention seen as particles on a sphere.

import nucleate as nc

model = nc.Attention(beta=64.0)
run = nc.simulate(model, nc.uniform(n=200, d=2, seed=0), t=150.0)

Each name is imported from its room when it is first used, so that `import nucleate` costs next to nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nucleate import plot
    from nucleate.attention import Attention, Frozen, Window
    from nucleate.block import Block
    from nucleate.checks import InputError
    from nucleate.explorer.player import explore
    from nucleate.integrate.checkpoint import Checkpoint
    from nucleate.integrate.lyapunov import Lyapunov, lyapunov
    from nucleate.integrate.run import Run
    from nucleate.integrate.simulate import simulate
    from nucleate.kernels.dispatch import drift
    from nucleate.layers import Layers, RandomLayers
    from nucleate.mlp import MLP, Potential
    from nucleate.models.spectra import Spectra, spectra
    from nucleate.models.trace import trace
    from nucleate.observe.activations import massive_activations, sink_share
    from nucleate.observe.centers import center_mask, renyi_centers
    from nucleate.observe.clusters import clusters, count_clusters
    from nucleate.observe.consumption import consumed, consumption, lost_centers
    from nucleate.observe.cosines import consensus_gap, cosine_histogram, mean_cosine
    from nucleate.observe.depth_capture import Capture, capture
    from nucleate.observe.energies import interaction_energy, token_energies
    from nucleate.observe.life import Life, life
    from nucleate.observe.measure import measure
    from nucleate.observe.merges import Merges, merges
    from nucleate.observe.rank import effective_rank, rank_one_residual
    from nucleate.observe.score_centers import score_centers
    from nucleate.observe.stationarity import displacement, stationarity
    from nucleate.observe.turns import turn_shares
    from nucleate.positions import ALiBi, RoPE
    from nucleate.sphere import distance, retract, tangent, uniform
    from nucleate.studies.ensemble import ensemble
    from nucleate.studies.result import Ensemble, load
    from nucleate.studies.study import Study
    from nucleate.theory.atlas import Atlas, atlas, limit_point
    from nucleate.theory.counts import expected_centers, monte_carlo_centers
    from nucleate.theory.predicted_life import predict_merges
    from nucleate.tracing.report import TraceReport, trace_report

    __version__: str

__all__ = [
    "MLP",
    "ALiBi",
    "Atlas",
    "Attention",
    "Block",
    "Capture",
    "Checkpoint",
    "Ensemble",
    "Frozen",
    "InputError",
    "Layers",
    "Life",
    "Lyapunov",
    "Merges",
    "Potential",
    "RandomLayers",
    "RoPE",
    "Run",
    "Spectra",
    "Study",
    "TraceReport",
    "Window",
    "__version__",
    "atlas",
    "capture",
    "center_mask",
    "clusters",
    "consensus_gap",
    "consumed",
    "consumption",
    "cosine_histogram",
    "count_clusters",
    "displacement",
    "distance",
    "drift",
    "effective_rank",
    "ensemble",
    "expected_centers",
    "explore",
    "interaction_energy",
    "life",
    "limit_point",
    "load",
    "lost_centers",
    "lyapunov",
    "massive_activations",
    "mean_cosine",
    "measure",
    "merges",
    "monte_carlo_centers",
    "plot",
    "predict_merges",
    "rank_one_residual",
    "renyi_centers",
    "retract",
    "score_centers",
    "simulate",
    "sink_share",
    "spectra",
    "stationarity",
    "tangent",
    "token_energies",
    "trace",
    "trace_report",
    "turn_shares",
    "uniform",
]

_HOME = {
    "ALiBi": "nucleate.positions",
    "Atlas": "nucleate.theory.atlas",
    "Attention": "nucleate.attention",
    "Block": "nucleate.block",
    "Capture": "nucleate.observe.depth_capture",
    "Checkpoint": "nucleate.integrate.checkpoint",
    "Ensemble": "nucleate.studies.result",
    "Frozen": "nucleate.attention",
    "InputError": "nucleate.checks",
    "Layers": "nucleate.layers",
    "Life": "nucleate.observe.life",
    "Lyapunov": "nucleate.integrate.lyapunov",
    "MLP": "nucleate.mlp",
    "Merges": "nucleate.observe.merges",
    "Potential": "nucleate.mlp",
    "RandomLayers": "nucleate.layers",
    "RoPE": "nucleate.positions",
    "Run": "nucleate.integrate.run",
    "Spectra": "nucleate.models.spectra",
    "Study": "nucleate.studies.study",
    "TraceReport": "nucleate.tracing.report",
    "Window": "nucleate.attention",
    "atlas": "nucleate.theory.atlas",
    "capture": "nucleate.observe.depth_capture",
    "center_mask": "nucleate.observe.centers",
    "clusters": "nucleate.observe.clusters",
    "consensus_gap": "nucleate.observe.cosines",
    "consumed": "nucleate.observe.consumption",
    "consumption": "nucleate.observe.consumption",
    "cosine_histogram": "nucleate.observe.cosines",
    "count_clusters": "nucleate.observe.clusters",
    "displacement": "nucleate.observe.stationarity",
    "distance": "nucleate.sphere",
    "drift": "nucleate.kernels.dispatch",
    "effective_rank": "nucleate.observe.rank",
    "ensemble": "nucleate.studies.ensemble",
    "expected_centers": "nucleate.theory.counts",
    "explore": "nucleate.explorer.player",
    "interaction_energy": "nucleate.observe.energies",
    "life": "nucleate.observe.life",
    "limit_point": "nucleate.theory.atlas",
    "load": "nucleate.studies.result",
    "lost_centers": "nucleate.observe.consumption",
    "lyapunov": "nucleate.integrate.lyapunov",
    "massive_activations": "nucleate.observe.activations",
    "mean_cosine": "nucleate.observe.cosines",
    "measure": "nucleate.observe.measure",
    "merges": "nucleate.observe.merges",
    "monte_carlo_centers": "nucleate.theory.counts",
    "predict_merges": "nucleate.theory.predicted_life",
    "rank_one_residual": "nucleate.observe.rank",
    "renyi_centers": "nucleate.observe.centers",
    "retract": "nucleate.sphere",
    "score_centers": "nucleate.observe.score_centers",
    "simulate": "nucleate.integrate.simulate",
    "sink_share": "nucleate.observe.activations",
    "spectra": "nucleate.models.spectra",
    "stationarity": "nucleate.observe.stationarity",
    "tangent": "nucleate.sphere",
    "token_energies": "nucleate.observe.energies",
    "trace": "nucleate.models.trace",
    "trace_report": "nucleate.tracing.report",
    "turn_shares": "nucleate.observe.turns",
    "uniform": "nucleate.sphere",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
    elif name == "plot":
        value = importlib.import_module("nucleate.plot")
    elif name == "__version__":
        value = _version()
    else:
        raise AttributeError(f"module 'nucleate' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("nucleate")
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "0+unknown"
