"""The compiled velocities of the limit equation equal the readable ones."""

import numpy as np

from nucleate.theory.causal_front import _ratios, _System


def test_compiled_velocities_are_those_of_the_equation() -> None:
    beta, cells, rng = 20.0, 40, np.random.default_rng(0)
    spread = np.exp(1j * np.outer(np.arange(1, len(_ratios(beta)) + 1), rng.uniform(0.0, 6.0, 50)))
    weight = np.exp(np.linspace(0.0, 20.0, cells))
    system = _System(30, weight, spread, _ratios(beta), beta)
    # next to nothing has moved in the last cells
    moved = rng.standard_normal((cells, 50)) * np.exp(-np.linspace(0.0, 40.0, cells))[:, None]
    first = rng.uniform(-3.0, 3.0, 30)
    slow, fast = system.velocities(first, moved), system.fast_velocities(first, moved)
    for one, other in zip(slow, fast, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-10, atol=1e-13)
