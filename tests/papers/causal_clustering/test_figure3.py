"""Figure 3: its study, and wrong shares that change its verdicts."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.small_items import changed, made

from nucleate.attention import Attention
from nucleate.integrate.simulate import simulate
from nucleate.observe.centers import renyi_centers
from nucleate.papers import find
from nucleate.papers.causal_clustering.figure3.data import run, study
from nucleate.papers.causal_clustering.figure3.explained import (
    BETA,
    DELTA,
    clusters_explained,
    tokens_near_random_ones,
)
from nucleate.papers.core.cache import ItemWorkspace
from nucleate.source_hash import modules_used, source_hash
from nucleate.sphere import uniform
from nucleate.studies.study import Study

ROOT = Path(__file__).resolve().parents[3]


def test_figure_3_is_the_study_that_is_kept_beside_it() -> None:
    ours, theirs = (
        Study.make(study(find("figure3").parameters)).plain(),
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


def test_clusters_that_all_have_a_strong_center_disagree_with_figure_3() -> None:
    found = made("figure3")
    data = found.data["ensemble"]
    assert found.words(found.data) == ["agrees", "agrees", "observed"]
    shares = data["clusters_explained"].values.copy()  # (runs, 5)
    shares[:, :2] = 1.0
    assert found.words({"ensemble": changed(data, clusters_explained=shares)})[0] == "disagrees"
    shares[::2, 0] = 0.9  # one run in two leaves a tenth: about as much as the criterion asks for
    assert found.words({"ensemble": changed(data, clusters_explained=shares)})[0] == "not testable here"


def test_renyi_centers_no_better_than_random_tokens_disagree_with_figure_3() -> None:
    found = made("figure3")
    data = found.data["ensemble"]
    shares = data["clusters_explained"].values.copy()
    shares[:, 1] = shares[:, 4] - 0.01
    assert found.words({"ensemble": changed(data, clusters_explained=shares)})[1] == "disagrees"


def test_a_run_that_did_not_finish_leaves_figure_3_undecided() -> None:
    found = made("figure3")
    data = found.data["ensemble"]
    status = data["status"].values.copy()
    status[3] += 1
    assert found.words({"ensemble": changed(data, status=status)}) == [
        "not testable here",
        "not testable here",
        "not observed",
    ]


def test_few_tokens_consumed_or_late_or_no_more_than_by_random_tokens_is_not_observed() -> None:
    found = made("figure3")
    data = found.data["ensemble"]

    def word(**arrays: Any) -> str:
        return found.words({"ensemble": changed(data, **arrays)})[2]

    assert word(renyi_1=0.4 * data["renyi_1"].values, near_random=0.0) == "not observed"
    late = np.broadcast_to(np.linspace(0.4, 1.0, data.sizes["time"]), data["renyi_1"].shape)
    assert word(renyi_1=late) == "not observed"
    assert word(near_random=1.0) == "not observed"


def test_random_tokens_explain_what_drawn_ones_do() -> None:
    x = simulate(Attention(BETA), uniform(60, 2, 5), 20.0, save=[0.0, 5.0, 20.0]).x  # (3, n, 2)
    strong, renyi = (renyi_centers(x[0], DELTA, strong=kind) for kind in (True, False))
    rng, draws, n = np.random.default_rng(0), 4000, len(x[0])
    near = np.arccos(np.clip(x[-1] @ x[-1].T, -1, 1)) <= BETA**-0.5  # (n, n)
    first = [k for k in range(n) if not near[k, :k].any()]  # the leaders of clusters
    member = np.array([np.argmax(x[-1, k] @ x[-1, first].T) for k in range(n)])
    tokens: list[list[float]] = [[], []]
    clusters: list[list[float]] = [[], [], []]
    others = np.setdiff1d(np.arange(n), strong)
    for _ in range(draws):
        for i, centers in enumerate((strong, renyi)):
            some = rng.permutation(n)[: len(centers)]
            tokens[i].append(near[some].any(0).mean())
            clusters[i].append(len(set(member[some])) / len(first))
        some = np.append(strong, rng.permutation(others)[: len(renyi) - len(strong)])
        clusters[2].append(len(set(member[some])) / len(first))
    told = clusters_explained(np.zeros(3), x)
    for kind, centers in ((0, strong), (1, renyi)):
        assert told[kind] == len(set(member[centers])) / len(first)
    random = [*tokens_near_random_ones(np.zeros(3), x)[-1], *told[2:]]
    for expected, drawn in zip(random, [*tokens, *clusters], strict=True):
        assert abs(expected - np.mean(drawn)) < 4.0 * np.std(drawn) / draws**0.5  # standard errors


def test_of_what_lies_beside_the_runs_only_earlier_runs_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "runs-0123456789ab-0123456789ab.zarr",
        "runs-0123456789ab-0123456789ab.zarr.parts",
        "thesis",
    ):
        (tmp_path / name).mkdir()
    monkeypatch.setattr("nucleate.studies.ensemble.ensemble", None)
    with pytest.raises(TypeError, match="not callable"):
        run(ItemWorkspace("figure3", tmp_path, find("figure3").parameters))
    assert [path.name for path in tmp_path.iterdir()] == ["thesis"]


def test_an_edit_of_what_the_study_measures_gives_its_runs_another_name(tmp_path: Path) -> None:
    p = {**find("figure3").parameters, "runs": 2, "frames": 4}
    run(ItemWorkspace("figure3", tmp_path, p))
    module = "nucleate.papers.causal_clustering.figure3"
    assert source_hash(f"{module}.data")[:12] in next(file.name for file in tmp_path.iterdir())
    assert f"{module}.explained" in modules_used(f"{module}.data")
