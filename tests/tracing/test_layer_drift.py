"""With positions and without biases the paper's drift is what attention adds; without positions it is not."""

from pathlib import Path

import numpy as np
import pytest
from support.made_transformers import tiny_gpt2, tiny_llama

from nucleate.models.forward import open_model
from nucleate.tracing.layer_drift import drift_agreement

IDS = np.random.default_rng(1).integers(0, 40, 20)


def test_positions_are_all_that_a_llama_has_beyond_the_papers_drift(tmp_path: Path) -> None:
    model = open_model(tiny_llama(tmp_path))
    found = model.run(IDS, precision="double")
    for i in range(model.settings.layers):
        whole = drift_agreement(model, i, found.states[i], found.attention[i], rotary=True)
        assert whole.cosine == pytest.approx(np.ones(20), abs=1e-6)  # the weights are float32 here
        assert whole.slope == pytest.approx(1.0, abs=1e-5)
        bare = drift_agreement(model, i, found.states[i], found.attention[i])
        assert bare.r_squared < 0.9
        assert bare.cosine[0] == pytest.approx(1.0, abs=1e-6)  # the first token sees itself alone
        assert len(drift_agreement(model, i, found.states[i], found.attention[i], first=False).cosine) == 19


def test_a_gpt2_differs_by_the_constant_of_its_biases(tmp_path: Path) -> None:
    model = open_model(tiny_gpt2(tmp_path))
    found = model.run(IDS, precision="double")
    assert drift_agreement(model, 0, found.states[0], found.attention[0]).r_squared < 0.999
    layer = model.layer(0)
    assert layer.v_bias is not None
    assert layer.o_bias is not None
    constant = sum(o @ v for o, v in zip(layer.o, layer.v_bias, strict=True)) + layer.o_bias
    assert drift_agreement(model, 0, found.states[0], found.attention[0] - constant).r_squared > 1 - 1e-9
