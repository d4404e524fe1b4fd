"""What is known of a stored run: the scene that makes it, if there is one, else the settings that its file
says; and the lines of Python that redo it.

A scene is claimed only where it makes the same start, times, model and settings, to the last bit.  What the
file does not say is None, and never the default of a scene.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from nucleate.attention import Window
from nucleate.checks import Array, InputError
from nucleate.explorer import limits
from nucleate.explorer.family import family_of
from nucleate.explorer.model_facts import first_head
from nucleate.explorer.scene import IDENTITY, Scene, parse_scene, save_times
from nucleate.integrate.run import Run
from nucleate.layers import Model, as_model
from nucleate.parse.model import model_table
from nucleate.sphere import uniform

__all__ = ["known_settings", "python_of_entry", "python_of_recording", "scene_of_run"]

CLOCKS = ("log", "linear")
UNIFORM = "uniform(n, d, seed)"  # how `nucleate simulate` notes such a start
SETTINGS = ("rtol", "atol", "method", "dt", "max_steps", "seed", "path_dt", "device", "precision")
FIXED_STEPS = ("euler", "heun", "rk4")


def scene_of_run(run: Run) -> Scene | None:
    """The scene whose run this is, from the notes of the explorer or those of `nucleate simulate`; None where
    no scene makes it.  `run` is one run, with all its frames."""
    if "scene" in run.notes:
        try:
            noted = parse_scene(run.notes["scene"])
        except InputError:
            return None
        return noted if _makes(noted, run) else None
    found = known_settings(run.x[0], run.t, run.settings, run.notes)
    family = _family(run)
    if family is None or None in (found["seed"], found["t"], found["tolerance"], found["clock"]):
        return None
    head = first_head(run.model)
    mask = {"window": head.mask.w} if isinstance(head.mask, Window) else head.mask
    n, d = run.x.shape[1:]
    matrices = {name: _choice(M) for name, M in zip("QKV", (head.Q, head.K, head.V), strict=True)}
    step = {} if run.settings.get("dt") is None else {"dt": run.settings["dt"]}
    table = {"n": n, "d": d, "beta": float(head.beta), "mask": mask, "family": family, **matrices, **step}
    try:
        scene = parse_scene({**table, **{key: one for key, one in found.items() if key != "start"}})
    except InputError:  # outside what a scene may have
        return None
    return scene if _makes(scene, run) else None


def _family(run: Run) -> dict[str, Any] | None:
    """What the model has besides one softmax head; None where no scene has it."""
    head = first_head(run.model)
    return None if head.frozen is not None else family_of(run.model, *run.x.shape[1:])


def _choice(M: Array | None) -> Mapping[str, Any]:
    return IDENTITY if M is None else {"matrix": M.tolist()}


def _makes(scene: Scene, run: Run) -> bool:
    """Whether this scene asks for this run: the same start, times, model and settings."""
    if scene.n * scene.d != run.x[0].size or not np.array_equal(scene.x0, run.x[0]):
        return False
    if not np.array_equal(scene.times[: len(run.t)], run.t):
        return False
    wanted = {"method": "auto", "device": "cpu", "precision": "double", **scene.settings}
    given = {"device": "cpu", "precision": "double", **run.settings}
    return all(given.get(key) == one for key, one in wanted.items()) and _same_model(scene.model, run.model)


def _same_model(model: Model, other: Any) -> bool:
    return model_table(as_model(model)) == model_table(as_model(other))


def known_settings(
    x0: Array, times: Array, settings: Mapping[str, Any], notes: Mapping[str, Any]
) -> dict[str, Any]:
    """By the names of a scene: seed, start, t, frames, clock and tolerance of a run with this first frame
    (n, d) and these times (m,); None where it is not known."""
    seed = _seed(x0, float(times[0]), notes)
    fixed = settings.get("method") in FIXED_STEPS or "path_dt" in settings
    rtol, t = settings.get("rtol"), settings.get("t")
    return {
        "seed": seed,
        "start": None if seed is None else {"kind": "uniform"},
        "t": None if t is None else float(t),
        "frames": len(times),
        "clock": _clock(times),
        "tolerance": None if fixed or rtol is None else float(rtol),
    }


def _seed(x0: Array, first: float, notes: Mapping[str, Any]) -> int | None:
    """The seed in the notes, if the tokens stand where it puts them."""
    seed = notes.get("seed")
    if first != 0.0 or notes.get("start") != UNIFORM or not isinstance(seed, int) or isinstance(seed, bool):
        return None
    if not 0 <= seed <= limits.MAX_INTEGER:
        return None
    return seed if np.array_equal(uniform(x0.shape[0], x0.shape[1], seed), x0) else None


def _clock(times: Array) -> str | None:
    if len(times) < limits.MIN_SCENE_FRAMES:
        return None
    there = (one for one in CLOCKS if np.allclose(save_times(times[-1], len(times), one), times, rtol=1e-9))
    return next(there, None)


# Python


def python_of_recording(run: Run, name: str, which: int) -> str:
    """The lines that redo a stored run from its own file, or a sentence that says why there are none; `run`
    as it was loaded."""
    x = run.x[which] if run.x.ndim == 4 else run.x  # (m, n, d)
    if run.t[0] != 0.0:
        first = f"its first frame is at t = {run.t[0]:g}, and its start is not in the file"
        return f"# {name!r} cannot be redone: {first}.\n"
    if run.settings.get("t") is None or run.settings.get("method") is None:
        return f"# {name!r} cannot be redone: its file does not say how it was computed.\n"
    if not np.isfinite(x).all() and run.x.ndim == 3:
        return f"# {name!r} cannot be redone: it has frames that are not numbers.\n"
    given = {key: run.settings[key] for key in SETTINGS if run.settings.get(key) is not None}
    told = "".join(f", {key}={one!r}" for key, one in given.items())
    several = run.x.ndim == 4
    lines = [
        "import nucleate as nc",
        "",
        f"stored = nc.load({name!r})  # model, start and times; the explorer was started with this file",
        f"x0 = stored.x[{':, 0' if several else '0'}]",
        f"run = nc.simulate(stored.model, x0, t={float(run.settings['t'])!r}, save=stored.t{told})",
        f"print(run)  # run.x[{which}] is the one that was shown" if several else "print(run)",
        "",
    ]
    return "\n".join(lines)


def python_of_entry(name: str, index: int, what: str) -> str:
    """The lines that compute a run of an ensemble, or of a head, anew as the explorer does; `what` says what
    the file is."""
    return "\n".join(
        [
            "from pathlib import Path",
            "",
            "from nucleate.explorer.prepared_run import compute",
            "from nucleate.explorer.stored_runs import open_folder",
            "",
            f"folder = open_folder(Path({name!r}))  # {what}; the explorer was started with it",
            f"run = compute(folder.prepare({name!r}, {index}))",
            "print(run)",
            "",
        ]
    )
