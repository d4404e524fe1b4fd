"""What the engine inside an exported page computes, and the recorded runs that it can go on from.

That engine is web/src/engine: one softmax head of at most 500 tokens in 8 dimensions, up to t = 1e5.
"""

from typing import Any

import numpy as np

from nucleate.attention import Attention
from nucleate.checks import InputError
from nucleate.explorer import limits
from nucleate.explorer.greeting import greeting
from nucleate.explorer.prepared_run import PreparedRun
from nucleate.explorer.scene import Scene, parse_scene
from nucleate.integrate.family import is_ordinary
from nucleate.integrate.run import Run

__all__ = ["MAX_DIMENSION", "MAX_TIME", "MAX_TOKENS", "computed_in_page", "live_part", "page_greeting"]

MAX_TOKENS, MAX_DIMENSION, MAX_TIME = 500, 8, 1e5  # web/src/engine/scene.ts has the same
MAX_MOVED_TOKENS = 200  # a start that no seed is known of goes into links token by token
LEAST_FRAMES = 3


def page_greeting() -> dict[str, Any]:
    """What a server would say; sliders end where the engine of the page does."""
    sliders = {"n": MAX_TOKENS, "d": MAX_DIMENSION, "t": MAX_TIME}
    return {**greeting(), "limits": {**limits.PAGE_LIMITS, "sliders": sliders}}


def computed_in_page(scene: Scene) -> bool:
    """Whether the engine of the page can compute it."""
    return not scene.family and scene.n <= MAX_TOKENS and scene.d <= MAX_DIMENSION and scene.t <= MAX_TIME


def live_part(prepared: PreparedRun, run: Run) -> dict[str, Any] | None:
    """What makes the page of a recorded run live: the greeting without presets, and the scene that computes
    the run anew; None if the engine of the page cannot."""
    scene = prepared.scene if prepared.scene is not None else _scene_of(prepared, run)
    if scene is None or not computed_in_page(scene):
        return None
    return {"greeting": {**page_greeting(), "presets": []}, "scene": scene.plain()}


def _scene_of(prepared: PreparedRun, run: Run) -> Scene | None:
    """The scene of a run that was not made by the explorer: its start token by token."""
    model, (n, d) = prepared.model, prepared.x0.shape
    if not isinstance(model, Attention) or not is_ordinary(model) or model.frozen is not None:
        return None
    if n > MAX_MOVED_TOKENS or len(run.t) < LEAST_FRAMES or run.t[0] != 0.0:
        return None
    beta, Q, K, V = model.parameters(d)
    even = np.allclose(np.diff(run.t), run.t[-1] / (len(run.t) - 1), rtol=1e-6)
    table = {
        "n": n,
        "d": d,
        "beta": float(np.reshape(beta, -1)[0]),
        "t": float(run.t[-1]),
        "frames": min(len(run.t), limits.MAX_SCENE_FRAMES),
        "clock": "linear" if even else "log",
        "mask": model.mask if isinstance(model.mask, str) else {"window": model.mask.w},
        "moved": {str(token): place for token, place in enumerate(prepared.x0.tolist())},
        **{name: {"matrix": M.tolist()} for name, M in zip("QKV", (Q, K, V), strict=True)},
        "tolerance": float(
            np.clip(run.settings.get("rtol", 1e-8), limits.MIN_SCENE_TOLERANCE, limits.MAX_SCENE_TOLERANCE)
        ),
    }
    try:
        return parse_scene(table)
    except InputError:  # larger than a scene may be
        return None
