"""One sentence over depth, with controls beside it: what the picture of the sphere shows."""

from typing import TYPE_CHECKING

import numpy as np

from nucleate.observe.capture import design_capture
from nucleate.tracing.controls import CONTROLS, random_weights
from nucleate.tracing.measures import SHARE, Indices, Numbers, Texts

if TYPE_CHECKING:
    from nucleate.models.forward import TransformerModel

__all__ = ["SHOWN", "measure_sentence"]

SHOWN = ("text", "shuffled", "re-drawn weights")
TOKENS, FRAMES = 24, 4


def measure_sentence(model: "TransformerModel", texts: Texts, seed: int) -> Numbers:
    """The first tokens of the first text at four depths: directions (controls, 4, n, d), which token stands
    where (controls, n), centers at the start by the delta of all texts (controls, n)."""
    ids, words = texts.ids[:, :TOKENS], texts.words[:, :TOKENS]
    n, L = ids.shape[1], model.settings.layers
    at = np.unique(np.linspace(0, L, FRAMES).round().astype(np.int64))
    x, order, center = [], [], []
    for key in SHOWN:
        control = CONTROLS[key]
        place: Indices = np.arange(n)
        if control.text == "shuffled":
            rng = np.random.default_rng(np.random.SeedSequence(seed))
            place = np.append(place[: texts.kept], texts.kept + rng.permutation(n - texts.kept))
        states = model.run(ids[0][place], change=random_weights(control, seed)).states
        unit = np.asarray(states / np.linalg.norm(states, axis=-1, keepdims=True))  # (L + 1, n, d)
        design = design_capture(unit[:1], words[:1, place], SHARE)
        x.append(unit[at].astype(np.float32))
        order.append(place)
        center.append(design.center[0])
    return {"x": np.array(x), "order": np.array(order), "centers": np.array(center), "layers": at}
