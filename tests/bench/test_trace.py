"""`nucleate bench trace`: its table, with and without the transformers library, of random weights and of a
file."""

import sys
from pathlib import Path

import pytest
from support.made_transformers import make_transformer
from support.silent import silent

from nucleate.bench.trace import TraceCase, sections

ABSENT = "not installed: pip install 'nucleate[torch]'"
TINY = TraceCase(tokens=7, layers=2, d=12, heads=2, kv_heads=1, d_mlp=8, vocabulary=11)


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nucleate.bench.trace.QUICK_CASE", TINY)
    monkeypatch.setattr("nucleate.bench.timing.MIN_TURN_SECONDS", 0.0)


def test_without_the_library_its_row_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    (table,) = sections(None, True, 1, silent)
    ours, theirs = table.rows
    assert ours.error is not None
    assert ours.error < 1e-5
    assert ours.seconds
    assert theirs.note == ABSENT
    assert table.title == "random weights: 2 layers, d = 12, 2 heads, 7 tokens, single precision"


def test_the_library_finds_the_same_states(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    for path in (None, make_transformer("llama").write(tmp_path)):
        (table,) = sections(path, True, 1, silent)
        assert [row.peer for row in table.rows] == ["nucleate", "transformers"]
        assert all(row.error is not None and row.error < 1e-5 for row in table.rows)


def test_a_model_of_another_kind_is_measured_alone(tmp_path: Path) -> None:
    (table,) = sections(make_transformer("gpt2").write(tmp_path), True, 1, silent)
    assert table.rows[0].seconds
    assert table.rows[1].seconds is None
    assert table.rows[1].note in ("only plain Llamas are compared", ABSENT)
