"""The scripts of studies/ as a user calls them: help, words that are wrong, a folder in use, Ctrl-C."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from support.docs_scripts import study_script
from support.project import ROOT

from nucleate.checks import InputError
from nucleate.studies.durable_files import locked

SCRIPTS = sorted(path.stem for path in (ROOT / "studies").glob("*.py") if path.stem != "study_command")
WRONG = {
    "": "the following arguments are required: OUT",
    "OUT foo": "invalid choice: 'foo'",
    "OUT late d8": "only kinds has sets, not late",
    "OUT kinds d9": "there is no set d9; there are d8, d3",
}


@pytest.fixture
def command() -> ModuleType:
    return study_script("study_command")


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_script_has_a_help_and_begins_nothing_for_it(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    script = study_script(name)
    with pytest.raises(SystemExit) as ended:
        script.main("--help")
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert script.__doc__ is not None
    assert script.__doc__.strip().splitlines()[0] in said
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", WRONG)
def test_words_that_are_wrong_are_refused_before_anything_is_made(
    words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with pytest.raises(SystemExit) as ended:
        study_script("clouds_large").main(*words.replace("OUT", str(tmp_path / "out")).split())
    assert ended.value.code == 2
    assert WRONG[words] in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_folder_in_which_another_process_works_is_refused(
    command: ModuleType, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def refused() -> str:
        with pytest.raises(SystemExit) as ended:
            command.run_script("", {"runs": command.Runs("1 s", lambda out: None)}, [str(tmp_path / "out")])
        assert ended.value.code == 2
        return capsys.readouterr().err

    with locked(tmp_path / "out", "a study"):
        assert "is in use: another process is writing a study" in refused()
    (tmp_path / "out").mkdir(exist_ok=True)
    (tmp_path / "out").rmdir()
    (tmp_path / "out").write_text("")
    assert refused().startswith(f"Error: {tmp_path / 'out'} cannot be made")


def test_the_usual_runs_are_the_first_and_errors_are_one_line(
    command: ModuleType, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    made: list[str] = []

    def refuse(out: Path) -> None:
        raise InputError("beta must be\n finite.")

    runs = {
        "usual": command.Runs("1 s", lambda out: made.append(str(out))),
        "other": command.Runs("9 minutes", refuse),
    }
    command.run_script("", runs, [str(tmp_path)])
    assert made == [str(tmp_path)]
    assert capsys.readouterr().out == f"About 1 s, less what {tmp_path} has already.\n"
    with pytest.raises(SystemExit) as ended:
        command.run_script("", runs, [str(tmp_path), "other"])
    assert ended.value.code == 2
    assert capsys.readouterr().err == "Error: beta must be finite.\n"


@pytest.mark.skipif(sys.platform == "win32", reason="signals as on POSIX")
def test_ctrl_c_ends_a_script_with_130_and_says_what_is_kept(tmp_path: Path) -> None:
    words = [sys.executable, str(ROOT / "studies" / "lifetimes_large.py"), str(tmp_path / "out")]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith("About 9 minutes")
        process.send_signal(signal.SIGINT)
        try:
            said = process.stderr.read()
            assert process.wait(60.0) == 130
        finally:
            process.kill()
    assert said.splitlines()[-1].startswith("Interrupted. What is finished is kept in ")
    assert "Traceback" not in said
