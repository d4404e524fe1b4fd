"""Pull where it is known: tokens go to the nearest earlier one, or nobody sees anybody."""

import numpy as np
import pytest
from support.made_traces import vocabulary

from nucleate.checks import Array
from nucleate.observe.capture import design_capture
from nucleate.tracing.pull import choose_replacements, pulls

x0, words = vocabulary()
known = {int(w): x0[t, k] for (t, k), w in np.ndenumerate(words)}


def embedded(ids: Array) -> Array:
    return np.array([known[int(i)] for i in ids])  # (n, d)


def attracted(ids: Array) -> Array:
    """A start, and an end half way to the earlier token that is nearest."""
    x = embedded(ids)
    near = np.where(np.tri(len(x), k=-1, dtype=bool), x @ x.T, -np.inf)
    near[0, 0] = 0.0
    end = x + x[near.argmax(1)]
    return np.stack([x, end / np.linalg.norm(end, axis=1, keepdims=True)])


def alone(ids: Array) -> Array:
    return np.stack([embedded(ids)] * 2)


@pytest.mark.parametrize(("run", "pulled"), [(attracted, True), (alone, False)])
def test_followers_are_pulled_where_tokens_attract_and_only_there(run: object, pulled: bool) -> None:
    x = np.stack([run(row) for row in words])  # type: ignore[operator]  # a stand-in of the model
    design = design_capture(x0, words)
    chosen = choose_replacements(design, words, words, most=3, seed=0)
    assert max(np.bincount([one.text for one in chosen])) <= 3
    follow, rest, by_text = pulls(run, words, x, chosen, np.array([0, 1]))  # type: ignore[arg-type]  # a stand-in of the model
    for one in chosen:
        assert one.by not in words[one.text]
        assert min(one.followers + one.others) > one.center
    # replaced tokens are not measured, and others start alike up to a normalisation
    assert np.abs(by_text[:, 0]).max() < 1e-15
    if pulled:
        assert (by_text[:, 1] > 0.0).mean() > 0.8
        assert np.abs(rest[:, 1]).mean() < follow[:, 1].mean()
    else:
        assert np.abs(by_text).max() < 1e-15
