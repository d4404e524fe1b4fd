"""A script run where Numba checks every index."""

import os
import subprocess
import sys
from pathlib import Path

__all__ = ["output_with_bounds_checked"]


def output_with_bounds_checked(script: str, folder: Path) -> str:
    """What the script prints, run from a file in `folder`: Numba compiles no function without one."""
    path = folder / "outside.py"
    path.write_text(script, encoding="utf-8")
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1"}
    done = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, check=True, env=environment
    )
    return done.stdout
