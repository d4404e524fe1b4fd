"""A scene as the lines of Python that redo its run, to the last bit."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from nucleate.attention import Window
from nucleate.checks import Array
from nucleate.explorer.matrices import chosen_matrix
from nucleate.explorer.scene import Scene
from nucleate.integrate.simulate import FIRST_LOG_TIME
from nucleate.parse.mask import mask_text, parse_mask
from nucleate.parse.matrix import name_and_seed

__all__ = ["python_code"]

MAX_WRITTEN_DIMENSION = 4  # larger preset matrices are named, not written out
OF_BLOCK = ("norm", "tau", "alpha", "radius", "noise", "exclude_self")
IMPORTS = {  # by what needs them
    "named_matrix(": "from nucleate.parse.named_matrices import named_matrix",
    "parse_model(": "from nucleate.parse.model import parse_model",
    " cap(": "from nucleate.explorer.start_positions import cap",
    " planted(": "from nucleate.explorer.start_positions import planted",
}


def python_code(scene: Scene) -> str:
    """About ten lines; run afterwards holds the frames."""
    solver = f"rtol={scene.tolerance!r}, atol={scene.tolerance / 100.0!r}"
    lines = [
        *_start(scene),
        *_model(scene),
        *_times(scene),
        (
            f"run = nc.simulate(model, x0, t={scene.t!r}, save=times,"
            f" {f'dt=dt, seed={scene.seed}' if scene.noisy else solver})"
        ),
        "print(run)",
    ]
    imports = [line for need, line in IMPORTS.items() if any(need in one for one in lines)]
    return "\n".join(["import numpy as np", "", "import nucleate as nc", *sorted(imports), "", *lines, ""])


def _start(scene: Scene) -> list[str]:
    size = f"n={scene.n}, d={scene.d}"
    rest = "".join(f", {key}={value!r}" for key, value in scene.start.items() if key != "kind")
    call = "nc.uniform" if scene.start["kind"] == "uniform" else scene.start["kind"]
    return [
        f"x0 = {call}({size}{rest}, seed={scene.seed})",
        *(f"x0[{token}] = {place!r}" for token, place in scene.moved.items()),
    ]


def _times(scene: Scene) -> list[str]:
    first = min(FIRST_LOG_TIME, scene.t / 100.0)
    evenly = f"np.linspace(0.0, {scene.t!r}, {scene.frames})"
    by_logarithm = f"np.concatenate([[0.0], np.geomspace({first!r}, {scene.t!r}, {scene.frames - 1})])"
    times = f"times = {evenly if scene.clock == 'linear' else by_logarithm}"
    layers = scene.family.get("layers", {})
    if scene.noisy:  # frames stand at steps
        rounded = ["times = dt * np.unique(np.rint(times / dt))", f"times[-1] = {scene.t!r}"]
        return [f"dt = {scene.step!r}", times, *rounded]
    if layers.get("discrete", False):
        dt = layers.get("dt", 1.0)
        return [times, f"times = np.minimum(np.unique(np.rint(times / {dt!r})) * {dt!r}, {scene.t!r})"]
    return [times]


# The model


def _model(scene: Scene) -> list[str]:
    """The lines that end with the model."""
    family = scene.family
    if _is_table(family):
        table = {key: one for key, one in scene.head.items() if not _is_one(one)}
        return [f"model = parse_model({_plain({**table, **family})!r}, d={scene.d})"]
    lines, head = [], _arguments({"beta": scene.beta, "mask": scene.mask, **family}, scene.d)
    for name in "QKV":
        M = chosen_matrix(getattr(scene, name), scene.d)
        if not np.array_equal(M, np.eye(scene.d)):
            lines.append(f"{name} = {_written(getattr(scene, name), M)}")
            head[name] = name
    block = {key: repr(family[key]) for key in OF_BLOCK if key in family}
    if "mlp" in family:
        lines += _mlp(family["mlp"], scene.d)
        block = {"mlp": "mlp", **block}
    layers, heads = family.get("layers"), family.get("heads", 1)
    if layers is not None and "redraw" in layers:
        kinds = {"kind": layers["redraw"], **{key: layers[key] for key in ("value", "seed") if key in layers}}
        own = {"heads": str(heads), **{key: repr(one) for key, one in kinds.items()}}
        parts = {**head, **own, **block, **_of_layers(layers)}
        return [*lines, f"model = nc.RandomLayers({layers['count']}, {scene.d}, {_joined(parts)})"]
    if isinstance(heads, list) and all(list(one) == ["beta"] for one in heads):
        betas = [one["beta"] for one in heads]
        lines.append(f"heads = [nc.Attention({_joined({**head, 'beta': 'beta'})}) for beta in {betas!r}]")
    elif isinstance(heads, list):
        each = [{**head, **_arguments(one, scene.d)} for one in heads]
        lines += ["heads = [", *(f"    nc.Attention({_joined(one)})," for one in each), "]"]
    elif not block and heads == 1 and layers is None:
        return [*lines, f"model = nc.Attention({_joined(head)})"]
    else:
        several = f" * {heads}" if heads > 1 else ""
        lines.append(f"heads = [nc.Attention({_joined(head)})]{several}" if heads else "heads = []")
    lines.append(f"model = nc.Block({_joined({'heads': 'heads', **block})})")
    if layers is not None:
        many = _joined({"blocks": f"[model] * {layers['count']}", **_of_layers(layers)})
        lines.append(f"model = nc.Layers({many})")
    return lines


def _is_table(family: Mapping[str, Any]) -> bool:
    """Whether the model is written as the table of a study: where lines of its own would be many."""
    layers, heads = family.get("layers", {}), family.get("heads", 1)
    tied = isinstance(heads, list) and any(isinstance(one.get("V"), dict) for one in heads)
    redraw = layers.get("redraw", False)
    return (
        "blocks" in layers
        or tied
        or (redraw is not False and not (isinstance(redraw, str) and isinstance(heads, int)))
        or ("mlp" in family and any(isinstance(family["mlp"].get(key), str | float) for key in ("W", "a")))
    )


def _arguments(table: Mapping[str, Any], d: int) -> dict[str, str]:
    """The arguments of nc.Attention that keys of a table stand for, as code."""
    code = {"beta": repr(table["beta"])} if "beta" in table else {}
    code |= {name: _matrix(table[name], d) for name in "QKV" if name in table}
    mask = Window(table["window"]) if "window" in table else parse_mask("mask", table.get("mask", "causal"))
    if mask_text(mask) != "causal" or ("mask" in table and "beta" not in table):
        code["mask"] = f"nc.Window({mask.w})" if isinstance(mask, Window) else repr(mask)
    code |= {"weights": repr(table["weights"])} if "weights" in table else {}
    code |= {"position": f"nc.ALiBi({table['alibi']!r})"} if "alibi" in table else {}
    return code | ({"position": f"nc.RoPE({table['rope']!r})"} if "rope" in table else {})


def _of_layers(layers: Mapping[str, Any]) -> dict[str, str]:
    return {key: repr(layers[key]) for key in ("dt", "discrete") if key in layers}


def _mlp(mlp: Mapping[str, Any], d: int) -> list[str]:
    activation = repr(mlp.get("activation", "relu"))
    if "hidden" in mlp:
        m = mlp["hidden"]
        return [
            f"rng = np.random.default_rng({mlp.get('seed', 0)})",
            f"a = rng.standard_normal(({m}, {d})) / np.sqrt({d})",
            f"mlp = nc.MLP(rng.standard_normal(({d}, {m})) / np.sqrt({m}), a, {activation})",
        ]
    if "omega" in mlp:
        return [f"mlp = nc.Potential({mlp['omega']!r}, {mlp['a']!r}, {activation})"]
    return [f"mlp = nc.MLP({mlp['W']!r}, {mlp['a']!r}, {activation}, {mlp.get('b')!r})"]


def _joined(arguments: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={code}" for key, code in arguments.items())


def _is_one(value: Any) -> bool:
    return isinstance(value, float) and value == 1.0


def _plain(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: one.tolist() if isinstance(one, np.ndarray) else one for key, one in table.items()}


def _matrix(spec: Any, d: int) -> str:
    """A matrix of a head's table: a number, a name, a diagonal or rows."""
    if isinstance(spec, str):
        name, seed = name_and_seed(spec)
        return f'named_matrix("{name}", d={d}, seed={seed})'
    if isinstance(spec, list):
        return f"np.array({spec!r})" if isinstance(spec[0], list) else f"np.diag({spec!r})"
    return "None" if _is_one(spec) else f"np.diag([{spec!r}] * {d})"


def _written(spec: Any, M: Array) -> str:
    """A diagonal by its diagonal, a small matrix by its entries, a large preset by its name."""
    if np.array_equal(M, np.diag(np.diag(M))):
        return f"np.diag({np.diag(M).tolist()!r})"
    if "preset" in spec and len(M) > MAX_WRITTEN_DIMENSION:
        seed = f", seed={spec['seed']}" if "seed" in spec else ""
        return f'named_matrix("{spec["preset"]}", d={len(M)}{seed})'
    return f"np.array({M.tolist()!r})"
