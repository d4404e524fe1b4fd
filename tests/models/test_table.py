"""Spectra in words, as tables and as files."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.made_checkpoints import make, spectra_of

from nucleate.checks import InputError
from nucleate.models.table import (
    COLUMNS,
    STORED_COLUMNS,
    check_out,
    head_table,
    layer_table,
    region_words,
    share_words,
    summary,
)


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


def test_what_is_no_report_is_not_replaced_and_a_report_is(tmp_path: Path) -> None:
    from nucleate.plot.heads_page import write_heads

    found = spectra_of(make("llama"), tmp_path)
    for name in ("spectra.json", "heads.csv", "report.html"):
        (tmp_path / name).write_text('{"heads": 3}\nlayer,nothing\n<title>Mine</title>')
        with pytest.raises(InputError, match="is no report on heads, so it is not replaced"):
            write_heads(found, tmp_path / name)
        for target in (tmp_path / name, tmp_path):
            with pytest.raises(InputError, match="is no report on heads, so it is not replaced"):
                check_out(target)
        assert "Mine" in (tmp_path / name).read_text()
        (tmp_path / name).unlink()
        for _ in range(2):
            write_heads(found, check_out(tmp_path / name))
        (tmp_path / f"link{name}").symlink_to(tmp_path / "nowhere")
        with pytest.raises(InputError, match=r"is a link to .* which cannot be written"):
            check_out(tmp_path / f"link{name}")
    write_heads(found, check_out(tmp_path))


def test_post_norm_models_have_both_spectra_in_tables_and_files(tmp_path: Path) -> None:
    found = spectra_of(make("bert"), tmp_path)
    found.save(tmp_path / "a.json")
    found.save(tmp_path / "a.csv")
    plain = json.loads((tmp_path / "a.json").read_text())
    rows = list(csv.DictReader((tmp_path / "a.csv").read_text().splitlines()))
    assert plain["stored_regions"] == found.stored_regions
    assert plain["stored_shares"] == found.stored_shares
    assert sum(found.stored_regions.values()) == len(found.heads)
    for head, one, row in zip(found.heads, plain["heads"], rows, strict=True):
        assert head.stored is not None
        assert tuple(row) == (*COLUMNS, *(f"stored_{name}" for name in STORED_COLUMNS))
        values = [complex(*pair) for pair in one["stored"]["eigenvalues"]]
        np.testing.assert_array_equal(values, head.stored.eigenvalues)
        for name in STORED_COLUMNS:
            value = getattr(head.stored, name)
            assert one["stored"][name] == value
            assert row[f"stored_{name}"] == ("" if value is None else str(value))
    assert "stored state" in summary(found)
    assert "λ_max, stored" in head_table(found.heads)
    assert any("post-norm" in note for note in found.notes)


def test_pre_norm_models_have_one_spectrum(tmp_path: Path) -> None:
    found = spectra_of(make("llama"), tmp_path)
    assert not found.post_norm
    assert (found.stored_regions, found.stored_shares, found.swapped_stored) == ({}, {}, None)
    assert "stored state" not in summary(found) + head_table(found.heads)


def test_where_queries_and_keys_are_normalised_no_root_mean_square_score_is_given(tmp_path: Path) -> None:
    found = spectra_of(make("qwen3"), tmp_path)
    found.save(tmp_path / "a.json")
    assert [head.rms_score for head in found.heads] == [None] * 8
    assert {one["rms_score"] for one in json.loads((tmp_path / "a.json").read_text())["heads"]} == {None}
    assert "none: queries and keys are normalised in each head" in summary(found)
    assert all(line.split()[3] == "–" for line in head_table(found.heads).splitlines()[1:])
    assert all(line.split()[2] == "–" for line in layer_table(found).splitlines()[1:])
