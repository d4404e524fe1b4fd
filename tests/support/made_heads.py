"""Models of one head whose value matrix is what a test wants it to be."""

from typing import Any

import numpy as np
from support.made_checkpoints import Made

UP, DOWN = np.diag([3.0, 2.0, 1.0]), np.diag([-1.0, -2.0, -3.0])
TURNING = np.array([[1.0, -2.0, 0], [2.0, 1.0, 0], [0, 0, -1.0]])


def one_head(S: Any, query: Any = None) -> Made:
    """A model of one head whose value matrix is S on the first coordinates, and 0 elsewhere."""
    d, width = 12, len(S)
    T: dict[str, Any] = {f"model.layers.0.self_attn.{name}_proj.weight": np.eye(width, d) for name in "qkv"}
    T["model.layers.0.self_attn.q_proj.weight"] = (
        np.eye(width, d) if query is None else query @ np.eye(width, d)
    )
    T |= {
        "model.layers.0.self_attn.o_proj.weight": np.eye(d, width) @ S,
        "model.layers.0.input_layernorm.weight": np.ones(d),
    }
    sizes = {"num_attention_heads": 1, "num_key_value_heads": 1, "num_hidden_layers": 1}
    return Made({"model_type": "llama", **sizes}, T, "llama")
