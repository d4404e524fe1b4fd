"""nucleate.spectra: every head of a model in the atlas of Table 1, beside two null models: the same
architecture at its random initialisation, and the trained heads with their W_O swapped."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import InputError, whole_number
from nucleate.conveniences import convenience
from nucleate.models.checkpoint import open_source
from nucleate.models.heads import HeadSpectrum, full_row, head_spectrum, products, read_factors
from nucleate.models.mapping import Mapping, find_mapping
from nucleate.models.nulls import (
    Initial,
    Shares,
    Swapped,
    initial_heads,
    measures,
    swapped_heads,
    swapped_spectra,
)
from nucleate.models.plan import Plan, make_plan
from nucleate.notebook import shown_progress, vanishing
from nucleate.printable import printable

if TYPE_CHECKING:
    from nucleate.models.all_heads import HeadOutcomes

__all__ = ["DEFAULT_DRAWS", "DEFAULT_PARTNERS", "Head", "Spectra", "spectra"]

DEFAULT_DRAWS = 256  # heads drawn at initialisation: enough for a share to be known to about 3 %
DEFAULT_PARTNERS = 12  # heads whose W_O a W_V is paired with: all others where a layer has up to 13


@dataclass(frozen=True, eq=False)
class Head:
    """One head of a model.  Eigenvalues, row, kind and share are those of the small product W_V diag(gamma) C
    W_O, gamma the gain of the normalisation in front and C its centring."""

    layer: int
    head: int
    key_value_head: int  # which it shares with others, in grouped attention
    beta: float  # the largest score of two unit tokens
    # root mean square score of two that are independent and uniform; None where queries and keys are
    # normalised in the head
    rms_score: float | None
    eigenvalues: NDArray[np.complex128]  # (d_head,) the non-zero ones of V, largest real part first
    lambda_max: float  # their largest real part
    kind: str  # of the dominant eigenvalue: real, complex, defective, complex defective, or unclear
    multiplicity: int  # of the dominant eigenvalue
    row: int | None  # of Table 1
    region: str  # the row, or why there is none: "3", "complex +", "zero", ...
    left: float  # share of these eigenvalues with negative real part
    full_lambda_max: float  # of the d x d matrix V itself: never negative if d_head < d
    full_row: int | None  # of Table 1, for V itself
    stored: HeadSpectrum | None  # post-norm models: the spectrum in the stored state, without the gain


@dataclass(frozen=True, eq=False, repr=False)
class Spectra:
    """The heads of a model in the atlas.  `print` it to read it; save(path) writes .json or .csv."""

    model: str
    architecture: str
    d: int
    layers: int
    heads_per_layer: int
    key_value_heads: int
    head_dim: int
    stored_as: tuple[str, ...]  # such as BF16
    heads: tuple[Head, ...]  # layer by layer
    initial: Initial
    swapped: Swapped | None  # None: not asked for, or all heads of a layer share one W_V
    swapped_stored: Swapped | None  # the same in the stored state; post-norm models only
    notes: tuple[str, ...]  # what was left out or taken in a certain way
    outcomes: "HeadOutcomes | None" = None  # every head simulated alone, if that was asked for

    @property
    def regions(self) -> dict[str, int]:
        """How many heads are in which row of Table 1, or outside it."""
        return dict(sorted(Counter(head.region for head in self.heads).items()))

    @property
    def post_norm(self) -> bool:
        """Whether every head has a second spectrum, that in the stored state."""
        return all(head.stored is not None for head in self.heads)

    @property
    def stored_regions(self) -> dict[str, int]:
        """The same as `regions` in the stored state; empty for pre-norm models, which have none."""
        return dict(sorted(Counter(head.stored.region for head in self.heads if head.stored).items()))

    @property
    def shares(self) -> dict[str, float]:
        """Of the heads: negative (lambda_max < 0), real (their dominant eigenvalue); of their eigenvalues:
        left (negative real part)."""
        return _shares(self.heads)

    @property
    def stored_shares(self) -> dict[str, float]:
        """The same in the stored state; empty for pre-norm models."""
        return _shares([head.stored for head in self.heads]) if self.post_norm else {}

    @property
    def negative(self) -> tuple[Head, ...]:
        """The heads with lambda_max < 0, which no random initialisation has."""
        return tuple(head for head in self.heads if head.region != "zero" and head.lambda_max < 0.0)

    def layer(self, number: int) -> tuple[Head, ...]:
        """The heads of one layer."""
        if not 0 <= number < self.layers:
            raise InputError(
                f"layer must be 0 to {self.layers - 1}, but is {number}. Layers are counted from 0."
            )
        return self.heads[number * self.heads_per_layer : (number + 1) * self.heads_per_layer]

    def __str__(self) -> str:
        from nucleate.models.table import summary

        return printable(summary(self))

    def _repr_html_(self) -> str:
        return convenience("Spectra, in a notebook")(self)

    def __repr__(self) -> str:
        return printable(
            f"Spectra({self.model!r}, {self.architecture}, {self.layers} layers of {self.heads_per_layer}"
            f" heads, d={self.d}, regions={self.regions})"
        )

    def save(self, path: str | Path) -> None:
        """Write everything as .json, or one line per head as .csv."""
        from nucleate.models.table import write

        write(self, Path(path))


def spectra(
    model: Any,
    mapping: str | Path | None = None,
    *,
    draws: int = DEFAULT_DRAWS,
    seed: int = 0,
    partners: int = DEFAULT_PARTNERS,
    progress: Callable[[int, int], object] | None = None,
) -> Spectra:
    """Every head of a model: the size of its scores, the spectrum of its value matrix, the row of Table 1;
    and the same at random initialisation, and with the W_O of other heads.

    model     the folder or file of a checkpoint (.safetensors, .gguf), or a loaded model of the transformers
              library
    mapping   for an architecture that is not recognised: a TOML file that names its tensors, or the name of a
              known architecture it is like
    draws     heads drawn at initialisation, from SeedSequence(seed)
    partners  heads of other groups of its layer whose W_O each W_V is paired with, at most; 0: none
    progress  called as progress(done, heads); returning False stops as Ctrl-C does, with a KeyboardInterrupt
    """
    draws = whole_number("draws", draws, least=1, help="It is a number of random heads.")
    seed = whole_number("seed", seed, least=0)
    partners = whole_number("partners", partners, least=0, help="It is a number of heads.")
    source = open_source(model)
    plan = make_plan(source.weights, source.config, None if mapping is None else find_mapping(mapping))
    total = len(plan.layers) * plan.heads
    progress = shown_progress(progress, "reading heads")
    heads: list[Head] = []
    pairs: list[list[HeadSpectrum]] = []
    stored_pairs: list[list[HeadSpectrum]] = []
    swap = partners > 0 and plan.key_value_heads > 1
    with _one_thread(), vanishing(progress):
        for i in range(len(plan.layers)):
            for h in range(plan.heads):
                heads.append(_head(source.weights, plan, i, h))
                if progress is not None and progress(len(heads), total) is False:
                    raise KeyboardInterrupt
            if swap:
                found, found_stored = swapped_spectra(source.weights, plan, i, partners, seed)
                pairs += found
                stored_pairs += found_stored
            source.weights.forget()
        initial = initial_heads(plan, draws, seed)
    read = [plan.tensor(layer, key) for layer in plan.layers for key in _read_keys(plan.mapping)]
    return Spectra(
        source.name,
        plan.mapping.name,
        plan.d,
        len(plan.layers),
        plan.heads,
        plan.key_value_heads,
        plan.head_dim,
        tuple(sorted({source.weights.kinds[name] for name in read})),
        tuple(heads),
        initial,
        swapped_heads(pairs, plan, seed) if swap else None,
        swapped_heads(stored_pairs, plan, seed) if swap and plan.post_norm else None,
        (*source.notes, *plan.notes),
    )


def _read_keys(mapping: Mapping) -> tuple[str, ...]:
    return ("fused", "output") if mapping.fused else ("query", "key", "value", "output")


def _one_thread() -> Any:
    """BLAS on one thread: the matrices are small, and the last bits must not depend on the machine's
    cores."""
    import scipy.linalg  # noqa: F401  # brings a BLAS of its own
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1, user_api="blas")


def _head(weights: Any, plan: Plan, i: int, h: int) -> Head:
    factors = read_factors(weights, plan, i, h)
    small, beta, rms_score = products(factors, i, h)
    found, stored = head_spectrum(small), factors.small_stored()
    full_lambda_max, row = full_row(found, plan.d)
    return Head(
        i,
        h,
        plan.group_of(h),
        beta,
        None if plan.scores_normalised else rms_score,
        found.eigenvalues,
        found.lambda_max,
        found.kind,
        found.multiplicity,
        found.row,
        found.region,
        found.left,
        full_lambda_max,
        row,
        None if stored is None else head_spectrum(stored),
    )


def _shares(found: Iterable[Any]) -> dict[str, float]:
    mean = np.mean([measures(one) for one in found], axis=0)  # (3,)
    return {one.name: float(share) for one, share in zip(fields(Shares), mean, strict=True)}
