"""The system that the options of `nucleate simulate` describe: from words to arrays."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nucleate.attention import Attention
    from nucleate.checks import Array
    from nucleate.integrate.run import Run
    from nucleate.parse.mask import Mask

__all__ = [
    "DEFAULT_FRAMES",
    "SimulationSetup",
    "StartOptions",
    "refuse_given",
    "setup_from_model",
    "setup_from_options",
]

DEFAULT_FRAMES = 512  # enough for smooth lines
DEFAULT_NUMBERS = 2e7  # saved at most, unless asked for more: large systems keep fewer frames
START_FIXES = "--start already fixes the start. Leave out one of the two."


@dataclass(frozen=True)
class SimulationSetup:
    """What is simulated, and what follows from it."""

    model: "Attention"
    x0: "Array"  # (n, d) or (runs, n, d)
    frames: Any  # as `simulate` takes them
    notes: dict[str, Any]
    span: float
    method: str
    interpret: Callable[["Run"], tuple["Run", str]]  # the run as it is kept, and what to say of it


@dataclass(frozen=True)
class StartOptions:
    """How the tokens start, and what is saved, as it was asked for."""

    path: Path | None
    tokens: int | None
    dimension: int | None
    runs: int | None
    seed: int | None
    frames: Any

    @property
    def root(self) -> int:
        """The seed, checked."""
        from nucleate.checks import whole_number

        return whole_number("seed", self.seed or 0, least=0)

    def positions(self, n: int, d: int, seeded: bool = False) -> tuple["Array", dict[str, Any]]:
        """(n, d) or (runs, n, d), and a note of where they come from; n and d where no others are asked for.

        seeded   whether there is a use for the seed besides the start
        """
        if self.path is None:
            n, d = n if self.tokens is None else self.tokens, d if self.dimension is None else self.dimension
            return self._random(n, d)
        from nucleate.checks import check_tokens
        from nucleate.parse.matrix import read_array

        fixed = {"--tokens": self.tokens, "--dimension": self.dimension, "--runs": self.runs}
        refuse_given(fixed if seeded else {**fixed, "--seed": self.seed}, START_FIXES)
        notes = {"start": self.path.name, **({"seed": self.root} if seeded else {})}
        return check_tokens("--start", read_array("--start", self.path)), notes

    def _random(self, n: int, d: int) -> tuple["Array", dict[str, Any]]:
        from nucleate.checks import check_memory, whole_number
        from nucleate.sphere import uniform

        seed, runs = self.root, 1 if self.runs is None else self.runs
        runs = whole_number("runs", runs, least=1, help="It is the number of systems.")
        frames = self.frames if isinstance(self.frames, int) else len(self.frames or range(16))
        check_memory(
            8.0 * runs * max(n, 1) * max(d, 1) * (frames + 4),
            f"{runs} x {n} tokens in dimension {d} with {frames} frames",
        )
        if self.runs is None:
            return uniform(n, d, seed), {"start": "uniform(n, d, seed)", "seed": seed}
        start = "uniform(n, d, SeedSequence(seed, spawn_key=(run,)))"
        return uniform(n, d, seed, runs=runs), {"start": start, "seed": seed}

    def saved(self, x0: "Array") -> Any:
        """The frames that were asked for, or as many as do not take too much room."""
        fitting = int(min(max(DEFAULT_NUMBERS // x0.size, 16), DEFAULT_FRAMES))
        return fitting if self.frames is None else self.frames


def setup_from_options(
    beta: float | None, texts: dict[str, str | None], mask: "Mask", start: StartOptions
) -> SimulationSetup:
    """The system with these matrices, by option."""
    from nucleate.attention import Attention

    matrices = [_matrix(option, "identity" if text is None else text) for option, text in texts.items()]
    d = next((M.shape[-1] for M in matrices if hasattr(M, "shape")), 2)
    x0, notes = start.positions(200, d, seeded=any(isinstance(M, dict) for M in matrices))
    Q, K, V = _written_out(matrices, x0, start.root)
    model = Attention(64.0 if beta is None else beta, Q, K, V, mask)
    return SimulationSetup(model, x0, start.saved(x0), notes, 150.0, "auto", lambda run: (run, ""))


def setup_from_model(
    path: Path, layer: int | None, head: int | None, mapping: str | None, mask: "Mask", start: StartOptions
) -> SimulationSetup:
    """One head of a checkpoint."""
    from nucleate.models.head_simulation import head_outcome, head_system

    found = head_system(path, layer, head, mapping)
    x0, notes = start.positions(256, found.d)
    reduced = found.reduced(x0, mask)
    return SimulationSetup(
        reduced.model,
        reduced.x0,
        start.saved(x0),
        {**notes, "model": path.name, "layer": found.layer, "head": found.head},
        found.span,
        "explicit",
        lambda run: (
            reduced.in_all_dimensions(run, found.attention(mask)),
            str(head_outcome(found, reduced, run)),
        ),
    )


def refuse_given(options: dict[str, Any], why: str) -> None:
    """Refuse options that something else leaves no room for."""
    from nucleate.checks import InputError

    for option, given in options.items():
        if given is not None:
            raise InputError(f"{option} is given, but {why}")


def _matrix(option: str, text: str) -> Any:
    """A matrix as `nucleate.parse.matrix` gives it, or the table of one that is drawn for every run."""
    from nucleate.checks import InputError
    from nucleate.parse.matrix import parse_matrix, read_array
    from nucleate.studies.matrices import matrix_or_random

    if not text.strip().lower().endswith(".npy"):
        return matrix_or_random(option, text)
    path = Path(text.strip())
    array = read_array(option, path)
    if array.ndim == 0:
        raise InputError(f"{option} {path} must hold a matrix, but holds the number {array:g}.")
    return parse_matrix(f"{option} {path}", array)


def _written_out(matrices: list[Any], x0: "Array", seed: int) -> "list[Array | None]":
    """Q, K, V for the start x0; what is random is drawn from the streams that a study with this seed has."""
    from nucleate.parse.matrix import as_array

    d, runs = x0.shape[-1], range(len(x0) if x0.ndim == 3 else 1)
    if not any(isinstance(M, dict) for M in matrices):
        return [as_array(M, d) for M in matrices]
    from nucleate.studies.matrices import drawn
    from nucleate.studies.points import MATRIX_STREAMS, stream

    made = []
    for M, child in zip(matrices, MATRIX_STREAMS.values(), strict=True):
        one = drawn(M, d, [stream(seed, run, child) for run in runs])
        made.append(one[0] if isinstance(M, dict) and one is not None and x0.ndim == 2 else one)
    return made
