"""Figure 3: its study, and wrong shares that change its verdicts."""

from pathlib import Path

import numpy as np
import xarray
from support.small_items import changed, made

from nucleate.papers import find
from nucleate.papers.causal_clustering.figure3.data import study
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


def test_figure_3_with_the_centers_exchanged_disagrees() -> None:
    found = made("figure3")
    data = found.data["ensemble"]
    exchanged = changed(data, renyi_1=data["strong_1"].values, strong_1=data["renyi_1"].values)
    assert found.words({"ensemble": exchanged})[0] == "disagrees"
    status = data["status"].values.copy()
    status[3] = 1 + found_done(data)
    assert found.words({"ensemble": changed(data, status=status)})[0] == "disagrees"


def found_done(data: xarray.Dataset) -> int:
    return int(data["status"].values[0])


def test_figure_3_with_few_tokens_consumed_disagrees() -> None:
    found = made("figure3")
    data = found.data["ensemble"]
    assert (
        found.words(
            {
                "ensemble": changed(
                    data, renyi_1=0.4 * data["renyi_1"].values, strong_1=0.3 * data["strong_1"].values
                )
            }
        )[1]
        == "disagrees"
    )
    late = np.broadcast_to(np.linspace(0.4, 1.0, data.sizes["time"]), data["renyi_1"].shape)
    assert found.words({"ensemble": changed(data, renyi_1=late, strong_1=0.5 * late)})[1] == "disagrees"
