"""Formulas on the site: exponents and indices are set, words and code are left alone."""

import html
import re
import runpy

import pytest
from support.project import ROOT

PAGES = runpy.run_path(str(ROOT / "docs" / "formula_pages.py"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("β^{(d−1)/2} and cβ^(−1/2)", "β<sup>(d−1)/2</sup> and cβ<sup>−1/2</sup>"),
        (
            "P_{x_k} Σ_{j≤k} e^{β⟨Qx_k, Kx_j⟩}",
            "P<sub>x<sub>k</sub></sub> Σ<sub>j≤k</sub> e<sup>β⟨Qx<sub>k</sub>, Kx<sub>j</sub>⟩</sup>",
        ),
        (
            "dx_k/dt, a_kj, λ_max, x_12^2",
            "dx<sub>k</sub>/dt, a<sub>kj</sub>, λ<sub>max</sub>, x<sub>12</sub><sup>2</sup>",
        ),
        ("2^{2^{n}}, 10^54, L^⊥", "2<sup>2<sup>n</sup></sup>, 10<sup>54</sup>, L<sup>⊥</sup>"),
        ("e^{β(1 −\ncos Δ)}", "e<sup>β(1 −\ncos Δ)</sup>"),
        (
            "max_steps, per_cap, d_model, n_jobs, MAX_TOKENS, a < b",
            "max_steps, per_cap, d_model, n_jobs, MAX_TOKENS, a &lt; b",
        ),
    ],
)
def test_exponents_and_indices_are_set_and_words_are_left(text: str, shown: str) -> None:
    assert PAGES["as_html"](text) == shown
    plain = html.unescape(re.sub(r"</?su[bp]>", "", shown))
    assert "".join(node.astext() for node in PAGES["as_nodes"](text)) == plain


def test_a_block_is_a_formula_unless_it_is_drawn_in_lines() -> None:
    assert PAGES["_is_formula"]("F_σ(x) = ρ(β|Ax|)")
    assert PAGES["_is_formula"]("a = e^{z}\n  + b")
    assert not PAGES["_is_formula"]("V = ( 4  −4 )      x_1 = (1, 0)\n    ( 0   1 )")
    assert not PAGES["_is_formula"]("256 tokens, causal")
