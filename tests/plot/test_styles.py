"""The colour language: seen by everyone, on light and dark and grey paper, and nothing is left changed."""

import re
from itertools import combinations
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_rgb, to_rgba_array
from matplotlib.figure import Figure
from support.made_runs import one_run

from nucleate import plot
from nucleate.checks import Array, InputError
from nucleate.plot.styles import CLUSTERS_ON_DARK, CLUSTERS_ON_LIGHT, RED_ON_DARK, contrast, luminance

DARK = plot.STYLES["dark"]["figure.facecolor"]

# Machado, Oliveira, Fernandes 2009, severity 1: what remains of linear RGB
BLIND = {
    "none": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritan": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def lab(colour: Any, eye: str) -> Array:
    """CIE L*a*b* (3,) of a colour as an eye sees it; a distance of 2.3 is just noticeable."""
    c = np.array(to_rgb(colour))
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(BLIND[eye] @ linear, 0, 1) / [0.95047, 1.0, 1.08883]
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("colours", [plot.CLUSTER_COLOURS, CLUSTERS_ON_LIGHT, CLUSTERS_ON_DARK])
@pytest.mark.parametrize("eye", BLIND)
def test_any_two_cluster_colours_stay_apart_in_every_eye(eye: str, colours: tuple[str, ...]) -> None:
    assert len(set(colours)) == 8
    for one, other in combinations(colours, 2):
        # six times what is just noticeable; four times for tritanopes, who are one in ten thousand, with the
        # colours of the page, which were chosen for the other two kinds
        least = 10.0 if eye == "tritan" and colours is not plot.CLUSTER_COLOURS else 15.0
        assert np.linalg.norm(lab(one, eye) - lab(other, eye)) > least, (one, other)


def test_clusters_have_the_colours_of_the_page() -> None:
    source = (Path(__file__).parents[2] / "web" / "src" / "colours.ts").read_text(encoding="utf-8")
    for name, ours, ground in (
        ("CLUSTERS", CLUSTERS_ON_LIGHT, "light"),
        ("DARK_CLUSTERS", CLUSTERS_ON_DARK, "dark"),
    ):
        (there,) = re.findall(rf"^export const {name} = \[(.*?)\]", source, flags=re.M | re.S)
        assert tuple(re.findall(r"#[0-9a-f]{6}", there)) == ours
        with plot.style(ground):
            here = plot.palette_of(Figure().add_subplot())
        np.testing.assert_array_equal(here.clusters(np.arange(8)), to_rgba_array(ours))
        assert min(contrast(to_rgb(colour), here.paper) for colour in ours) >= 3.0


@pytest.mark.parametrize("eye", BLIND)
def test_red_is_told_from_black_and_from_clusters_in_every_eye(eye: str) -> None:
    for red, ink in ((plot.RED, "black"), (RED_ON_DARK, "#e6e6e6")):
        assert np.linalg.norm(lab(red, eye) - lab(ink, eye)) > 30.0
    if eye == "none":  # the colour-blind have the shapes: dots, dashes, diamonds
        assert (
            min(np.linalg.norm(lab(plot.RED, eye) - lab(colour, eye)) for colour in plot.CLUSTER_COLOURS)
            > 30.0
        )


def test_colours_neither_fade_on_white_nor_drown_in_dark() -> None:
    assert all(
        contrast(to_rgb(colour), to_rgb(paper)) > 1.9
        for colour in plot.CLUSTER_COLOURS
        for paper in ("white", DARK)
    )
    assert contrast(to_rgb(plot.RED), to_rgb("white")) > 4.5  # WCAG 2 for text
    assert contrast(to_rgb(RED_ON_DARK), to_rgb(DARK)) > 4.5
    for name, least in (("light", 1.5), ("print", 1.5), ("dark", 2.9)):
        with plot.style(name):
            here = plot.palette_of(Figure().add_subplot())
            assert contrast(here.ink, here.paper) > 12
            assert min(contrast(colour, here.paper) for colour in here.tokens(50)) > least


def test_a_grey_printer_keeps_the_order_of_tokens() -> None:
    for name in plot.STYLES:
        with plot.style(name):
            grey = [luminance(colour) for colour in plot.palette_of(Figure().add_subplot()).tokens(64)]
            assert (np.diff(grey) > 0).all()


def test_contrast_is_that_of_wcag() -> None:
    assert contrast((0, 0, 0), (1, 1, 1)) == pytest.approx(21.0)
    # the standard's own example
    assert contrast(to_rgb("#777777"), (1, 1, 1)) == pytest.approx(4.48, abs=0.01)


# Black is the colour of the text


def marks(name: str) -> Any:
    with plot.style(name):
        x = one_run().x[0]
        ax = plot.circle(x, centers=[1], strong=[2])
        return ax, ax.collections


def test_black_marks_follow_the_page_and_red_ones_stay_red() -> None:
    for name, ink, red in (
        ("light", "black", plot.RED),
        ("print", "black", plot.RED),
        ("dark", "#e6e6e6", RED_ON_DARK),
    ):
        _, (_, black, strong) = marks(name)
        np.testing.assert_array_equal(black.get_edgecolor(), to_rgba_array(ink))
        np.testing.assert_array_equal(strong.get_facecolor(), to_rgba_array(red))


def test_axes_made_in_a_style_keep_its_look_outside() -> None:
    with plot.style("dark"):
        ax = Figure().add_subplot()
    assert plot.palette_of(ax).dark
    plot.circle(one_run().x[0], ax, centers=[1])
    np.testing.assert_array_equal(ax.collections[1].get_edgecolor(), to_rgba_array("#e6e6e6"))


def test_ink_can_be_read_on_any_page() -> None:
    black_page = Figure(facecolor="black").add_subplot(facecolor="black")  # with labels left black
    assert plot.palette_of(black_page).ink == (1.0, 1.0, 1.0)
    clear = Figure(facecolor="none").add_subplot(facecolor="none")
    assert (plot.palette_of(clear).ink, plot.palette_of(clear).dark) == ((0.0, 0.0, 0.0), False)
    clear.xaxis.label.set_color("white")  # the page behind must be dark
    assert (plot.palette_of(clear).ink, plot.palette_of(clear).dark) == ((1.0, 1.0, 1.0), True)
    with matplotlib.style.context("dark_background"):
        assert plot.palette_of(Figure().add_subplot()).dark
    part: Any = Figure(facecolor="#14171c").subfigures(1, 2)
    assert plot.palette_of(part[0].add_subplot(facecolor="none")).paper == to_rgb("#14171c")


def test_colours_of_ones_own_pass_through() -> None:
    here = plot.palette_of(Figure().add_subplot())
    assert here.colour("black") == here.ink
    assert here.colour("red") == here.red == to_rgb(plot.RED)
    assert here.colour("#123456") == to_rgb("#123456")
    assert (here.grey(0.0), here.grey(1.0)) == (here.paper, here.ink)


# Styles


def test_a_style_holds_inside_and_leaves_nothing_behind() -> None:
    before = dict(matplotlib.rcParams)
    for name in plot.STYLES:
        with plot.style(name):
            assert matplotlib.rcParams["figure.facecolor"] == plot.STYLES[name]["figure.facecolor"]
            assert matplotlib.rcParams["axes.linewidth"] < 0.8
        assert dict(matplotlib.rcParams) == before
    with pytest.raises(RuntimeError, match="mine"), plot.style("dark"):
        raise RuntimeError("mine")
    assert dict(matplotlib.rcParams) == before


def test_an_unknown_style_is_refused_at_once() -> None:
    with pytest.raises(InputError, match="one of light, dark, print, but is 'neon'"):
        plot.style("neon")
