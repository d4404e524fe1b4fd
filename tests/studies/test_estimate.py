"""What a study will cost: its size from the layout, its time from a short trial."""

import pytest
from support.small_studies import small

from nucleate.studies import estimate
from nucleate.studies.estimate import Cost, cost
from nucleate.studies.study import Study

ROW_BYTES = 1 + 8 + 8 * (5 + 5 + 1 + 16)  # of the small study: status, steps, renyi, groups, apart, ends


def test_the_size_is_that_of_all_rows_and_the_time_falls_with_the_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(estimate, "_seconds_per_run", lambda study, seconds: (0.5, False))
    for threads in (1, 2):
        expected = Cost(2, 2000, 2000 * ROW_BYTES, 1000.0 / threads, at_least=False)
        assert cost(Study.make(small(runs=1000)), threads) == expected


def test_a_trial_takes_some_runs_of_some_points() -> None:
    found = cost(Study.make(small()), 1)
    assert found.seconds is not None
    assert found.seconds > 0.0
    assert not found.at_least


def test_a_trial_that_is_cut_short_says_that_it_may_be_more(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Study.make(small(times={"t": 1e4, "method": "euler", "dt": 1e-4, "max_steps": 10**9}))
    monkeypatch.setattr(estimate, "TRIAL_SECONDS", 0.1)
    found = cost(slow, 1)
    assert found.at_least
    assert ", at least about " in str(found)


def test_without_time_to_try_only_the_size_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "TRIAL_SECONDS", 0.0)
    assert (
        str(cost(Study.make(small()), 1))
        == f"2 points of the grid, 48 runs, {48 * ROW_BYTES / 1e3:.3g} kB before compression"
    )


@pytest.mark.parametrize(
    ("seconds", "size", "words"),
    [
        (1.234, 999, "5 runs, about 1 s, 999 bytes before compression"),
        (119.0, 1_234_567, "5 runs, about 2 min, 1.23 MB before compression"),
        (7200.0, 5e9, "5 runs, about 2 h, 5 GB before compression"),
        (1e6, 2e12, "5 runs, about 12 days, 2 TB before compression"),
    ],
)
def test_times_and_sizes_are_told_in_fitting_units(seconds: float, size: float, words: str) -> None:
    assert str(Cost(1, 5, int(size), seconds, at_least=False)) == words
