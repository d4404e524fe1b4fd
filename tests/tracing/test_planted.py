"""A capture that is planted is answered so, from a strength on; none planted changes nothing."""

import numpy as np
import pytest
from support.made_traces import remembered, vocabulary

from nucleate.observe.capture import design_capture
from nucleate.tracing import planted
from nucleate.tracing.planted import measure_planted, plant
from nucleate.tracing.pull import choose_replacements, pulls
from nucleate.tracing.report import capture_answer

x0, words = vocabulary()
end = remembered(x0)  # nobody sees anybody: a replaced center changes no other token


def test_followers_are_moved_to_their_center_and_without_it_to_the_next() -> None:
    design = design_capture(x0, words)
    of_text = design.text == 2
    token, near = design.token[of_text], design.candidates[of_text]
    whole = plant(design, end[2], 2, 1.0)
    np.testing.assert_allclose(whole[token], end[2][near[:, 0]], rtol=0.0, atol=1e-15)
    gone = int(near[0, 0])
    without = plant(design, end[2], 2, 1.0, without=gone)
    moved = near[:, 0] == gone
    np.testing.assert_allclose(without[token[moved]], end[2][near[moved, 1]], rtol=0.0, atol=1e-15)
    np.testing.assert_array_equal(without[token[~moved]], whole[token[~moved]])
    still = np.setdiff1d(np.arange(words.shape[1]), token)
    np.testing.assert_allclose(whole[still], end[2][still], rtol=0.0, atol=1e-15)


def test_the_answer_flips_to_capture_with_the_strength_and_not_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(planted, "STRENGTHS", strengths := (0.0, 0.2, 0.4))
    design = design_capture(x0, words)
    chosen = choose_replacements(design, words, words, most=3, seed=0)
    changed = [end[one.text] for one in chosen]
    found = measure_planted(design, end, changed, chosen, words, 0)
    answers = [
        capture_answer({name: found[f"planted_{name}"][:, i] for name in ("rank", "cover", "sight", "pull")})
        for i in range(len(strengths))
    ]
    assert answers[0].word == "nearness without capture"  # they only remember
    assert answers[-1].word == "capture"
    assert (np.diff(found["planted_pull"].mean(0)) > 0.0).all()
    again = iter(changed)
    real = pulls(lambda _: next(again)[None], words, end[:, None], chosen, np.array([0]))[2]
    np.testing.assert_allclose(found["planted_pull"][:, :1], real, rtol=0.0, atol=1e-15)
