"""A reproduction that is killed: the next one goes on, leaves nothing behind and ends with the same bytes;
and two do not write at once.

`make soak` does the full count of kills.
"""

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from support.soak import SOAK
from support.tiny_items import KEY, reproduce_tiny
from typer.testing import CliRunner

from nucleate.cli.app import app
from nucleate.papers.core import runner

KILLS = 200 if SOAK else 10

DRIVER = """
# Forks: the parent has everything imported; the child reproduces and is killed at a random moment.
import os, random, shutil, signal, sys, time
from pathlib import Path
import zarr, xarray, matplotlib.figure, matplotlib.backends.backend_agg, matplotlib.backends.backend_pdf
from support.tiny_items import KEY, reproduce_tiny, tiny
from nucleate.papers import ITEMS, find
from nucleate.papers.core.item_file import find_finished
from nucleate.papers.core.runner import save_figures
from nucleate.studies.block import made_with

kills, folder = int(sys.argv[1]), Path(sys.argv[2])
for key in ITEMS:
    find_finished(folder, find(key), False)
made_with()
(folder / "figures").mkdir()  # what drawing loads, it loads once
save_figures(folder, tiny(KEY), {}, {}, {})
moments = random.Random(kills)
out = folder / "out"

def child(where):
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            reproduce_tiny(where)
            code = 0
        finally:
            os._exit(code)
    return pid

def contents(where):
    return {str(file.relative_to(where)): file.read_bytes() for file in where.rglob("*") if file.is_file()}

began = time.perf_counter()
assert os.waitpid(child(folder / "reference"), 0)[1] == 0
span = time.perf_counter() - began
reference = contents(folder / "reference")

killed = finished = 0
while killed < kills:
    pid = child(out)
    end = time.perf_counter() + moments.random() * span
    while time.perf_counter() < end and not (over := os.waitpid(pid, os.WNOHANG)[0] == pid):
        time.sleep(0.001)
    if not over and os.waitpid(pid, os.WNOHANG)[0] != pid:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        killed += 1
        if moments.random() < 0.7:
            continue  # and killed again, on what is there
    assert os.waitpid(child(out), 0)[1] == 0, "it does not go on"
    assert contents(out) == reference, sorted(set(contents(out)) ^ set(reference)) or "other bytes"
    assert not [path for path in out.rglob("*") if path.name.startswith(".")], "left behind"
    finished += 1
    if moments.random() < 0.5:
        shutil.rmtree(out)
    else:  # half of it is to be made again
        for file in moments.sample(sorted(contents(out)), 3):
            (out / file).unlink()
print(killed, finished)
"""


@pytest.mark.soak(kills=KILLS)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_kill_9_at_random_moments_leaves_nothing_behind_and_ends_with_the_same_bytes(tmp_path: Path) -> None:
    words = [sys.executable, "-c", textwrap.dedent(DRIVER), str(KILLS), str(tmp_path)]
    here = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "MPLBACKEND": "Agg"}
    done = subprocess.run(words, capture_output=True, text=True, timeout=1800, env=here, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    killed, finished = map(int, done.stdout.split())
    assert killed >= KILLS
    assert finished >= 1


def test_a_second_process_is_refused_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = [sys.executable, "-m", "nucleate", "reproduce", "--only", KEY, "--out", str(tmp_path)]
    refusals = []
    real = runner.reproduce_item

    def meanwhile(*given: Any) -> dict[str, object]:
        refusals.append(subprocess.run(words, capture_output=True, text=True, check=False))
        return real(*given)

    monkeypatch.setattr(runner, "reproduce_item", meanwhile)
    reproduce_tiny(tmp_path)
    assert [(one.returncode, one.stdout, one.stderr) for one in refusals] == [
        (
            2,
            "",
            (
                f"Error: {tmp_path} is in use: another process is writing a reproduction. Wait for it, or"
                " choose another place.\n"
            ),
        )
    ]
    assert not (tmp_path / "lock").exists()


def test_a_lock_that_a_killed_process_left_does_not_block(tmp_path: Path) -> None:
    (tmp_path / "lock").write_bytes(b"")
    assert reproduce_tiny(tmp_path) == []
    assert not (tmp_path / "lock").exists()


def test_half_written_files_of_a_killed_process_are_removed_and_others_are_not(tmp_path: Path) -> None:
    reproduce_tiny(tmp_path)
    for folder in ("", "figures", "items", f"data/{KEY}"):
        (tmp_path / folder / ".nucleate-killed").mkdir()
        (tmp_path / folder / ".nucleate-killed" / "half").write_bytes(b"half")
    (tmp_path / ".mine").mkdir()
    reproduce_tiny(tmp_path)
    assert [path.name for path in tmp_path.rglob(".*")] == [".mine"]


def test_the_command_says_what_was_damaged_even_if_quiet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from support.tiny_items import tiny

    reproduce_tiny(tmp_path)
    (tmp_path / "figures" / f"{KEY}.png").write_bytes(b"")
    monkeypatch.setattr(runner, "find", tiny)
    done = CliRunner().invoke(app, ["reproduce", "--only", KEY, "--out", str(tmp_path), "--quiet"])
    picture = tmp_path / "figures" / f"{KEY}.png"
    assert (done.exit_code, done.output) == (
        0,
        f"Warning: {picture} is gone, damaged or edited. {KEY} is made anew.\n",
    )
