"""Growth of modes: other rates and shuffled modes change the verdicts, planted rates come out."""

import numpy as np
import xarray
from support.small_items import made

from nucleate.papers.clustering_onset.fourier_modes import real_and_imaginary
from nucleate.papers.clustering_onset.mode_growth.measures import growth_rates
from nucleate.theory.onset import mode_growth


def planted(beta: float, rates: np.ndarray, noise: float = 0.01) -> xarray.Dataset:
    """The data of the item with modes that grow at these rates and a little noise."""
    found = made("mode-growth").data[f"beta{beta:g}"]
    rng = np.random.default_rng(1)
    shape = 40, len(found["k"])
    start, other = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape) for _ in range(2))
    times = found["time"].values
    c = start[:, None] * np.exp(rates * times[:, None])  # (run, time, k)
    c[:, -1] += noise * other
    dims = ("run", "time", "k", "part")
    return xarray.Dataset({"modes": (dims, real_and_imaginary(c))}, {"time": times, "k": found["k"].values})


def test_planted_rates_come_out_within_their_errors() -> None:
    k = made("mode-growth").data["beta5"]["k"].values
    rates = np.linspace(0.1, 0.9, len(k))
    rate, error = growth_rates(planted(5.0, rates))
    assert np.abs(rate - rates).max() < 5.0 * error.max()
    assert error.max() < 0.01


def test_the_verdicts_follow_the_rates() -> None:
    found = made("mode-growth")
    betas = found.p["betas"]

    def with_rates(change: object) -> list[str]:
        data = {}
        for beta in betas:
            formula = mode_growth(found.data[f"beta{beta:g}"]["k"].values, beta)
            data[f"beta{beta:g}"] = planted(beta, change(formula))  # type: ignore[operator]  # a function
        return found.words(data)

    assert with_rates(lambda rates: rates) == ["agrees", "agrees"]
    assert with_rates(lambda rates: 1.1 * rates)[0] == "disagrees"
    assert with_rates(lambda rates: np.random.default_rng(3).permutation(rates))[0] == "disagrees"
    assert with_rates(lambda rates: rates[::-1]) == ["disagrees", "disagrees"]


def test_modes_that_are_shuffled_over_k_are_noticed_in_real_data() -> None:
    found = made("mode-growth")
    data = {
        name: one.isel(k=slice(None, None, -1)).assign_coords(k=one["k"]) for name, one in found.data.items()
    }
    assert found.words(data)[0] == "disagrees"
    assert found.words(found.data) == ["agrees", "agrees"]
