"""Texts out of files, as a terminal may show them."""

import re

from nucleate.printable import printable


def test_it_spells_out_what_would_steer_a_terminal() -> None:
    assert printable("a\x1b[2J\x07\x9b\u202eb\tc\nd ä ∑ 中") == "a\\x1b[2J\\x07\\x9b\\u202eb\tc\nd ä ∑ 中"
    everything = printable("".join(map(chr, range(0x2100))))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", everything)
