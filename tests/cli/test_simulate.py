"""`nucleate simulate`: what it writes, what it refuses, and with which exit code."""

import inspect
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import nucleate, nucleate_process
from support.made_runs import many_runs, one_run
from support.time_limits import within_cpu_seconds

import nucleate.integrate.simulate as engine
from nucleate.attention import Window
from nucleate.checks import InputError
from nucleate.cli import progress, simulation_setup
from nucleate.integrate import scheduler
from nucleate.integrate.run import Run
from nucleate.integrate.storage import load
from nucleate.sphere import uniform

SMALL = ["simulate", "--tokens", "6", "--time", "2", "--beta", "4"]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", np.inf)  # else compiling may show on stderr
    monkeypatch.setattr(progress, "SECONDS_BEFORE_LINE", np.inf)  # else compiling may show on stderr


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[inspect.BoundArguments]:
    """What simulate is asked for; it answers with a made-up run."""
    calls = []

    def simulate(*words: Any, **named: Any) -> Run:
        calls.append(signature.bind(*words, **named))
        return one_run()

    signature = inspect.signature(engine.simulate)
    monkeypatch.setattr(engine, "simulate", simulate)
    return calls


# What it does


def test_a_run_is_simulated_written_and_summed_up() -> None:
    done = nucleate(
        *SMALL, "--seed", "3", "--save", "5", "--out", "run.npz", "--out", "run.zarr", "--out", "run.png"
    )
    assert done.exit_code == 0, done.stderr
    for name in ("run.npz", "run.zarr"):
        run = load(name)
        assert (run.status, run.x.shape, float(run.model.beta)) == ("done", (5, 6, 2), 4.0)
        np.testing.assert_array_equal(run.x[0], uniform(6, 2, 3))
        assert run.notes["seed"] == 3
    assert Path("run.png").stat().st_size > 5000
    assert "6 tokens, d = 2, beta = 4, causal; t = 0 to 2 in 5 frames; auto," in done.stdout
    assert "wrote run.npz, run.zarr, run.png" in done.stdout
    assert "last frame" in done.stdout
    assert [line for line in done.stderr.splitlines() if not line.startswith("compiling, once")] == []


def test_the_file_alone_is_enough_to_redo_the_run() -> None:
    assert (
        nucleate(
            *SMALL, "--value", "diag(1,-2)", "--mask", "window:3", "--save", "4", "--out", "run.zarr"
        ).exit_code
        == 0
    )
    run = load("run.zarr")
    again = engine.simulate(
        run.model,
        uniform(6, 2, run.notes["seed"]),
        run.t[-1],
        save=run.t,
        rtol=run.settings["rtol"],
        atol=run.settings["atol"],
    )
    np.testing.assert_array_equal(again.x, run.x)


def test_several_runs_start_from_the_streams_of_their_numbers(asked: list[inspect.BoundArguments]) -> None:
    assert nucleate(*SMALL, "--runs", "3", "--seed", "7").exit_code == 0
    x0 = asked[0].arguments["x0"]
    np.testing.assert_array_equal(
        x0, [uniform(6, 2, np.random.SeedSequence(7, spawn_key=(i,))) for i in range(3)]
    )


def test_a_start_of_ones_own_is_used(asked: list[inspect.BoundArguments]) -> None:
    np.save("start.npy", uniform(4, 5, 1))
    assert nucleate("simulate", "--start", "start.npy").exit_code == 0
    np.testing.assert_array_equal(asked[0].arguments["x0"], uniform(4, 5, 1))
    assert nucleate("simulate", "--start", "start.npy", "--seed", "1").exit_code == 2


def test_without_options_the_run_of_figure_2_is_made(asked: list[inspect.BoundArguments]) -> None:
    assert nucleate("simulate").exit_code == 0
    given = asked[0].arguments
    assert (given["x0"].shape, given["t"], float(given["model"].beta), given["model"].mask) == (
        (200, 2),
        150.0,
        64.0,
        "causal",
    )


def test_options_not_given_are_the_defaults_of_simulate(asked: list[inspect.BoundArguments]) -> None:
    assert nucleate("simulate").exit_code == 0
    defaults = {
        name: p.default
        for name, p in asked[0].signature.parameters.items()
        if p.default is not inspect.Parameter.empty
    }
    asked[0].apply_defaults()
    given = asked[0].arguments
    assert {name for name in defaults if given[name] != defaults[name]} == {"save", "progress"}


def test_every_option_reaches_simulate(asked: list[inspect.BoundArguments]) -> None:
    words = (
        "-n 3 -d 4 -t 2.5 --save 0,1,2.5 --method rk4 --dt .1 --rtol 1e-3 --atol 1e-4 --max-steps 9"
        " --time-limit 8 --threads 1"
    )
    assert nucleate("simulate", *words.split()).exit_code == 0
    given = asked[0].arguments
    assert given["x0"].shape == (3, 4)
    names = ("t", "save", "method", "dt", "rtol", "atol", "max_steps", "time_limit", "threads")
    assert [given[name] for name in names] == [2.5, [0.0, 1.0, 2.5], "rk4", 0.1, 1e-3, 1e-4, 9, 8.0, 1]


