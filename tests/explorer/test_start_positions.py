"""Starting positions: caps are filled uniformly, planted tokens lie around their cluster."""

from typing import Any

import numpy as np
import pytest

import nucleate as nc
from nucleate.explorer.start_positions import cap, planted


@pytest.mark.parametrize("d", [2, 3, 4, 10, 64])
@pytest.mark.parametrize("angle", [0.01, 0.5, 2.0, np.pi])
def test_a_cap_is_filled_uniformly(d: int, angle: float) -> None:
    n = 4000
    x = cap(n, d, angle, seed=1)
    theta = nc.distance(x, np.eye(d)[:1])  # (n,) from the first axis
    assert theta.max() <= angle + 1e-7  # an angle near pi is known to the square root of rounding
    slow = _cap_shares(theta, angle, d)  # (n,) of the cap inside each token: uniform on [0, 1]
    gap = np.abs(np.sort(slow) - (np.arange(n) + 0.5) / n).max()
    assert gap < 1.95 / np.sqrt(n)  # Kolmogorov's statistic: once in a thousand above 1.95
    if d == 2:
        assert 0.4 < (x[:, 1] > 0).mean() < 0.6  # both sides


def _cap_shares(theta: Any, angle: float, d: int) -> Any:
    """Twin: the area of a cap by adding up strips."""
    grid = np.linspace(0.0, angle, 20_001)
    with np.errstate(under="ignore"):
        strips = (np.sin(grid) / np.sin(min(angle, np.pi / 2))) ** (d - 2)
    area = np.concatenate([[0.0], np.cumsum((strips[1:] + strips[:-1]) / 2)])
    return np.interp(theta, grid, area / area[-1])


def test_planted_tokens_lie_around_their_cluster() -> None:
    x = planted(60, 3, 4, 0.05, seed=2)
    for k in range(4):
        mine = x[k::4]
        assert nc.distance(mine, nc.retract(mine.mean(0)[None])).max() < 0.3  # six spreads
    assert nc.clusters(x, 0.2).max() + 1 == 4
    apart = planted(60, 3, 4, 0.0, seed=2)[:4] - nc.uniform(4, 3, np.random.default_rng(2))
    assert np.abs(apart).max() < 1e-15  # divided by its length once more: a rounding or two
