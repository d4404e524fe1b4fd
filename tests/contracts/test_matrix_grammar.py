"""One grammar at every door: the command line, study files, scenes of the explorer and its page take the same
notations for matrices and masks, and refuse the same nonsense."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import nucleate
from support.made_runs import one_run
from support.matrix_notations import NOTATIONS, REFUSED, ROWS
from support.small_studies import head_of, small, toml
from support.time_limits import within_cpu_seconds

import nucleate.integrate.simulate as engine
from nucleate.attention import Attention, Window
from nucleate.checks import Array, InputError
from nucleate.explorer.page_requests import ReadMatrix, parse_request
from nucleate.explorer.scene import parse_scene
from nucleate.integrate.storage import load
from nucleate.studies.study import Study

I3 = np.eye(3)
Door = Callable[[str, Any], Attention]  # Q, K or V and a notation, to the model


@pytest.fixture
def command_line(monkeypatch: pytest.MonkeyPatch) -> Door:
    """As it is typed: texts without quotation marks, the rest as in a study."""
    models: list[Attention] = []

    def simulate(model: Attention, x0: Array, *words: Any, **named: Any) -> Any:
        model.check(x0)
        models.append(model)
        return one_run()

    def enter(name: str, value: Any) -> Attention:
        option = {"Q": "--query", "K": "--key", "V": "--value"}[name]
        done = nucleate("simulate", "-n", 2, "-d", 3, f"{option}={typed(value)}")
        if done.exit_code:
            assert done.exit_code == 2, done.output
            assert done.stderr.startswith(f"Error: {option}") or "dimension" in done.stderr, done.stderr
            assert done.stderr.count("\n") == 1
            raise InputError(done.stderr)
        return models[-1]

    monkeypatch.setattr(engine, "simulate", simulate)
    return enter


def typed(value: Any) -> str:
    return value if isinstance(value, str) else toml({"value": value}).strip().partition(" = ")[2]


@pytest.fixture
def study_file(tmp_path: Path) -> Door:
    def enter(name: str, value: Any) -> Attention:
        path = tmp_path / "studies" / "study.toml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(toml(small(start={"n": 2, "d": 3}, model={name: value})), encoding="utf-8")
        study = Study.read(path)
        assert Study.make(json.loads(json.dumps(study.plain()))).plain() == study.plain()
        return head_of(study.point(0).model(study.seed, range(1)))

    return enter


@pytest.fixture
def explorer() -> Door:
    def enter(name: str, value: Any) -> Attention:
        scene = parse_scene(json.loads(json.dumps({"n": 2, "d": 3, name: value})))
        assert parse_scene(json.loads(json.dumps(scene.plain()))) == scene
        return head_of(scene.model)

    return enter


@pytest.fixture
def page() -> Door:
    """As it is typed on the page, which asks the server what it stands for and then runs the scene."""

    def enter(name: str, value: Any) -> Attention:
        question = {"do": "matrix", "name": name, "d": 3, "text": typed(value)}
        request = parse_request(json.dumps(question))
        assert isinstance(request, ReadMatrix)
        scene = parse_scene({"n": 2, "d": 3, name: json.loads(json.dumps(request.choice))})
        assert scene.plain()[name] == request.choice, "the answer is what a scene holds"
        return head_of(scene.model)

    return enter


@pytest.fixture(params=["command_line", "study_file", "explorer", "page"])
def door(request: pytest.FixtureRequest) -> Door:
    enter: Door = request.getfixturevalue(request.param)
    return enter


@pytest.mark.parametrize(("value", "matrix"), NOTATIONS, ids=[str(value) for value, _ in NOTATIONS])
def test_a_notation_stands_for_the_same_matrix_at_every_door(value: Any, matrix: Array, door: Door) -> None:
    for name in "QKV":
        model = door(name, value)
        M = getattr(model, name)
        np.testing.assert_array_equal(I3 if M is None else M, matrix)
        assert (M is None) == np.array_equal(matrix, I3), "identities are left out, for the fastest kernels"
        assert not np.signbit(M[M == 0.0]).any() if M is not None else True, "no minus zeros"
        assert all(getattr(model, other) is None for other in "QKV" if other != name)


@pytest.mark.parametrize("value", REFUSED, ids=lambda value: str(value)[:40])
def test_nonsense_is_refused_in_words_and_at_once_at_every_door(value: Any, door: Door) -> None:
    with within_cpu_seconds(2.0), pytest.raises(InputError) as refused:
        door("V", value)
    assert len(str(refused.value)) < 600
    assert "\n" not in str(refused.value).strip()


def test_a_dimension_in_which_a_name_has_no_meaning_is_refused(tmp_path: Path) -> None:
    words = "row2 needs a dimension of at least 3, but d is 2"
    assert words in nucleate("simulate", "--value", "row2").stderr
    for call in (
        lambda: Study.make(small(model={"V": "row2"})),
        lambda: parse_scene({"V": "row2"}),
    ):
        with pytest.raises(InputError, match=words):
            call()


# Files


def test_a_file_is_read_for_the_command_line_and_for_a_study_beside_it(
    command_line: Door, study_file: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in (tmp_path, tmp_path / "studies"):
        folder.mkdir(exist_ok=True)
        np.save(folder / "M.npy", np.array(ROWS) + len(folder.name))
        np.save(folder / "diagonal.npy", np.arange(1.0, 4.0))
    for enter, folder in ((command_line, tmp_path), (study_file, tmp_path / "studies")):
        np.testing.assert_array_equal(enter("V", "M.npy").V, np.array(ROWS) + len(folder.name))
        np.testing.assert_array_equal(enter("V", "diagonal.npy").V, np.diag([1.0, 2.0, 3.0]))
        with pytest.raises(InputError, match=r"none\.npy cannot be read: No such file"):
            enter("V", "none.npy")


def test_files_in_the_grid_of_a_study_are_beside_it_too(tmp_path: Path) -> None:
    np.save(tmp_path / "M.npy", np.array(ROWS))
    table = small(start={"n": 2, "d": 3}, grid={"beta": [1.0], "V": ["identity", "M.npy"]})
    (tmp_path / "study.toml").write_text(toml(table))
    assert Study.read(tmp_path / "study.toml").plain()["grid"]["V"] == [1.0, ROWS]


@pytest.mark.parametrize("name", ["M.npy", "/M.npy", "M.NPY", " M.npy "])
def test_neither_a_page_nor_a_stored_study_makes_us_open_a_file(
    name: str, explorer: Door, page: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("M.npy", np.array(ROWS))
    monkeypatch.setattr(np.lib.format, "open_memmap", lambda *_, **__: pytest.fail("a file was opened"))
    for call in (
        lambda: explorer("V", name),
        lambda: page("V", name),
        lambda: Study.make(small(model={"V": name})),
    ):
        with pytest.raises(InputError, match="only the command line and study files read files"):
            call()


def test_a_fifo_is_not_waited_for(
    command_line: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    monkeypatch.chdir(tmp_path)
    os.mkfifo("fifo.npy")
    with pytest.raises(InputError, match="it is no file"):
        command_line("V", "fifo.npy")


# Drawn for every run


def test_random_matrices_of_the_command_line_are_those_of_a_study_with_its_seed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = {"random": "gaussian", "scale": 2.0}
    seen: list[Attention] = []

    def simulate(model: Attention, *words: Any, **named: Any) -> Any:
        seen.append(model)
        return one_run()

    monkeypatch.setattr(engine, "simulate", simulate)
    words = [
        "simulate",
        "-n",
        2,
        "-d",
        3,
        "--seed",
        5,
        "--value",
        typed(table),
        "--key",
        "{random='orthogonal'}",
    ]
    assert nucleate(*words, "--runs", 4).exit_code == 0
    assert nucleate(*words).exit_code == 0
    study = Study.make(
        small(seed=5, start={"n": 2, "d": 3}, model={"V": table, "K": {"random": "orthogonal"}})
    )
    model = study.point(0).model(5, range(4))
    several, one = seen
    for name in "KV":
        np.testing.assert_array_equal(getattr(several, name), getattr(model, name))
        np.testing.assert_array_equal(getattr(one, name), getattr(model, name)[0])


def test_a_scene_is_one_run_and_takes_no_matrix_drawn_for_every_run(explorer: Door, page: Door) -> None:
    for enter in (explorer, page):
        with pytest.raises(InputError, match="drawn anew for every run"):
            enter("V", {"random": "gaussian"})


# What is stored


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (2, 2.0),
        ("identity", 1.0),
        ("-identity", -1.0),
        ("0.5*identity", 0.5),
        ([1, 2, 3], [1.0, 2.0, 3.0]),
        (ROWS, ROWS),
        ({"random": "gaussian"}, {"random": "gaussian", "scale": 1.0}),
        ("diag(1,2,3)", [1.0, 2.0, 3.0]),
        ("row3", "row3"),
        ({"preset": "gaussian"}, "gaussian(0)"),
    ],
    ids=str,
)
def test_a_study_keeps_the_plain_form_by_which_it_is_known(value: Any, plain: Any) -> None:
    study = Study.make(small(start={"n": 2, "d": 3}, model={"V": value}))
    assert study.plain()["model"]["V"] == plain


# Masks


@pytest.mark.parametrize(
    ("value", "mask"),
    [("causal", "causal"), ("full", "full"), ("window:7", Window(7)), ({"window": 7}, Window(7))],
    ids=str,
)
def test_a_mask_is_the_same_at_every_door(
    value: Any, mask: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = Study.make(small(model={"mask": value}))
    assert head_of(study.point(0).model(0, range(1))).mask == mask
    assert Study.make(study.plain()).plain() == study.plain()
    scene = parse_scene({"mask": value})
    assert head_of(scene.model).mask == mask
    assert parse_scene(scene.plain()) == scene
    if isinstance(value, str):
        monkeypatch.chdir(tmp_path)
        words = ["-n", 3, "-t", 1, "--save", 2, "--out", "run.npz"]
        assert nucleate("simulate", *words, "--mask", value).exit_code == 0
        assert load("run.npz").model.mask == mask


NO_MASKS: list[Any] = [
    "", "Causal", "none", "window", "window:", "window:0", "window:-1", "window:1.5", "window:٣", "window:7 ",
    "window:" + "9" * 30, "window:" + "9" * 5000, "window(7)", 7, True, None, [], {}, {"window": 0}, {"w": 7},
    {"window": 7, "more": 1}, {"window": "7"}, {"window": None}, {"window": 10**30},
]  # fmt: skip


@pytest.mark.parametrize("value", NO_MASKS, ids=lambda value: str(value)[:30])
def test_what_is_no_mask_is_refused_at_every_door(value: Any) -> None:
    for call in (
        lambda: Study.make(small(model={"mask": value})),
        lambda: parse_scene({"mask": value}),
    ):
        with pytest.raises(InputError, match=r"mask must be|Window w must be"):
            call()
    if isinstance(value, str):
        done = nucleate("simulate", "--mask", value)
        assert done.exit_code == 2
        assert done.stderr.count("\n") == 1


def test_a_grid_may_hold_masks_and_windows_alike() -> None:
    study = Study.make(small(model={"beta": 4.0}, grid={"mask": ["causal", "full", "window:2"]}))
    masks = [head_of(study.point(i).model(0, range(1))).mask for i in range(3)]
    assert masks == ["causal", "full", Window(2)]
    assert study.coordinate("mask")[1] == ["causal", "full", "window:2"]
    with pytest.raises(InputError, match='mask is "window:2" and window is 3'):
        Study.make(small(model={"mask": "window:2", "window": 3}))
