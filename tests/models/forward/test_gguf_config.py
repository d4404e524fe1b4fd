"""The settings of GGUF files under the names of config.json."""

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from support.made_transformers import make_transformer, write_gguf

from nucleate.models.forward import open_model
from nucleate.models.forward.gguf_config import gguf_config


def test_settings_are_translated_and_what_was_known_before_stays() -> None:
    settings: dict[str, Any] = {"general.architecture": "llama", "llama.rope.freq_base": 5e4}
    settings |= {"llama.embedding_length": 64, "llama.rope.dimension_count": 8, "llama.context_length": 99}
    settings |= {"llama.rope.scaling.type": "yarn", "llama.rope.scaling.factor": 4.0}
    found = gguf_config(settings, {"num_attention_heads": 4, "max_position_embeddings": 7})
    assert found == {
        "num_attention_heads": 4,
        "max_position_embeddings": 7,
        "rope_theta": 5e4,
        "partial_rotary_factor": 0.5,
        "rope_scaling": {"rope_type": "yarn", "factor": 4.0},
    }
    assert gguf_config({"general.architecture": "a", "a.rope.scaling.type": "none"}, {}) == {}


@pytest.mark.parametrize("kind", ["linear", "yarn"])
def test_a_stretched_gguf_file_is_stretched_as_the_model_it_was_made_of(kind: str, tmp_path: Path) -> None:
    scaling = {"rope_type": kind, "factor": 4.0, "original_max_position_embeddings": 40}
    made = make_transformer("llama", rope_scaling=scaling)
    one = open_model(made.write(tmp_path / "a"))
    path = write_gguf(
        made,
        tmp_path / "b.gguf",
        add_rope_scaling_type=gguf.RopeScalingType(kind),
        add_rope_scaling_factor=4.0,
        add_rope_scaling_orig_ctx_len=40,
    )
    assert one.settings.rotary == open_model(path).settings.rotary
    ids = np.arange(9)
    np.testing.assert_allclose(
        one.run(ids, precision="double").states,
        open_model(path).run(ids, precision="double").states,
        rtol=1e-6,
    )


def test_stored_divisors_of_the_frequencies_are_used(tmp_path: Path) -> None:
    """As files of Llama 3 have them."""
    made, divisors = make_transformer("llama"), np.array([1.0, 2.0, 8.0], np.float32)

    class Writer(gguf.GGUFWriter):
        def write_header_to_file(self, path: Any = None) -> None:
            self.add_tensor("rope_freqs.weight", divisors)
            super().write_header_to_file(path)

    original = gguf.GGUFWriter
    try:
        gguf.GGUFWriter = Writer  # type: ignore[misc]  # a stand-in for the test
        path = write_gguf(made, tmp_path / "a.gguf")
    finally:
        gguf.GGUFWriter = original  # type: ignore[misc]  # a stand-in for the test
    assert open_model(path).settings.rotary[0].divisors == (1.0, 2.0, 8.0)  # type: ignore[union-attr]  # this one has a RoPE
