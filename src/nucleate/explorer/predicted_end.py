"""Where the tokens ought to end, as places that the page can draw: the space L and the point in it."""

from typing import Any

from nucleate.checks import Array, InputError
from nucleate.theory.atlas import Atlas, atlas, limit_point

__all__ = ["dominant_space", "predicted_point"]


def dominant_space(known: Atlas) -> list[list[float]]:
    """Orthonormal vectors that span L, each (d,); where there is one, it is xi up to its sign."""
    return known.basis.T.tolist()


def predicted_point(spectrum: dict[str, Any] | None, V: Array, x1: Array) -> list[float] | None:
    """The point where rows 1 and 2 of Table 1 say that every token ends, if the first starts at x1 (d,); None
    where they do not apply, or x1 has no part in L."""
    if spectrum is None or spectrum["row"] not in (1, 2):
        return None
    if spectrum["row"] == 1:
        return x1.tolist()  # to the last bit
    try:
        return limit_point(atlas(V), x1).tolist()
    except InputError:
        return None
