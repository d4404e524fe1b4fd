"""A take: what one session shows at a time, whether it is computed now or was stored before."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nucleate.attention import Attention, Frozen
from nucleate.checks import Array, InputError
from nucleate.explorer.measures import model_facts, start_facts
from nucleate.explorer.scene import LIMITS, Scene, parse_scene
from nucleate.integrate.run import Run
from nucleate.integrate.simulate import OnFrames, simulate

__all__ = ["Take", "alone", "begun", "check_size", "of_run", "of_scene", "perform", "thinned"]


@dataclass(frozen=True, eq=False)
class Take:
    """One run: to be computed, or, if `run` is there, recorded."""

    model: Attention
    x0: Array  # (n, d)
    times: Array  # (m,)
    settings: Mapping[str, Any]  # of simulate
    c: float  # delta = c beta^(-1/2)
    scene: Scene | None = None
    run: Run | None = None
    title: str | None = None
    recorded: bool = False  # comes from a file, though it may be computed anew
    frames_of: int = 0  # frames the file has
    file: str = "nucleate-run"  # the name, without its ending, under which its data are saved


def of_scene(scene: Scene) -> Take:
    """The run that a scene describes."""
    settings = {"t": scene.t, "rtol": scene.tolerance, "atol": scene.tolerance / 100.0}
    return Take(scene.model, scene.x0, scene.times, settings, scene.c, scene, frames_of=scene.frames)


def of_run(run: Run, which: int, title: str, most: int = int(LIMITS["numbers"])) -> Take:
    """A stored run, or number `which` of several; thinned if it has too many frames."""
    run = _single(run, which)
    whole = len(run.t)
    run = thinned(run, most)
    check_size(title, *run.x.shape[1:])
    if run.model.frozen is not None and len(run.model.frozen.x) > LIMITS["n"]:
        raise InputError(
            f"{title} has {len(run.model.frozen.x)} frozen tokens, but the explorer shows at most"
            f" {LIMITS['n']}. Draw it: run.plot()."
        )
    scene = _noted_scene(run)
    return Take(
        run.model,
        run.x[0],
        run.t,
        run.settings,
        scene.c if scene else Scene().c,
        scene,
        run,
        title,
        True,
        whole,
    )


def check_size(title: str, n: int, d: int) -> None:
    """Refuse what the page cannot show."""
    if n > LIMITS["n"] or d > LIMITS["d"]:
        raise InputError(
            f"{title} has {n} tokens in dimension {d}, but the explorer shows at most {LIMITS['n']} in"
            f" {LIMITS['d']}. Draw it: run.plot()."
        )


def perform(take: Take, on_frames: OnFrames | None = None) -> Run:
    """The run of a take; the scene it comes from, if any, is written into its notes."""
    if take.run is not None:
        return take.run
    notes = {} if take.scene is None else {"scene": take.scene.plain()}
    return replace(
        simulate(
            take.model,
            take.x0,
            save=take.times,
            on_frames=on_frames,
            time_limit=LIMITS["seconds"],
            **take.settings,
        ),
        notes=notes,
    )


def begun(take: Take, id: int) -> dict[str, Any]:
    """What the page is told before the first frame."""
    n, d = take.x0.shape
    return {
        "say": "begun",
        "id": id,
        "scene": None if take.scene is None else take.scene.plain(),
        "recorded": take.recorded,
        "title": take.title,
        "file": take.file,
        "n": n,
        "d": d,
        "frames": len(take.times),
        "frames_of": take.frames_of,
        **model_facts(take.model, n, d),
        **start_facts(take.x0, float(take.model.beta), take.c),
    }


def thinned(run: Run, most: int) -> Run:
    """Fewer frames, evenly chosen, first and last among them, so that at most `most` numbers are left."""
    m, n, d = run.x.shape
    keep = int(min(m, LIMITS["frames"], max(most // (n * d), 2)))
    chosen = np.unique(np.linspace(0, m - 1, keep).round().astype(np.int64))
    return run if keep == m else replace(run, t=run.t[chosen], x=run.x[chosen])


def _single(run: Run, which: int) -> Run:
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
    return replace(
        run,
        model=alone(run.model, which),
        t=run.t[:count],
        x=np.ascontiguousarray(x[:count]),
        status=status,
        steps=steps,
    )


def alone(model: Attention, which: int) -> Attention:
    """The model of one run: parameters without the run axis."""

    def one(array: Array | None, ndim: int) -> Any:
        return array[which] if array is not None and array.ndim > ndim else array

    frozen = None if model.frozen is None else Frozen(one(model.frozen.x, 2), one(model.frozen.weight, 1))
    return Attention(
        one(model.beta, 0), one(model.Q, 2), one(model.K, 2), one(model.V, 2), model.mask, frozen
    )


def _noted_scene(run: Run) -> Scene | None:
    """The scene in the notes of a run that the explorer saved."""
    try:
        return parse_scene(run.notes["scene"])
    except (KeyError, TypeError, InputError):
        return None
