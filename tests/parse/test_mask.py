"""Masks as texts; tests/contracts/test_matrix_grammar.py has what people write."""

import pytest

from nucleate.attention import Window
from nucleate.parse.mask import Mask, mask_text, parse_mask


@pytest.mark.parametrize("mask", ["causal", "full", Window(1), Window(2**62)], ids=str)
def test_a_mask_survives_its_text(mask: Mask) -> None:
    assert parse_mask("mask", mask_text(mask)) == mask
