"""The command `nucleate`, in this process and in one of its own."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from nucleate.cli.main import app


def nucleate(*words: object) -> Any:
    """What the command does with these words: exit_code, stdout, stderr, output."""
    return CliRunner().invoke(app, [str(word) for word in words])


def nucleate_process(*words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The same in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "nucleate", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=cwd,
        check=False,
    )
