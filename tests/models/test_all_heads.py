"""Heads as systems of tokens: one at a time, all of a model, from Python and from the command line."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_rgb
from support.made_checkpoints import make, one_head, slow_heads

from nucleate.attention import Window
from nucleate.checks import InputError
from nucleate.integrate.simulate import simulate
from nucleate.models.all_heads import HeadLives, lives
from nucleate.models.head_simulation import (
    Lived,
    _top_vectors,
    head_attention,
    head_system,
    live_head,
    live_heads,
    watch,
)
from nucleate.models.heads import read_spectrum
from nucleate.models.spectra import spectra
from nucleate.models.table import COLUMNS, LIVED, head_table
from nucleate.plot.head_outcomes import OUTCOMES, lives_figure, lives_map
from nucleate.plot.style import contrast
from nucleate.sphere import uniform


def sloped(values: list[float]) -> Any:
    return np.diag(values)


UP, DOWN, TURNING = (
    sloped([3.0, 2.0, 1.0]),
    sloped([-1.0, -2.0, -3.0]),
    np.array([[1.0, -2.0, 0], [2.0, 1.0, 0], [0, 0, -1.0]]),
)


# --- one head


@pytest.mark.parametrize("kind", ["gpt2 by layer", "qwen2", "gemma2", "albert"])
def test_a_head_scores_and_moves_tokens_as_its_explicit_matrices_do(kind: str, tmp_path: Path) -> None:
    made = make(kind)
    path = made.write(tmp_path)
    for layer, head, A, V in slow_heads(made):
        model = head_attention(path, layer, head)
        beta, Q, K, ours = model.parameters(len(A))
        np.testing.assert_allclose(float(beta.squeeze()) * Q.T @ K, A, atol=1e-12 * np.abs(A).max())
        np.testing.assert_allclose(ours, V, atol=1e-12 * np.abs(V).max())
        assert np.linalg.norm(Q.T @ K, 2) == pytest.approx(1.0)


@pytest.mark.parametrize("mask", ["causal", "full", Window(2)])
def test_the_few_dimensions_that_tokens_reach_give_the_run_in_all_of_them(mask: Any, tmp_path: Path) -> None:
    system = head_system(make("qwen2").write(tmp_path), 1, 3)
    x0 = uniform(5, system.d, seed=1)
    stage = system.stage(x0, mask)
    assert stage.x0.shape == (5, 3 + 5)  # d_head + n, of 12
    few = simulate(stage.model, stage.x0, 2.0, save=9, rtol=1e-10, atol=1e-12)
    whole = simulate(system.attention(mask), x0, 2.0, save=9, rtol=1e-10, atol=1e-12)
    lifted = stage.lift(few, system.attention(mask))
    # both are 1e-10 from the truth, per step and grown by e^2
    np.testing.assert_allclose(lifted.x, whole.x, atol=1e-8)
    assert np.abs(np.linalg.norm(lifted.x, axis=-1) - 1.0).max() <= 1e-15
    one, two = watch(system, stage, few), watch(system, replace(stage, basis=None), whole)
    assert (one.clusters, one.near, one.ended) == (two.clusters, two.near, two.ended)
    assert one.speed == pytest.approx(two.speed, rel=1e-6)


def test_where_tokens_reach_every_dimension_nothing_is_changed(tmp_path: Path) -> None:
    system = head_system(make("llama").write(tmp_path), 0, 0)
    x0 = uniform(9, system.d, seed=1)
    stage = system.stage(x0)
    assert stage.basis is None
    np.testing.assert_array_equal(stage.x0, x0)
    with pytest.raises(InputError, match=r"must have shape \(n, 12\)"):
        system.stage(uniform(9, 5, seed=1))


def test_a_head_of_row_3_takes_its_tokens_to_two_points_and_one_of_row_5_does_not(tmp_path: Path) -> None:
    two, clouds = (
        live_head(one_head(S).write(tmp_path / name), 0, 0, tokens=24).lived
        for name, S in (("up", UP), ("down", DOWN))
    )
    assert (two.region, clouds.region) == ("3", "5")
    assert (two.near, two.resting, two.as_said) == (1.0, True, True)
    assert two.ended in ("one point in L", "two opposite points in L")
    assert (clouds.ended, clouds.as_said) == ("spread out", None)
    assert clouds.near < 0.5
    assert "as the table says" in str(two)
    assert "row 3" in str(two)
    assert "as it has λ_max = 0" in str(clouds)


def test_tokens_under_a_complex_top_keep_turning_in_its_plane(tmp_path: Path) -> None:
    lived = live_head(one_head(TURNING).write(tmp_path), 0, 0, tokens=8).lived
    assert (lived.region, lived.near, lived.resting, lived.as_said) == ("complex +", 1.0, False, None)
    assert lived.speed == pytest.approx(2.0, rel=1e-3)  # the imaginary part


def test_a_head_that_ends_elsewhere_is_told_so(tmp_path: Path) -> None:
    """V = diag(1, .1), Q^T K = diag(-1, 1), beta = 10: a second token may rest at an angle, so Conjecture 1
    is false for general Q, K."""
    made = one_head(sloped([1.0, 0.1]), 10.0 * 2**0.5 / 12 * np.diag([-1.0, 1.0]))
    system = head_system(made.write(tmp_path), 0, 0)
    assert system.beta == pytest.approx(10.0)
    x0 = np.eye(2, 12)  # (2, d): the second token starts on the other side of the top eigenvector
    x0[1, :2] = np.cos(2.0), np.sin(2.0)
    stage = system.stage(x0)
    run = simulate(stage.model, stage.x0, 60.0, save=2)
    off = watch(system, stage, run)
    assert abs(float(stage.lift(run, system.attention()).x[-1, 1, 0])) == pytest.approx(0.47081, abs=1e-5)
    assert (off.region, off.resting, off.near, off.ended, off.as_said) == (
        "3",
        True,
        0.5,
        "spread out",
        False,
    )
    assert "not what the table says" in str(off)


def test_a_run_that_is_cut_short_says_nothing_against_the_table(tmp_path: Path) -> None:
    lived = live_head(one_head(UP).write(tmp_path), 0, 0, tokens=24, t=0.1).lived
    assert (lived.ended, lived.resting, lived.as_said) == ("spread out", False, None)


@pytest.mark.parametrize(
    ("mask", "spoken"),
    [("causal", True), (Window(9), True), ("full", False), (Window(1), False), (Window(2), False)],
    ids=str,
)
def test_the_table_is_held_against_causal_runs_only(mask: Any, spoken: bool, tmp_path: Path) -> None:
    system = head_system(one_head(UP).write(tmp_path), 0, 0)
    # all at one place: they end at one point of L under any mask
    stage = system.stage(np.tile(uniform(1, system.d, 0), (9, 1)), mask)
    lived = watch(system, stage, simulate(stage.model, stage.x0, system.span, save=2, method="explicit"))
    assert lived.ended == "one point in L"
    assert lived.as_said is (True if spoken else None)
    assert ("as the table says" in str(lived)) == spoken
    assert ("outside the table, which is about causal attention" in str(lived)) == (not spoken)


def test_what_happened_is_named_by_clusters_and_place() -> None:
    lived = Lived(0, 0, 1.0, 1.0, "3", 1.0, 3, 8, 1.0, 1.0, 1, False, 0.0, True, "done")
    cases = [
        (1, False, 1.0, "one point in L", True),
        (2, True, 1.0, "two opposite points in L", True),
        (2, False, 1.0, "clusters in L", False),
    ]
    cases += [
        (4, False, 0.5, "clusters", False),
        (5, False, 0.0, "spread out", False),
        (1, False, 0.9, "one point", False),
    ]
    for count, opposite, near, ended, said in cases:
        one = replace(lived, clusters=count, opposite=opposite, near=near)
        assert (one.ended, one.as_said) == (ended, said)
    assert replace(lived, region="2", clusters=2, opposite=True).as_said is False
    assert replace(lived, region="complex +").as_said is None
    assert replace(lived, near=0.5, status="max steps").as_said is None


def test_where_the_atlas_cannot_tell_blocks_l_is_the_span_of_the_top_eigenvectors() -> None:
    found = read_spectrum(TURNING)
    for kind in ("complex", "unclear"):
        L = _top_vectors(TURNING, replace(found, kind=kind))
        assert L.shape == (3, 2)
        np.testing.assert_allclose(L[2], 0.0, atol=1e-12)  # the plane of the first two coordinates
        np.testing.assert_allclose(L.T @ L, np.eye(2), atol=1e-12)


def test_a_head_of_zeros_rests_and_one_that_overflows_is_refused(tmp_path: Path) -> None:
    lived = live_head(
        one_head(np.zeros((3, 3)), np.zeros((3, 3))).write(tmp_path / "zero"), 0, 0, tokens=4
    ).lived
    assert (lived.region, lived.beta, lived.ended, lived.resting, lived.speed) == (
        "zero",
        0.0,
        "spread out",
        True,
        0.0,
    )
    with pytest.raises(InputError, match="Head 0 of layer 0 must have finite products"):
        head_system(one_head(UP, 1e308 * np.eye(3)).write(tmp_path / "huge"), 0, 0)


# --- all heads


def test_all_heads_of_a_model_are_lived_through_as_each_alone(tmp_path: Path) -> None:
    path, seen = make("llama").write(tmp_path), []
    found = lives(path, tokens=3, t=0.01, seed=5, progress=lambda done, total: seen.append((done, total)))
    assert [(one.layer, one.head) for one in found.heads] == [(i, h) for i in range(2) for h in range(4)]
    assert [one.region for one in found.heads] == [head.region for head in spectra(path, draws=1).heads]
    assert seen == [(i + 1, 8) for i in range(8)]
    assert found.heads[6] == live_head(path, 1, 2, tokens=3, t=0.01, seed=5, save=2).lived
    assert found.heads == tuple(live_heads(path, tokens=3, t=0.01, seed=5))
    for layer, head in ((2, 0), (0, 4), (-1, 0), (0, 1.5)):
        with pytest.raises(InputError, match=r"layer|head"):
            live_head(path, layer, head, tokens=3)  # type: ignore[arg-type]  # 1.5 is no head


def test_the_table_counts_every_head_once() -> None:
    one = Lived(0, 0, 1.0, 1.0, "3", 1.0, 3, 8, 1.0, 1.0, 1, False, 0.0, True, "done")
    off, way, other = (
        replace(one, near=0.0),
        replace(one, near=0.0, resting=False),
        replace(one, region="complex +"),
    )
    found = HeadLives(8, 0, (one, one, off, way, other))
    assert found.counts == {
        ("3", "one point"): 2,
        ("3", "one point in L"): 2,
        ("complex +", "one point in L"): 1,
    }
    assert found.as_said == {True: 2, False: 1, None: 1}
    assert (
        "of 4 heads in rows 1 to 3, which say where tokens gather: 2 did as the table says, 1 did not, 1 are"
        " still on their way" in str(found)
    )
    assert "no head is in rows 1 to 3" in str(HeadLives(8, 0, (other,)))


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A small model, read and simulated for a moment."""
    path = make("llama").write(tmp_path_factory.mktemp("model"))
    return path, replace(spectra(path, draws=2), live=lives(path, tokens=4))


