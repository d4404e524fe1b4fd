"""Hidden states made up without a model, and the run of them."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nucleate.integrate.checkpoint import Checkpoint
from nucleate.integrate.run import Run

LAYERS, HEADS, TOKENS, D, VOCABULARY = 3, 2, 5, 4, 11


def made_states(lead: tuple[int, ...] = (), dtype: Any = np.float32) -> NDArray[Any]:
    """(..., L+1, n, d) numbers of no meaning."""
    rng = np.random.default_rng(len(lead))
    return rng.standard_normal((*lead, LAYERS + 1, TOKENS, D)).astype(dtype)


def depth_run(lead: tuple[int, ...] = ()) -> Run:
    """A run over depth with all that it can hold, of one text or of lead = (b,)."""
    rng = np.random.default_rng(7)
    states = made_states(lead)
    block = (*lead, LAYERS, TOKENS, D)
    parts: dict[str, Any] = {
        name: rng.standard_normal(block).astype(np.float32) for name in ("normed", "attention", "mlp")
    }
    weights = np.tril(rng.random((*lead, LAYERS, HEADS, TOKENS, TOKENS)))  # (..., L, H, n, n)
    parts["weights"] = weights / weights.sum(-1, keepdims=True)
    parts["logits"] = rng.standard_normal((*lead, TOKENS, VOCABULARY))
    parts["ids"] = rng.integers(0, VOCABULARY, (*lead, TOKENS))
    words: Any = ("The", " ä", "<0xE2>", "\n", "The")
    model = Checkpoint("tiny.gguf", "llama", LAYERS, D, HEADS, 1, 2, 8, VOCABULARY, True, "pre", "rope")
    run = Run.from_hidden_states(states, words if not lead else [words] * lead[0], parts, model)
    return replace(run, notes={"tokenizer": "tiny.gguf", "notes": ["Texts of 9 tokens were cut to 5."]})
