"""A study is data: what it may say, what a slip is answered, and where its random numbers come from."""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.hostile_files import huge_file
from support.small_studies import profile, small, spread
from support.time_limits import not_waiting_for_ever

from nucleate.checks import InputError
from nucleate.studies.matrices import drawn, matrix
from nucleate.studies.points import stream
from nucleate.studies.study import Study, differences

ROOT = Path(__file__).resolve().parents[2]
STUDIES = sorted((ROOT / "studies").glob("*.toml"))


def changed(section: str, **keys: Any) -> dict[str, Any]:
    """The small study with other keys in one section."""
    return small(**{section: {**small().get(section, {}), **keys}})


# --- what it says


def test_defaults_are_written_out_and_read_back_to_the_same_study() -> None:
    plain = Study.make(small()).plain()
    assert plain["model"] == {"Q": 1.0, "K": 1.0, "V": 1.0, "mask": "causal"}
    assert plain["times"]["method"] == "auto"
    assert plain["observables"]["renyi"]["delta"] == "4.0/sqrt(beta)"
    assert Study.make(plain).plain() == plain


def test_points_go_through_the_grid_along_the_last_axis_first() -> None:
    study = Study.make(small(start={"d": 2}, grid={"beta": [1.0, 2.0], "n": [3, 4, 5]}))
    assert [(study.point(i).beta, study.point(i).n) for i in range(study.points)] == [
        (1, 3),
        (1, 4),
        (1, 5),
        (2, 3),
        (2, 4),
        (2, 5),
    ]
    assert [point.n for point in study._each_point()] == [3, 4, 5, 3, 4, 5]


