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
    from nucleate.checks import InputError
    from nucleate.integrate.run import Run
    from nucleate.integrate.simulate import simulate
    from nucleate.integrate.storage import load
    from nucleate.kernels import drift
    from nucleate.observe.centers import renyi_centers
    from nucleate.observe.clusters import clusters
    from nucleate.observe.life import life
    from nucleate.observe.merges import merges
    from nucleate.sphere import distance, retract, tangent, uniform

    __version__: str

__all__ = [
    "Attention",
    "Frozen",
    "InputError",
    "Run",
    "Window",
    "__version__",
    "clusters",
    "distance",
    "drift",
    "life",
    "load",
    "merges",
    "plot",
    "renyi_centers",
    "retract",
    "simulate",
    "tangent",
    "uniform",
]

_HOME = {
    "Attention": "nucleate.attention",
    "Frozen": "nucleate.attention",
    "InputError": "nucleate.checks",
    "Run": "nucleate.integrate.run",
    "Window": "nucleate.attention",
    "clusters": "nucleate.observe.clusters",
    "distance": "nucleate.sphere",
    "drift": "nucleate.kernels",
    "life": "nucleate.observe.life",
    "load": "nucleate.integrate.storage",
    "merges": "nucleate.observe.merges",
    "renyi_centers": "nucleate.observe.centers",
    "retract": "nucleate.sphere",
    "simulate": "nucleate.integrate.simulate",
    "tangent": "nucleate.sphere",
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
