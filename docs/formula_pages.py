"""Formulas as they are set: e^{-z} and x_k of the pages' plain text become exponents and indices.

The pages are read as they are in a checkout, too, so that their formulas are plain text, without TeX; the
site needs neither a script nor a network to show them.
"""

import html
import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.transforms import SphinxTransform

BRACES, PARENTHESES = (
    r"\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}",  # two more inside
    r"\(((?:[^()]|\([^()]*\))*)\)",
)
LETTER = r"[A-Za-zα-ωΑ-Ωϰ∂Σ∫]"
# an exponent: ^{...}, ^(...), ^-12, ^z, ^⊥; after a letter, a number or what ends a term
EXPONENT = (
    rf"(?<=[\w)\]⟩|'*′°‖⁻¹ᵀ>])\^(?:{BRACES}|{PARENTHESES}|([−+-]?\d+(?:\.\d+)?|{LETTER}(?![A-Za-z])|[⊥*⊤∘]))"
)
# an index: _{...} after any of these; _k, _12, _ij, _max after a letter that ends no word: x_k, Qx_k, dx_k
SUFFIX = rf"(max|min|\d+|[i-n]{{2}}|{LETTER})(?![A-Za-z_])"
INDEX = rf"(?<=[\w)\]'′])_{BRACES}|(?<![a-ce-z][A-Za-z])(?<={LETTER})_{SUFFIX}"
FORMULA = re.compile(rf"{EXPONENT}|{INDEX}")
IS_FORMULA = re.compile(r"[\^_]\{|[Σ∫∑⟨]")  # a block of text that is one, whatever its length

Piece = tuple[str, str]  # "", "sup" or "sub", and the text


def pieces(text: str) -> Iterator[Piece]:
    """The text, cut where exponents and indices begin and end."""
    end = 0
    for found in FORMULA.finditer(text):
        if found.start() > end:
            yield "", text[end : found.start()]
        yield ("sup" if found[0][0] == "^" else "sub"), next(filter(None, found.groups()), "")
        end = found.end()
    if end < len(text):
        yield "", text[end:]


def as_html(text: str) -> str:
    """The text with exponents and indices, those inside them too."""
    return "".join(
        f"<{kind}>{as_html(words)}</{kind}>" if kind else html.escape(words, quote=False)
        for kind, words in pieces(text)
    )


def as_nodes(text: str) -> list[nodes.Node]:
    """The same as nodes of a page."""
    made: list[nodes.Node] = []
    for kind, words in pieces(text):
        if not kind:
            made.append(nodes.Text(words))
        else:
            node = nodes.superscript() if kind == "sup" else nodes.subscript()
            made.append(node.__class__("", "", *as_nodes(words)))
    return made


class Formulas(SphinxTransform):
    """Sets the formulas of a page, outside code."""

    default_priority = 800

    def apply(self, **kwargs: Any) -> None:
        """Texts, then the blocks that are formulas."""
        for parent in list(self.document.findall(nodes.TextElement)):
            _join_lines(parent)
        for text in list(self.document.findall(nodes.Text)):
            if FORMULA.search(text.astext()) and not _is_code(text):
                text.parent.replace(text, as_nodes(text.astext()))
        for block in list(self.document.findall(nodes.literal_block)):
            if block.get("language") in ("text", "none") and _is_formula(block.astext().strip()):
                shown = f'<pre class="formula">{as_html(block.astext())}</pre>'
                block.parent.replace(block, nodes.raw("", shown, format="html"))


def _is_formula(text: str) -> bool:
    """Whether a block of text is a formula, and no output of a command and no matrix drawn in lines."""
    return bool(IS_FORMULA.search(text) or ("\n" not in text and FORMULA.search(text)))


def _join_lines(parent: nodes.TextElement) -> None:
    """Texts side by side become one: a formula may go on in the next line."""
    for i in range(len(parent.children) - 1, 0, -1):
        before, text = parent.children[i - 1 : i + 1]
        if isinstance(before, nodes.Text) and isinstance(text, nodes.Text):
            parent.children[i - 1 : i + 1] = [nodes.Text(before.astext() + text.astext())]
            parent.children[i - 1].parent = parent


def _is_code(text: nodes.Text) -> bool:
    inside = text.parent
    while inside is not None:
        if isinstance(inside, nodes.literal | nodes.FixedTextElement | nodes.raw | nodes.image):
            return True
        inside = inside.parent
    return False


def setup(app: Any) -> dict[str, bool]:
    """Register the transform."""
    app.add_transform(Formulas)
    return {"parallel_read_safe": True}
