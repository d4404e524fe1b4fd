"""The reproduction as a whole: registered once, resumed after an interruption, the same twice; and the parts
that items are built from."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from scipy.stats import binom
from support.small_items import made, small
from typer.testing import CliRunner

from nucleate import papers as paper
from nucleate.checks import InputError
from nucleate.cli.main import app
from nucleate.papers import albert, figure3, lives, reproduce, rows
from nucleate.papers.causal_clustering.shared.classify_end import ends_of
from nucleate.papers.core.cache import Desk
from nucleate.papers.core.item import Item
from nucleate.papers.core.numbers import Number, compared, exact, from_plain, mean_of, share_of
from nucleate.studies.study import Study
from nucleate.theory.atlas import atlas

ROOT = Path(__file__).resolve().parents[2]


def command(*words: str) -> Any:
    return CliRunner().invoke(app, ["reproduce", *words])


def little(key: str, monkeypatch: pytest.MonkeyPatch) -> Item:
    """The item with small parameters, in place of the real one."""
    one = replace(paper.find(key), parameters=small(key), quick={})
    monkeypatch.setattr(reproduce, "find", lambda name: one if name == key else paper.find(name))
    return one


# --- items


def test_every_file_of_an_item_is_there_and_its_key_is_its_name() -> None:
    for key, entry in paper.ITEMS.items():
        assert paper.find(key).key == key
        assert all(
            (Path(paper.__file__).parent / f"{name}.py").is_file() for name in (entry.file, *entry.data)
        )


@pytest.mark.parametrize("key", list(paper.ITEMS))
def test_every_item_tells_all_that_the_report_needs(key: str) -> None:
    one = paper.find(key)
    assert all([one.title, one.statement, one.parameters, one.choices, one.criteria, one.captions])
    assert set(one.quick) <= set(one.parameters)
    json.dumps(dict(one.parameters))
    figures = made(key).item.draw(made(key).data, made(key).numbers, made(key).p)
    assert list(figures) == list(one.captions)
    assert len(one.captions[next(iter(figures))]) > 40


def test_items_are_asked_for_by_name_in_the_order_of_the_report() -> None:
    assert paper.chosen() == list(paper.ITEMS)
    assert paper.chosen(["table1,figure2", "figure2"]) == ["figure2", "table1"]
    with pytest.raises(InputError, match='no "fig3" to reproduce'):
        paper.chosen(["figure1", "fig3"])


def test_figure_3_is_the_study_that_is_kept_beside_it() -> None:
    ours, theirs = (
        Study.make(figure3.study(figure3.ITEM.parameters)).plain(),
        Study.read(ROOT / "studies" / "figure3.toml").plain(),
    )
    assert {key: ours[key] for key in ("runs", "seed", "model", "start")} == {
        key: theirs[key] for key in ("runs", "seed", "model", "start")
    }
    assert ours["times"]["t"] == theirs["times"]["t"]
    assert (ours["observables"]["renyi_1"], ours["observables"]["strong_1"]) == (
        theirs["observables"]["renyi"],
        theirs["observables"]["strong"],
    )


# --- numbers


@pytest.mark.parametrize(("hits", "runs"), [(0, 10), (3, 10), (10, 10), (199, 200)])
def test_the_interval_of_a_share_has_tails_of_two_and_a_half_percent(hits: int, runs: int) -> None:
    share = share_of(hits, runs, "")
    assert share.low is not None
    assert share.high is not None
    assert share.value == hits / runs
    if hits > 0:
        assert abs(binom.sf(hits - 1, runs, share.low) - 0.025) < 1e-9  # rounding of the quantile
    else:
        assert share.low == 0.0
    if hits < runs:
        assert abs(binom.cdf(hits, runs, share.high) - 0.025) < 1e-9
    else:
        assert share.high == 1.0


def test_the_interval_of_a_mean_covers_it_95_times_in_100() -> None:
    rng = np.random.default_rng(0)
    means = [mean_of(rng.standard_normal(7), "") for _ in range(2000)]
    covered = np.mean(
        [mean.low <= 0.0 <= mean.high for mean in means if mean.low is not None and mean.high is not None]
    )
    assert abs(covered - 0.95) < 0.02  # four standard errors


def test_numbers_are_written_with_the_digits_that_mean_something() -> None:
    assert str(compared(0.3135350663, 0.3135350643, "", "")) == "0.3135350663 ± 0.0000000020"
    assert str(Number(12.3456, "", 11.2, 13.4912)) == "12.3 ± 1.1"
    assert str(share_of(10, 10, "")) == "10 of 10 = 1 [0.6915, 1]"
    assert str(exact(3.0, "")) == "3"
    assert str(exact(np.inf, "")) == "∞"
    assert str(exact(1.5e-7, "")) == "1.5e−07"


@pytest.mark.parametrize(
    "number",
    [share_of(3, 7, "a", 1.0), mean_of([1.0, 2.0], "b"), exact(np.inf, "c"), exact(np.nan, "d", "how")],
)
def test_numbers_survive_json(number: Number) -> None:
    assert repr(from_plain(json.loads(json.dumps(number.plain(), allow_nan=False)))) == repr(number)


# --- keeping


def _dataset(value: float) -> xarray.Dataset:
    return xarray.Dataset({"x": ("i", np.array([value, np.nan, 2.0]))})


def test_a_piece_is_made_once_and_again_if_parameters_or_bytes_changed(tmp_path: Path) -> None:
    def ask(p: dict[str, Any]) -> tuple[float, list[str]]:
        desk = Desk("figure4", tmp_path, p)
        return float(desk.dataset("piece", lambda: _dataset(p["value"]))["x"][0]), desk.made

    assert ask({"value": 1.0}) == (1.0, ["piece"])
    assert ask({"value": 1.0}) == (1.0, [])
    assert ask({"value": 3.0}) == (3.0, ["piece"])
    chunk = next(
        file
        for file in (tmp_path / "piece.zarr" / "x").rglob("*")
        if file.is_file() and file.name != "zarr.json"
    )
    chunk.write_bytes(chunk.read_bytes()[:-1] + b"?")
    assert ask({"value": 3.0}) == (3.0, ["piece"])
    chunk.unlink()  # Zarr would read fill values
    assert ask({"value": 3.0}) == (3.0, ["piece"])
    assert ask({"value": 3.0}) == (3.0, [])


def test_a_run_is_made_once_and_again_if_it_was_damaged(tmp_path: Path) -> None:
    from nucleate import Attention, simulate, uniform

    def ask(seed: int) -> list[str]:
        desk = Desk("figure4", tmp_path, {"seed": seed})
        run = desk.run("run", lambda: simulate(Attention(1.0), uniform(3, 2, seed), 1.0, save=3))
        np.testing.assert_array_equal(run.x[0], uniform(3, 2, seed))
        return desk.made

    assert [ask(0), ask(0), ask(1)] == [["run"], [], ["run"]]
    (tmp_path / "run.zarr" / "zarr.json").write_text("{}")
    assert [ask(1), ask(1)] == [["run"], []]


def test_what_ctrl_c_cut_short_is_not_kept(tmp_path: Path) -> None:
    from nucleate import Attention, simulate, uniform

    run = simulate(Attention(1.0), uniform(3, 2, 0), 1.0, save=3)
    desk = Desk("figure4", tmp_path, {})
    with pytest.raises(KeyboardInterrupt):
        desk.run("run", lambda: replace(run, status="interrupted"))
    assert not (tmp_path / "run.zarr").exists()


def test_an_interrupted_item_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, p = paper.find("life"), {**small("life"), "starts": 2, "betas": [4.0, 9.0]}
    lived: list[tuple[float, int]] = []
    real = lives.one_life

    def counted(beta: float, n: int, seed: int, stop: Any = None) -> Any:
        if beta == 9.0 and not allowed:
            raise KeyboardInterrupt
        lived.append((beta, seed))
        return real(beta, n, seed, stop)

    allowed: list[bool] = []
    monkeypatch.setattr(lives, "one_life", counted)
    with pytest.raises(KeyboardInterrupt):
        one.run(Desk("life", tmp_path, p))
    assert sorted(set(lived)) == [(4.0, 0), (4.0, 1)]
    lived.clear()
    allowed.append(True)
    one.run(Desk("life", tmp_path, p))
    assert sorted(lived) == [(9.0, 0), (9.0, 1)]


def test_a_reproduction_done_twice_says_the_same_and_draws_the_same(tmp_path: Path) -> None:
    told, drawn = [], []
    for name in ("one", "two"):
        out = tmp_path / name
        for folder in ("figures", "data", "items"):
            (out / folder).mkdir(parents=True)
        told.append([reproduce.perform(out, paper.find(key), small(key)) for key in ("figure3", "figure4")])
        drawn.append({file.name: file.read_bytes() for file in (out / "figures").iterdir()})
    assert told[0] == told[1]
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) == 3 * 2


@pytest.mark.parametrize("key", ["figure2", "figure5", "figure6", "table1", "life"])
def test_an_item_run_again_has_the_same_numbers(key: str, tmp_path: Path) -> None:
    found = made(key)
    assert found.item.measure(found.item.run(Desk(key, tmp_path, found.p)), found.p) == found.numbers


def test_what_is_finished_is_kept_and_an_edit_makes_it_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    little("figure4", monkeypatch)
    first = reproduce.reproduce(tmp_path, ["figure4"])
    before = first.report.read_bytes()

    def never(*_: Any) -> Any:
        raise AssertionError("it was finished")

    with monkeypatch.context() as patch:
        patch.setattr(reproduce, "perform", never)
        assert reproduce.reproduce(tmp_path, ["figure4"]).report.read_bytes() == before
        (tmp_path / "figures" / "figure4.png").unlink()
        with pytest.raises(AssertionError, match="finished"):
            reproduce.reproduce(tmp_path, ["figure4"])
    assert reproduce.reproduce(tmp_path, ["figure4"]).report.read_bytes() == before
    with monkeypatch.context() as patch:
        patch.setattr(reproduce, "sources", lambda key, rooms=(): {"code": "edited"})
        patch.setattr(reproduce, "perform", never)
        with pytest.raises(AssertionError, match="finished"):
            reproduce.reproduce(tmp_path, ["figure4"])


# --- the command


def test_the_command_lists_and_refuses(tmp_path: Path) -> None:
    listed = command("--list")
    assert (listed.exit_code, [line.split()[0] for line in listed.stdout.splitlines()]) == (
        0,
        list(paper.ITEMS),
    )
    unknown = command("--only", "figure33", "--out", str(tmp_path / "out"))
    assert unknown.exit_code == 2
    assert unknown.stderr.startswith(
        'Error: There is no "figure33" to reproduce. Did you mean "figure3"? Choose from: figure1, '
    )
    assert not (tmp_path / "out").exists()
    (tmp_path / "file").write_text("")
    assert command("--out", str(tmp_path / "file"), "--only", "figure4").exit_code == 2


@pytest.mark.parametrize("text", [None, "no marks"])
def test_a_bad_page_is_refused_before_anything_is_computed(tmp_path: Path, text: str | None) -> None:
    page = tmp_path / "README.md"
    if text is not None:
        page.write_text(text)
    refused = command("--only", "figure4", "--out", str(tmp_path / "out"), "--readme", str(page))
    assert refused.exit_code == 2
    assert refused.stderr.startswith(f"Error: --readme {page} ")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("quick", [False, True])
def test_full_and_quick_reproductions_do_not_share_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick: bool
) -> None:
    little("figure4", monkeypatch)
    reproduce.reproduce(tmp_path, ["figure4"], quick)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    refused = command("--only", "figure2", "--out", str(tmp_path), *["--quick"] * (not quick))
    assert refused.exit_code == 2
    other, this = ("quick", "full") if quick else ("full", "quick")
    assert (
        refused.stderr
        == f"Error: {tmp_path} holds a {other} reproduction, which a {this} one would replace. Choose another"
        " place with --out.\n"
    )
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_the_command_ends_with_the_verdicts_and_where_the_report_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    little("figure4", monkeypatch)
    done = command("--only", "figure4", "--out", str(tmp_path / "out"))
    assert done.exit_code == 0, done.output
    assert "figure4   agrees  Lemma A.1's bounds" in done.stdout
    assert done.stdout.splitlines()[-2:] == [
        f"report: {tmp_path / 'out' / 'report.html'}",
        f"numbers: {tmp_path / 'out' / 'results.json'}",
    ]
    assert "[1/1] Figure 4" in done.stderr
    again = command("--only", "figure4", "--out", str(tmp_path / "out"))
    assert "kept from before" in again.stderr
    assert again.stdout == done.stdout


def test_ctrl_c_ends_the_command_with_130_and_the_same_command_goes_on(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "nucleate", "reproduce", "--only", "life", "--out", "out"]
    process = subprocess.Popen(
        words, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    pieces, deadline = tmp_path / "out" / "data" / "life", time.monotonic() + 60.0
    while not (pieces / "beta16-000.zarr").is_dir() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130, said
    assert said.endswith(
        "Interrupted. What is finished is kept in out; the same command goes on from there.\n"
    )
    desk = Desk("life", pieces, paper.find("life").parameters)
    desk.dataset("beta16-000", lambda: pytest.fail("it was finished"))
    assert [name.name for name in pieces.iterdir() if name.name.startswith(".")] == [], (
        "nothing half written is left"
    )


# --- value matrices


def test_a_head_has_the_eigenvalues_of_its_large_matrix() -> None:
    d, heads, d_head = 24, 4, 6
    rng = np.random.default_rng(np.random.SeedSequence(3, spawn_key=(2,)))
    W_V, W_O = rng.standard_normal((d_head, d)), rng.standard_normal((d, d_head))
    large = np.linalg.eigvals(0.01 * W_O @ W_V)
    large = large[np.argsort(-np.abs(large))][:d_head]  # the others are 0
    small_ones = albert.eigenvalues(albert.drawn_heads(d, heads, 0.1, 3))[2]
    for value in small_ones:
        assert np.abs(large - value).min() < 1e-12  # rounding at eigenvalues of size 0.1


def write_albert(file: Path, tensors: dict[str, Any], heads: int) -> None:
    """A checkpoint in the safetensors format: the length of a JSON head, the head, the numbers."""
    place, head = 0, {}
    for name, tensor in tensors.items():
        head[name] = {
            "dtype": "F64",
            "shape": list(tensor.shape),
            "data_offsets": [place, place + tensor.nbytes],
        }
        place += tensor.nbytes
    text = json.dumps(head).encode()
    file.write_bytes(
        len(text).to_bytes(8, "little")
        + text
        + b"".join(np.ascontiguousarray(tensor).tobytes() for tensor in tensors.values())
    )
    d = next(iter(tensors.values())).shape[-1]
    sizes = {
        "hidden_size": d,
        "embedding_size": 6,
        "num_attention_heads": heads,
        "num_hidden_layers": 2,
        "num_hidden_groups": 1,
        "inner_group_num": 1,
    }
    (file.parent / "config.json").write_text(
        json.dumps({"model_type": "albert", "initializer_range": 0.02, **sizes})
    )


def test_a_trained_layer_is_cut_into_heads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, d, heads = np.random.default_rng(0), 12, 3
    start = "albert.encoder.albert_layer_groups.0.albert_layers.0."
    tensors = {
        f"{start}attention.{name}.weight": rng.standard_normal((d, d))
        for name in ("query", "key", "value", "dense")
    }
    tensors[f"{start}full_layer_layer_norm.weight"] = 1.0 + 0.3 * rng.standard_normal(d)
    write_albert(tmp_path / "model.safetensors", tensors, heads)
    monkeypatch.setenv(albert.VARIABLE, str(tmp_path))
    path = albert.given_path()
    assert path is not None
    assert "model.safetensors" in albert.given()
    found = albert.trained_eigenvalues(path, heads)
    value, dense, gain = (
        tensors[f"{start}{name}.weight"]
        for name in ("attention.value", "attention.dense", "full_layer_layer_norm")
    )
    for h in range(heads):
        rows_of_head = slice(4 * h, 4 * h + 4)
        # (d, d) W_O W_V diag(g) C
        whole = dense[:, rows_of_head] @ value[rows_of_head] @ np.diag(gain) @ (np.eye(d) - 1.0 / d)
        large = np.linalg.eigvals(whole)
        # rounding at eigenvalues of size 10
        assert all(np.abs(large - one).min() < 1e-10 for one in found[h])
    with pytest.raises(InputError, match="3 heads in a layer, but Figure 5 is about 16"):
        albert.trained_eigenvalues(path, 16)
    monkeypatch.setenv(albert.VARIABLE, str(tmp_path / "nowhere"))
    assert albert.given() == str(tmp_path / "nowhere")
    with pytest.raises(InputError):
        albert.trained_eigenvalues(tmp_path / "nowhere", heads)


@pytest.mark.parametrize("family", rows.FAMILIES, ids=lambda family: family.name)
def test_random_matrices_have_the_top_they_are_meant_to_have(family: rows.Family) -> None:
    for run in range(4):
        known = atlas(rows.value_matrix(family, 1, run))
        assert known.row == family.row
        # a defective eigenvalue is known to the root of rounding
        assert abs(known.lambda_max - family.value) < 1e-6
        assert known.algebraic == family.multiplicity
        assert known.kind == family.top


def test_ends_are_those_found_token_by_token() -> None:
    found = made("table1")
    for name in ("row2", "row3", "row5-oblique"):
        data = found.data[name]
        ends = ends_of(data)
        for i, (V, x) in enumerate(zip(data["V"].values, data["x"].values, strict=True)):
            known = atlas(V)
            angles = [np.arccos(min(float(np.linalg.norm(known.basis.T @ token)), 1.0)) for token in x[-1]]
            # arccos near 1 is good to the root of a few roundings
            np.testing.assert_allclose(ends.angles[i], angles, atol=1e-7)
            moved = max(
                np.arccos(np.clip(frame[k] @ x[-1, k], -1, 1)) for frame in x for k in range(len(frame))
            )
            assert abs(ends.moved[i] - moved) < 1e-7
            if name == "row3":
                off = max(
                    min(np.linalg.norm(token - sign * known.basis[:, 0]) for sign in (1, -1))
                    for token in x[-1]
                )
                assert abs(ends.off[i] - off) < 1e-9
            if name == "row2":
                start = data["start"].values[i, 0]
                values, vectors = np.linalg.eig(V)
                part = (vectors * (np.abs(values - 1) < 1e-6)) @ np.linalg.solve(vectors, start)
                point = part.real / np.linalg.norm(part.real)
                assert abs(ends.off[i] - np.linalg.norm(x[-1] - point, axis=-1).max()) < 1e-9


def test_the_clusters_of_a_life_are_those_counted_frame_by_frame() -> None:
    from nucleate import clusters
    from nucleate.observe.life import life

    found, whole = lives.one_life(16.0, 30, 5), life(16.0, 30, seed=5)
    for time_, count in list(zip(lives.grid(16.0, 30), found["count"], strict=True))[::10]:
        frame = next((i for i, t in enumerate(whole.run.t) if t >= time_), len(whole.run.t) - 1)
        assert count == len(set(clusters(whole.run.x[frame], whole.radius).tolist()))
    assert found["last_time"] == whole.merges.events[-1].time
