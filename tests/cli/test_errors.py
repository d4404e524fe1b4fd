"""How a command ends when it cannot go on."""

import os
from pathlib import Path

import pytest
import typer
from support.command_line import nucleate

from nucleate.checks import InputError
from nucleate.cli.errors import EXIT_BAD_INPUT, EXIT_INTERRUPTED, RENAMED_OPTIONS, friendly_errors


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (InputError("n must be\n  7."), EXIT_BAD_INPUT, "Error: n must be 7.\n"),
        (MemoryError(), EXIT_BAD_INPUT, "Error: This does not fit into memory. Buy some.\n"),
        (KeyboardInterrupt(), EXIT_INTERRUPTED, "Stopped at 3.\n"),
    ],
    ids=str,
)
def test_an_error_is_one_line_and_an_exit_code(
    error: BaseException, code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as end, friendly_errors("Buy some.", lambda: "Stopped at 3."):
        raise error
    assert end.value.exit_code == code
    assert capsys.readouterr().err == words


def test_a_list_of_what_was_found_keeps_its_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit), friendly_errors(one_line=False):
        raise InputError("found:\n  a\n  b")
    assert capsys.readouterr().err == "Error: found:\n  a\n  b\n"


def test_an_error_of_ours_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError), friendly_errors():
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("simulate -n 3.5", "-n must be a whole number, but is '3.5'. Write digits only, such as 64."),
        ("simulate -n3.5", "-n must be a whole number, but is '3.5'. Write digits only, such as 64."),
        (
            "simulate --beta=64,0",
            "--beta must be a number, but is '64,0'. Write it with a point, such as 0.5.",
        ),
        ("simulate -n 5 -t soon", "-t must be a number, but is 'soon'. Write it with a point, such as 0.5."),
        ("life --seed abc", "--seed must be a whole number, but is 'abc'. Write digits only, such as 64."),
    ],
)
def test_a_value_that_is_no_number_is_named(words: str, told: str) -> None:
    done = nucleate(*words.split())
    assert (done.exit_code, done.stderr) == (2, f"Error: {told}\n")


@pytest.mark.parametrize(
    "words",
    [
        ["ensemble", "study.toml", "--store", "out.zarr"],
        ["ensemble", "study.toml", "--plot=out.png"],
        ["export", "run.zarr", "--html", "page.html"],
        ["bench", "drift", "--json", "numbers.json"],
        ["spectra", "checkpoint", "--live"],
    ],
    ids=" ".join,
)
def test_an_option_that_was_renamed_says_its_new_name(words: list[str]) -> None:
    done = nucleate(*words)
    assert done.exit_code == 2
    old = next(word.partition("=")[0] for word in words if word.startswith("--"))
    assert f"{old} is now {RENAMED_OPTIONS[old]}." in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["explore", "--no-browser", "FOLDER"],
        ["explore", "--no-browser", "run.npz"],
        ["explore", "--no-browser", "run.zarr"],
        ["export", "run.npz", "--out", "page.html"],
        ["ensemble", "study.toml", "--out", "out.zarr"],
        ["convert", "model.bin", "--out", "model.safetensors"],
        ["spectra", "model.gguf"],
        ["simulate", "--start", "start.npy"],
        ["simulate", "--model", "model.safetensors"],
        ["reproduce", "--readme", "README.md"],
    ],
    ids=" ".join,
)
def test_what_may_not_be_read_is_told_in_one_line_and_not_in_a_box(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = next(word for word in words[1:] if not word.startswith("--"))
    Path(name).mkdir() if name in ("FOLDER", "run.zarr") else Path(name).write_text("x")
    Path(name).chmod(0)
    may = os.access  # which root always may
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != name and may(path, mode))
    done = nucleate(*words)
    Path(name).chmod(0o700)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    if words[0] in ("explore", "export"):
        assert (
            done.stderr == f"Error: {name} cannot be read: Permission denied. Check that you may read it.\n"
        )


def test_an_option_that_never_was_is_refused_as_ever() -> None:
    done = nucleate("simulate", "--betta", "3")
    assert done.exit_code == 2
    assert "--betta" in done.stderr
    assert "is now" not in done.stderr


@pytest.mark.parametrize("words", [["--out", ""], ["--out="], ["--quick", "--out", "", "--quiet"]], ids=str)
@pytest.mark.parametrize("command", ["reproduce", "spectra model", "simulate", "bench drift"])
def test_an_empty_word_is_not_the_folder_we_are_in(
    command: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = nucleate(*command.split(), *words)
    assert done.exit_code == 2
    assert done.stderr == "Error: --out is empty. Write what it should be, or leave it out.\n"
    assert list(tmp_path.iterdir()) == []


def test_an_empty_argument_is_told_too() -> None:
    done = nucleate("explore", "", "--no-browser")
    assert done.exit_code == 2
    assert done.stderr.startswith("Error: A word of the command is empty.")


@pytest.mark.parametrize(
    "words",
    [
        "export {long}.npz --out page.html",
        "export run.npz --out {long}.html",
        "explore {long}.npz --no-browser",
        "reproduce --quick --only figure4 --out {long}",
        "bench drift --quick --out {long}.json",
        "spectra model --out {long}.json",
        "convert weights.bin --out {long}.safetensors",
    ],
)
def test_a_name_that_the_system_refuses_is_one_line(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it also refuses names in a folder that is closed to us, which there is none for root."""
    monkeypatch.chdir(tmp_path)
    Path("weights.bin").write_bytes(b"")
    done = nucleate(*words.format(long="x" * 300).split())
    assert done.exit_code == 2, done.exception
    assert "cannot be used: File name too long." in done.stderr
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
