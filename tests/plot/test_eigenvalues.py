"""The spectrum of V: every eigenvalue a dot in its place, the dominant ones red."""

from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from numpy.typing import NDArray

from nucleate import plot
from nucleate.checks import Array, InputError
from nucleate.theory.atlas import atlas


def dots(ax: Any) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
    """The black and the red eigenvalues."""
    black, red = (np.asarray(c.get_offsets()) @ [1, 1j] for c in ax.collections)
    return black, red


def turned(V: Array, seed: int = 0) -> Array:
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal(V.shape))[0]
    return Q @ V @ Q.T


def words(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.texts]


@pytest.mark.parametrize("seed", range(5))
def test_every_eigenvalue_is_a_dot_and_the_dominant_ones_are_red(seed: int) -> None:
    V = np.random.default_rng(seed).standard_normal((9, 9))
    values = np.linalg.eigvals(V)
    top = values.real.max()
    for given in (V, values):
        ax = plot.spectrum(given)
        black, red = dots(ax)
        np.testing.assert_allclose(
            np.sort_complex(np.concatenate([black, red])), np.sort_complex(values), atol=1e-12
        )
        np.testing.assert_allclose(red.real, top, atol=1e-12)
        assert (black.real < top - 1e-6).all()
        dashed: Any = next(line for line in ax.lines if line.is_dashed())
        assert dashed.get_color() == to_rgb(plot.RED)
        np.testing.assert_allclose(dashed.get_xdata(), top, atol=1e-12)


@pytest.mark.parametrize(
    ("V", "red", "title"),
    [
        (np.eye(3), 3, "= 1; row 1 of Table 1, there a theorem"),
        (np.diag([1.0, 1.0, 0.3]), 2, "= 1; row 2 of Table 1, there a conjecture"),
        (np.diag([-1.0, -2.0]), 1, "= −1; row 5 of Table 1, there a conjecture"),
        (np.array([[0.1, -1, 0], [1, 0.1, 0], [0, 0, -2.0]]), 2, "= 0.1; outside Table 1"),
        (np.array([[1.0, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0.5]]), 3, "= 1; outside Table 1"),
        (np.eye(3, k=1), 3, "= 0; outside Table 1"),
    ],
)
def test_an_atlas_tells_which_are_dominant_and_its_row(V: Array, red: int, title: str) -> None:
    known = atlas(turned(V))
    ax = plot.spectrum(known)
    assert len(dots(ax)[1]) == red
    np.testing.assert_array_equal(np.sort(dots(ax)[1].real), np.sort(known.eigenvalues.real)[-red:])
    assert ax.get_title() == r"$\lambda_{\max}$ " + title
    np.testing.assert_array_equal(
        np.sort_complex(np.concatenate(dots(ax))), np.sort_complex(known.eigenvalues)
    )


def test_both_half_planes_show_and_are_named() -> None:
    for V in (np.eye(2), -np.eye(2), np.zeros((2, 2)), np.array([[0, -1.0], [1, 0]]), 1e-9 * np.eye(2)):
        ax: Any = plot.spectrum(V)
        (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
        assert (left, right) == (low, high) == (-right, right)
        assert right > np.abs(np.linalg.eigvals(V)).max()
        assert {"Re < 0", "Re > 0"} <= set(words(ax))
        shade = ax.patches[0].get_extents().transformed(ax.transData.inverted())
        assert (shade.x0, shade.x1) == pytest.approx((0.0, right))


@pytest.mark.parametrize("top", [0.05, 0.3, 0.7, 1.0, -0.05, -0.3, -1.0])
def test_the_line_at_lambda_max_runs_through_no_words(top: float) -> None:
    ax: Any = plot.spectrum([top, -1.0 + min(top, 0.0), 0.5j * top - 1.0])
    FigureCanvasAgg(ax.figure).draw()  # type: ignore[no-untyped-call]  # matplotlib says no types there
    x = ax.transData.transform((top, 0.0))[0]
    for text in ax.texts:
        if text.get_text().startswith("Re"):
            box = text.get_window_extent()
            assert not box.x0 <= x <= box.x1


def test_dots_that_cover_each_other_are_counted() -> None:
    assert [
        word for word in words(plot.spectrum(np.diag([1.0, 1.0, 1.0, 0.2, 0.2, -1.0]))) if word[0] == "×"
    ] == ["×3", "×2"]
    assert [word for word in words(plot.spectrum(np.diag([1.0, 0.9, 0.8]))) if word[0] == "×"] == []


def test_eigenvalues_that_are_only_rounding_are_not_magnified() -> None:
    V = turned(np.eye(4, k=1))  # nilpotent: computed eigenvalues have modulus 1e-4 or so, and are zero
    ax = plot.spectrum(V)
    assert ax.get_xlim()[1] >= 1e-2
    assert "×4" in words(ax)


def test_a_large_matrix_is_many_small_dots() -> None:
    values = np.exp(2j * np.pi * np.random.default_rng(0).random(4096))
    ax: Any = plot.spectrum(values)
    assert sum(map(len, dots(ax))) == 4096
    assert ax.collections[0].get_sizes()[0] < 10
    assert ax.collections[1].get_sizes()[0] > 10  # the dominant ones still stand out


@pytest.mark.parametrize(
    ("V", "message"),
    [
        (np.ones((2, 3)), r"V must be square, but has shape \(2, 3\)"),
        (np.ones((2, 2, 2)), r"V must be a matrix \(d, d\) or eigenvalues"),
        (np.array([[1.0, np.nan], [0, 1]]), "V must be finite"),
        ([], "V must not be empty"),
        (1.0, r"V must be a matrix \(d, d\) or eigenvalues"),
        ("hello", "V must be an array of numbers"),
    ],
)
def test_what_has_no_spectrum_is_refused_and_leaves_no_figure(V: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        plot.spectrum(V)
    assert pyplot.get_fignums() == []
