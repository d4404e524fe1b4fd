"""A look after the fact (docs/trace.md): python docs/trace_places.py PATH, of a causal model.

Own centers stand earlier in a text than other candidates, so that a rank among all of these mixes nearness
with place.  Printed here, at a few depths: the rank among candidates within 16 places of the own center, and
sight with twins within 16 places.
"""

import sys
from pathlib import Path

import numpy as np

from nucleate.models.forward import open_model
from nucleate.models.shipped_texts import ENGLISH, WRITTEN, shipped_texts
from nucleate.models.tokenizer import open_tokenizer
from nucleate.observe.capture import capture_scores, design_capture, word_numbers
from nucleate.tracing.criteria import interval

LENGTH, PLACES, DEPTHS = 256, 16, 7


def main(path: Path) -> None:
    """Print both, layer by layer."""
    model, tokenizer = open_model(path), open_tokenizer(path, True)
    read = [tokenizer.encode(one.text, LENGTH) for one in shipped_texts(ENGLISH + WRITTEN)]
    n = min(len(ids) for ids, _ in read)
    words = word_numbers([strings[:n] for _, strings in read])
    at = np.unique(np.linspace(0, model.settings.layers, DEPTHS).round().astype(np.int64))
    states = np.stack([model.run(ids[:n]).states[at] for ids, _ in read])  # (T, depths, n, d)
    x = states / np.linalg.norm(states, axis=-1, keepdims=True)
    design = design_capture(x[:, 0], words, places=PLACES)
    others = design.candidates[:, 1:]
    print(f"places: own {design.candidates[:, 0].mean():.0f}, others {others[others >= 0].mean():.0f}")
    for i, layer in enumerate(at.tolist()):
        near: list[list[float]] = [[] for _ in x]
        for row, t, k in zip(design.candidates, design.text, design.token, strict=True):
            there = row[row >= 0]
            beside = there[1:][np.abs(there[1:] - there[0]) <= PLACES]
            if len(beside):
                cosine = x[t, i][beside] @ x[t, i, k]
                near[t].append(float((x[t, i, k] @ x[t, i, there[0]] > cosine).mean()))
        rank = interval([np.mean(one) for one in near])
        print(f"block {layer:2d}: rank {rank}, sight {interval(capture_scores(design, x[:, i]).sight)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
