"""Random numbers of a study: a stream for every run, and the same start at every point of the grid."""

import numpy as np
from support.small_studies import head_of, small

import nucleate as nc
from nucleate.studies.points import stream
from nucleate.studies.study import Study


def test_five_thousand_runs_have_five_thousand_streams() -> None:
    streams = [stream(0, run, *child) for run in range(5000) for child in ((), (1,), (2,), (3,))]
    first = {np.random.default_rng(one).bytes(16) for one in streams}
    assert len(first) == 4 * 5000


def test_a_start_depends_on_seed_and_run_alone() -> None:
    study = Study.make(
        small(
            start={"d": 3}, grid={"beta": [1.0, 9.0], "n": [4, 8], "V": ["identity", {"random": "gaussian"}]}
        )
    )
    points = [study.point(i) for i in range(study.points)]
    starts = [point.starts(study.seed, range(5, 9)) for point in points]  # each (4, n, 3)
    for point, start in zip(points, starts, strict=True):
        assert np.array_equal(start, starts[-1][:, : point.n]), "fewer tokens are the first of more"
        assert np.array_equal(start[2], nc.uniform(point.n, 3, np.random.SeedSequence(3, spawn_key=(7,))))
    assert not np.array_equal(starts[0], points[0].starts(study.seed + 1, range(5, 9)))


def test_random_matrices_are_the_same_at_every_point_and_differ_between_runs_and_names() -> None:
    study = Study.make(small(model={name: {"random": "gaussian"} for name in "QKV"}))
    one, two = (head_of(study.point(i).model(study.seed, range(3, 6))) for i in (0, 1))
    for name in "QKV":
        assert np.array_equal(getattr(one, name), getattr(two, name))
    every = np.concatenate([one.Q, one.K, one.V])
    assert len(np.unique(every)) == every.size
    again = head_of(study.point(0).model(study.seed, range(5, 6)))
    assert np.array_equal(again.V[0], one.V[2])  # type: ignore[index]  # a study gives every run its own V: it is never None