def test_large_systems_keep_fewer_frames_unless_told(asked: list[inspect.BoundArguments]) -> None:
    for words, frames in (
        ([], 512),
        (["-n", "100000"], 100),
        (["-n", "3", "--save", "steps"], "steps"),
        (["-n", "3", "--save", "9"], 9),
    ):
        assert nucleate("simulate", *words).exit_code == 0
        assert asked[-1].arguments["save"] == frames


@pytest.mark.parametrize(
    ("text", "matrix"),
    [
        ("identity", None),
        ("2.0", 2.0 * np.eye(3)),
        ("-identity", -np.eye(3)),
        ("0.5*identity", 0.5 * np.eye(3)),
        ("diag(1, 1,-2)", np.diag([1.0, 1.0, -2.0])),
        ("[[1,2,3],[4,5,6],[7,8,9.5]]", [[1, 2, 3], [4, 5, 6], [7, 8, 9.5]]),
        ("M.npy", np.arange(9.0).reshape(3, 3)),
    ],
)
def test_matrices_can_be_written_in_many_ways(
    text: str, matrix: Any, asked: list[inspect.BoundArguments]
) -> None:
    np.save("M.npy", np.arange(9.0).reshape(3, 3))
    for option, name in (("--value", "V"), ("--query", "Q"), ("--key", "K")):
        assert nucleate("simulate", "-d", "3", "-n", "2", option, text).exit_code == 0
        model = asked[-1].arguments["model"]
        np.testing.assert_array_equal(getattr(model, name), matrix)
        assert sum(getattr(model, letter) is not None for letter in "QKV") == (matrix is not None)


def test_the_dimension_follows_the_matrices(asked: list[inspect.BoundArguments]) -> None:
    assert nucleate("simulate", "-n", "2", "--value", "diag(1,1,-2)").exit_code == 0
    assert asked[0].arguments["x0"].shape == (2, 3)


@pytest.mark.parametrize(("text", "mask"), [("causal", "causal"), ("full", "full"), ("window:7", Window(7))])
def test_masks_go_by_their_names(text: str, mask: object, asked: list[inspect.BoundArguments]) -> None:
    assert nucleate("simulate", "--mask", text).exit_code == 0
    assert asked[0].arguments["model"].mask == mask


def test_quiet_means_quiet() -> None:
    done = nucleate(*SMALL, "--quiet", "--out", "run.npz")
    assert (done.exit_code, done.output) == (0, "")
    assert load("run.npz").done


def test_check_says_how_many_digits_agree() -> None:
    done = nucleate(*SMALL, "--check")
    assert done.exit_code == 0
    assert "digits agree with a rerun with auto, rtol = 1e-10" in done.stdout


# How it ends


def test_a_run_that_did_not_finish_is_written_and_ends_with_1() -> None:
    done = nucleate(*SMALL, "--max-steps", "3", "--out", "run.npz", "--out", "run.png")
    assert done.exit_code == 1
    assert done.stderr == "Not finished: max steps. What was computed is in run.npz, run.png.\n"
    run = load("run.npz")
    assert run.status == "max steps"
    assert 1 <= len(run.t) < 512
    assert Path("run.png").exists()


def test_what_was_not_written_is_not_said_to_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    done = nucleate(*SMALL, "--max-steps", "3")
    assert (done.exit_code, done.stderr) == (1, "Not finished: max steps. Nothing was written.\n")
    monkeypatch.setattr(Run, "save", full_disk)
    done = nucleate(*SMALL, "--max-steps", "3", "--out", "run.npz", "--out", "run.png")
    assert (done.exit_code, list(Path().iterdir())) == (1, [])
    assert done.stderr.splitlines() == [
        *["Error: No space left on device."] * 2,
        "Not finished: max steps. Nothing was written.",
    ]


def full_disk(run: Run, path: Path) -> None:
    raise InputError("No space left on device.")


def test_one_unfinished_run_of_several_ends_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "simulate", lambda *words, **named: many_runs())
    done = nucleate("simulate", "--runs", "3", "--out", "run.zarr")
    assert done.exit_code == 1
    assert "Not finished: 2 done, 1 stalled." in done.stderr
    assert load("run.zarr").status == ("done", "stalled", "done")