def test_a_file_and_a_dict_make_the_same_study(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(
        'title = "small"\nruns = 24\nseed = 3\nstart = {n = 8, d = 2}\ntimes = {t = 3, save = 5, rtol = 1e-6,'
        ' atol = 1e-9}\ngrid.beta = [4, 16]\n[observables]\nrenyi = {kind = "consumed", radius ='
        ' "1/sqrt(beta)"}\ngroups = {kind = "clusters", radius = 0.1}\napart = {kind = "from_first", at ='
        ' "end"}\nends = {kind = "points"}\n'
    )
    assert Study.read(tmp_path / "study.toml").plain() == Study.make(small()).plain()
    assert Study.read(tmp_path / "study.toml", runs=7).runs == 7


def test_there_are_studies_and_each_can_be_read() -> None:
    assert {path.stem for path in STUDIES} >= {"figure3", "theorem41", "table1"}
    for path in STUDIES:
        assert Study.read(path).title


def test_differences_name_the_keys_and_forgive_more_runs() -> None:
    old = Study.make(small()).plain()
    assert differences(old, Study.make(small(runs=99)).plain()) == []
    assert differences(old, Study.make(small(seed=4)).plain()) == ["seed was 3, now 4"]
    assert "observables.groups.radius was 0.1, now 0.2" in differences(
        old, Study.make(changed("observables", groups={"kind": "clusters", "radius": 0.2})).plain()
    )
    two = {"beta": [4.0, 16.0], "rtol": [1e-6, 1e-7]}
    swapped = {name: two[name] for name in ("rtol", "beta")}
    times = {"t": 3.0}
    assert (
        differences(
            Study.make(small(grid=two, times=times)).plain(),
            Study.make(small(grid=swapped, times=times)).plain(),
        )
        != []
    )


# --- slips


@pytest.mark.parametrize(
    ("study", "words"),
    [
        (small(sed=1), "sed is not a key of a study. Did you mean seed?"),
        (changed("model", betta=1), "betta is not a key of [model]. Did you mean beta?"),
        (changed("start", m=1), "m is not a key of [start]. There is kind, n, d."),
        (changed("times", rtoll=1), "rtoll is not a key of [times]. Did you mean rtol?"),
        (changed("grid", bta=[1]), "bta is not a key of [grid]. Did you mean beta?"),
        (changed("grid", t=[1]), "t is not a key of [grid]."),
        (
            changed("observables", a={"kind": "cluster", "radius": 1.0}),
            "observables.a.kind is cluster. Did you mean clusters?",
        ),
        (
            changed("observables", a={"kind": "clusters", "radiu": 1.0}),
            "radiu is not a key of [observables.a]. Did you mean radius?",
        ),
        (changed("observables", a={"kind": "clusters"}), "observables.a.radius is missing"),
        (changed("observables", a={"radius": 1}), "observables.a.kind is missing. There is consumed"),
        (changed("observables", steps={"kind": "points"}), "cannot be named steps"),
        (changed("observables", beta={"kind": "points"}), "cannot be named beta"),
        (changed("observables", **{"a b": {"kind": "points"}}), "letters, digits and underscores"),
        (changed("observables", a={"kind": "clusters", "radius": 4.0}), "up to pi"),
        (changed("observables", a={"kind": "clusters", "radius": "4/beta"}), 'such as "4/sqrt(beta)"'),
        (
            changed("observables", a={"kind": "function", "function": "no_such_module:f"}),
            "cannot be imported: ModuleNotFoundError",
        ),
        (changed("observables", a={"kind": "function", "function": "math:pi"}), "is not a function"),
        (
            changed("observables", a={"kind": "function", "function": lambda t, x: 1 / 0}),
            "failed with ZeroDivisionError",
        ),
        (
            changed("observables", a={"kind": "function", "function": profile}),
            "dims is [], but support.small_studies:profile gives an array of shape (8,)",
        ),
        (
            changed("observables", a={"kind": "function", "function": profile, "each": "run"}),
            "gives an array of shape (5, 8)",
        ),
        (
            changed("observables", a={"kind": "function", "function": profile, "dims": ["time", "token"]}),
            'or say each = "run"',
        ),
        (
            changed("observables", a={"kind": "function", "function": spread, "each": "token"}),
            "each is token. There is frame, run",
        ),
        (
            changed("observables", a={"kind": "function", "function": lambda t, x: sys.exit(0)}),
            "failed with SystemExit",
        ),
        (
            changed("observables", a={"kind": "function", "function": lambda t, x: None}),
            "function must give numbers, but gave NoneType",
        ),
        (
            changed("observables", a={"kind": "function", "function": lambda t, x: "1.5"}),
            "function must give numbers, but gave str",
        ),
        (
            changed("observables", a={"kind": "function", "function": lambda t, x: 1j}),
            "gives complex numbers",
        ),
        (
            changed(
                "observables", a={"kind": "function", "function": lambda t, x: x[:2, 0], "dims": ["quantile"]}
            ),
            "quantile",
        ),
        (
            changed(
                "observables",
                a={"kind": "function", "function": profile, "each": "run", "dims": ["token", "time"]},
            ),
            "only where the length is 5, 8 or 2",
        ),
        ({key: value for key, value in small().items() if key != "runs"}, "runs is missing"),
        (small(observables={}), "at least one observable"),
        (small(grid={}), "model.beta is missing: inverse temperature"),
        (changed("model", beta=3.0), "beta stands in [model] and in [grid]"),
        (small(runs=0), "runs must be"),
        (small(runs="5"), "runs must be"),
        (small(seed=-1), "seed must be"),
        (small(runs=10**12), "at most"),
        (changed("grid", beta=[]), "grid.beta must be a list with at least one value"),
        (changed("grid", beta=[1.0, 1.0]), "grid.beta holds a value twice"),
        (changed("grid", beta=["4"]), "grid.beta[0] must be a number, but is '4'"),
        (changed("grid", beta=[float("nan")]), "grid.beta[0] must be finite"),
        (changed("grid", beta=list(range(101)), n=[1]), "n stands in [start] and in [grid]"),
        (changed("grid", beta=list(range(200)), max_steps=list(range(1, 100))), "The grid has 19800 points"),
        (changed("start", kind="unifrom"), "start.kind is unifrom. Did you mean uniform?"),
        (changed("start", n=10**12), "GiB"),
        (changed("times", t=-1.0), "times.t must be"),
        (changed("times", save="steps"), "a number of frames or a list of times"),
        (changed("times", save=[0.0, 9.0]), "save must lie between 0 and t"),
        (changed("times", rtol=0.0, atol=0.0), "rtol + atol"),
        (changed("times", method="rk4"), "dt is missing"),
        (changed("times", method="rk5"), "times.method is rk5. Did you mean rk4?"),
        (changed("model", V=[1.0, 2.0, 3.0]), "V acts on dimension 3, but d is 2"),
        (changed("model", V={"random": "gausian"}), "model.V.random is gausian. Did you mean gaussian?"),
        (
            changed("model", V={"random": "gaussian", "scal": 1}),
            "scal is not a key of model.V. Did you mean scale?",
        ),
        (changed("model", V="twice identity"), "model.V must be"),
        (changed("model", mask="window"), "model.mask must be causal, full or window:W"),
        (changed("model", mask="full", window=3), 'mask is "full" and window is 3'),
        (small(grid=3), "grid must be a table"),
        (small(title="two\nlines"), "title must be a line of text"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_slip_is_one_sentence_that_names_it(study: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        Study.make(study)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"runs = ", "is not TOML"),
        (b"\xff\xfe", "not a text in UTF-8"),
        (b"runs = 5\n", "model.beta is missing"),
        (b"a = " + b"[" * 5000, "is not TOML"),
    ],
)
def test_a_file_that_is_no_study_is_refused_by_name(data: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(data)
    with pytest.raises(InputError, match=words) as caught:
        Study.read(path)
    assert str(path) in str(caught.value)
    with pytest.raises(InputError, match="cannot be read"):
        Study.read(tmp_path / "none.toml")


def test_own_functions_may_name_axes_of_their_own_but_each_has_one_length() -> None:
    def histogram(t: Any, x: Any) -> Any:
        return np.zeros(7)

    def other(t: Any, x: Any) -> Any:
        return np.zeros(8)

    own = {"kind": "function", "function": histogram, "dims": ["bin"]}
    assert Study.make(changed("observables", a=own)).observables[-1].dims == ("time", "bin")
    with pytest.raises(InputError, match="The axis bin has length 7 for a and 8 for b"):
        Study.make(changed("observables", a=own, b={**own, "function": other}))
    with pytest.raises(InputError, match="none that has another meaning"):
        Study.make(changed("observables", a={**own, "dims": ["run"]}))


# --- randomness


@pytest.mark.parametrize("oblique", [False, True])
@pytest.mark.parametrize("multiplicity", [1, 2, 0])
def test_a_real_random_matrix_has_the_top_it_is_asked_for(oblique: bool, multiplicity: int) -> None:
    spec = matrix("V", {"random": "real", "top": -0.5, "multiplicity": multiplicity, "oblique": oblique})
    for V in drawn(spec, 4, [stream(1, run, 3) for run in range(50)]):  # type: ignore[union-attr]  # random, so drawn
        values = np.sort(np.linalg.eigvals(V).real)[::-1]
        many = multiplicity or 4
        # a multiple eigenvalue is known to half the digits
        np.testing.assert_allclose(values[:many], -0.5, rtol=0, atol=1e-6)
        assert (values[many:] <= -0.7 + 1e-6).all()
        assert (values[many:] >= -1.7 - 1e-6).all()
        assert (np.abs(V - V.T).max() < 1e-12) == (not oblique or many == 4)


def test_random_orthogonal_and_gaussian_matrices_are_what_they_say() -> None:
    streams = [stream(1, run, 1) for run in range(2000)]
    O = drawn(matrix("Q", {"random": "orthogonal", "scale": 2.0}), 3, streams)  # noqa: E741  # the letter for an orthogonal matrix
    assert O is not None
    np.testing.assert_allclose(O @ O.mT, np.broadcast_to(4.0 * np.eye(3), O.shape), rtol=0, atol=1e-13)
    G = drawn(matrix("Q", {"random": "gaussian"}), 3, streams)
    assert G is not None
    # 18,000 entries: the standard error of their variance, 1/3, is 0.0035; of the mean 0.0043.
    assert abs(G.var() - 1 / 3) < 0.015
    assert abs(G.mean()) < 0.02
    assert abs(O.mean()) < 0.03


@pytest.mark.parametrize("what", ["pipe", "folder", "huge", "nested"])
def test_what_is_no_study_file_is_refused_and_not_waited_for(what: str, tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    if what == "pipe":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    elif what == "huge":
        huge_file(path, 2**40)
    else:
        path.write_text("a = " + "[" * 100_000)
    with not_waiting_for_ever(), pytest.raises(InputError, match=r"study\.toml"):
        Study.read(path)
