"""Rules that name leaders: what each says of tokens placed by hand, and other leaders change the verdicts."""

import numpy as np
import pytest
from support.small_items import changed, made

import nucleate as nc
from nucleate.papers import find
from nucleate.papers.open_questions.who_leads.data import cases
from nucleate.papers.open_questions.who_leads.rules import GRIDS, RULES, Start, fitted, scores, start_of

P = {
    "cases": [["fit", 2, 64.0, 100, 6], ["test", 2, 49.0, 100, 12]],
    "fit_seed": 5,
    "test_seed": 50,
    "share": 1.0,
}


def at(angles: list[float], beta: float = 100.0) -> Start:
    x = np.column_stack([np.cos(angles), np.sin(angles)])
    return start_of(beta, x, np.zeros(len(x), dtype=bool))


def named(rule: str, start: Start, *values: float) -> list[int]:
    return np.flatnonzero(RULES[rule](start, *values)).tolist()


def test_each_rule_names_those_it_says() -> None:
    """Widths of 0.1: token 1 is near 0, token 2 near 1 but not near 0."""
    start = at([0.0, 0.24, 0.5, 2.0])
    assert named("renyi", start, 3.0) == [0, 2, 3]
    assert named("strong", start, 3.0) == [0, 3]
    assert named("linkage", start, 3.0) == [0, 2, 3]  # 1 is lost at 2.4, before 2 would be lost to it
    assert named("linkage", at([0.0, 0.27, 0.5]), 2.5) == [0, 1]  # at 2.3 token 1 is still there
    # token 2 sees e^{-100 (1 - cos 0.26)} = 0.034 of token 1 where it starts, nothing where it gathers
    assert named("gathered", start, 0.03, 1.0) == [0, 3]
    assert named("gathered", start, 0.03, 0.2) == [0, 2, 3]
    assert named("gathered", start, 0.03, 0.9) == [0, 3]


def test_a_fit_finds_the_parameters_that_made_the_leaders() -> None:
    x = [nc.uniform(120, 2, seed) for seed in range(4)]
    for rule, values in (("strong", (2.7,)), ("gathered", (0.02, 0.3))):
        blank = [start_of(60.0, one, np.zeros(120, dtype=bool)) for one in x]
        starts = [one._replace(leads=RULES[rule](one, *values)) for one in blank]
        assert values in GRIDS[rule]
        found = fitted(starts, rule)
        rows = scores(starts, lambda one, rule=rule, found=found: RULES[rule](one, *found))  # type: ignore[misc]  # mypy cannot infer a lambda with defaults
        assert (rows[:, 0] == rows[:, 1]).all()
        assert (rows[:, 0] == rows[:, 2]).all()


@pytest.mark.parametrize(
    ("rule", "values", "expected"),
    [
        ("gathered", (0.024, 0.2), ["observed", "observed"]),
        ("strong", (2.8,), ["observed", "not observed"]),
        ("renyi", (3.0,), ["not observed", "undecided"]),  # neither of the others is better
    ],
)
def test_leaders_that_another_rule_made_change_the_verdicts(
    rule: str, values: tuple[float, ...], expected: list[str]
) -> None:
    import xarray

    data = {}
    for case in cases(P):
        starts = [
            start_of(case.beta, nc.uniform(case.n, 2, case.first_seed + i), np.zeros(case.n, dtype=bool))
            for i in range(case.starts)
        ]
        leads = np.stack([RULES[rule](one, *values) for one in starts]).astype(int)
        data[case.name] = xarray.Dataset({"leads": (("start", "token"), leads)})
    item = find("who-leads")
    assert [verdict.word for verdict in item.verdicts(item.measure(data, P), P)] == expected


def test_simulated_leaders_are_named_better_than_by_the_first_tokens() -> None:
    found = made("who-leads")
    assert found.numbers["strong_F"].value > found.numbers["first_F"].value
    name = cases(found.p)[1].name
    nobody = changed(found.data[name], leads=np.eye(1, 60, 59))  # the last token of every start
    assert found.item.measure({**found.data, name: nobody}, found.p)["strong_recall"].value < 0.5
