"""One function per picture: axes in (or none, for a new figure), axes out; nothing is shown or changed
elsewhere.

One colour language for all, told in `plot/styles.py`: tokens in the order of viridis, black for Rényi
centers, red for strong centers and whatever is final, eight colours for clusters.  `style` fits them to a
light or dark screen and to paper.
"""

from nucleate.plot.animation import animate
from nucleate.plot.animation import ffmpeg as ffmpeg
from nucleate.plot.bands import band, consumption
from nucleate.plot.eigenvalues import spectrum
from nucleate.plot.files import picture
from nucleate.plot.files import save_figure as save_figure
from nucleate.plot.files import write_life as write_life
from nucleate.plot.files import write_run as write_run
from nucleate.plot.merges import life, staircase
from nucleate.plot.on_circle import angles, circle, text_histogram
from nucleate.plot.on_sphere import trajectories
from nucleate.plot.phase_diagram import phase_diagram
from nucleate.plot.styles import CLUSTER_COLOURS as CLUSTER_COLOURS
from nucleate.plot.styles import RED as RED
from nucleate.plot.styles import STYLES as STYLES
from nucleate.plot.styles import palette_of, style
from nucleate.plot.tree import merge_tree

__all__ = [
    "angles",
    "animate",
    "band",
    "circle",
    "consumption",
    "life",
    "merge_tree",
    "palette_of",
    "phase_diagram",
    "picture",
    "spectrum",
    "staircase",
    "style",
    "text_histogram",
    "trajectories",
]
