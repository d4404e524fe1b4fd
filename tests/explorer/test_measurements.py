"""What is measured on every frame."""

import numpy as np
from support.made_runs import one_run

from nucleate.explorer.measurements import measure, start_facts
from nucleate.explorer.prepared_run import begun_message, prepare_stored


def test_measuring_stops_when_told_to() -> None:
    run = one_run(m=12, n=60)
    assert measure(run.x, begun_message(prepare_stored(run, 0, "run"), 0), lambda: False) is None


def test_where_there_are_no_centers_none_consume_anything() -> None:
    run = one_run(m=3, n=9)
    facts = start_facts(run.x[0], 4.0, 4.0, has_centers=False)
    assert facts["centers"] == {"renyi": [], "strong": []}
    found = measure(run.x, facts)
    assert found is not None
    assert set(found.arrays()) == {"labels", "clusters"}
    assert np.array_equal(found.clusters, found.labels.max(1) + 1)
