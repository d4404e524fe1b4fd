"""Runs of presets, with what the page measures on them, each computed once."""

from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nucleate.attention import Attention
from nucleate.checks import Array
from nucleate.explorer.measurements import Measurements, measure
from nucleate.explorer.prepared_run import begun_message, compute, prepare_scene
from nucleate.explorer.presets import presets
from nucleate.explorer.scene import Scene


class PresetRun:
    """The run of a scene, as the page shows it."""

    def __init__(self, scene: Scene, computed: bool) -> None:
        self.scene, self.prepared = scene, prepare_scene(scene)
        self.facts: dict[str, Any] = begun_message(self.prepared, 0)
        if computed:
            run = compute(self.prepared)
            assert run.done
            self.t, self.x = run.t, run.x  # (m,), (m, n, d)

    @property
    def head(self) -> Attention:
        """The model, where it is one head."""
        assert isinstance(self.scene.model, Attention)
        return self.scene.model

    @cached_property
    def measured(self) -> Measurements:
        found = measure(self.x, self.facts)
        assert found is not None
        return found

    def frame(self, t: float) -> int:
        """The first frame from time t on."""
        return int(np.searchsorted(self.t, t * (1.0 - 1e-9)))

    def at(self, t: float) -> Array:
        """The tokens (n, d)."""
        return np.asarray(self.x[self.frame(t)])

    def clusters(self, t: float) -> int:
        return int(self.measured.clusters[self.frame(t)])

    def leaders(self, t: float) -> NDArray[np.int64]:
        """The first token of every token's cluster, (n,)."""
        labels = self.measured.labels[self.frame(t)]
        return np.array([np.flatnonzero(labels == one)[0] for one in labels])

    def distance_at(self, t: float) -> float:
        """Between the first two tokens, in radians."""
        x = self.at(t)
        return float(angle(x[0], x[1]))


@cache
def preset_run(name: str | None, compute: bool = True) -> PresetRun:
    """The run of a preset, or of the scene that the page opens with."""
    scene = Scene() if name is None else next(one.scene for one in presets() if one.name == name)
    return PresetRun(scene, compute)


def angle(a: Array, b: Array) -> Array:
    """Between unit vectors (..., d), in radians, exact also where it is small."""
    return np.asarray(2.0 * np.arcsin(np.clip(np.linalg.norm(a - b, axis=-1) / 2.0, 0.0, 1.0)))
