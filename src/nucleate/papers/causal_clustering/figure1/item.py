"""Figure 1: ways of tokens on the sphere for one V per row of Table 1, and for tops of the spectrum that the
table leaves out."""

from typing import TYPE_CHECKING

from nucleate.papers.causal_clustering.figure1.data import CRITERIA, Panel, measured, run_panels, verdicts_of
from nucleate.papers.core.item import Data, Item, Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from nucleate.papers.core.cache import Desk


def _diagonal(a: float, b: float, c: float) -> tuple[tuple[float, ...], ...]:
    return ((a, 0.0, 0.0), (0.0, b, 0.0), (0.0, 0.0, c))


PANELS = (
    Panel("row1", _diagonal(1.0, 1.0, 1.0), "row 1: λ_max > 0, d times"),
    Panel("row2", _diagonal(1.0, 1.0, 0.3), "row 2: λ_max > 0, twice"),
    Panel("row3", _diagonal(1.0, 0.5, 0.2), "row 3: λ_max > 0, once"),
    Panel("row4", _diagonal(-0.5, -0.5, -1.0), "row 4: λ_max < 0, twice"),
    Panel("row5", _diagonal(-0.5, -0.9, -1.0), "row 5: λ_max < 0, once"),
    Panel("complex", ((0.8, -0.6, 0.0), (0.6, 0.8, 0.0), (0.0, 0.0, 0.2)), "complex top, 0.8 ± 0.6i"),
    Panel(
        "defective",
        ((1.0, 1.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 0.3)),
        "defective top, a Jordan block of size 2",
    ),
    Panel("zero", _diagonal(0.0, -0.4, -0.8), "λ_max = 0, once"),
)
PARAMETERS = {"Q, K": "I", "n": 32, "d": 3, "beta": 9.0, "T": 5000.0, "seed": 0, "most_steps": 30_000}
CHOICES = (
    "The V of each panel, and the seed of the one uniform start that all panels share.",
    (
        "The end: from t = 5000 on with the causal solver to t = 100 n e^{2β} = 2.1 × 10¹¹, or as far as the"
        " most steps allowed go, where the tokens never rest."
    ),
    (
        "Crosses mark where V says that tokens end: the normalised spectral projection of the first token"
        " onto L (rows 1 and 2), both ends of the top eigenvector (row 3, λ_max = 0, and the eigenvector of a"
        " defective top)."
    ),
)
CAPTION = (
    "Each pair has its V above. Left, the ways of 32 tokens from the same start (small dots) to t = 5000,"
    " where they are red; right, the last decade of the run that goes on from there to the end. Crosses:"
    " where V predicts the end. Dotted: between frames more than 45° apart; where tokens are too fast to"
    " follow, only the first twenty and the last ten units of time are drawn."
)


def globes_item(key: str, title: str, statement: str, panels: tuple[Panel, ...]) -> Item:
    """Where tokens go and end for each V of the panels; Figure 6 is another one."""

    def run(desk: "Desk") -> Data:
        return run_panels(desk, panels)

    def measure(data: Data, p: Parameters) -> dict[str, Number]:
        return measured(data, p, panels)

    def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
        return verdicts_of(numbers, p, panels)

    def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
        from nucleate.papers.causal_clustering.figure1.figures import globes

        return {key: globes(data, p, panels)}

    return Item(
        key=key,
        title=title,
        statement=statement,
        parameters=PARAMETERS,
        quick={"most_steps": 3_000},
        choices=CHOICES,
        criteria=CRITERIA,
        captions={key: CAPTION},
        run=run,
        measure=measure,
        verdicts=verdicts,
        draw=draw,
    )


ITEM = globes_item(
    "figure1",
    "Figure 1: where tokens go, by the top of V",
    "Thirty-two tokens on the sphere in three dimensions, Q = K = I, β = 9, followed to t = 5000 for"
    " different value matrices: by the largest real part λ_max of V's eigenvalues and its multiplicity they"
    " end at the first token, at one point of the top eigenspace L, at the two points ±ξ, or as clouds around"
    " L (Table 1).",
    PANELS,
)
