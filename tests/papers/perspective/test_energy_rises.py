"""The energy of full attention: one fall changes the verdict, and so does an instrument that sees none."""

from support.small_items import made


def test_one_fall_in_one_run_changes_the_verdict() -> None:
    found = made("energy-rises")
    for case in ("full", "USA"):
        name = f"{case}-d{found.p['d'][0]}"
        one = found.data[name].copy(deep=True)
        one["energy"].values[0, 0, 5:] *= 1.0 - 1e-3
        assert one["energy"].values[0, 0, 5] < one["energy"].values[0, 0, 4]
        assert found.words({**found.data, name: one})[0] == "disagrees"


def test_causal_runs_in_the_place_of_full_ones_change_both_verdicts() -> None:
    found = made("energy-rises")
    swapped = {
        f"{mask}-d{d}": found.data[f"{other}-d{d}"]
        for mask, other in (("full", "causal"), ("causal", "full"))
        for d in found.p["d"]
    }
    assert found.words({**found.data, **swapped}) == ["disagrees", "not observed"]
    assert found.words(found.data) == ["agrees", "observed"]
