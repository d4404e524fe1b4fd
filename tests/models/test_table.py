"""Spectra in words, as tables and as files."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.made_checkpoints import make, spectra_of

from nucleate.checks import InputError
from nucleate.models.table import COLUMNS, head_table, layer_table, region_words, share_words


def test_the_summary_and_the_tables_say_what_was_found(tmp_path: Path) -> None:
    found = spectra_of(make("llama"), tmp_path)
    text = str(found)
    assert "2 layers of 4 heads over 2 key-value heads, d = 12, d_head = 3, stored as F64" in text
    assert sum(found.regions.values()) == len(found.heads) == 8
    assert all(region_words(region) in text for region in found.regions)
    assert len(head_table(found.heads).splitlines()) == 9
    assert len(layer_table(found).splitlines()) == 3
    assert [head.head for head in found.layer(1)] == [0, 1, 2, 3]
    assert {(head.layer, head.head) for head in found.negative} == {
        (h.layer, h.head) for h in found.heads if h.lambda_max < 0
    }
    assert all(f"{head.layer}.{head.head}" in text for head in found.negative)
    with pytest.raises(InputError, match="0 to 1"):
        found.layer(2)


@pytest.mark.parametrize(
    ("part", "whole", "words"),
    [
        (0, 270, "0%"),
        (1, 270, "<1%"),
        (1, 200, "<1%"),
        (2, 270, "1%"),
        (135, 270, "50%"),
        (268, 270, "99%"),
        (269, 270, ">99%"),
        (270, 270, "100%"),
    ],
)
def test_few_are_not_none_and_nearly_all_are_not_all(part: int, whole: int, words: str) -> None:
    assert share_words(part, whole) == words


def test_one_head_of_many_is_less_than_a_per_cent_in_the_summary_and_on_the_page(tmp_path: Path) -> None:
    from nucleate.plot.heads_page import _rows

    found = spectra_of(make("llama"), tmp_path)
    heads = (
        replace(found.heads[0], region="zero"),
        *(replace(found.heads[0], region="3") for _ in range(269)),
    )
    many = replace(found, heads=heads)
    assert " 1 (<1%)" in str(many)
    assert "269 (>99%)" in str(many)
    assert "<td>1<td>&lt;1%<td>" in _rows(many)


def test_json_and_csv_hold_every_number(tmp_path: Path) -> None:
    found = spectra_of(make("gemma"), tmp_path)
    found.save(tmp_path / "a.json")
    found.save(tmp_path / "a.csv")
    plain = json.loads((tmp_path / "a.json").read_text())
    assert plain["d"] == 12
    assert plain["initial"]["draws"] == 1
    rows = list(csv.DictReader((tmp_path / "a.csv").read_text().splitlines()))
    assert len(rows) == len(plain["heads"]) == len(found.heads)
    for head, one, row in zip(found.heads, plain["heads"], rows, strict=True):
        np.testing.assert_array_equal([complex(*pair) for pair in one["eigenvalues"]], head.eigenvalues)
        assert tuple(row) == COLUMNS
        for name in COLUMNS:
            value = getattr(head, name)
            assert one[name] == value
            assert row[name] == ("" if value is None else str(value))
    with pytest.raises(InputError, match=r"\.json or \.csv"):
        found.save(tmp_path / "a.txt")
