"""Heads of real checkpoints as runs of the page: each is simulated alone, from the same random start.

V = W_O W_V maps into the range of W_O, so n tokens never leave the d_head + n dimensions that this range and
their start span.  The page has the system in a basis of those: Q, K and V are multiplied by it, nothing is
approximated, and scores and motions are those of all d dimensions (nucleate.models.head_simulation).
"""

from functools import lru_cache
from pathlib import Path

from nucleate.checks import InputError
from nucleate.explorer.prepared_run import PreparedRun
from nucleate.explorer.recorded_scene import known_settings, python_of_entry
from nucleate.explorer.scene import Scene, save_times
from nucleate.models.head_simulation import ATOL, RTOL, HeadSystem, ReducedSystem, open_heads, system_of
from nucleate.models.table import region_words
from nucleate.sphere import uniform

__all__ = ["CHECKPOINT_FILES", "count_heads", "is_checkpoint", "prepare_head"]

CHECKPOINT_FILES = (".gguf", ".safetensors")
HEAD_TOKENS = 32
HEAD_FRAMES = 160
HEAD_SEED = 0
MAX_REDUCED_DIMENSION = 512  # d_head + tokens: matrices of this size still go to the page


def is_checkpoint(path: Path) -> bool:
    """Whether a path looks like a checkpoint: one of its files, or its folder."""
    try:
        if path.suffix.lower() in CHECKPOINT_FILES:
            return path.is_file()
        return (path / "config.json").is_file() and any(path.glob("*.safetensors"))
    except OSError:  # a folder that may not be read is none, and must not hide those beside it
        return False


def count_heads(path: Path) -> tuple[int, int]:
    """Layers, and heads of each, of the checkpoint at a path; an InputError where it cannot be read."""
    return _counted(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _counted(path: Path, changed: int) -> tuple[int, int]:
    _, plan = open_heads(path)
    return len(plan.layers), plan.heads


def prepare_head(path: Path, which: int, name: str) -> PreparedRun:
    """Head number `which` of a checkpoint, counted through the heads of the first layer, then of the next."""
    source, plan = open_heads(path)
    layer, head = divmod(which, plan.heads)
    if plan.head_dim + HEAD_TOKENS > MAX_REDUCED_DIMENSION:
        raise InputError(
            f"The heads of {name} have {plan.head_dim} dimensions, but the explorer shows at most"
            f" {MAX_REDUCED_DIMENSION - HEAD_TOKENS}. Use nucleate spectra --simulate-heads."
        )
    system = system_of(source, plan, layer, head)
    reduced = system.reduced(uniform(HEAD_TOKENS, plan.d, HEAD_SEED))
    times = save_times(system.span, HEAD_FRAMES, "log")
    settings = {"t": system.span, "rtol": RTOL, "atol": ATOL, "method": "explicit"}
    return PreparedRun(
        reduced.model,
        reduced.x0,
        times,
        settings,
        Scene().c,
        title=f"{source.name}, layer {layer}, head {head}",
        recorded=True,
        frames_before_thinning=len(times),
        known=known_settings(reduced.x0, times, settings, {}),  # its seed is that of the start in all d
        python=python_of_entry(name, which, "the checkpoint"),
        about=_about(source.name, plan.head_dim, system, reduced),
    )


def _about(model: str, head_dim: int, system: HeadSystem, reduced: ReducedSystem) -> str:
    """What is shown, what was reduced, and what Table 1 says of the head."""
    d, s = system.d, reduced.x0.shape[1]
    where = (
        f"all {d} dimensions of the model"
        if s == d
        else f"the {s} of its {d} dimensions that they can reach: the {head_dim} of W_O and those of their"
        " start. Nothing is approximated by that"
    )
    return (
        f"{model}: layer {system.layer}, head {system.head}, both counted from 0. {len(reduced.x0)} random"
        f" tokens (seed {HEAD_SEED}) move under this head alone, causally, in {where}. Q, K and V are the"
        f" head's, with the gain in front; β = {system.beta:.4g} is the largest score, λ_max ="
        f" {system.lambda_max:.4g}. Table 1 of W_V W_O: {region_words(system.region)}. Biases, positions and"
        " the other heads are left out."
    )
