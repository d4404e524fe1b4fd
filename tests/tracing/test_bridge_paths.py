"""All variants together are each of them alone."""

from pathlib import Path

import numpy as np
from support.made_transformers import tiny_gpt2

from nucleate.models.forward import open_model
from nucleate.tracing.bridge import VARIANTS, bridge_path
from nucleate.tracing.bridge_paths import bridge_paths


def test_variants_together_take_the_paths_that_they_take_alone(tmp_path: Path) -> None:
    model = open_model(tiny_gpt2(tmp_path))
    states = model.run(np.arange(12), precision="double").states.astype(float)
    together = bridge_paths(model, states)
    for name, variant in VARIANTS.items():
        np.testing.assert_array_equal(together[name], bridge_path(model, states, variant))
