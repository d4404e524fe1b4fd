"""`nucleate convert`: what it passes on and what it refuses; tests/models has the conversion itself."""

from pathlib import Path

import pytest
from support.command_line import nucleate


def test_source_and_target_are_passed_on_and_the_tensors_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Path, ...]] = []

    def convert(*paths: Path) -> int:
        asked.append(paths)
        return 3

    monkeypatch.setattr("nucleate.models.convert.convert", convert)
    done = nucleate("convert", "model.bin", "--out", "model.safetensors")
    assert (done.exit_code, done.output) == (0, "wrote model.safetensors: 3 tensors\n")
    assert nucleate("convert", "model.bin", "--out", "model.safetensors", "--quiet").output == ""
    assert asked == [(Path("model.bin"), Path("model.safetensors"))] * 2


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["model.bin"], "--out"),
        (["model.bin", "--out", "model.bin"], "must end in .safetensors"),
        (["model.bin", "--out", "there.safetensors"], "there.safetensors exists, so it is not replaced"),
        (["none.bin", "--out", "model.safetensors"], "none.bin cannot be read"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_ends_with_code_2(
    words: list[str], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.bin").write_bytes(b"PK")
    Path("there.safetensors").write_bytes(b"precious")
    done = nucleate("convert", *words)
    assert done.exit_code == 2
    assert reason in done.stderr
    assert "Traceback" not in done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.bin", "there.safetensors"]
    assert Path("there.safetensors").read_bytes() == b"precious"


def test_a_target_without_its_option_is_told_where_it_goes_now() -> None:
    done = nucleate("convert", "model.bin", "model.safetensors")
    assert done.exit_code == 2
    words = " ".join(done.stderr.replace("│", " ").split())
    assert "The target of convert is now --out: nucleate convert SOURCE --out TARGET." in words
    for arguments in (["a.bin", "b.safetensors", "c.safetensors"], ["a.bin"]):
        assert "is now" not in nucleate("convert", *arguments).stderr, "never right"
