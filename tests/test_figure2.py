"""Figure 2: what the picture claims is measured, by the code that draws it and here once more."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.integrate import solve_ivp
from typer.testing import CliRunner

from nucleate.attention import Attention, drift
from nucleate.cli import app
from nucleate.integrate.run import Run
from nucleate.paper import figure2
from nucleate.sphere import retract, uniform


@pytest.fixture(scope="module")
def seed() -> int:
    return figure2.chosen_seed()


@pytest.fixture(scope="module")
def run(seed: int) -> Run:
    return figure2.evolution(seed)


def test_the_run_is_that_of_the_paper(run: Run, seed: int) -> None:
    assert (run.status, float(run.model.beta), run.model.mask, run.x.shape[1:]) == ("done", 64.0, "causal", (200, 2))
    assert figure2.DELTA == 4 * 64**-0.5
    assert {75.0, 150.0} <= set(run.t) & set(figure2.SNAPSHOTS)
    assert set(figure2.SNAPSHOTS) <= set(run.t)
    np.testing.assert_array_equal(run.x[0], uniform(200, 2, seed))


def test_one_center_is_lost_between_the_snapshots_and_no_earlier_seed_does_it(run: Run, seed: int) -> None:
    for earlier in range(seed):
        other = figure2.evolution(earlier)
        late = [loss for loss in figure2.losses(other, figure2.centers(other)[1]) if loss.time > 75]
        assert [loss.shown for loss in late] != [True]
    late = [loss for loss in figure2.losses(run, figure2.centers(run)[1]) if loss.time > 75]
    assert [loss.shown for loss in late] == [True]


def test_losses_equal_those_found_frame_by_frame(run: Run) -> None:
    _, renyi = figure2.centers(run)
    angle = np.arctan2(run.x[..., 1], run.x[..., 0])  # (m, n)
    expected = {}
    for i, token in enumerate(renyi):
        for f in range(len(run.t)):
            gaps = [abs(np.angle(np.exp(1j * (angle[f, token] - angle[f, other])))) for other in renyi[:i]]
            if token not in expected and gaps and min(gaps) <= 0.05:
                expected[token] = (renyi[int(np.argmin(gaps))], run.t[f])
    found = {loss.token: loss for loss in figure2.losses(run, renyi)}
    assert {token: loss.to for token, loss in found.items()} == {token: to for token, (to, _) in expected.items()}
    assert all(t - 0.25 <= found[token].time <= t for token, (_, t) in expected.items())
    assert len(found) >= 1


def test_an_independent_solver_loses_the_same_center(run: Run, seed: int) -> None:
    loss = next(loss for loss in figure2.losses(run, figure2.centers(run)[1]) if loss.shown)
    n = max(loss.token, loss.to) + 1  # the tokens behind do not matter: causal
    x0 = uniform(200, 2, seed)[:n]
    model = Attention(64.0)
    other = solve_ivp(
        lambda t, y: drift(model, retract(y.reshape(n, 2))).ravel(), (0, 150), x0.ravel(), method="DOP853", t_eval=[75, 150], rtol=1e-9, atol=1e-11
    )
    for y, told in zip(other.y.T.reshape(2, n, 2), (loss.distance_before, loss.distance_after), strict=True):
        assert abs(2 * np.arcsin(np.linalg.norm(y[loss.token] - y[loss.to]) / 2) - told) < 1e-5


def test_a_loss_is_shown_only_if_the_two_snapshots_show_it() -> None:
    loss = figure2.Loss(token=9, to=2, time=100.0, distance_before=0.3, distance_after=0.001)
    assert loss.shown
    assert not replace(loss, time=74.0).shown
    assert not replace(loss, distance_before=0.2).shown
    assert not replace(loss, distance_after=0.06).shown


def test_a_center_that_stays_is_not_called_lost(run: Run) -> None:
    _, renyi = figure2.centers(run)
    still = replace(run, x=np.broadcast_to(run.x[0], run.x.shape))
    assert figure2.losses(still, renyi) == []


def test_reproduce_writes_the_figure_and_its_numbers(tmp_path: Path, run: Run, seed: int) -> None:
    done = CliRunner().invoke(app, ["reproduce", "--out", str(tmp_path / "report"), "--only", "figure2"])
    assert done.exit_code == 0, done.output
    folder = tmp_path / "report" / "figure2"
    assert sorted(file.name for file in folder.iterdir()) == ["figure2.pdf", "figure2.png", "results.json"]
    assert all(str(folder / name) in done.stdout for name in ("figure2.png", "figure2.pdf", "results.json"))
    found = json.loads((folder / "results.json").read_text())
    strong, renyi = figure2.centers(run)
    assert found["ours"]["seed"] == seed
    assert (found["strong_centers"]["tokens_from_0"], found["renyi_centers"]["tokens_from_0"]) == (strong.tolist(), renyi.tolist())
    assert len(found["lost_between_75_and_150"]) == 1
    assert found["check"]["digits"] >= 5
    with Image.open(folder / "figure2.png") as picture:
        pixels = np.asarray(picture.convert("RGB")).astype(int)
    assert min(pixels.shape[:2]) > 1000
    red = (pixels[..., 0] > 180) & (pixels[..., 1:] < 80).all(-1)
    assert red.mean() > 1e-3
    assert (pixels < 250).any(-1).mean() > 0.05
    before = (folder / "figure2.pdf").read_bytes()
    assert CliRunner().invoke(app, ["reproduce", "--out", str(tmp_path / "report")]).exit_code == 0
    assert (folder / "figure2.pdf").read_bytes() == before


def test_another_seed_may_show_no_loss_and_says_so(tmp_path: Path) -> None:
    figure2.make(tmp_path, seed=1)
    found = json.loads((tmp_path / "results.json").read_text())
    assert found["ours"]["seed"] == 1
    assert found["lost_between_75_and_150"] == [loss["token"] for loss in found["lost"] if 75 < loss["time"] <= 150]
