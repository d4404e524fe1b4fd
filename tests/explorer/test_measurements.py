"""What the page shows beside the tokens."""

import pytest
from support.made_runs import one_run

import nucleate as nc
from nucleate.explorer.measurements import measure
from nucleate.explorer.model_facts import model_facts
from nucleate.explorer.prepared_run import begun_message, prepare_stored

OUTSIDE = "outside the table: Table 1 is about causal attention without frozen tokens"


def test_measuring_stops_when_told_to() -> None:
    run = one_run(m=12, n=60)
    assert measure(run.x, begun_message(prepare_stored(run, 0, "run"), 0), lambda: False) is None


@pytest.mark.parametrize(
    ("model", "row", "why"),
    [
        (nc.Attention(4.0), 1, "Theorem 4.1"),
        (nc.Attention(4.0, mask=nc.Window(9)), 1, "Theorem 4.1"),  # as wide as the sequence: causal
        (nc.Attention(4.0, mask="full"), None, "sees all others"),
        (nc.Attention(4.0, mask=nc.Window(1)), None, "only itself"),
        (nc.Attention(4.0, mask=nc.Window(8)), None, "only the last 8"),
        (nc.Attention(4.0, frozen=nc.Frozen(nc.uniform(1, 2, 0))), None, "frozen tokens"),
    ],
    ids=["causal", "wide window", "full", "alone", "window", "frozen"],
)
def test_table_1_is_applied_to_causal_attention_without_frozen_tokens_only(
    model: nc.Attention, row: int | None, why: str
) -> None:
    spectrum = model_facts(model, 9, 2)["spectrum"]
    assert spectrum["row"] == row
    assert why in spectrum["why"]
    assert (spectrum["status"] == "theorem") == (row == 1)
    assert (spectrum["verdict"] == OUTSIDE) == (row is None)
