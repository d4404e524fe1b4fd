"""What studies/README.md says of costs: those that the items and the scripts say, and their sum."""

import re

import pytest
from support.docs_scripts import study_script
from support.project import ROOT

from nucleate.durations import in_words
from nucleate.papers import PAPERS, find

TEXT = (ROOT / "studies" / "README.md").read_text()
LARGER = TEXT[TEXT.index("## Their larger runs") :]


def cells(text: str, mark: str) -> list[str]:
    """The cells of the row of a table that has this mark."""
    (row,) = [line for line in text.splitlines() if line.startswith("|") and mark in line]
    return [cell.strip() for cell in row.strip("|").split("|")]


def processor_minutes(cost: str) -> float:
    """Of a cell such as "20 to 31 minutes of processor time"; 0 for what was measured by the clock."""
    found = re.match(r"(?:\d+ to )?([\d.]+) (s|minutes) of processor time", cost)
    if found is None:
        assert "by the clock" in cost
        return 0.0
    return float(found[1]) / (60.0 if found[2] == "s" else 1.0)


@pytest.mark.parametrize("key", list(PAPERS["open-questions"].items))
def test_the_cost_of_an_item_is_the_one_that_reproduce_lists(key: str) -> None:
    cost = find(key).cost
    full, quick = (in_words(seconds).removeprefix("about ") for seconds in (cost.full, cost.quick))
    assert cells(TEXT, f"| `{key}` |")[2] == f"{full}, {quick}"


def test_all_items_together_cost_what_is_said_above_the_table() -> None:
    costs = [find(key).cost for key in PAPERS["open-questions"].items]
    assert "about half an hour on two idle cores" in TEXT
    assert sum(cost.full for cost in costs) / 60.0 == pytest.approx(30.0, abs=5.0)
    assert "three minutes with" in TEXT
    assert in_words(sum(cost.quick for cost in costs)) == "about 3 min"


def test_the_larger_runs_cost_in_all_what_the_table_adds_up_to() -> None:
    rows = [line for line in LARGER.splitlines() if line.startswith("| ") and "`python" in line]
    minutes = sum(processor_minutes(line.strip("|").split("|")[2].strip()) for line in rows)
    said = re.search(r"take ([\d.]+) hours of processor\s+time in all", TEXT)
    assert said is not None
    assert float(said[1]) == pytest.approx(minutes / 60.0, abs=0.05)


def test_scripts_say_the_cost_of_the_table_before_they_begin() -> None:
    names = ("causal_front_large", "causal_front_sphere", "clouds_large", "lifetimes_large")
    front, sphere, clouds, lifetimes = (study_script(name) for name in names)
    merges, sink = (study_script(name) for name in ("predicted_merges_large", "sink_large"))
    minutes = {"": clouds.MINUTES["all"], " sizes": clouds.MINUTES["sizes"]}
    minutes |= {" kinds": sum(clouds.KINDS_MINUTES.values())}
    for mark, cost in (
        *(
            (f"clouds_large.py OUT{one}`", f"{cost} minutes of processor time")
            for one, cost in minutes.items()
        ),
        ("sink_large.py OUT`", sink.COST),
        ("sink_large.py OUT weak`", sink.WEAK_COST),
        ("lifetimes_large.py OUT`", lifetimes.COST),
        ("predicted_merges_large.py OUT`", merges.COST),
        ("causal_front_large.py OUT`", front.RUNS["large"].cost),
        *((f"causal_front_large.py OUT {one}`", front.RUNS[one].cost) for one in list(front.RUNS)[1:]),
        ("causal_front_sphere.py OUT`", sphere.COST),
        ("causal_front_sphere.py OUT shape`", sphere.SHAPE_COST),
    ):
        assert cells(LARGER, mark)[2] == cost
