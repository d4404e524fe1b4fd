"""Small pictures and results of all items of the first paper, which the tests of the report share."""

from pathlib import Path
from typing import Any

import pytest
from support.session_files import made_once
from support.small_items import made

from nucleate import plot
from nucleate.papers import DEFAULT, PAPERS


@pytest.fixture(scope="session")
def folder() -> Path:
    """Small pictures of all items of the first paper, light and dark."""
    return made_once("report", _draw_all)


def _draw_all(out: Path) -> None:
    (out / "figures").mkdir()
    for theme, name in (("light", "{}.png"), ("dark", "{}-dark.png")):
        with plot.style(theme):
            for key in PAPERS[DEFAULT].items:
                item, p, data, numbers = made(key)
                for figure, drawing in item.draw(data, numbers, p).items():
                    drawing.savefig(out / "figures" / name.format(figure), dpi=60)


@pytest.fixture(scope="session")
def results() -> dict[str, Any]:
    items = {
        key: made(key).item.summary(made(key).numbers, made(key).p, quick=False)
        for key in PAPERS[DEFAULT].items
    }
    return {"paper": "a paper", "nucleate": "0", "made_with": {"numpy": "2"}, "quick": False, "items": items}
