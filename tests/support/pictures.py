"""What is on a picture: its lines, its ink, and how long it takes to draw."""

import time
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg

from nucleate.checks import Array


def drawn_lines(ax: Any) -> list[Array]:
    """Every line of every collection of lines, (points, 2) each."""
    return [
        np.asarray(line)
        for collection in ax.collections
        if hasattr(collection, "get_segments")
        for line in collection.get_segments()
    ]


def draw(figure: Any) -> Array:
    """The pixels of a figure, (height, width, 3); a warning is an error here, such as a glyph that the font
    lacks."""
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3]


def ink_share(ax: Any) -> float:
    """The share of pixels that are not white."""
    ax.figure.set_dpi(80)
    pixels = draw(ax.figure)
    return float((pixels < 250).any(-1).mean())


def seconds_to_draw(ax: Any) -> float:
    """How long the figure takes to draw."""
    start = time.perf_counter()
    draw(ax.figure)
    return time.perf_counter() - start
