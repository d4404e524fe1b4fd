"""The command `nucleate`, in this process and in one of its own."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from nucleate.cli.app import app


def nucleate(*words: object) -> Any:
    """What the command does with these words: exit_code, stdout, stderr, output."""
    return CliRunner().invoke(app, [str(word) for word in words])


def typed(*words: object) -> tuple[int, str]:
    """The exit code, and all that the command says in one line."""
    done = nucleate(*words)
    return done.exit_code, " ".join(done.output.split())


def start_nucleate(
    *words: object, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """The same in a process of its own that goes on meanwhile; `env` is more of the environment."""
    return subprocess.Popen(
        [sys.executable, "-m", "nucleate", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env={**os.environ, **(env or {})},
    )


def nucleate_process(*words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The same in a process of its own, until it ends."""
    return subprocess.run(
        [sys.executable, "-m", "nucleate", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=cwd,
        check=False,
    )
