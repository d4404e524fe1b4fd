"""One letter, one meaning: the pages follow the table of symbols at the top of the glossary."""

import re
from pathlib import Path

import pytest
from support.project import PAGES, page

# what a letter of the table stood for before, or would stand for if it were used for something else
OTHERWISE = {
    r"Q\^?[Tᵀ] ?K|Qᵀ ?K": "A is KᵀQ, and its transpose has no letter",
    r"diag\(g\)|gain g\b|\bg is its gain": "the gain of a normalisation is γ; g is h'",
    r"\(m,\)|\(m, n, d\)|\bm frozen|first m tokens": "m tokens stand at ξ; frames are counted in words",
    r"\br the size|block of size r\b": "r is λ₁/(λ₁ − λ₂); a Jordan block has the size ν",
    r"\bh \| `dt`|t \+ h = t": "h is the interaction function",
    r"μ₂": "the second eigenvalue of V is λ₂",
    r"\bw = β\^": "w is the width of a window",
    r"\bp_kj": "the share of attention is a_kj",
    r"KᵀQ = λI": "a multiple of the identity is cI; λ is an eigenvalue, or a rate of growth",
    r"4L\)|\bL_[xμ]|\bL = ‖": "L is the dominant eigenspace; a Lipschitz constant is ϰ",
    r"\bE_[kj]\([st]\)": "E_k is the energy of token k; its largest displacement is G_k",
}
WRITTEN_ELSEWHERE = ("conjectures.md", "report.md", "README.md", "CHANGELOG.md", "CONTRIBUTING.md")


@pytest.mark.parametrize(
    "file", [file for file in PAGES if file.name not in WRITTEN_ELSEWHERE], ids=lambda file: file.name
)
def test_a_page_uses_letters_as_the_glossary_has_them(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    text = text.replace("The transpose, QᵀK, has no letter", "")
    found = {why: match[0] for old, why in OTHERWISE.items() if (match := re.search(old, text))}
    assert found == {}


def test_the_glossary_begins_with_the_symbols_and_has_each_once() -> None:
    text = page("docs/glossary.md")
    first = text.index("\n## ")
    assert text[first:].startswith("\n## Symbols\n")
    table = text[first : text.index("\n## ", first + 1)]
    cells = [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("| ")][2:]
    letters = [
        letter.strip().split(" = ")[0].split("(")[0]
        for cell in cells
        for letter in re.split(r",(?![^(]*\))", cell)
    ]
    assert len(letters) > 30
    assert sorted(letters) == sorted(set(letters))
