"""Phase diagrams: the colours are the means, and long axes of a grid are drawn so."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot
from support.small_studies import small

import nucleate as nc
from nucleate.checks import InputError
from nucleate.plot.phase_diagram import diagram_panels
from nucleate.plot.studies import write_ensemble
from nucleate.studies.ensemble import ensemble
from nucleate.studies.result import Ensemble

BETAS = [float(beta) for beta in range(1, 9)]


@pytest.fixture(scope="module")
def found() -> Ensemble:
    return ensemble(small(runs=2, grid={"mask": ["causal", "full"], "beta": BETAS}))


def test_the_colours_are_the_means(found: Ensemble) -> None:
    ax = nc.plot.phase_diagram(found, "renyi", where={"mask": 1})
    (mesh,) = ax.collections
    drawn = np.asarray(mesh.get_array()).reshape(8, -1)
    np.testing.assert_array_equal(drawn, found.mean("renyi").values[1])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time", "β")
    pyplot.close("all")


def test_a_long_axis_is_drawn_as_a_diagram_with_a_panel_for_every_other_point(
    found: Ensemble, tmp_path: Path
) -> None:
    assert diagram_panels(found, "renyi") == ("beta", 2)
    assert diagram_panels(found, "apart") is None  # without time
    assert diagram_panels(ensemble(small(runs=2)), "renyi") is None  # two values of beta are two lines
    write_ensemble(found, tmp_path / "out.png", ["renyi", "apart"])
    assert (tmp_path / "out.png").stat().st_size > 10_000


def test_what_has_no_time_or_no_such_axis_is_refused(found: Ensemble) -> None:
    with pytest.raises(InputError, match="needs an observable over time and the axis 'beta'"):
        nc.plot.phase_diagram(found, "apart")
    with pytest.raises(InputError, match="the axis 'n' in the grid"):
        nc.plot.phase_diagram(found, "renyi", over="n")
    with pytest.raises(InputError, match="mask has 2 values, but where asks for number 2"):
        nc.plot.phase_diagram(found, "renyi", where={"mask": 2})
    with pytest.raises(InputError, match=r"where is norm\. There is mask"):
        nc.plot.phase_diagram(found, "renyi", where={"norm": 0})
