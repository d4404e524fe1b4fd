"""The system that the options of `nucleate simulate` describe: from words to arrays."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nucleate.checks import Array
    from nucleate.integrate.run import Run
    from nucleate.layers import Model
    from nucleate.parse.mask import Mask
    from nucleate.parse.model import Draw

__all__ = [
    "DEFAULT_FRAMES",
    "SimulationSetup",
    "StartOptions",
    "model_from_options",
    "refuse_given",
    "setup_from_model",
    "setup_from_options",
]

DEFAULT_FRAMES = 512  # enough for smooth lines
DEFAULT_NUMBERS = 2e7  # saved at most, unless asked for more: large systems keep fewer frames
MAX_TOML_BYTES = 2**26
KEYS = {  # of the model's table, by option
    "--beta": ("beta",),
    "--query": ("Q",),
    "--key": ("K",),
    "--value": ("V",),
    "--mask": ("mask",),
    "--weights": ("weights",),
    "--alibi": ("alibi",),
    "--rope": ("rope",),
    "--heads": ("heads",),
    "--norm": ("norm",),
    "--tau": ("tau",),
    "--alpha": ("alpha",),
    "--radius": ("radius",),
    "--noise": ("noise",),
    "--exclude-self": ("exclude_self",),
    "--layers": ("layers", "count"),
    "--layer-dt": ("layers", "dt"),
    "--discrete": ("layers", "discrete"),
    "--redraw": ("layers", "redraw"),
}
OF_LAYERS = ("--layer-dt", "--discrete", "--redraw")
START_FIXES = "--start already fixes the start. Leave out one of the two."


@dataclass(frozen=True)
class SimulationSetup:
    """What is simulated, and what follows from it."""

    model: "Model"
    x0: "Array"  # (n, d) or (runs, n, d)
    frames: Any  # as `simulate` takes them
    notes: dict[str, Any]
    span: float
    method: str
    interpret: Callable[["Run"], tuple["Run", str]]  # the run as it is kept, and what to say of it
    noise_seed: int | None = None  # where there is noise


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


def model_from_options(path: Path | None, options: dict[str, Any]) -> dict[str, Any]:
    """The model as `nucleate.parse.model` takes it: from a .toml file, and from these options."""
    from nucleate.checks import InputError

    table = {} if path is None else _model_of_file(path)
    for option, given in options.items():
        if given is None:
            continue
        *outer, key = KEYS[option]
        inner = table.setdefault(outer[0], {}) if outer else table
        if key in inner:
            raise InputError(
                f"{option} is given, but {path} has {'.'.join(KEYS[option])}. Leave out one of them."
            )
        inner[key] = _checked(option, outer, key, given)
    if "layers" in table and "count" not in table["layers"] and "blocks" not in table["layers"]:
        given = next(option for option in OF_LAYERS if options.get(option) is not None)
        raise InputError(f"{given} is given, but no --layers. Add --layers 12, say.")
    if path is None:
        table.setdefault("beta", 64.0)
    return table


def _checked(option: str, outer: list[str], key: str, given: Any) -> Any:
    """The plain form of an option's value, or an error that names the option."""
    from nucleate.parse.model_keys import BLOCK_KEYS, HEAD_KEYS, LAYERS_KEYS

    if key == "V" and "tied" in given:
        from nucleate.parse.matrix import from_text

        return HEAD_KEYS["V"].check(option, from_text(option, given))
    if key in ("Q", "K", "V"):
        return _matrix(option, given)
    if key == "beta":
        return given  # Attention has words for it
    if key == "redraw" and given == "matrices":
        return True
    keys = LAYERS_KEYS if outer else {**HEAD_KEYS, **BLOCK_KEYS}
    return keys[key].check(option, given)


def _model_of_file(path: Path) -> dict[str, Any]:
    """The table [model] of a TOML file, such as a study, with the .npy files that it names read."""
    import tomllib

    from nucleate.checks import InputError, read_file
    from nucleate.parse.model_keys import plain_model
    from nucleate.studies.matrices import with_files

    try:
        found = tomllib.loads(read_file(path, MAX_TOML_BYTES).decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"--model {path} is not TOML. Give a study, or a file with [model].") from None
    if "model" not in found:
        raise InputError(f"--model {path} has no table [model]. Give a study, or a file with such a table.")
    try:
        return plain_model("model", with_files(found, path.parent)["model"])
    except InputError as error:
        raise InputError(f"--model {path}: {error}") from None


def setup_from_options(table: dict[str, Any], start: StartOptions, time: float | None) -> SimulationSetup:
    """The system with the model of this table."""
    from nucleate.checks import finite_number
    from nucleate.layers import Layers
    from nucleate.parse.model import build_model
    from nucleate.studies.points import ends_of_layers

    seeded = table.get("noise") is not None or _is_random(table)
    x0, notes = start.positions(200, _dimension(table), seeded=seeded)
    model = build_model(table, x0.shape[-1], _draw(x0, start.root))
    span, frames = 150.0, start.saved(x0)
    if isinstance(model, Layers):
        span = model.depth
        last = span if time is None else finite_number("--time", time, above=0.0, help="It is when to stop.")
        model.check_time(last)
        if model.discrete and start.frames is None:
            frames = ends_of_layers(model.dt, last)
    block = model.blocks[0] if isinstance(model, Layers) else model
    noise_seed = None if getattr(block, "noise", None) is None else start.root
    return SimulationSetup(model, x0, frames, notes, span, "auto", lambda run: (run, ""), noise_seed)


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


def _dimension(table: dict[str, Any]) -> int:
    """The dimension of the first matrix that has one; else the circle's."""
    heads = table.get("heads")
    each = [table, *(heads if isinstance(heads, list) else [])]
    matrices = [one.get(name) for one in each for name in ("Q", "K", "V")] + [table.get("mlp", {}).get("a")]
    return next((M.shape[-1] for M in matrices if hasattr(M, "shape")), 2)


def _is_random(table: dict[str, Any]) -> bool:
    """Whether some matrix is drawn with the seed."""
    if any(isinstance(one, dict) and "random" in one for one in table.values()):
        return True
    heads, layers = table.get("heads"), table.get("layers", {})
    return isinstance(layers.get("redraw"), str) or (
        isinstance(heads, list) and any(_is_random(one) for one in heads)
    )


def _draw(x0: "Array", seed: int) -> "Draw":
    """Random matrices for the start x0, from the streams that a study with this seed has."""
    from nucleate.parse.model import draw_from
    from nucleate.studies.points import stream

    runs = range(len(x0) if x0.ndim == 3 else 1)
    draw = draw_from(x0.shape[-1], lambda *child: [stream(seed, run, *child) for run in runs])
    if x0.ndim == 3:
        return draw

    def first(name: str, spec: dict[str, Any], place: tuple[int, ...]) -> "Array | None":
        found = draw(name, spec, place)  # (1, d, d)
        return None if found is None else found[0]

    return first
