"""`nucleate life`: what it prints and writes, what it refuses, and with which exit code."""

from pathlib import Path

import pytest
from support.command_line import nucleate

from nucleate.integrate.storage import load
from nucleate.observe.life import life


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_prints_the_table_and_writes_picture_and_data(here: Path) -> None:
    done = nucleate("life", "--beta", "36", "-n", "60")
    assert done.exit_code == 0, done.stderr
    assert str(life(36.0, 60)) in done.stdout
    assert "; wrote life.npz, life.png" in done.stdout
    assert sorted(path.name for path in here.iterdir()) == ["life.npz", "life.png"]
    assert load("life.npz").notes["life"]["merges"][-1]["left"] == 1


def test_quiet_prints_nothing_and_out_may_repeat(here: Path) -> None:
    done = nucleate(
        "life",
        "--beta",
        "9",
        "-n",
        "20",
        "-d",
        "3",
        "--seed",
        "2",
        "--quiet",
        "--out",
        "a.svg",
        "--out",
        "b.zarr",
    )
    assert (done.exit_code, done.output) == (0, "")
    assert sorted(path.name for path in here.iterdir()) == ["a.svg", "b.zarr"]
    assert load("b.zarr").x.shape[1:] == (20, 3)


@pytest.mark.parametrize(
    "words",
    [
        "--beta -1",
        "-n 0",
        "-d 1",
        "--seed -1",
        "--radius 4",
        "--rtol 7",
        "--out life.txt",
        "--out nowhere/life.png",
    ],
)
def test_bad_words_end_with_2_and_write_nothing(words: str, here: Path) -> None:
    done = nucleate("life", *words.split())
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert list(here.iterdir()) == []


def test_a_life_cut_short_ends_with_1_and_keeps_what_there_is(here: Path) -> None:
    done = nucleate("life", "-n", "1000", "--time-limit", "0.01", "--out", "cut.npz")
    assert done.exit_code == 1
    assert done.stderr == "Not finished: time limit. What was computed is in cut.npz.\n"
    assert load("cut.npz").status == "time limit"
