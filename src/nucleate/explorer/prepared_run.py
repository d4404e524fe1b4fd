"""A prepared run: all that is needed to show one run, whether it is computed now or was stored before."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nucleate.attention import Attention, Frozen
from nucleate.block import Block
from nucleate.checks import Array, InputError
from nucleate.explorer import limits
from nucleate.explorer.cluster_bands import ClusterBand
from nucleate.explorer.family import family_of
from nucleate.explorer.measurements import start_facts
from nucleate.explorer.model_facts import first_head, largest_beta, model_facts
from nucleate.explorer.predicted_end import predicted_point
from nucleate.explorer.recorded_scene import known_settings, python_of_recording, scene_of_run
from nucleate.explorer.scene import Scene
from nucleate.integrate.family import is_ordinary
from nucleate.integrate.run import Run
from nucleate.integrate.simulate import OnFrames, simulate
from nucleate.layers import Layers, Model, as_model

__all__ = [
    "PreparedRun",
    "begun_message",
    "check_size",
    "compute",
    "model_of_run",
    "prepare_scene",
    "prepare_stored",
    "thinned",
]


@dataclass(frozen=True, eq=False)
class PreparedRun:
    """One run: to be computed, or, if `run` is there, stored before."""

    model: Model
    x0: Array  # (n, d)
    times: Array  # (m,)
    settings: Mapping[str, Any]  # of simulate
    c: float  # delta = c beta^(-1/2)
    scene: Scene | None = None
    run: Run | None = None
    title: str | None = None
    recorded: bool = False  # comes from a file, though it may be computed anew
    frames_before_thinning: int = 0
    known: Mapping[str, Any] | None = None  # of a recording that no scene makes: what its file says
    python: str | None = None  # and the lines that redo it
    file: str = "nucleate-run"  # the name, without its ending, under which its data are saved
    about: str | None = None  # what the page says of it
    band: ClusterBand | None = None  # of the ensemble that it is one of


def prepare_scene(scene: Scene) -> PreparedRun:
    """The run that a scene describes."""
    times = scene.times
    return PreparedRun(
        scene.model,
        scene.x0,
        times,
        scene.settings,
        scene.c,
        scene,
        frames_before_thinning=len(times),
    )


def prepare_stored(run: Run, which: int, title: str) -> PreparedRun:
    """A stored run, or number `which` of several; thinned if it has too many frames."""
    loaded = run
    whole = _one_run(run, which)
    run = thinned(whole, limits.MAX_NUMBERS)
    check_size(title, *run.x.shape[1:])
    frozen = first_head(run.model).frozen
    if frozen is not None and len(frozen.x) > limits.MAX_TOKENS:
        raise InputError(
            f"{title} has {len(frozen.x)} frozen tokens, but the explorer shows at most"
            f" {limits.MAX_TOKENS}. Draw it: run.plot()."
        )
    scene = scene_of_run(whole)
    return PreparedRun(
        run.model,
        run.x[0],
        run.t,
        run.settings,
        scene.c if scene else Scene().c,
        scene,
        run,
        title,
        recorded=True,
        frames_before_thinning=len(whole.t),
        known=None if scene else known_settings(whole.x[0], whole.t, whole.settings, whole.notes),
        python=None if scene else python_of_recording(loaded, title, which),
    )


def check_size(title: str, n: int, d: int) -> None:
    """Refuse what the page cannot show."""
    if n > limits.MAX_TOKENS or d > limits.MAX_DIMENSION:
        raise InputError(
            f"{title} has {n} tokens in dimension {d}, but the explorer shows at most {limits.MAX_TOKENS} in"
            f" {limits.MAX_DIMENSION}. Draw it: run.plot()."
        )


def compute(prepared: PreparedRun, on_frames: OnFrames | None = None) -> Run:
    """The run itself; the scene it comes from, if any, is written into its notes."""
    if prepared.run is not None:
        return prepared.run
    notes = {} if prepared.scene is None else {"scene": prepared.scene.plain()}
    run = simulate(
        prepared.model,
        prepared.x0,
        save=prepared.times,
        on_frames=on_frames,
        time_limit=limits.MAX_RUN_SECONDS,
        **prepared.settings,
    )
    return replace(run, notes=notes)


def begun_message(prepared: PreparedRun, id: int) -> dict[str, Any]:
    """What the page is told before the first frame."""
    n, d = prepared.x0.shape
    model, ordinary = prepared.model, is_ordinary(prepared.model)
    beta = largest_beta(model)
    facts = model_facts(model, n, d)
    return {
        "say": "begun",
        "id": id,
        "scene": None if prepared.scene is None else prepared.scene.plain(),
        "recorded": prepared.recorded,
        "title": prepared.title,
        "file": prepared.file,
        "known": None if prepared.known is None else dict(prepared.known),
        "python": prepared.python,
        **({} if prepared.about is None else {"about": prepared.about}),
        "n": n,
        "d": d,
        "frames": len(prepared.times),
        "frames_before_thinning": prepared.frames_before_thinning,
        "dt": prepared.settings.get("dt"),
        "band": None if prepared.band is None else prepared.band.plain(),
        "family": family_of(model, n, d) if prepared.scene is None else prepared.scene.family,
        **facts,
        "predicted_point": predicted_point(facts["spectrum"], np.array(facts["V"]), prepared.x0[0]),
        # weights that hardly prefer close tokens make no clusters of that width
        **start_facts(prepared.x0, beta if ordinary else max(beta, 1.0), prepared.c, ordinary),
        # clusters of one run are counted as those of its ensemble are, or the two could not be compared
        **({} if prepared.band is None else {"radius": prepared.band.radius}),
    }


def thinned(run: Run, max_numbers: int) -> Run:
    """Fewer frames, evenly chosen, first and last among them, so that at most `max_numbers` numbers are
    left."""
    m, n, d = run.x.shape
    keep = int(min(m, limits.MAX_SCENE_FRAMES, max(max_numbers // (n * d), 2)))
    chosen = np.unique(np.linspace(0, m - 1, keep).round().astype(np.int64))
    if keep == m:
        return run
    norms = None if run.norms is None else run.norms[chosen]  # (keep, n)
    return replace(run, t=run.t[chosen], x=run.x[chosen], norms=norms)


def _one_run(run: Run, which: int) -> Run:
    """One run out of several, without the frames it never reached."""
    several = run.x.ndim == 4
    if which >= (len(run.x) if several else 1):
        raise InputError(
            f"There is no run {which}: the file holds {len(run.x) if several else 1}, counted from 0."
        )
    x = run.x[which] if several else run.x  # (m, n, d)
    there = np.isfinite(x).all((1, 2))  # (m,)
    count = len(x) if there.all() else int(there.argmin())
    if count == 0:
        raise InputError(
            f"Run {which} has no frames: it ended at once ({run.status[which] if several else run.status})."
        )
    status = run.status if isinstance(run.status, str) else run.status[which]
    steps = int(np.asarray(run.steps).reshape(-1)[which if np.ndim(run.steps) else 0])
    norms = run.norms if run.norms is None or not several else run.norms[which]  # (m, n)
    return replace(
        run,
        model=model_of_run(as_model(run.model), which),
        t=run.t[:count],
        x=np.ascontiguousarray(x[:count]),
        status=status,
        steps=steps,
        norms=None if norms is None else np.ascontiguousarray(norms[:count]),
    )


def model_of_run(model: Model, which: int) -> Model:
    """The model of one run out of several: parameters without the run axis."""
    if isinstance(model, Attention):
        return _head_of_run(model, which)
    if isinstance(model, Layers):
        shared = {id(block): _block_of_run(block, which) for block in model.blocks}  # layers may share one
        return Layers([shared[id(block)] for block in model.blocks], model.dt, discrete=model.discrete)
    return _block_of_run(model, which)


def _block_of_run(block: Block, which: int) -> Block:
    return Block(
        [_head_of_run(head, which) for head in block.heads],
        block.mlp,
        block.norm,
        block.noise,
        block.exclude_self,
        tau=block.tau if block.norm == "mix" else None,
        alpha=block.alpha,
        radius=block.radius,
    )


def _head_of_run(head: Attention, which: int) -> Attention:
    def one(array: Array | None, ndim: int) -> Any:
        return array[which] if array is not None and array.ndim > ndim else array

    frozen = None if head.frozen is None else Frozen(one(head.frozen.x, 2), one(head.frozen.weight, 1))
    Q, K, V = (one(M, 2) for M in (head.Q, head.K, head.V))
    return Attention(one(head.beta, 0), Q, K, V, head.mask, frozen, head.weights, head.position)
