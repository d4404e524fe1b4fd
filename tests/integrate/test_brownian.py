"""The compiled generator is Philox4x64-10, and the compiled path is that of `nucleate.noise`."""

import numpy as np
import pytest

from nucleate.integrate.brownian import increment_into, new_path, normals_into, philox
from nucleate.noise import increment, normals, spread, width

# The known answers that come with Random123, the generator's first implementation: counter, key, result.
KNOWN = [
    (
        (0, 0, 0, 0),
        (0, 0),
        (0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B),
    ),
    (
        (2**64 - 1,) * 4,
        (2**64 - 1,) * 2,
        (0x87B092C3013FE90B, 0x438C3C67BE8D0224, 0x9CC7D7C69CD777B6, 0xA09CAEBF594F0BA0),
    ),
    (
        (0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89),
        (0x452821E638D01377, 0xBE5466CF34E90C6C),
        (0xA528F45403E61D95, 0x38C72DBD566E9788, 0xA5A1610E72FD18B5, 0x57BD43B5E52B7FE6),
    ),
]


@pytest.mark.parametrize(("counter", "key", "result"), KNOWN)
def test_the_generator_gives_the_known_answers(
    counter: tuple[int, ...], key: tuple[int, ...], result: tuple[int, ...]
) -> None:
    assert philox(*map(np.uint64, (*counter, *key))) == result


def test_the_generator_is_that_of_numpy() -> None:
    rng = np.random.default_rng(0)
    for _ in range(100):
        counter, key = rng.integers(1, 2**63, 4, dtype=np.uint64), rng.integers(0, 2**63, 2, dtype=np.uint64)
        before = counter - np.array([1, 0, 0, 0], dtype=np.uint64)  # NumPy counts on first
        assert philox(*counter, *key) == tuple(np.random.Philox(key=key, counter=before).random_raw(4))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 99])
def test_compiled_normals_are_those_of_the_equation(count: int) -> None:
    out = np.full(count + 8, np.nan)
    normals_into(np.uint64(3), np.uint64(4), 2, 5, count, out)
    # NumPy's log, sine and cosine may differ from the C library's in the last place
    np.testing.assert_allclose(out[:count], normals(3, 4, 2, 5, (count,)), rtol=1e-14, atol=1e-15)
    assert np.isnan(out[count + count % 2 :]).all()


@pytest.mark.parametrize("d", [2, 3, 8])
@pytest.mark.parametrize("h", [0.3, 0.1, 0.05, 0.0125])
def test_compiled_increments_are_those_of_the_equation(h: float, d: int) -> None:
    n, kappa = 5, 7.0
    count = n * width(d)
    path = new_path(np.array([[1, 0], [9, 6]], dtype=np.uint64), kappa, 0.1, h, d)
    for i in (0, 1, 13):
        w, z = np.zeros((2, count + 8))
        increment_into(path, 1, i, count, w, z)
        expected = spread(kappa, h, d) * increment(9, 6, 0.1, h, i, n, d)
        np.testing.assert_allclose(w[:count], expected.ravel(), rtol=1e-13, atol=1e-15)
