"""Whatever is passed as whichever argument of a public function: an answer, or an error in words; never a
traceback from the depths, and never a crash."""

import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest
from matplotlib import pyplot
from support.hostile_values import HOSTILE, RESULTS, SLOW, good_calls
from support.soak import SOAK

import nucleate as nc
from nucleate import plot
from nucleate.checks import InputError

STRIDE = 1 if SOAK else 5  # of the values tried where a call takes long
PUBLIC = {
    **{name: getattr(nc, name) for name in nc.__all__ if callable(getattr(nc, name))},
    **{f"plot.{name}": getattr(plot, name) for name in plot.__all__},
}
VARIANTS = ("consumption of a pair", "drift of a batch", "simulate rk4", "uniform, one start")
METHODS = {
    f"{record.__name__}.{name}"
    for record in (nc.Run, nc.Life, nc.Study, nc.Ensemble)
    for name, method in inspect.getmembers(record, callable)
    if not name.startswith("_") and {*inspect.signature(method).parameters} - {"self"}
}


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield
    pyplot.close("all")


def test_every_public_function_is_tried_with_all_its_arguments() -> None:
    tried = good_calls()
    assert {*PUBLIC, *METHODS} - {*tried} == {*RESULTS}
    for name in {*PUBLIC} & {*tried}:
        assert {*inspect.signature(PUBLIC[name]).parameters} == {*tried[name][1]}, name


@pytest.mark.soak(one_value_of=STRIDE)
@pytest.mark.parametrize("name", sorted({*PUBLIC, *METHODS, *VARIANTS} - {*RESULTS}))
def test_a_value_of_any_kind_is_answered_or_refused_in_words(name: str) -> None:
    function, good = good_calls()[name]
    slow = name.startswith(SLOW)
    failed = []
    for place, argument in enumerate(good):
        for number, (kind, make) in enumerate(HOSTILE.items()):
            if slow and (number + place) % STRIDE:
                continue
            try:
                function(**{**good, argument: make()})
            except InputError as error:
                if not (str(error).endswith(".") and len(str(error)) < 400):
                    failed.append((argument, kind, str(error)[:200]))
            except Exception as error:
                failed.append((argument, kind, type(error).__name__))
            pyplot.close("all")
    assert failed == []
