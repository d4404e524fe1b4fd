"""All variants of the bridge together: every layer's matrices are made twice, with positions and without."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array
from nucleate.layers import layer_step
from nucleate.tracing.bridge import VARIANTS, BridgeVariant, centred_states, layer_blocks
from nucleate.tracing.measures import Numbers, Texts, Tick

if TYPE_CHECKING:
    from nucleate.models.forward import TransformerModel

__all__ = ["bridge_paths", "measure_bridge"]

BRIDGE_TOKENS = 48


def bridge_paths(model: "TransformerModel", states: Array) -> dict[str, Array]:
    """`bridge_path` of every variant: states (L + 1, n, d) -> name: cosines (L + 1, n)."""
    real = centred_states(model, np.asarray(states, dtype=np.float64))  # (L + 1, n, d)
    length = np.linalg.norm(real, axis=-1, keepdims=True)
    at = dict.fromkeys(VARIANTS, (real[0] / length[0], length[0, :, 0]))
    cosine = {name: [np.ones(real.shape[1])] for name in VARIANTS}
    for i in range(model.settings.layers):
        layer = model.layer(i, "double")
        made = {
            (positions, mlp): layer_blocks(layer, model.settings, i, BridgeVariant(positions, mlp))
            for positions in (True, False)
            for mlp in ((True, False) if model.settings.parallel else (True,))
        }
        for name, variant in VARIANTS.items():
            blocks = made.get((variant.positions, variant.mlp)) or made[variant.positions, True][:1]
            x, r = at[name]
            for block in blocks:
                for _ in range(variant.steps):
                    x, r = layer_step(block, x, r, 1.0 / variant.steps)
            at[name] = x, r
            cosine[name].append((x * real[i + 1] / length[i + 1]).sum(-1))  # (n,)
    return {name: np.array(rows) for name, rows in cosine.items()}


def measure_bridge(model: "TransformerModel", texts: Texts, most: int, tick: Tick) -> Numbers:
    """Cosines of simulated and real directions (texts, variants, L + 1, n) of the first tokens of a few
    texts."""
    rows = []
    for ids in texts.ids[:most, :BRIDGE_TOKENS]:
        paths = bridge_paths(model, np.asarray(model.run(ids, precision="double").states, dtype=np.float64))
        rows.append([paths[name] for name in VARIANTS])
        tick()
    return {"cosine": np.array(rows)}
