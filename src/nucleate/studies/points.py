"""Points of the grid, and the random streams of their runs.

Run i starts from SeedSequence(root, spawn_key=(i,)) at every point: the same tokens, so that points can be
compared run by run.  With the same d, fewer tokens are the first of more.  Random Q, K and V have streams of
their own, spawn_key=(i, 1), (i, 2) and (i, 3); those of further heads and redrawn layers end in (layer,
head), so that fewer heads are the first of more.  The seed of a run's noise is drawn from (i, 4).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nucleate.checks import Array, InputError
from nucleate.integrate.simulate import Method
from nucleate.layers import Layers, Model
from nucleate.parse.model import MATRIX_STREAMS, Draw, build_model, draw_from, one_layer
from nucleate.sphere import drawn_from
from nucleate.studies.matrices import Spec, check_spec

__all__ = ["MATRIX_STREAMS", "Point", "ends_of_layers", "noise_seed", "stream"]

MAX_ENDS = 100_000  # of layers
NOISE_STREAM = 4  # the child of a run's stream that the seed of its noise is drawn from


def stream(seed: int, run: int, *child: int) -> np.random.SeedSequence:
    """The random stream of a run, or one of its children."""
    return np.random.SeedSequence(seed, spawn_key=(run, *child))


def ends_of_layers(dt: float, t: float) -> list[float]:
    """The times up to t at which discrete layers of dt end, 0 first: all that there is to save."""
    many = int(min(np.floor(t / dt * (1.0 + 1e-12)), MAX_ENDS))
    return [*(dt * i for i in range(many)), t if np.isclose(many * dt, t, rtol=1e-12) else many * dt]


def noise_seed(seed: int, run: int) -> int:
    """The seed of the noise of a run."""
    return int(stream(seed, run, NOISE_STREAM).generate_state(1, np.uint64)[0] >> np.uint64(2))


@dataclass(frozen=True)
class Point:
    """One point of the grid: every parameter has one value."""

    beta: float
    Q: Spec
    K: Spec
    V: Spec
    mask: str  # as `nucleate.parse.mask` takes it
    window: int | None
    kind: str
    n: int
    d: int
    rtol: float
    atol: float
    method: Method
    dt: float | None
    max_steps: int
    # what makes the model more than one softmax head, as `nucleate.parse.model` takes it: norm, layers, ...
    family: Mapping[str, Any]

    def check(self, t: float) -> None:
        """Refuse values that do not go together; t is the time to stop at."""
        for name in MATRIX_STREAMS:
            check_spec(name, getattr(self, name), self.d)
        if self.window is not None and self.mask != "causal":
            raise InputError(f'mask is "{self.mask}" and window is {self.window}. Leave out one of the two.')
        if self.method == "causal" and self.mask == "full" and self.window is None:
            raise InputError(
                'method "causal" needs a mask under which no token sees a later one, but the mask is "full".'
                ' Use "explicit".'
            )
        if self.family:
            self._check_family(t)

    def _check_family(self, t: float) -> None:
        model = build_model(one_layer(self.table), self.d, self._draw(0, range(1)))
        model.check(np.zeros((self.n, self.d)), lengths=False)
        if self.method == "causal":
            raise InputError(
                'method "causal" needs one softmax head without positions, MLP or another norm, but the model'
                ' has more. Use "explicit".'
            )
        if self.noise is not None and self.dt is None:
            raise InputError("noise takes fixed steps, but dt is missing. Give dt = 0.01 in [times], say.")
        layers = self.family.get("layers")
        if layers is not None and isinstance(model, Layers):
            many = layers.get("count", len(layers.get("blocks", ())))
            depth = model.dt * many
            if t > depth * (1.0 + 1e-12):
                raise InputError(
                    f"{many} layers of dt = {model.dt:g} end at time {depth:g}, but t is {t:g}. Give more"
                    " layers, or a smaller t."
                )

    @property
    def table(self) -> dict[str, Any]:
        """The model of this point as `nucleate.parse.model` takes it."""
        head = {"beta": self.beta, "Q": self.Q, "K": self.K, "V": self.V, "mask": self.mask}
        return {**head, **({} if self.window is None else {"window": self.window}), **self.family}

    @property
    def noise(self) -> float | None:
        """kappa, or None."""
        return self.family.get("noise")

    @property
    def plain(self) -> bool:
        """Whether the model is one softmax head without positions."""
        return not self.family

    @property
    def weights_per_run(self) -> int:
        """How many numbers the matrices of a run are, about; 0 for one softmax head."""
        if self.plain:
            return 0
        layers, heads = self.family.get("layers", {}), self.family.get("heads", 1)
        many = layers.get("count", 1) if layers.get("redraw") else 1
        return 3 * many * (heads if isinstance(heads, int) else len(heads)) * self.d**2

    def starts(self, seed: int, runs: range) -> Array:
        """Where the runs begin, (b, n, d)."""
        return drawn_from([stream(seed, run) for run in runs], self.n, self.d)

    def model(self, seed: int, runs: range) -> Model:
        """The model of these runs; random matrices carry the run axis."""
        return build_model(self.table, self.d, self._draw(seed, runs))

    def _draw(self, seed: int, runs: range) -> Draw:
        return draw_from(self.d, lambda *child: (stream(seed, run, *child) for run in runs))
