"""Verdicts flip on planted data: true capture, and what only seems to be one."""

import numpy as np
import pytest
from support.made_traces import (
    captured,
    drawn_to_the_first,
    one_topic,
    remembered,
    repeated,
    vocabulary,
)

from nucleate.checks import Array, InputError
from nucleate.observe.capture import capture_scores, design_capture
from nucleate.tracing.criteria import FEWEST_TEXTS, HYPOTHESES, Answer, answer, interval, judge


def answered(end: Array, pull: float = 1.0, first: bool = False, same_word: bool = False) -> dict[str, str]:
    """The words of all verdicts that rest on places; pull as given, the same for all texts."""
    x0, words = vocabulary()
    design = design_capture(x0, words, first=first, same_word=same_word)
    found = capture_scores(design, end)
    judged = {
        "nearness": judge("nearness", found.rank),
        "cover": judge("cover", found.contrast),
        "sight": judge("sight", found.sight),
        "pull": judge("pull", np.full(len(x0), pull)),
    }
    return {key: one.word for key, one in judged.items()} | {"answer": answer(judged).word}


def test_true_capture_is_answered_capture_and_only_with_a_pull() -> None:
    end = captured(vocabulary()[0])
    assert answered(end) == {
        "nearness": "observed",
        "cover": "observed",
        "sight": "observed",
        "pull": "observed",
        "answer": "capture",
    }
    assert answered(end, pull=0.0)["answer"] == "nearness without capture"


def test_tokens_that_only_remember_are_near_without_capture() -> None:
    found = answered(remembered(vocabulary()[0]))
    assert (found["nearness"], found["sight"]) == ("observed", "not observed")
    assert found["answer"] == "nearness without capture"


def test_repeats_alone_deceive_only_where_they_are_left_in() -> None:
    x0, words = vocabulary()
    end = repeated(x0, words)
    assert answered(end, same_word=True)["answer"] == "capture"
    assert answered(end)["answer"] == "no"


def test_a_sink_alone_is_no_capture() -> None:
    assert answered(drawn_to_the_first(vocabulary()[0]))["answer"] == "nearness without capture"


def test_a_text_that_turns_to_one_topic_is_no_capture() -> None:
    assert answered(one_topic(vocabulary()[0]))["answer"] == "nearness without capture"


def test_verdicts_need_the_whole_interval_on_one_side_and_eight_texts() -> None:
    rng = np.random.default_rng(0)
    noise = rng.standard_normal(FEWEST_TEXTS)
    noise -= noise.mean()
    assert judge("sight", noise).word == "not observed"
    assert judge("sight", noise + 3.0).word == "observed"
    assert judge("sight", noise - 3.0).word == "the opposite observed"
    assert judge("sight", noise[1:] + 3.0).word == "not testable here"
    assert judge("nearness", np.full(FEWEST_TEXTS, 0.5)).word == "not observed"
    with pytest.raises(InputError, match="no hypothesis 'luck'"):
        judge("luck", noise)


def test_the_interval_is_that_of_a_mean_and_covers_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    hits = [(one.low < 0.0 < one.high) for one in (interval(v, 400) for v in rng.standard_normal((400, 12)))]
    # 95 % promised; a bootstrap of 12 is a little short of it, and 400 trials know it to 1.1 %
    assert 0.90 <= np.mean(hits) <= 0.98
    assert interval([1.0, np.nan, 3.0]).texts == 2


def test_no_answer_without_enough_texts() -> None:
    few = {key: judge(key, np.ones(3)) for key in HYPOTHESES}
    assert answer(few) == Answer("not testable here", answer(few).why)
