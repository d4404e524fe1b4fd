"""Puts a report into docs/trace.md: python docs/trace_reports.py NAME PATH OUT [ITEM ...]

NAME is smollm2, gemma3, iglm or minilm, PATH its checkpoint, OUT the folder of the report, which a second
call uses again, ITEM what is left out.  It is `nucleate trace PATH --report OUT` with the lengths below;
IgLM reads the chains that come with the package and eleven that it draws itself (seed 0).
"""

import shutil
import sys
import time
from pathlib import Path

import numpy as np

import nucleate as nc
from nucleate.models.forward import TransformerModel, open_model
from nucleate.models.shipped_texts import ANTIBODIES, shipped_texts
from nucleate.models.tokenizer import Tokenizer, open_tokenizer
from nucleate.tracing.words import write_section

DOCS = Path(__file__).resolve().parent
LENGTH = {"smollm2": 128, "gemma3": 128, "minilm": 128, "iglm": 97}
DRAWN, DRAWN_TOKENS = 11, 100
REPLACED = {"smollm2": 2, "gemma3": 2, "minilm": 2, "iglm": 6}  # centers of every text, for pull


def drawn_chains(model: TransformerModel, tokenizer: Tokenizer, count: int, length: int) -> list[str]:
    """Chains that the model draws, token by token, after [HEAVY] [HUMAN] and [LIGHT] [HUMAN] in turn."""
    rng = np.random.default_rng(np.random.SeedSequence(0))
    letters = [tokenizer.encode(letter)[0][0] for letter in "ACDEFGHIKLMNPQRSTVWY"]
    starts = ["[HEAVY] [HUMAN] E", "[LIGHT] [HUMAN] D"]
    ids = np.array([tokenizer.encode(starts[i % 2])[0] for i in range(count)])  # (count, 3)
    while ids.shape[1] < length:
        logits = model.run(ids, logits=True).logits
        assert logits is not None
        last = logits[:, -1][:, letters].astype(np.float64)  # (count, 20)
        p = np.exp(last - last.max(-1, keepdims=True))
        drawn = [rng.choice(letters, p=row / row.sum()) for row in p]
        ids = np.concatenate([ids, np.array(drawn)[:, None]], axis=1)
    strings = [[tokenizer.string(number) for number in row] for row in ids.tolist()]
    return [" ".join(row[:2]) + " " + "".join(word.strip() for word in row[2:]) for row in strings]


def main(name: str, path: Path, out: Path, without: list[str]) -> None:
    """One model; without: items to leave out."""
    began = time.perf_counter()
    texts, names = _antibodies(path, out) if name == "iglm" else (None, [])

    def tell(words: str) -> None:
        print(f"{time.perf_counter() - began:6.0f} s  {words}", flush=True)

    report = nc.trace_report(
        path,
        texts,
        out,
        name=name,
        names=names,
        length=LENGTH[name],
        replacements=REPLACED[name],
        without=without,
        tell=tell,
    )
    text = (out / "report.md").read_text(encoding="utf-8")
    for picture in sorted(out.glob("trace-*.png")):
        shutil.copy(picture, DOCS / "images" / picture.name)
    write_section(DOCS / "trace.md", name, text.replace("](trace-", "](images/trace-"))
    print(report)


def _antibodies(path: Path, out: Path) -> tuple[list[str], list[str]]:
    """The chains that come with the package, those that the model draws, and their names."""
    some, kept = shipped_texts(ANTIBODIES), out / "drawn.txt"
    out.mkdir(parents=True, exist_ok=True)
    if not kept.exists():
        chains = drawn_chains(open_model(path), open_tokenizer(path, True), DRAWN, DRAWN_TOKENS)
        kept.write_text("\n".join(chains) + "\n")
    names = [one.name for one in some] + [f"drawn-{i}" for i in range(DRAWN)]
    return [one.text for one in some] + kept.read_text().splitlines(), names


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:])
