"""Commands and targets: each has help, and the pages name only those there are."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.project import PAGES, ROOT, blocks, page


@cache
def commands() -> dict[str, Any]:
    """Every command and group of commands by its words: "" (nucleate itself), "simulate", "bench", "bench
    drift"."""
    import typer

    from nucleate.cli.app import app

    def walk(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        yield " ".join(words), command
        for name, inner in getattr(command, "commands", {}).items():
            yield from walk(inner, (*words, name))

    return dict(walk(typer.main.get_command(app), ()))


@cache
def targets() -> set[str]:
    phony = re.search(r"^\.PHONY:(.*)$", page("Makefile"), flags=re.M)
    assert phony
    return set(phony[1].split())


def test_every_command_and_option_has_help() -> None:
    silent = [words for words, command in commands().items() if not (command.help or "").strip()]
    silent += [
        f"{words} {option.name}"
        for words, command in commands().items()
        for option in command.params
        if not (getattr(option, "help", None) or "").strip()
    ]
    assert silent == []


def test_every_command_is_in_the_readme() -> None:
    assert {"simulate", "reproduce"} <= set(commands())
    leaves = [words for words, command in commands().items() if not hasattr(command, "commands")]
    assert [words for words in leaves if f"`nucleate {words}`" not in page("README.md")] == []


def test_every_command_and_target_that_the_pages_name_exists() -> None:
    leaves = {words for words, command in commands().items() if not hasattr(command, "commands")}
    wrong = []
    for file in PAGES:
        text = file.read_text(encoding="utf-8")
        named = re.findall(r"`nucleate ([a-z]+(?: [a-z]+)?)", text)
        wrong += [
            f"{file.name}: nucleate {words}"
            for words in named
            if words not in commands() and words.split()[0] not in leaves
        ]
        wrong += [
            f"{file.name}: make {target}"
            for target in re.findall(r"`make ([a-z-]+)", text)
            if target not in targets()
        ]
    assert wrong == []


def shell_lines() -> list[str]:
    return [
        line
        for file in PAGES
        for block in blocks(file.read_text(encoding="utf-8"), "sh")
        for line in block.splitlines()
        if line.strip()
    ]


@pytest.mark.parametrize("line", shell_lines())
def test_every_shell_line_on_the_pages_can_be_typed(line: str) -> None:
    program, *words = shlex.split(line, comments=True)
    if program == "make":
        assert set(words) <= targets()
    elif program == "nucleate":
        name = max((name for name in commands() if words[: len(name.split())] == name.split()), key=len)
        assert not hasattr(commands()[name], "commands"), f"no such command: {line}"
        known = {
            option
            for parameter in commands()[name].params
            for option in (*parameter.opts, *parameter.secondary_opts)
        }
        assert {word for word in words if re.match(r"--?[a-z]", word)} <= known
    else:
        assert line.startswith("python -m pip install "), f"nothing here checks {program}"


def test_every_target_has_a_line_of_help() -> None:
    shown = subprocess.run(
        ["make", "-s", "-C", str(ROOT), "help"], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    assert set(re.findall(r"^make ([a-z-]+) +\S", shown, flags=re.M)) == targets()


def test_an_old_python_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "requirements").mkdir()
    for name in ("Makefile", "pyproject.toml", "requirements/dev.txt"):
        (tmp_path / name).write_text(page(name))
    old = tmp_path / "old-python"
    old.write_text(
        f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -c 'import sys; sys.version_info = (3, 9);"
        ' exec(sys.argv[1])\' "$2"\n'
    )
    old.chmod(0o755)
    done = subprocess.run(
        ["make", "-C", str(tmp_path), "install", f"PYTHON={old}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert "needs Python 3.11 or newer, but" in done.stderr
    assert "is Python 3.9" in done.stderr
    assert not (tmp_path / ".venv").exists()
