"""Tensors of a model by name, checked: there, of the right shape, finite; dequantised ones out of the
cache."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nucleate.checks import InputError
from nucleate.models.forward.norms import Floats, Norm
from nucleate.models.forward.weight_cache import WeightCache
from nucleate.models.weights import GgufWeights, Weights

__all__ = ["Tensors"]


class Tensors:
    """The tensors of one model."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self._cache = WeightCache(weights) if isinstance(weights, GgufWeights) else None

    def __contains__(self, name: str) -> bool:
        return name in self.weights.shapes

    def check(self, name: str, shape: Sequence[int | None]) -> tuple[int, ...]:
        """The shape of a tensor, which must be this; None: any size."""
        if name not in self.weights.shapes:
            raise InputError(f"The tensor {name} is missing. Are all files of the model there?")
        found = self.weights.shapes[name]
        if len(found) != len(shape) or any(
            asked not in (None, one) for asked, one in zip(shape, found, strict=True)
        ):
            asked = ", ".join("any" if one is None else str(one) for one in shape)
            raise InputError(
                f"The tensor {name} must have shape ({asked}), but has shape {found}. Check the sizes in"
                " config.json."
            )
        return found

    def get(self, name: str, shape: Sequence[int | None], dtype: Any) -> Floats:
        """A whole tensor."""
        self.check(name, shape)
        if self._cache is not None and (kept := self._cache.get(name)) is not None:
            return kept.astype(dtype, copy=False)
        return self.weights.whole(name, dtype)

    def rows(self, name: str, rows: slice, dtype: Any) -> Floats:
        """Some rows of a matrix."""
        if self._cache is not None and (kept := self._cache.get(name)) is not None:
            return kept[rows].astype(dtype, copy=False)
        return self.weights.whole(name, dtype, rows)

    def bias(self, weight: str, size: int, dtype: Any) -> Floats | None:
        """The bias that belongs to a matrix or a gain, if there is one."""
        name = weight.removesuffix("weight") + "bias"
        return self.get(name, (size,), dtype) if name in self else None

    def norm(self, name: str, size: int, plus_one: bool, centred: bool, eps: float, dtype: Any) -> Norm:
        """A normalisation by the name of its gain."""
        gain = self.get(name, (size,), dtype)
        return Norm(
            gain + gain.dtype.type(1.0) if plus_one else gain, self.bias(name, size, dtype), centred, eps
        )

    def forget(self) -> None:
        """Give back the memory that reading has taken."""
        self.weights.forget()
        if self._cache is not None:
            self._cache.forget()


def dtype_of(precision: str) -> type[Any]:
    """Of the numbers of a run."""
    if precision not in ("single", "double"):
        raise InputError(f'precision must be "single" or "double", but is {str(precision)[:40]!r}.')
    return np.float32 if precision == "single" else np.float64
