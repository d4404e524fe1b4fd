"""Lines over depth."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from nucleate.checks import InputError
from nucleate.plot.depth import DepthLine, depth_lines, line_of


def test_means_and_intervals_are_drawn_where_they_are() -> None:
    at = np.arange(4.0)
    line = DepthLine(at, at**2, at**2 - 1, at**2 + 1)
    ax = depth_lines(
        {"text": line, "shuffled": line_of([0, 3], [1, 2])}, Figure().add_subplot(), ylabel="y", chance=0.5
    )
    text, shuffled, chance = ax.lines
    np.testing.assert_array_equal(text.get_ydata(), at**2)
    np.testing.assert_array_equal(shuffled.get_xdata(), [0, 3])
    assert set(np.asarray(chance.get_ydata()).tolist()) == {0.5}
    (band,) = ax.collections
    corners = np.asarray(band.get_paths()[0].vertices)
    assert (corners[:, 1].min(), corners[:, 1].max()) == (-1.0, 10.0)
    with pytest.raises(InputError, match="each of 4 layers"):
        DepthLine(at, at[:2])
    with pytest.raises(InputError, match="no line"):
        depth_lines({})
