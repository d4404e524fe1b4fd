"""A run over depth as a table."""

import numpy as np
from support.made_depth_runs import LAYERS, depth_run

import nucleate as nc
from nucleate.models.depth_table import depth_columns, depth_table


def test_columns_leave_the_first_token_out_and_average_over_texts() -> None:
    run = depth_run((2,))
    columns = depth_columns(run)
    slow = np.zeros((2, LAYERS + 1))
    for text in range(2):
        for layer in range(LAYERS + 1):
            x = run.x[text, layer, 1:]
            slow[text, layer] = np.mean([x[i] @ x[j] for i in range(len(x)) for j in range(i)])
    assert np.allclose(columns["mean cosine"], slow.mean(0), rtol=0.0, atol=1e-14)  # rounding
    assert run.norms is not None
    ratio = run.norms[..., 0] / np.median(run.norms[..., 1:], axis=-1)
    assert np.allclose(columns["norm of 1 / median"], ratio.mean(0))
    weight = run.parts["weights"][..., 1:, 0].mean((0, 2, 3))  # (L,)
    assert np.allclose(columns["weight on token 1"][1:], weight)
    assert np.isnan(columns["weight on token 1"][0])


def test_the_table_has_a_line_for_every_layer_and_a_dash_where_nothing_is_measured() -> None:
    lines = depth_table(depth_run()).splitlines()
    assert [int(line.split()[0]) for line in lines[1:]] == list(range(LAYERS + 1))
    assert lines[1].split()[-1] == "-"
    one = nc.Run.from_hidden_states(np.ones((2, 1, 4)))
    assert depth_table(one).split() == ["layer", "norm", "of", "token", "1", "0", "2", "1", "2"]
    assert "-" in depth_table(nc.Run.from_hidden_states(np.ones((2, 2, 4)))).splitlines()[1]
