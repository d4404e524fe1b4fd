"""A stored text over depth, ready to be shown."""

import json
from dataclasses import replace

import numpy as np
from support.made_depth_runs import LAYERS, TOKENS, depth_run

from nucleate.explorer.prepared_trace import prepare_trace_view, trace_message
from nucleate.explorer.trace_view import read_trace
from nucleate.integrate.run import Run


def test_the_page_is_told_model_tokens_notes_and_whether_there_are_controls() -> None:
    run = depth_run()
    prepared = prepare_trace_view(run, 0, "tiny")
    facts = dict(prepared.facts)
    assert facts["Model"] == str(run.model)
    assert facts["Tokens"] == str(TOKENS)
    assert "they need the model" in facts["Controls"]
    assert facts["Note"] == "Texts of 9 tokens were cut to 5."
    message = json.loads(json.dumps(trace_message(prepared, 7), allow_nan=False))
    assert (message["id"], message["n"], message["frames"]) == (7, TOKENS, LAYERS + 1)
    assert [one["words"] for one in message["trace"]["readings"]] == [list(run.tokens or ())]


def test_controls_belong_to_the_first_text_alone_and_a_long_text_says_that_it_was_cut() -> None:
    several = depth_run((2,))
    control = read_trace(replace(depth_run(), tokens=None), "shuffled").plain()
    noted = replace(several, notes={"controls": [control]})
    for which, names in ((0, ["text", "shuffled"]), (1, ["text"])):
        prepared = prepare_trace_view(noted, which, "two")
        assert [one.name for one in prepared.readings] == names
        assert dict(prepared.facts)["Tokens"] == f"5, text {which + 1} of 2"
    assert trace_message(prepared, 0)["missing"].keys() == {"cover"}  # five tokens are too few
    alone = Run.from_hidden_states(np.ones((2, 1, 8)))
    told = trace_message(prepare_trace_view(alone, 0, "one"), 0)["missing"]
    assert told.keys() == {"cosine", "rank", "sink", "cover"}
    long = Run.from_hidden_states(np.random.default_rng(0).standard_normal((2, 270, 4)))
    assert dict(prepare_trace_view(long, 0, "long").facts)["Tokens"] == "the first 256 of 270"
