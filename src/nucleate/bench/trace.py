"""`nucleate bench trace`: the hidden states of a text of 1,000 tokens, beside the transformers library on the
same weights, cores and threads."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nucleate.bench.peers import Missing
from nucleate.bench.table import Row, Section, timed_row, with_ratios
from nucleate.bench.timing import Tell, time_in_turns
from nucleate.bench.trace_peers import transformers_states
from nucleate.models.checkpoint import Source
from nucleate.models.forward import TransformerModel, open_model
from nucleate.models.weights import Weights

__all__ = ["TraceCase", "sections"]

OURS, THEIRS = "nucleate", "transformers"


@dataclass(frozen=True)
class TraceCase:
    """A text, and the sizes of SmolLM2-135M for where no model is given."""

    tokens: int = 1000
    layers: int = 30
    d: int = 576
    heads: int = 9
    kv_heads: int = 3
    d_mlp: int = 1536
    vocabulary: int = 49_152
    seed: int = 0


QUICK_CASE = TraceCase(tokens=100, layers=2, vocabulary=1000)


class RandomWeights(Weights):
    """The tensors of a Llama with independent Gaussian weights, in memory."""

    def __init__(self, case: TraceCase) -> None:
        rng, d, head = np.random.default_rng(case.seed), case.d, case.d // case.heads

        def matrix(rows: int, columns: int) -> NDArray[np.float32]:
            return rng.standard_normal((rows, columns), np.float32) / np.float32(columns**0.5)

        made = {
            "model.embed_tokens.weight": matrix(case.vocabulary, d),
            "model.norm.weight": np.ones(d, "f4"),
        }
        for i in range(case.layers):
            p = f"model.layers.{i}."
            made |= {
                f"{p}{name}.weight": np.ones(d, "f4")
                for name in ("input_layernorm", "post_attention_layernorm")
            }
            for name, rows, columns in (
                ("self_attn.q_proj", d, d),
                ("self_attn.k_proj", case.kv_heads * head, d),
                ("self_attn.v_proj", case.kv_heads * head, d),
                ("self_attn.o_proj", d, d),
                ("mlp.gate_proj", case.d_mlp, d),
                ("mlp.up_proj", case.d_mlp, d),
                ("mlp.down_proj", d, case.d_mlp),
            ):
                made[f"{p}{name}.weight"] = matrix(rows, columns)
        self._tensors = made
        self.shapes = {name: W.shape for name, W in made.items()}
        self.kinds = dict.fromkeys(made, "F32")

    def _raw(self, name: str, rows: slice, columns: slice, dtype: type[Any]) -> NDArray[Any]:
        found = self._tensors[name][rows]
        return (found if columns == slice(None) else found[:, columns]).astype(dtype, copy=False)


def sections(path: Path | None, quick: bool, rounds: int, tell: Tell) -> Iterator[Section]:
    """One table: of a checkpoint, or of random weights of the same sizes as SmolLM2-135M."""
    case = QUICK_CASE if quick else TraceCase()
    model = open_model(path) if path is not None else _random_model(case)
    yield _section(model, case.tokens, case.seed, rounds, tell)


def _random_model(case: TraceCase) -> TransformerModel:
    config = {"model_type": "llama", "num_attention_heads": case.heads, "num_key_value_heads": case.kv_heads}
    config |= {"num_hidden_layers": case.layers, "max_position_embeddings": 8192}
    return open_model(Source("random weights", RandomWeights(case), config))


def _section(model: TransformerModel, tokens: int, seed: int, rounds: int, tell: Tell) -> Section:
    s = model.settings
    ids = np.random.default_rng(seed).integers(0, s.vocabulary, tokens)  # (n,)
    last: dict[str, Any] = {}

    def ours() -> None:
        last[OURS] = model.run(ids).states  # (L + 1, n, d)

    ready, absent = {OURS: ours}, []
    try:
        call = transformers_states(model, ids)
        ready[THEIRS] = lambda: last.__setitem__(THEIRS, call())
    except Missing as missing:
        absent.append(Row(THEIRS, note=str(missing)))
    timings = time_in_turns(ready, rounds, lambda words: tell(f"{tokens} tokens: {words}"))
    tell("reference")
    exact = model.run(ids, precision="double").states  # (L + 1, n, d)
    rows = [timed_row(who, timings[who], error=_largest_error(last[who], exact)) for who in ready]
    title = f"{s.name}: {s.layers} layers, d = {s.d}, {s.heads} heads, {tokens} tokens, single precision"
    remark = (
        "Errors are those of the states behind all layers but the last, relative to the largest number of a"
        " layer, against double precision."
    )
    return Section(title, "", "largest error", with_ratios([*rows, *absent], OURS), (remark,))


def _largest_error(states: Any, exact: Any) -> float:
    """Of states (L, n, d) or more, of which the last are left out: the library gives them normalised."""
    pairs = zip(states[: len(exact) - 1], exact[:-1], strict=True)
    return float(max(np.abs(one - other).max() / np.abs(other).max() for one, other in pairs))
