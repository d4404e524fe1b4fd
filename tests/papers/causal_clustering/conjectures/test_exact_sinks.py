"""Sinks that can be checked by hand: the rational checks, against floating point and against wrong claims."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from nucleate.attention import Attention, drift
from nucleate.papers.causal_clustering.conjectures.exact_sinks import (
    FAMILIES,
    POINT,
    ExactSink,
    exactly,
    sink_model,
)
from nucleate.papers.causal_clustering.shared.linearisation import causal_eigenvalues, jacobian_by_differences

PLACES = np.array([[1.0, 0.0], [float(POINT[0]), float(POINT[1])]])


@pytest.mark.parametrize("sink", FAMILIES, ids=lambda sink: sink.name)
def test_everything_said_of_the_exact_sinks_is_shown(sink: ExactSink) -> None:
    assert all(exactly(sink).values()), exactly(sink)


@pytest.mark.parametrize(
    ("sink", "beta"),
    [(FAMILIES[0], 0.0), (FAMILIES[0], 1.0), (FAMILIES[0], 2.5), (FAMILIES[1], 0.5), (FAMILIES[1], 2.0)],
)
def test_places_and_rates_are_those_of_the_equation(sink: ExactSink, beta: float) -> None:
    model = sink_model(sink, beta)
    # a few roundings of numbers of the size of V, at most 250 here
    assert np.abs(drift(model, PLACES)).max() < 1e-13
    rates = causal_eigenvalues(jacobian_by_differences(model, PLACES))[:, 0].real
    own = Fraction(float(np.exp(beta * float(sink.exponent))))
    # central differences with steps of 1e-5, of a velocity of the size of V
    assert rates == pytest.approx([-1.0, float(sink.rate(Fraction(beta), own))], abs=1e-7)
    assert rates.max() < 0.0


def test_the_sink_at_beta_zero_has_the_rates_minus_3_and_minus_21_over_50() -> None:
    model = Attention(0.0, V=[[4.0, -4.0], [0.0, 1.0]])
    assert causal_eigenvalues(jacobian_by_differences(model, PLACES))[:, 0].real == pytest.approx(
        [-3.0, -0.42], abs=1e-8
    )
    assert 3 * FAMILIES[0].rate(Fraction(0), Fraction(1)) == Fraction(-21, 50)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"factor": Fraction(5, 4)}, "rests"),
        ({"corner": Fraction(-3, 2)}, "rests"),
        ({"high": Fraction(3)}, "attracts"),
        ({"key_scale": 2}, "rates"),
    ],
)
def test_a_wrong_claim_about_a_sink_is_refused(change: dict[str, Any], what: str) -> None:
    assert not exactly(replace(FAMILIES[0], **change))[what]
    assert not exactly(replace(FAMILIES[1], low=Fraction(0)))["attracts"]
    assert not exactly(replace(FAMILIES[1], low=Fraction(0)))["eigenvalues"]
