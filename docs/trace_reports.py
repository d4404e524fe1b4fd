"""Makes the sections of docs/trace.md: python docs/trace_reports.py NAME PATH OUT [ITEM ...]

NAME is smollm2, gemma3, iglm or minilm, PATH its checkpoint, OUT a folder for what is measured, which a
second call uses again, ITEM what is left out.  English models read sixteen texts of 256 tokens, IgLM the
chains that come with the package and eleven that it draws itself (seed 0).
"""

import shutil
import sys
import time
from pathlib import Path

import numpy as np

from nucleate.models.forward import TransformerModel, open_model
from nucleate.models.shipped_texts import ANTIBODIES, ENGLISH, WRITTEN, shipped_texts
from nucleate.models.tokenizer import Tokenizer, open_tokenizer
from nucleate.tracing.report import trace_report
from nucleate.tracing.words import write_section

DOCS = Path(__file__).resolve().parent
LENGTH = {"smollm2": 256, "gemma3": 256, "minilm": 256, "iglm": 97}
DRAWN, DRAWN_TOKENS = 11, 100
REPLACED = {"smollm2": 3, "gemma3": 3, "minilm": 6, "iglm": 6}  # centers of every text, for pull


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
    some = shipped_texts(ANTIBODIES if name == "iglm" else ENGLISH + WRITTEN)
    texts, names = [one.text for one in some], [one.name for one in some]
    if name == "iglm":
        kept = out / "drawn.txt"
        out.mkdir(parents=True, exist_ok=True)
        if not kept.exists():
            chains = drawn_chains(open_model(path), open_tokenizer(path, True), DRAWN, DRAWN_TOKENS)
            kept.write_text("\n".join(chains) + "\n")
        texts += kept.read_text().splitlines()
        names += [f"drawn-{i}" for i in range(DRAWN)]

    def tell(words: str) -> None:
        print(f"{time.perf_counter() - began:6.0f} s  {words}", flush=True)

    report = trace_report(
        path,
        texts,
        out,
        names=names,
        name=name,
        length=LENGTH[name],
        replacements=REPLACED[name],
        without=without,
        tell=tell,
    )
    text = (out / "report.md").read_text(encoding="utf-8")
    for picture in sorted(out.glob("trace-*.png")):
        shutil.copy(picture, DOCS / "images" / picture.name)
    write_section(DOCS / "trace.md", name, text.replace("](trace-", "](images/trace-"))
    for one in report.verdicts.values():
        tell(f"{one.hypothesis.key}: {one.word}, {one.found}")
    tell(f"{report.answer.word}: {report.answer.why}")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:])
