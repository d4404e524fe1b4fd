"""`nucleate export` as a person types it; tests/explorer has the page."""

import subprocess
import sys
from pathlib import Path

from support.command_line import typed
from support.made_runs import one_run


def test_export_writes_a_page(tmp_path: Path) -> None:
    one_run().save(tmp_path / "run.zarr")
    code, said = typed("export", tmp_path / "run.zarr", "--out", tmp_path / "page.html")
    assert code == 0, said
    assert "open it in any browser" in said
    assert (tmp_path / "page.html").stat().st_size > 10_000
    code, said = typed("export", tmp_path / "run.zarr", "--out", tmp_path / "page.txt")
    assert code == 2
    code, said = typed("export", tmp_path / "run.zarr", "--out", tmp_path / "page.html", "--run", "5")
    assert code == 2
    assert "no run 5" in said


def test_export_needs_no_extra(tmp_path: Path) -> None:
    one_run().save(tmp_path / "run.npz")
    code = f"""
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("starlette", "uvicorn", "websockets", "anyio", "h11"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
from nucleate.cli.main import main
sys.argv = ["nucleate", "export", {str(tmp_path / "run.npz")!r}, "--out", {str(tmp_path / "page.html")!r}]
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "page.html").is_file()


def test_quiet_prints_nothing(tmp_path: Path) -> None:
    one_run().save(tmp_path / "run.npz")
    assert typed("export", tmp_path / "run.npz", "--out", tmp_path / "page.html", "-q") == (0, "")
    assert (tmp_path / "page.html").is_file()


def test_a_site_is_written_and_what_is_missing_is_said(tmp_path: Path) -> None:
    code, said = typed("export", "--site", tmp_path / "site", "--no-recordings")
    assert code == 0, said
    assert "open it in any browser, or put it on any host" in said
    assert "left to nucleate itself: The whole life" in said
    assert (tmp_path / "site" / "index.html").is_file()
    for words, help in (
        (("export",), "the run is missing"),
        (("export", tmp_path / "run.npz"), "--out is missing"),
        (("export", tmp_path / "run.npz", "--site", tmp_path), "is given too"),
    ):
        code, said = typed(*words)
        assert code == 2
        assert help in " ".join(said.split())
