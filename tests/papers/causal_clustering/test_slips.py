"""The slips: each vanishes where the print is corrected, and other items tell the same."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.small_items import changed, made

from nucleate.papers.causal_clustering.slips.data import count_on_sphere
from nucleate.papers.causal_clustering.slips.item import SLIPS


def corrected(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """What the data would be had the print been right."""

    def planted(data: dict[str, Any]) -> dict[str, Any]:
        if name == "2":  # with the sign, the condition refuses a part; and the made case fails it
            refuses = {"printed_refuses": data["sweep"]["sign_refuses"].values}
            return {
                **data,
                "sweep": changed(data["sweep"], **refuses),
                "constructed": changed(
                    data["constructed"], weak_as_printed=data["constructed"]["weak_slope"].values
                ),
            }
        if name == "3":
            return {
                **data,
                "identity": changed(data["identity"], printed=data["identity"]["gradient"].values),
            }
        if name == "4a":  # x <= pi: nothing beyond is claimed
            return {**data, "grid": changed(data["grid"], beyond=0)}
        # beta large enough: refuted nowhere
        return {**data, "proofs": changed(data["proofs"], far_false=0.0)}

    return planted


@pytest.mark.parametrize(("name", "part"), [("2", 1), ("3", 2), ("4a", 3), ("4b", 4)])
def test_evidence_of_a_slip_vanishes_with_the_corrected_value(name: str, part: int) -> None:
    found = made("slips")
    before = found.item.verdicts(found.numbers, found.p)
    numbers = found.item.measure(corrected(name)(dict(found.data)), found.p)
    assert [verdict.word for verdict in before] == ["disagrees"] * 5
    assert [
        i for i, verdict in enumerate(found.item.verdicts(numbers, found.p)) if verdict.word == "agrees"
    ] == [part]
    assert len(found.item.slips(numbers)) == 4


def test_evidence_of_a_printed_value_vanishes_where_the_right_one_is_printed() -> None:
    found = made("slips")
    right = {"sphere_0.8": 1 / np.sin(0.4) ** 2, "sphere_1.333": 1 / np.sin(2 / 3) ** 2}
    numbers = {
        name: replace(number, expected=right.get(name, number.expected))
        for name, number in found.numbers.items()
    }
    assert [
        i for i, verdict in enumerate(found.item.verdicts(numbers, found.p)) if verdict.word == "agrees"
    ] == [0]


def test_the_text_counts_the_slips() -> None:
    assert made("slips").item.ours.startswith("Five places")
    assert len(SLIPS) == 5


def test_items_and_the_gathering_item_tell_the_same_slips() -> None:
    gathered = {slip.printed for slip in made("slips").item.slips(made("slips").numbers)}
    own = {
        slip.printed
        for key in ("theorem5.2", "lemma5.3", "lemmaA.1", "figure4")
        for slip in made(key).item.slips(made(key).numbers)
    }
    assert own <= gathered
    assert len(gathered) == 5


def test_centers_on_the_sphere_are_counted_until_none_is_missing() -> None:
    counts = count_on_sphere([2.0, 3.0], 50, 1)["count"].values
    assert counts.min() >= 1
    assert abs(counts[0].mean() - 1 / np.sin(1.0) ** 2) < 4 * counts[0].std() / np.sqrt(50)
