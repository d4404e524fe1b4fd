"""Figure 6: as Figure 1, for more V: eigenvectors that are not orthogonal, other eigenvalues negative or
complex, repulsion."""

from nucleate.papers.causal_clustering.figure1.data import Panel
from nucleate.papers.causal_clustering.figure1.item import globes_item

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
        "complex top, −0.5 ± 0.4i",
    ),
    Panel(
        "row3-small",
        ((1.0, 0.0, 0.0), (0.0, 0.95, 0.0), (0.0, 0.0, 0.9)),
        "row 3, eigenvalues close to each other",
    ),
)

ITEM = globes_item(
    "figure6", "Figure 6: more value matrices", "As Figure 1, for more value matrices.", PANELS
)
