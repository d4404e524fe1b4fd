"""The design of capture and its scores, against loops; tests/tracing/test_criteria.py has verdicts."""

from typing import Any

import numpy as np
import pytest
from support.made_traces import one_topic, remembered, vocabulary

from nucleate.checks import Array, InputError
from nucleate.observe.capture import (
    FEWEST_CANDIDATES,
    capture_scores,
    cover,
    design_capture,
    nearest_earlier,
    word_numbers,
)
from nucleate.observe.centers import center_mask
from nucleate.sphere import uniform


@pytest.fixture(scope="module")
def small() -> tuple[Array, Any, Array]:
    x0, words = vocabulary()
    return x0[:3, :40], words[:3, :40], one_topic(x0)[:3, :40]


def test_candidates_are_earlier_centers_of_other_words_and_the_nearest_comes_first(
    small: tuple[Array, Any, Array],
) -> None:
    x0, words, _ = small
    found = design_capture(x0, words)
    np.testing.assert_array_equal(found.center, center_mask(x0, found.delta))
    followers = set(zip(found.text.tolist(), found.token.tolist(), strict=True))
    for t in range(3):
        for k in range(40):
            may = [j for j in range(1, k) if found.center[t, j] and words[t, j] != words[t, k]]
            assert ((t, k) in followers) == (not found.center[t, k] and len(may) >= FEWEST_CANDIDATES)
            if (t, k) in followers:
                row = found.candidates[(found.text == t) & (found.token == k)][0]
                assert set(row[row >= 0].tolist()) == set(may)
                assert row[0] == max(may, key=lambda j: x0[t, k] @ x0[t, j])


def test_twins_are_unseen_equally_near_and_at_about_the_same_place(small: tuple[Array, Any, Array]) -> None:
    x0, words, _ = small
    found = design_capture(x0, words, caliper=0.03, places=8)
    f, c = np.nonzero(found.twin_token >= 0)
    t, k, j = found.text[f], found.token[f], found.candidates[f, c]
    s, i = found.twin_text[f, c], found.twin_token[f, c]
    assert len(f) > 50
    assert (s != t).all()
    assert (i < k).all()
    assert (i > 0).all()
    assert found.center[s, i].all()
    assert (words[s, i] != words[t, k]).all()
    assert (np.abs(i - j) <= 8).all()
    assert (np.abs((x0[t, k] * x0[t, j]).sum(-1) - (x0[t, k] * x0[s, i]).sum(-1)) <= 0.03).all()


def test_scores_are_those_of_loops_over_followers(small: tuple[Array, Any, Array]) -> None:
    x0, words, x = small
    design = design_capture(x0, words, caliper=0.2, places=40)
    found = capture_scores(design, x)
    mean = x[:, 1:].mean(1)  # (texts, d)
    rank: list[list[Any]] = [[] for _ in range(3)]
    sight: list[list[Any]] = [[] for _ in range(3)]
    for f, (t, k) in enumerate(zip(design.text, design.token, strict=True)):
        row = [j for j in design.candidates[f] if j >= 0]
        own = [x[t, k] @ x[t, j] for j in row]
        rank[t].append(np.mean([own[0] > other for other in own[1:]]))
        pairs = []
        for j, s, i in zip(row, design.twin_text[f], design.twin_token[f], strict=False):
            if i >= 0:
                basis = np.linalg.qr(np.stack([mean[t], mean[s]], 1))[0]
                u, v, w = (y - basis @ (basis.T @ y) for y in (x[t, k], x[t, j], x[s, i]))
                size = [np.linalg.norm(y) for y in (u, v, w)]
                pairs.append((j == row[0], u @ v / (size[0] * size[1]) - u @ w / (size[0] * size[2])))
        if pairs and pairs[0][0] and len(pairs) >= FEWEST_CANDIDATES:
            sight[t].append(pairs[0][1] - np.mean([one for _, one in pairs[1:]]))
    assert found.rank == pytest.approx([np.mean(one) for one in rank])
    assert found.sight == pytest.approx([np.mean(one) for one in sight])
    assert found.matched.tolist() == [len(one) for one in sight]


def test_at_the_early_layer_the_own_center_is_the_nearest_and_twins_are_as_near() -> None:
    x0, words = vocabulary()
    found = capture_scores(design_capture(x0, words), x0)
    assert (found.rank == 1.0).all()
    assert np.abs(found.sight).max() < 0.1  # calipers of .02, and another projection


def test_centers_cover_no_better_than_others_once_nothing_is_left_of_the_start() -> None:
    x0, words = vocabulary()
    design = design_capture(x0, words)
    real, null = cover(design, uniform(x0.shape[1], x0.shape[2], seed=1, runs=len(x0)))
    assert abs((real - null.mean(0)).mean()) < 0.02  # a standard error is about .006
    there, other = cover(design, remembered(x0))
    assert (there - other.mean(0)).mean() > 0.0
    assert null.shape == (20, len(x0))


def test_the_nearest_earlier_token_is_earlier_and_nearest() -> None:
    x = uniform(30, 4, seed=0, runs=2)
    index, cosine = nearest_earlier(x, first=False)
    assert index[:, :2].tolist() == [[-1, -1]] * 2
    assert np.isnan(cosine[:, :2]).all()
    for t in range(2):
        for k in range(2, 30):
            best = max(range(1, k), key=lambda j: x[t, k] @ x[t, j])
            assert (index[t, k], cosine[t, k]) == (best, pytest.approx(x[t, k] @ x[t, best]))


def test_words_are_equal_up_to_case_and_the_mark_in_front() -> None:
    numbers = word_numbers([["The", "Ġcity", "▁the", "s"], ["city", "##s", " ", "the"]])
    assert numbers.tolist() == [[0, 1, 0, 2], [1, 2, 3, 0]]


def test_bad_shapes_and_tokens_without_direction_are_refused() -> None:
    x0, words = vocabulary()
    with pytest.raises(InputError, match="one number per token"):
        design_capture(x0, words[:, 1:])
    with pytest.raises(InputError, match="length 0"):
        capture_scores(design_capture(x0, words), x0 * np.tri(x0.shape[1])[:, :1] * 0.0)
    with pytest.raises(InputError, match="texts and tokens"):
        capture_scores(design_capture(x0, words), x0[:2])