def test_an_interrupted_run_is_written_and_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def press(self: object, done: float, total: float) -> None:
        if done > 1:  # code is compiled, and steps are taken
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(scheduler, "SHORT_CALL_SECONDS", 0.0)
    monkeypatch.setattr(progress.ProgressBar, "__call__", press)
    done = nucleate("simulate", "-n", "3000", "-t", "1e6", "--save", "50", "--out", "run.npz")
    assert done.exit_code == 130, done.output
    assert "Not finished: interrupted." in done.stderr
    assert load("run.npz").status == "interrupted"


def test_an_interrupt_before_the_start_ends_with_130_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*words: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(simulation_setup, "_draw", interrupt)
    done = nucleate("simulate")
    assert (done.exit_code, done.stderr) == (130, "Interrupted.\n")


def test_pictures_without_a_frame_do_not_cost_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    run = one_run()
    monkeypatch.setattr(
        engine,
        "simulate",
        lambda *words, **named: replace(run, t=run.t[:0], x=run.x[:0], status="interrupted", steps=0),
    )
    done = nucleate("simulate", "--out", "run.png", "--out", "run.npz")
    assert done.exit_code == 130
    assert "no frame to draw" in done.stderr
    assert load("run.npz").status == "interrupted"


def test_a_write_that_fails_ends_with_2_and_names_the_path(
    asked: list[inspect.BoundArguments], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*words: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    done = nucleate("simulate", "--out", "run.npz")
    assert done.exit_code == 2
    assert (
        done.stderr
        == "Error: run.npz cannot be written: No space left on device. What was there before is untouched.\n"
    )


# What it refuses

HOSTILE = [
    ("--out run.txt", "nucleate writes .zarr, .npz, .png"),
    ("--out run", "has the ending (none)"),
    ("--out nowhere/run.zarr", "the folder nowhere does not exist"),
    ("--out mine.zarr", "is not a nucleate run, so it is not replaced"),
    ("--beta -1", "--beta must be finite and non-negative, but is -1.0. For repulsion use V = -I."),
    ("--beta nan", "--beta must be finite, but is nan."),
    ("--beta inf", "--beta must be finite"),
    ("--time nan", "--time must be finite"),
    ("--time -1", "--time must be finite and greater than 0"),
    ("--time inf", "--time must be finite"),
    ("--tokens 0", "--tokens must be a whole number of at least 1"),
    ("--tokens 1000000000", "Ask for fewer tokens"),
    ("--tokens 1000000000 --save steps", "Ask for fewer tokens"),
    ("--dimension 1", "--dimension must be a whole number of at least 2"),
    ("-d 0", "-d must be a whole number of at least 2"),
    ("--dimension 1000000000", "Ask for fewer tokens"),
    ("--runs 0", "runs must be a whole number of at least 1"),
    ("--runs 1000000000", "Ask for fewer tokens, dimensions, runs"),
    ("--seed -1", "seed must be a whole number of at least 0"),
    ("--value diag(1,x)", "--value must be a matrix, but is 'diag(1,x)'. Write 2.0, identity"),
    ("--value diag()", "but is 'diag()'"),
    ("--value diag(1,2", "but is 'diag(1,2'"),
    ("--value diag(1,nan)", "but is 'diag(1,nan)'"),
    ("--value diag(1,1e999)", "--value must be finite, but is inf"),
    ("--value diag(1,1,1) --dimension 2", "V acts on dimension 3"),
    ("--value [[1,2],[3]]", "--value must have rows of one length, but is [[1, 2], [3]]"),
    ("--value [[1,2]]", "--value must be a diagonal (a list) or square"),
    ("--value [1,2] --dimension 3", "V acts on dimension 2"),
    ("--value row2 --dimension 2", "row2 needs a dimension of at least 3, but d is 2"),
    ("--value rowe3", "Did you mean row3?"),
    ("--value row3(1)", "row3 is not random"),
    ("--value []", "--value must be a diagonal (a list) or square"),
    ('--value [{"a":1}]', "--value must hold numbers only"),
    ('--value ["1","2"]', "--value must hold numbers only, but holds '1'"),
    ("--value {random='gausian'}", "--value.random is gausian. Did you mean gaussian?"),
    ("--value {random='gaussian',scale=-inf}", "--value.scale must be finite"),
    ("--value {preset='row3',seed=1}", "row3 is not random"),
    ("--value {seed=1}", "--value must be a matrix"),
    ("--value " + "[" * 100_000, "but is '[[["),
    ("--value " + "1" * 100_000 + "x", "but is '1111"),
    ("--value " + "{a=" * 50_000, "but is '{a="),
    ("--value " + "[" * 500 + "]" * 500, "lists within its rows"),
    ("--query twice*identity", "--query must be a matrix, but is 'twice*identity'"),
    ("--query nan*identity", "--query must be a matrix"),
    ("--query *identity", "--query must be a matrix"),
    ("--value none.npy", "cannot be read: No such file"),
    ("--value .", "but is '.'"),
    ("--value rows.npy", "--value rows.npy must be a diagonal (a list) or square"),
    ("--value number.npy", "must hold a matrix, but holds the number 2"),
    ("--value pickle.npy", "is not a plain .npy file of numbers"),
    ("--value cut.npy", "is not a plain .npy file of numbers"),
    ("--value liar.npy", "is not a plain .npy file of numbers"),
    ("--value text.npy", "is not a plain .npy file of numbers"),
    ("--value words.npy", "must be an array of numbers"),
    ("--value zip.npy", "is not a plain .npy file of numbers"),
    ("--key complex.npy", "must be real"),
    ("--start rows.npy", "rows of length 1"),
    ("--start number.npy", "shape (n, d)"),
    ("--start pickle.npy", "is not a plain .npy file of numbers"),
    ("--start nan.npy", "must be finite"),
    ("--start rows.npy --tokens 5", "--start already fixes the start"),
    ("--mask sideways", "--mask must be causal, full or window:W, such as window:8, but is 'sideways'"),
    ("--mask window:0", "Window w must be"),
    ("--mask window:x", "but is 'window:x'"),
    ("--mask window:" + "9" * 5000, "--mask must be causal"),
    ("--save 0", "save must be a whole number of at least 2"),
    ("--save often", "--save is 'often'"),
    ("--save 3,2,1", "increasing times"),
    ("--save 0,nan", "save must be finite"),
    ("--save 99999999999999", "Ask for fewer tokens, dimensions, runs or frames"),
    ("--method magic", "method must be"),
    ("--method euler", "dt is missing"),
    ("--dt 0.1", "Leave dt out"),
    ("--rtol 0 --atol 0", "rtol + atol must lie between"),
    ("--rtol nan", "rtol must be finite"),
    ("--max-steps 0", "--max-steps must be"),
    ("--time-limit 0", "--time-limit must be"),
    ("--threads 0", "threads must be"),
]  # fmt: skip


@pytest.fixture(scope="module")
def bad_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bad")
    arrays: dict[str, Any] = {
        "rows": np.ones((3, 4)),
        "number": np.array(2.0),
        "nan": np.full((2, 2), np.nan),
        "complex": 1j * np.eye(2),
        "words": np.array([["a", "b"]] * 2),
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    np.save(folder / "pickle.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    whole = (folder / "rows.npy").read_bytes()
    (folder / "cut.npy").write_bytes(whole[:-8])
    # says it is 96 GB
    (folder / "liar.npy").write_bytes(whole.replace(b"(3, 4), }         ", b"(3, 4000000000), }"))
    (folder / "text.npy").write_text("hello")
    np.savez(folder / "zip", a=1)
    (folder / "zip.npz").rename(folder / "zip.npy")
    (folder / "mine.zarr").mkdir()
    return folder


@pytest.mark.parametrize(("words", "reason"), HOSTILE, ids=[words[:40] for words, _ in HOSTILE])
def test_bad_input_gets_one_line_and_exit_code_2_at_once(
    words: str, reason: str, bad_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(bad_files)
    before = sorted(bad_files.iterdir())
    with within_cpu_seconds(1.0):
        done = nucleate("simulate", *words.split())
    assert done.exit_code == 2, done.output
    assert isinstance(done.exception, SystemExit)
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert reason in done.stderr
    assert sorted(bad_files.iterdir()) == before


@pytest.mark.parametrize("words", ["--tokens 1e9", "--tokens many", "--betta 2", "--beta", "now"])
def test_words_that_are_not_understood_end_with_2(words: str) -> None:
    done = nucleate("simulate", *words.split())
    assert done.exit_code == 2
    assert "Error" in done.stderr


@pytest.mark.parametrize("name", ["run.txt", "nowhere/run.npz", "mine.npz", "run.mp4"])
def test_a_place_that_cannot_be_written_is_refused_before_simulating(
    name: str, asked: list[inspect.BoundArguments], monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez("mine.npz", a=1)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    assert nucleate("simulate", "--out", "fine.npz", "--out", name).exit_code == 2
    assert asked == []
    assert nucleate("simulate", "--out", "fine.npz").exit_code == 0
    assert len(asked) == 1


# From outside


def test_a_stranger_gets_a_file_from_one_command(tmp_path: Path) -> None:
    done = nucleate_process(*SMALL, "--out", "run.npz", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    words = ("compiling, once", "simulating: ")  # told if it takes longer than a few seconds
    assert [line for line in done.stderr.splitlines() if not line.startswith(words)] == []
    assert "wrote run.npz" in done.stdout
    assert load(tmp_path / "run.npz").done


def test_bad_input_from_outside_shows_no_traceback(tmp_path: Path) -> None:
    done = nucleate_process("simulate", "--beta", "-1", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == "Error: --beta must be finite and non-negative, but is -1.0. For repulsion use V = -I.\n"
    )
