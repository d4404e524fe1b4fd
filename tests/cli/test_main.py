"""The commands together: their order, what all have, and how quickly the help comes."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from support.command_line import nucleate, nucleate_process
from support.time_limits import patient, within_wall_seconds

from nucleate.cli.app import app
from nucleate.cli.errors import Command

ORDER = [
    "simulate",
    "life",
    "ensemble",
    "reproduce",
    "spectra",
    "trace",
    "convert",
    "explore",
    "export",
    "doctor",
    "bench",
]
NO_OUTPUT = {"explore", "doctor"}  # they serve a page or print, and write nothing


def leaves() -> dict[str, Any]:
    """Every command by its words."""
    group: Any = typer.main.get_command(app)
    found: dict[str, Any] = {}
    for name, one in group.commands.items():
        found |= {f"{name} {inner}": leaf for inner, leaf in getattr(one, "commands", {}).items()} or {
            name: one
        }
    return found


def test_the_help_begins_with_simulate_and_ends_with_bench() -> None:
    shown = nucleate("--help").stdout
    places = [shown.index(f" {name} ") for name in ORDER]
    assert places == sorted(places)
    assert set(leaves()) == {
        *ORDER[:-1], "bench drift", "bench batch", "bench life", "bench ensemble", "bench family",
        "bench gpu", "bench trace",
    }  # fmt: skip


@pytest.mark.parametrize("name", leaves())
def test_every_command_can_be_quiet_and_writes_where_out_says(name: str) -> None:
    options = {option for parameter in leaves()[name].params for option in parameter.opts}
    assert {"--quiet", "-q"} <= options
    assert ("--out" in options) == (name not in NO_OUTPUT)
    assert options.isdisjoint({"--store", "--plot", "--html", "--json"})


@pytest.mark.parametrize("name", leaves())
def test_help_has_no_line_ends_within_a_paragraph(name: str) -> None:
    """They would be kept, whatever the width of the terminal."""
    assert [part for part in leaves()[name].help.split("\n\n") if "\n" in part.strip()] == []


@patient
def test_help_answers_in_well_under_a_second(tmp_path: Path) -> None:
    with within_wall_seconds(1.0):
        done = nucleate_process("--help", cwd=tmp_path)
    assert done.returncode == 0
    assert "simulate" in done.stdout


INTERRUPT = """
import os, signal, sys
import builtins

real = builtins.__import__

def interrupt(name, *rest):
    if name == {at!r}:
        os.kill(os.getpid(), signal.SIGINT)
    return real(name, *rest)

builtins.__import__ = interrupt
sys.argv = ["nucleate", *{words!r}]
from nucleate.cli.main import main
main()
"""


@pytest.mark.parametrize("at", ["typer", "nucleate.cli.simulate", "nucleate.integrate.storage"])
def test_ctrl_c_while_packages_are_imported_is_one_line(at: str, tmp_path: Path) -> None:
    code = INTERRUPT.format(at=at, words=["simulate", "-n", "4", "-t", "1"])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=tmp_path, check=False
    )
    assert (done.returncode, done.stderr) == (130, "Interrupted.\n")


def test_ctrl_c_before_a_command_has_begun_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*words: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Command, "parse_args", interrupt)
    done = nucleate("simulate")
    assert (done.exit_code, done.stderr) == (130, "Interrupted.\n")
