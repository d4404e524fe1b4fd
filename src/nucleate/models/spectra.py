"""nucleate.spectra: every head of a model in the atlas of Table 1, beside the same architecture at its random
initialisation."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import InputError, whole_number
from nucleate.models.checkpoint import open_source
from nucleate.models.heads import HeadSpectrum, fold, full_row, head_spectrum, products, read_factors
from nucleate.models.mapping import Mapping, find_mapping
from nucleate.models.plan import Plan, make_plan

if TYPE_CHECKING:
    from nucleate.models.all_heads import HeadOutcomes

__all__ = ["Head", "Initial", "Spectra", "spectra"]

DEFAULT_DRAWS = 256  # heads drawn at initialisation: enough for a share to be known to about 3 %


@dataclass(frozen=True, eq=False)
class Head:
    """One head of a model.  Eigenvalues, row, kind and share are those of the small product W_V diag(g) C
    W_O."""

    layer: int
    head: int
    key_value_head: int  # which it shares with others, in grouped attention
    beta: float  # the effective one: |A|_2
    eigenvalues: NDArray[np.complex128]  # (d_head,) the non-zero ones of V, largest real part first
    lambda_max: float  # their largest real part
    kind: str  # of the dominant eigenvalue: real, complex, defective, complex defective, or unclear
    multiplicity: int  # of the dominant eigenvalue
    row: int | None  # of Table 1
    region: str  # the row, or why there is none: "3", "complex +", "zero", ...
    left: float  # share of these eigenvalues with negative real part
    full_lambda_max: float  # of the d x d matrix V itself: never negative if d_head < d
    full_row: int | None  # of Table 1, for V itself


@dataclass(frozen=True)
class Initial:
    """The same architecture with independent Gaussian weights and gain 1: what its heads look like before
    training."""

    draws: int
    seed: int
    std: float
    output_std: float
    lambda_max: float  # mean
    low: float  # 0.1 quantile
    high: float  # 0.9 quantile
    left: float  # mean share of eigenvalues with negative real part
    regions: dict[str, int]  # how many draws are in which


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
    notes: tuple[str, ...]  # what was left out or taken in a certain way
    outcomes: "HeadOutcomes | None" = None  # every head simulated alone, if that was asked for

    @property
    def regions(self) -> dict[str, int]:
        """How many heads are in which row of Table 1, or outside it."""
        return dict(sorted(Counter(head.region for head in self.heads).items()))

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

        return summary(self)

    def __repr__(self) -> str:
        return (
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
    progress: Callable[[int, int], object] | None = None,
) -> Spectra:
    """Every head of a model: its effective beta, the spectrum of its value matrix, the row of Table 1; and
    the same at random initialisation.

    model     the folder or file of a checkpoint (.safetensors, .gguf), or a loaded model of the transformers
              library
    mapping   for an architecture that is not recognised: a TOML file that names its tensors, or the name of a
              known architecture it is like
    draws     heads drawn at initialisation, from SeedSequence(seed)
    progress  called as progress(done, heads); returning False stops as Ctrl-C does, with a KeyboardInterrupt
    """
    draws = whole_number("draws", draws, least=1, help="It is a number of random heads.")
    seed = whole_number("seed", seed, least=0)
    source = open_source(model)
    plan = make_plan(source.weights, source.config, None if mapping is None else find_mapping(mapping))
    total = len(plan.layers) * plan.heads
    heads: list[Head] = []
    with _one_thread():
        for i in range(len(plan.layers)):
            for h in range(plan.heads):
                heads.append(_head(source.weights, plan, i, h))
                if progress is not None and progress(len(heads), total) is False:
                    raise KeyboardInterrupt
            source.weights.forget()
        initial = _initial(plan, draws, seed)
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
    small, beta = products(factors, i, h)
    found = head_spectrum(small)
    full_lambda_max, row = full_row(found, plan.d)
    shared = h // (plan.heads // plan.key_value_heads)
    return Head(
        i,
        h,
        shared,
        beta,
        found.eigenvalues,
        found.lambda_max,
        found.kind,
        found.multiplicity,
        found.row,
        found.region,
        found.left,
        full_lambda_max,
        row,
    )


def _initial(plan: Plan, draws: int, seed: int) -> Initial:
    """Heads with Gaussian W_V and W_O, gain 1 and the same centring."""
    drawn: list[HeadSpectrum] = []
    for i in range(draws):
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(i,)))
        # (d_head, d)
        V = fold(plan.std * rng.standard_normal((plan.head_dim, plan.d)), None, plan.mapping.centred)
        drawn.append(head_spectrum(V @ (plan.output_std * rng.standard_normal((plan.d, plan.head_dim)))))
    lambda_max = np.array([one.lambda_max for one in drawn])  # (draws,)
    low, high = np.quantile(lambda_max, [0.1, 0.9])
    regions = dict(sorted(Counter(one.region for one in drawn).items()))
    left = float(np.mean([one.left for one in drawn]))
    return Initial(
        draws,
        seed,
        plan.std,
        plan.output_std,
        float(lambda_max.mean()),
        float(low),
        float(high),
        left,
        regions,
    )
