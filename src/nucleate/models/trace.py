"""nucleate.trace: the hidden states of a checkpoint that reads texts, as a run whose time is depth."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import InputError, check_memory, shortened, true_or_false, whole_number
from nucleate.integrate.checkpoint import Checkpoint
from nucleate.integrate.hidden_states import from_hidden_states
from nucleate.integrate.run import Run
from nucleate.models.forward import TransformerModel, open_model
from nucleate.models.tokenizer import Tokenizer, open_tokenizer
from nucleate.notebook import shown_progress, vanishing

__all__ = ["PRECISIONS", "Reading", "prepare_trace", "read", "trace"]

MAX_TEXTS = 10_000
PROBE_SIZE, PROBE_SECONDS = 384, 0.1  # of the products that tell how fast this machine is
NUMBERS_READ_PER_SECOND = 1e8  # of weights, dequantised on one core
PRECISIONS = ("single", "double")


@dataclass(frozen=True, eq=False)
class Reading:
    """A model and the tokens that it is about to read."""

    model: TransformerModel
    tokenizer: Tokenizer
    ids: NDArray[np.int64]  # (n,), or (b, n) of several texts
    tokens: tuple[Any, ...]  # the same as strings
    notes: tuple[str, ...]  # what was cut or taken in a certain way

    @property
    def seconds(self) -> float:
        """About how long the forward pass takes here: multiplications over the rate of a small product, and
        the time to read the weights."""
        s, (b, n) = self.model.settings, np.atleast_2d(self.ids).shape
        weights = s.layers * s.d * (2 * s.d_head * (s.heads + s.kv_heads) + 3 * s.d_mlp)
        scores = s.layers * 2.0 * n * n * s.heads * s.d_head
        return b * (n * weights + scores) / _products_per_second() + weights / NUMBERS_READ_PER_SECOND

    def check_memory(self, precision: str, attention_weights: bool, logits: bool) -> None:
        """Refuse what would not fit, before the first layer is read."""
        s, (b, n) = self.model.settings, np.atleast_2d(self.ids).shape
        size = 8 if precision == "double" else 4
        states = b * n * s.d * ((s.layers + 1) * (2 * 8 + size) + 3 * s.layers * size)
        extra = b * n * size * (attention_weights * s.layers * s.heads * n + logits * 2 * s.vocabulary)
        check_memory(float(states + extra), f"The trace of {b} x {n} tokens")


def trace(
    path: Any,
    texts: str | Sequence[str],
    *,
    tokenizer: Any = None,
    length: int | None = None,
    attention_weights: bool = False,
    logits: bool = False,
    precision: str = "single",
    progress: Callable[[int, int], object] | None = None,
) -> Run:
    """What a model makes of a text: its tokens after the embedding and after every block, as a run whose
    time is depth.

    path               the folder or file of a checkpoint (.safetensors, .gguf), or a loaded model of the
                       transformers library
    texts              one text: run.x (L+1, n, d); or several: run.x (b, L+1, n, d), all cut to as many
                       tokens as the shortest has
    tokenizer          where the tokenizer is, if not beside the weights; or one that is loaded
    length             at most so many tokens of each text
    attention_weights  keep them: run.parts["weights"] (L, H, n, n)
    logits             keep them: run.parts["logits"] (n, vocabulary)
    precision          "single" (float32) or "double" (float64) of the forward pass
    progress           called as progress(done, layers of all texts); returning False stops as Ctrl-C does

    run.x are directions, run.norms lengths, run.tokens the tokens as strings; run.parts has "normed",
    "attention" and "mlp" (L, n, d), what blocks read and add, and "ids", the tokens as numbers.
    """
    if not isinstance(precision, str) or precision not in PRECISIONS:
        raise InputError(
            f'precision must be "single" or "double", but is {shortened(precision)}. Choose one of them.'
        )
    weights = true_or_false("attention_weights", attention_weights)
    reading = prepare_trace(path, texts, tokenizer, length)
    logits = true_or_false("logits", logits)
    progress = shown_progress(progress, "reading layers")
    with vanishing(progress):
        return read(reading, weights, logits, precision, progress)


def prepare_trace(
    path: Any, texts: str | Sequence[str], tokenizer: Any = None, length: int | None = None
) -> Reading:
    """Open the model and cut the texts into tokens; nothing is computed yet."""
    each = _texts(texts)
    if length is not None:
        length = whole_number("length", length, least=1, help="It is a number of tokens.")
    model = open_model(path)
    s = model.settings
    given = path if tokenizer is None else tokenizer
    if tokenizer is None and hasattr(path, "state_dict"):
        raise InputError(
            "A loaded model comes without a tokenizer, which texts need. Pass it: tokenizer=PATH, or the"
            " tokenizer of transformers itself."
        )
    words = open_tokenizer(given, s.causal)
    words.check_fits(s.vocabulary, s.name)
    most = [len(words.encode(text)[0]) for text in each]
    if 0 in most:
        which = f"Text {most.index(0)}" if len(each) > 1 else "The text"
        raise InputError(f"{which} has no tokens. Give a text with at least one word.")
    n = min(*most, length or max(most), max(most))
    if s.positions == "learned" and s.longest is not None and n > s.longest:
        raise InputError(
            f"The text has {n} tokens, but {s.name} has positions for {s.longest}. Give at most so many:"
            f" length={s.longest}, or --length {s.longest}."
        )
    found = [words.encode(text, n) for text in each]
    notes = (*model.notes, *words.notes, *_notes(most, n, s.longest))
    if isinstance(texts, str):
        return Reading(model, words, *found[0], notes)
    ids = np.stack([numbers for numbers, _ in found])  # (b, n)
    return Reading(model, words, ids, tuple(strings for _, strings in found), notes)


def read(
    reading: Reading,
    attention_weights: bool = False,
    logits: bool = False,
    precision: str = "single",
    progress: Callable[[int, int], object] | None = None,
) -> Run:
    """The forward pass of a model over its tokens, as a run."""
    reading.check_memory(precision, attention_weights, logits)
    s = reading.model.settings
    found = reading.model.run(
        reading.ids,
        attention_weights=attention_weights,
        logits=logits,
        precision=precision,
        progress=progress,
    )
    parts = {
        "normed": found.normed,
        "attention": found.attention,
        "mlp": found.mlp,
        "weights": found.weights,
        "logits": found.logits,
        "ids": reading.ids,
    }
    checkpoint = Checkpoint(
        s.name,
        s.architecture,
        s.layers,
        s.d,
        s.heads,
        s.kv_heads,
        s.d_head,
        s.d_mlp or None,
        s.vocabulary,
        s.causal,
        s.norm_place,
        s.positions,
    )
    run = from_hidden_states(found.states, reading.tokens, parts, checkpoint)
    settings = {"method": "forward pass", "precision": precision}
    words = Path(reading.tokenizer.name).name  # where it lies on this machine is nobody's business
    return replace(run, settings=settings, notes={"tokenizer": words, "notes": list(reading.notes)})


def _texts(texts: Any) -> list[str]:
    if isinstance(texts, str):
        return [texts]
    try:
        each = list(texts) if isinstance(texts, Sequence) else []
    except Exception:  # objects may raise anything when asked for their items
        each = []
    if not each or not all(isinstance(one, str) for one in each):
        raise InputError(
            f"texts must be a text or a list of texts, but is {shortened(texts)}. Read a file with"
            " open(path).read()."
        )
    if len(each) > MAX_TEXTS:
        raise InputError(f"There are {len(each)} texts, and {MAX_TEXTS} are the most. Trace them in parts.")
    return each


def _notes(most: list[int], n: int, longest: int | None) -> tuple[str, ...]:
    """What was cut off, and whether the model was made for so long a text."""
    notes: tuple[str, ...] = ()
    if max(most) > n:
        had = str(most[0]) if len(most) == 1 else f"{min(most)} to {max(most)}"
        notes = (f"Texts of {had} tokens were cut to {n}.",)
    if longest is not None and n > longest:
        notes += (f"The model was made for {longest} tokens, and reads {n}.",)
    return notes


def _products_per_second() -> float:
    """Multiplications per second in a product of float32 matrices, as BLAS does it here at its best."""
    a = np.ones((PROBE_SIZE, PROBE_SIZE), dtype=np.float32)
    best, began = np.inf, time.perf_counter()
    while (now := time.perf_counter()) - began < PROBE_SECONDS:
        a @ a
        best = min(best, time.perf_counter() - now)
    return float(PROBE_SIZE) ** 3 / best
