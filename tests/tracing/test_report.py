"""A whole report on a tiny model: it is written, resumed, and says what was measured."""

import json
import os
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.made_transformers import tiny_llama
from support.time_limits import not_waiting_for_ever

from nucleate.checks import InputError
from nucleate.models.forward import open_model
from nucleate.tracing.criteria import HYPOTHESES, Answer
from nucleate.tracing.planted import STRENGTHS
from nucleate.tracing.report import TraceReport, report_of, sensitivity, trace_report
from nucleate.tracing.words import short_name, write_section


@dataclass(frozen=True)
class NoTokenizer:
    first_token: None = None


@dataclass(frozen=True)
class MadeReading:
    """What `prepare_trace` gives, of numbers in place of texts."""

    model: Any
    ids: Any
    tokens: Any
    tokenizer: Any = NoTokenizer()
    notes: tuple[str, ...] = ("made up",)
    seconds: float = 1.0


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[MadeReading, TraceReport, list[str]]:
    folder = tmp_path_factory.mktemp("report")
    model = open_model(tiny_llama(folder / "model"))
    ids = np.random.default_rng(0).integers(0, 40, (8, 32))
    reading = MadeReading(model, ids, tuple(tuple(f" w{i}" for i in row) for row in ids.tolist()))
    told: list[str] = []
    found = report_of(reading, folder / "out", "tiny", replacements=1, tell=told.append)  # type: ignore[arg-type]  # a stand-in of the model
    return reading, found, told


def test_a_report_says_its_cost_first_and_judges_every_hypothesis(
    made: tuple[MadeReading, TraceReport, list[str]],
) -> None:
    _, found, told = made
    assert "8 texts of 32 tokens" in told[0]
    assert "forward passes, about" in told[0]
    assert set(found.verdicts) == set(HYPOTHESES)
    stored = json.loads((found.folder / "report.json").read_text())
    assert stored["answer"]["word"] == found.answer.word
    assert stored["verdicts"]["gather"]["mean"] == pytest.approx(
        found.verdicts["gather"].found.mean, rel=1e-3
    )
    text = (found.folder / "report.md").read_text()
    for one in found.verdicts.values():
        assert f"{one.hypothesis.statement} | **{one.word}** | {one.found}" in text
    assert f"**Answer: {found.answer.word}.**" in text
    assert f"Answer: {found.answer.word}. " in str(found)
    assert set(found.planted) == set(STRENGTHS)
    assert found.planted[0.0].word == found.answer.word  # where nothing is planted
    assert found.positive is not None
    assert stored["positive control"]["word"] == found.positive.word
    assert "Left out: the epsilon of the norms." in text


def test_its_pictures_are_there_and_named_in_the_words(
    made: tuple[MadeReading, TraceReport, list[str]],
) -> None:
    found = made[1]
    text = (found.folder / "report.md").read_text()
    pictures = sorted(path.name for path in found.folder.glob("*.png"))
    assert pictures == [f"trace-tiny-{key}.png" for key in ("bridge", "capture", "cosine", "sphere", "turns")]
    assert all(f"]({name})" in text for name in pictures)


def test_what_is_there_is_read_again_and_what_is_damaged_made_anew(
    made: tuple[MadeReading, TraceReport, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, found, _ = made
    monkeypatch.setattr("nucleate.tracing.words.write_words", lambda *given: None)
    (found.folder / "items" / "frames.npz").write_bytes(b"cut off")
    told: list[str] = []
    again = report_of(reading, found.folder, "tiny", replacements=1, tell=told.append)  # type: ignore[arg-type]  # a stand-in of the model
    assert [line.split(":")[0] for line in told[1:]] == ["frames"]
    for key, item in found.items.items():
        for name, value in item.items():
            np.testing.assert_array_equal(value, again.items[key][name])


def test_an_edited_item_is_measured_anew_and_a_bomb_is_not_opened(
    made: tuple[MadeReading, TraceReport, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, found, _ = made
    monkeypatch.setattr("nucleate.tracing.words.write_words", lambda *given: None)
    folder = found.folder / "items"
    with np.load(folder / "pull.npz") as stored:
        numbers = dict(stored)
    np.savez(folder / "pull.npz", **{**numbers, "pull": numbers["pull"] + 1.0})
    raw = bytearray((folder / "frames.npz").read_bytes())
    raw[len(raw) // 2] ^= 1
    (folder / "frames.npz").write_bytes(raw)
    with zipfile.ZipFile(folder / "bridge.npz", "w", zipfile.ZIP_DEFLATED) as bomb:
        head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (100000000000,), }"
        text = head.ljust(117) + b"\n"
        bomb.writestr("x.npy", b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(2**22))
    told: list[str] = []
    again = report_of(reading, found.folder, "tiny", replacements=1, tell=told.append)  # type: ignore[arg-type]  # a stand-in of the model
    assert {line.split(":")[0] for line in told[1:]} == {"pull", "frames", "bridge"}
    np.testing.assert_array_equal(again.items["pull"]["pull"], found.items["pull"]["pull"])


@pytest.mark.parametrize("what", ["folder", "pipe", "dangling link"])
@pytest.mark.parametrize("name", ["report.md", "report.json", "items/pull.npz"])
def test_what_is_in_the_way_of_a_report_is_refused_before_any_work(
    name: str, what: str, tmp_path: Path, made: tuple[MadeReading, TraceReport, list[str]]
) -> None:
    place = tmp_path / name
    place.parent.mkdir(exist_ok=True)
    if what == "pipe":
        os.mkfifo(place)
    else:
        place.mkdir() if what == "folder" else place.symlink_to("nowhere")
    told: list[str] = []
    with not_waiting_for_ever(), pytest.raises(InputError, match=f"{place.name} .*cannot be written"):
        report_of(made[0], tmp_path, "tiny", replacements=1, tell=told.append)  # type: ignore[arg-type]  # a stand-in of the model
    assert told == []


def test_a_section_takes_the_place_of_its_older_self_and_of_no_other(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Title\n")
    write_section(page, "a", "first")
    write_section(page, "b", "second")
    write_section(page, "a", r"third \1")
    text = page.read_text()
    assert text.startswith("# Title\n")
    assert "first" not in text
    assert text.index(r"third \1") < text.index("second")
    write_section(page, "a", "word " * 40 + "\n\n| " + "cell " * 40 + "|")
    assert max(len(line) for line in page.read_text().splitlines() if not line.startswith("|")) <= 120
    assert "| " + "cell " * 40 + "|" in page.read_text()
    assert short_name("SmolLM2-135M-Instruct.Q4_1.gguf") == "smollm2-135m-instruct"


def test_what_is_planted_and_seen_says_how_weak_a_capture_would_be_seen(
    made: tuple[MadeReading, TraceReport, list[str]],
) -> None:
    seen, unseen = Answer("capture", "why"), Answer("no", "why")
    weak = replace(made[1], planted={0.0: unseen, 0.05: unseen, 0.1: seen, 0.4: seen})
    assert sensitivity(weak).startswith("Were every token moved 10 % of the way")
    blind = replace(made[1], planted={0.0: unseen, 0.4: unseen})
    assert sensitivity(blind).endswith("here these measures cannot tell.")


def test_one_text_is_not_enough(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="two texts or more"):
        trace_report(tmp_path, ["only one"], tmp_path)
