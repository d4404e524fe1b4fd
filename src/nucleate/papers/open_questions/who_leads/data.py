"""Which tokens lead at t_f, for many starts: some to fit rules on, others to test them."""

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nucleate.papers.core.threads import in_threads
from nucleate.papers.open_questions.formed_tokens import formed_tokens

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data, Parameters

__all__ = ["Case", "cases", "leading_tokens", "run"]

LIVES_PER_BLOCK = 4  # computed and stored at a time


class Case(NamedTuple):
    """Starts of one kind."""

    use: str  # "fit" or "test"
    d: int
    beta: float
    n: int
    starts: int
    first_seed: int

    @property
    def name(self) -> str:
        """Of its dataset and numbers."""
        return f"{self.use}_d{self.d}_beta{self.beta:g}_n{self.n}"


def cases(p: "Parameters") -> list[Case]:
    """All of them, with the share of starts that is asked for."""
    return [
        Case(use, int(d), float(beta), int(n), max(3, round(p["share"] * starts)), p[f"{use}_seed"])
        for use, d, beta, n, starts in p["cases"]
    ]


def leading_tokens(case: Case, number: int) -> tuple[np.ndarray, float]:
    """Which tokens lead, (n,) of 0 and 1, and t_f."""
    from nucleate.observe.centers import center_mask
    from nucleate.observe.merges import cluster_width

    _, t_f, x = formed_tokens(case.beta, case.n, case.d, case.first_seed + number)
    return center_mask(x, cluster_width(case.beta), strong=True).astype(np.int64), t_f


def _block(case: Case, numbers: range) -> "Dataset":
    import xarray

    found = in_threads(partial(leading_tokens, case), numbers)
    return xarray.Dataset(
        {
            "leads": (("start", "token"), np.stack([one[0] for one in found])),
            "t_f": (("start",), np.array([one[1] for one in found])),
        }
    )


def run(workspace: "ItemWorkspace") -> "Data":
    """Every case, some starts at a time."""
    every, data = cases(workspace.parameters), {}
    cost = np.cumsum([0.0, *(one.starts * one.n**1.5 * one.d for one in every)])
    for i, case in enumerate(every):

        def progress(done: float, total: float, i: int = i) -> None:
            workspace.progress(cost[i] + done / total * (cost[i + 1] - cost[i]), cost[-1])

        data[case.name] = workspace.blocks(
            case.name, case.starts, LIVES_PER_BLOCK, partial(_block, case), "start", progress
        )
    return data
