"""The picture of Figure 6, drawn as that of Figure 1."""

from typing import TYPE_CHECKING

from nucleate.papers.causal_clustering.figure1.figures import globes
from nucleate.papers.causal_clustering.figure6.data import PANELS
from nucleate.papers.core.item import Data, Numbers, Parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """The picture of Figure 6."""
    return {"figure6": globes(data, p, PANELS)}