def test_json_and_csv_hold_what_happened(lived: tuple[Path, Any], tmp_path: Path) -> None:
    found = lived[1]
    found.save(tmp_path / "a.json")
    found.save(tmp_path / "a.csv")
    plain = json.loads((tmp_path / "a.json").read_text())["live"]
    rows = list(csv.DictReader((tmp_path / "a.csv").read_text().splitlines()))
    assert (plain["tokens"], plain["seed"], len(plain["heads"]), len(rows)) == (4, 0, 8, 8)
    for head, one, row in zip(found.live.heads, plain["heads"], rows, strict=True):
        assert tuple(row) == (*COLUMNS, *LIVED)
        for name in LIVED:
            value = getattr(head, name)
            assert one[name] == value
            assert row[name] == ("" if value is None else str(value))
        assert (one["layer"], one["head"]) == (int(row["layer"]), int(row["head"])) == (head.layer, head.head)
    assert all(
        one.ended in line
        for one, line in zip(
            found.live.heads, head_table(found.heads, found.live).splitlines()[1:], strict=True
        )
    )


def test_the_two_maps_have_colour_and_sign_of_every_head_and_frame_what_the_table_did_not_say(
    lived: tuple[Path, Any],
) -> None:
    found = lived[1]
    odd = replace(found.live.heads[3], region="3", near=0.0, clusters=1, resting=True)
    found = replace(
        found, live=replace(found.live, heads=(*found.live.heads[:3], odd, *found.live.heads[4:]))
    )
    ax = lives_map(found)
    cells = ax.images[0].get_array()
    assert cells is not None
    signs = {(int(text.get_position()[1]), int(text.get_position()[0])): text.get_text() for text in ax.texts}
    for head in found.live.heads:
        sign, colour = OUTCOMES[head.ended]
        np.testing.assert_allclose(cells[head.layer, head.head], to_rgb(colour))
        assert signs[head.layer, head.head] == sign
    framed = {(patch.get_x() + 0.45, patch.get_y() + 0.45) for patch in ax.patches}  # type: ignore[attr-defined]  # they are rectangles
    assert framed == {(head.head, head.layer) for head in found.live.heads if head.as_said is False}
    assert (3, 0) in framed
    said, happened = lives_figure(found).axes
    assert (said.get_title(loc="left"), happened.get_title(loc="left")) == (
        "what Table 1 says",
        "what happened",
    )
    assert (
        len({sign for sign, _ in OUTCOMES.values()})
        == len({colour for _, colour in OUTCOMES.values()})
        == len(OUTCOMES)
    )
    # WCAG AA
    assert all(
        max(contrast(to_rgb(colour), (0, 0, 0)), contrast(to_rgb(colour), (1, 1, 1))) >= 4.5
        for _, colour in OUTCOMES.values()
    )
    with pytest.raises(InputError, match="--live"):
        lives_map(replace(found, live=None))
    pyplot.close("all")
