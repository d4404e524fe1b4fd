"""`nucleate trace`: what it prints and writes, and what it refuses."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import nucleate, typed
from support.made_tokenizers import tokenizer_json
from support.made_transformers import TINY, tiny_llama

import nucleate as nc
from nucleate.models import trace as module

TEXT = "the cat sat on the mat"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tokenizer_json(tiny_llama(tmp_path / "llama"))


def test_the_command_prints_a_line_per_layer_and_writes_the_run(path: Path, tmp_path: Path) -> None:
    words = ["--text", TEXT, "--out", tmp_path / "a.zarr", "--out", tmp_path / "a.npz", "--attention-weights"]
    done = nucleate("trace", path, *words)
    assert done.exit_code == 0, done.output
    run = nc.trace(path, TEXT, attention_weights=True)
    assert run.summary in done.stdout
    table = [line.split() for line in done.stdout.splitlines() if line[:5].strip().isdigit()]
    assert [int(line[0]) for line in table] == list(range(TINY.layers + 1))
    for name in ("a.zarr", "a.npz"):
        found = nc.load(tmp_path / name)
        assert np.array_equal(found.x, run.x)
        assert found.parts.keys() == run.parts.keys()


def test_a_page_has_the_text_and_its_controls_and_stored_data_have_them_too(
    path: Path, tmp_path: Path
) -> None:
    done = nucleate("trace", path, "--text", TEXT, "--out", tmp_path / "a.html", "--out", tmp_path / "a.npz")
    assert done.exit_code == 0, done.output
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "connect-src 'none'" in page
    for word in ('"shuffled"', '"re-drawn weights"', '"cat"'):
        assert word in page
    assert [one["name"] for one in nc.load(tmp_path / "a.npz").notes["controls"]] == [
        "shuffled",
        "re-drawn weights",
    ]


def test_a_text_is_a_file_where_there_is_one_and_several_are_a_batch(path: Path, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text(TEXT)
    done = nucleate("trace", path, "--text", tmp_path / "one.txt", "--text", "mat cat", "--length", 3)
    assert done.exit_code == 0, done.output
    assert "2 texts of 3 tokens" in done.stdout
    assert "Texts of 3 to 7 tokens were cut to 3." in done.stdout


def test_without_a_text_those_of_the_package_are_read(path: Path) -> None:
    assert "texts of 9 tokens" in nucleate("trace", path, "--length", 9).stdout


def test_a_dry_run_says_what_it_would_do_and_does_nothing(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_products_per_second", lambda: 100.0)
    done = nucleate("trace", path, "--text", TEXT, "--out", tmp_path / "a.npz", "--dry-run")
    assert done.exit_code == 0, done.output
    assert "llama: llama, 3 layers of 4 heads, d = 16; 7 tokens; about 8 min" in done.stdout
    assert "Nothing was computed" in done.stdout
    assert not (tmp_path / "a.npz").exists()
    said = nucleate("trace", path, "--text", TEXT)
    assert "about 8 min" in said.stderr
    quiet = nucleate("trace", path, "--text", TEXT, "--quiet")
    assert (quiet.exit_code, quiet.output) == (0, "")


def test_a_report_says_its_cost_measures_and_prints_the_verdicts(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {}

    def report_of(reading: Any, folder: Path, **options: Any) -> str:
        given.update(options, ids=reading.ids, folder=folder)
        options["tell"]("the cost")
        return "verdicts"

    monkeypatch.setattr("nucleate.tracing.report.report_of", report_of)
    (tmp_path / "one.txt").write_text(TEXT)
    words = ["trace", path, "--report", tmp_path / "out", "--text", tmp_path / "one.txt", "--text"]
    words.append(f"{TEXT} {'cat ' * 2000}")  # longer than any name of a file
    dry = nucleate(*words, "--dry-run")
    # 6 x 2 for the text and its controls, 2 x 7 for pull and as many of ours, 3 of a sentence, 1 of frames,
    # 1 of the bridge, and 2 for blocks of 4
    assert "llama: 2 texts of 7 tokens, 47 forward passes, about 1 s here" in dry.stdout, dry.output
    assert not given
    done = nucleate(*words)
    assert done.exit_code == 0, done.output
    assert "the cost" in done.stderr
    assert done.stdout.startswith("verdicts\n")
    assert f"wrote {tmp_path / 'out' / 'report.md'}" in done.stdout.replace("\n", " ")
    assert (given["names"], given["ids"].shape) == (["one", "text 2"], (2, 7))
    assert nucleate(*words, "--quiet").output == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--report", "out", "--logits"], "--report keeps numbers and no states"),
        (["--report", "out", "--text", TEXT], "A report needs two texts or more"),
        (
            ["--report", "out", "--text", "cat", "--text", TEXT],
            "texts of 4 tokens or more, but the shortest has 2",
        ),
        (["--text", "missing.txt"], "names a file that does not exist"),
        (["--text", TEXT, "--out", "nowhere/a.html"], "the folder nowhere does not exist"),
        (["--text", TEXT, "--out", "a.csv"], "must have one of .zarr, .npz"),
        (["--text", TEXT, "--precision", "half"], "--precision must be single or double"),
        (["--text", TEXT, "--tokenizer", "nowhere"], "cannot be read"),
        (["--text", ""], "--text is empty"),
    ],
)
def test_what_cannot_be_done_is_refused_in_words(words: list[str], said: str, path: Path) -> None:
    code, output = typed("trace", path, *words)
    assert code == 2
    assert said in output
    assert output.startswith("Error: ")


def test_a_text_that_is_not_utf8_is_refused(path: Path, tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    code, output = typed("trace", path, "--text", tmp_path / "latin.txt")
    assert code == 2
    assert "is not UTF-8" in output
