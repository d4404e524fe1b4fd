"""A bar in a notebook, and nowhere else."""

import importlib
import sys
import threading
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

import nucleate as nc
from nucleate.notebook import shown_progress, vanishing


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """As in a Jupyter kernel: what is displayed, in the order in which it is."""
    told: list[str] = []

    def display(html: str, display_id: bool) -> Any:
        told.append(html)
        return SimpleNamespace(update=told.append)

    package, part = ModuleType("IPython"), ModuleType("IPython.display")
    vars(package)["get_ipython"] = lambda: SimpleNamespace(kernel=object())
    vars(part).update(HTML=str, display=display)
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", part)
    return told


def test_outside_a_notebook_there_is_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert shown_progress(None, "simulating") is None
    terminal = ModuleType("IPython")
    vars(terminal)["get_ipython"] = SimpleNamespace
    monkeypatch.setitem(sys.modules, "IPython", terminal)
    assert shown_progress(None, "simulating") is None


def test_a_bar_appears_after_two_seconds_and_vanishes_at_the_end(
    kernel: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("nucleate.notebook.time.monotonic", lambda: now[0])
    bar = shown_progress(None, "simulating <200>")
    assert bar is not None
    for seconds, done in ((1.0, 1), (2.5, 2), (2.6, 3), (4.0, 5), (5.0, 10)):
        now[0] = 100.0 + seconds
        bar(done, 10)
    assert [text[-10:].split()[-3] if text else "" for text in kernel] == ["20%,", "50%,", ""]
    assert "simulating &lt;200&gt;" in kernel[0]


def test_a_bar_vanishes_also_where_the_work_ends_early(
    kernel: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nucleate.notebook.SECONDS_BEFORE_BAR", 0.0)
    run = nc.simulate(nc.Attention(9.0), nc.uniform(40, 3), t=1e3, max_steps=3)
    assert not run.done
    assert len(kernel) > 1
    assert kernel[-1] == ""
    shown = len(kernel)
    bar = shown_progress(None, "simulating")
    assert bar is not None
    bar(1, 10)
    with pytest.raises(KeyboardInterrupt), vanishing(bar):
        raise KeyboardInterrupt
    assert len(kernel[shown:]) == 2
    assert kernel[-1] == ""
    with vanishing(None), vanishing(print):
        pass


def test_what_is_given_is_used_and_threads_of_a_study_show_nothing(kernel: list[str]) -> None:
    def own(done: float, total: float) -> None: ...

    assert shown_progress(own, "simulating") is own
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(shown_progress(None, "simulating")))
    thread.start()
    thread.join()
    assert found == [None]


def test_whatever_may_take_long_asks_for_a_bar_and_tells_it_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    study = {
        "runs": 2,
        "start": {"n": 3, "d": 2},
        "times": {"t": 1.0, "save": 2},
        "model": {"beta": 1.0},
        "observables": {"ends": {"kind": "points"}},
    }
    calls: dict[str, Callable[[], object]] = {
        "nucleate.integrate.simulate": lambda: nc.simulate(nc.Attention(1.0), nc.uniform(3, 2), t=1.0),
        "nucleate.observe.life": lambda: nc.life(beta=9.0, n=3, seed=0),
        "nucleate.studies.ensemble": lambda: nc.ensemble(study),
    }
    for module, call in calls.items():
        bar = Mock()
        with monkeypatch.context() as here:
            here.setattr(importlib.import_module(module), "shown_progress", Mock(return_value=bar))
            call()
        told = [call.args for call in bar.call_args_list]
        assert told, module
        assert told[-1][0] == told[-1][1], module
