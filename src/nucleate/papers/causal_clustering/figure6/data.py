"""Figure 6: the value matrices of its panels; simulated as those of Figure 1."""

from typing import TYPE_CHECKING

from nucleate.papers.causal_clustering.figure1.data import Panel, run_panels

if TYPE_CHECKING:
    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data

__all__ = ["PANELS", "run"]

PANELS = (
    Panel(
        "row2-oblique",
        ((1.0, 0.0, 0.6), (0.0, 1.0, -0.4), (0.0, 0.0, 0.3)),
        "row 2, L not orthogonal to the rest",
    ),
    Panel(
        "row2-negative",
        ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, -1.0)),
        "row 2, the third eigenvalue negative",
    ),
    Panel(
        "row3-oblique",
        ((1.0, 0.5, -0.3), (0.0, 0.6, 0.4), (0.0, 0.0, 0.3)),
        "row 3, eigenvectors not orthogonal",
    ),
    Panel("row3-turning", ((1.0, 0.0, 0.0), (0.0, 0.2, -0.6), (0.0, 0.6, 0.2)), "row 3, the others complex"),
    Panel(
        "minus-identity",
        ((-1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, -1.0)),
        "row 4, λ_max < 0, d times: L is everything",
    ),
    Panel(
        "row5-oblique",
        ((-0.5, 0.4, -0.3), (0.0, -0.9, 0.4), (0.0, 0.0, -1.0)),
        "row 5, eigenvectors not orthogonal",
    ),
    Panel(
        "complex-negative",
        ((-0.5, -0.4, 0.0), (0.4, -0.5, 0.0), (0.0, 0.0, -1.0)),
        "complex dominant eigenvalues, −0.5 ± 0.4i",
    ),
    Panel(
        "row3-small",
        ((1.0, 0.0, 0.0), (0.0, 0.95, 0.0), (0.0, 0.0, 0.9)),
        "row 3, eigenvalues close to each other",
    ),
)


def run(workspace: "ItemWorkspace") -> "Data":
    """The panels of Figure 6."""
    return run_panels(workspace, PANELS)
