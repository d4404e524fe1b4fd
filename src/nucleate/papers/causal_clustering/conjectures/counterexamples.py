"""Counter-examples to Conjecture 1, kept to the last bit in `counterexamples/*.toml`, and what checks each of
them.

    python -m nucleate.papers.causal_clustering.conjectures.counterexamples          all of them
    python -m nucleate.papers.causal_clustering.conjectures.counterexamples tilted   one

A replay starts at the stored tokens, follows them, and refines the end by Newton's method: a rest counts if
nothing moves there, all small pushes decay, and a token is off the poles.  For a token that never rests, the
time it takes to come round is refined, and pushes must decay from round to round.
"""

import hashlib
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nucleate.attention import Attention, drift
from nucleate.checks import Array, InputError, file_error, finite_array, finite_number
from nucleate.papers.causal_clustering.shared.linearisation import equilibrium, frames
from nucleate.sphere import retract

__all__ = [
    "OFF",
    "Example",
    "Replay",
    "examples",
    "kept_mark",
    "load_example",
    "poles_distance",
    "replay",
    "write_example",
]

FOLDER = Path(__file__).resolve().parent / "counterexample_files"
# farther than this from both poles, a token is off them: a hundred thousand times the error of a run
OFF = 1e-3
REACHED = 1e-6  # how near the run must come to the refined end
RESTING = 1e-12  # the largest speed at a rest: rounding, times the condition of what is solved


@dataclass(frozen=True, eq=False)
class Example:
    """One counter-example."""

    name: str
    words: str
    kind: str  # "rest", or "round" for a token that never rests
    model: Attention
    x0: Array  # (n, d)
    t: float


@dataclass(frozen=True, eq=False)
class Replay:
    """What a replay found."""

    example: Example
    x: Array  # (n, d) the refined end, or a point of the round
    off: float  # the largest distance of a token from both poles there
    speed: float  # the largest left at a rest; of a round, how far it is from closing
    reached: float  # distance of the run's end from x
    # the largest real part of the rates; of a round, log |multiplier| / period of the second-slowest push
    growth: float
    period: float  # of a round; 0 for a rest
    path: Array  # (m, d) the last token once round; empty for a rest

    @property
    def holds(self) -> bool:
        """Whether it is a counter-example."""
        moving = self.period == 0.0 or float(np.linalg.norm(self.path - self.path[0], axis=-1).max()) > OFF
        return bool(
            self.off > OFF
            and self.speed < (RESTING if self.period == 0.0 else REACHED)
            and self.reached < REACHED
            and self.growth < 0.0
            and moving
        )


def examples() -> list[Example]:
    """All that are kept, by name."""
    return [load_example(path) for path in sorted(FOLDER.glob("*.toml"))]


def kept_mark() -> str:
    """Names of all that are kept, and a checksum of their files."""
    files = sorted(FOLDER.glob("*.toml"))
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
    return f"{', '.join(file.stem for file in files)} ({digest})"


def load_example(path: Path) -> Example:
    """One from its file."""
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
        matrices: dict[str, Any] = {name: finite_array(name, told[name]) for name in "QKV" if name in told}
        model = Attention(told["beta"], **matrices)
        x0 = model.check(told["x0"])
        kind = {"rest": "rest", "round": "round"}[told["kind"]]
        return Example(
            path.stem, str(told["words"]), kind, model, x0, finite_number("t", told["t"], above=0.0)
        )
    except OSError as error:
        raise file_error(
            f"{path} cannot be read: {error.strerror}. Kept are:"
            f" {', '.join(file.stem for file in sorted(FOLDER.glob('*.toml')))}.",
            error,
        ) from None
    except (KeyError, tomllib.TOMLDecodeError) as error:
        raise InputError(
            f"{path} is not a counter-example: {error!r}. It needs words, kind, beta, V, x0 and t."
        ) from None


def write_example(example: Example, folder: Path) -> Path:
    """The file of one; every number with all its digits."""
    lines = [
        f'words = "{example.words}"',
        f'kind = "{example.kind}"',
        f"beta = {float(example.model.beta)!r}",
        f"t = {example.t!r}",
    ]
    for name in "QKV":
        if (M := getattr(example.model, name)) is not None:
            lines.append(f"{name} = {M.tolist()!r}")
    lines += ["x0 = [", *(f"    {row.tolist()!r}," for row in example.x0), "]"]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{example.name}.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def poles_distance(V: Array, x: Array) -> Array:
    """The distance of tokens x (..., n, d) from the nearer of xi and -xi, the top eigenvector of V and its
    opposite, (..., n)."""
    w, vectors = np.linalg.eig(V)
    xi = vectors[:, w.real.argmax()].real
    xi = xi / np.linalg.norm(xi)
    return np.asarray(np.minimum(np.linalg.norm(x - xi, axis=-1), np.linalg.norm(x + xi, axis=-1)))


def replay(example: Example) -> Replay:
    """Follow it, and check it."""
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.cache import finished

    model = example.model
    run = finished(simulate(model, example.x0, example.t, save=[example.t], rtol=1e-10, atol=1e-12))
    end = run.x[-1]  # (n, d)
    assert model.V is not None
    if example.kind == "rest":
        found = equilibrium(model, end)
        off = float(poles_distance(model.V, found.x).max())
        return Replay(
            example, found.x, off, found.speed, found.moved, found.growth, 0.0, np.empty((0, end.shape[1]))
        )
    return _round(example, end)


def _round(example: Example, end: Array) -> Replay:
    """A last token that goes round and round while the others rest: when it comes back, and whether pushes
    decay."""
    model, k = example.model, len(end) - 1
    others = equilibrium(model, end[:k])
    here = np.concatenate([others.x, end[k:]])  # (n, d)
    period, x = _closed(model, here)
    path = _flow(model, x, np.linspace(0.0, period, 241))[:, k]  # (m, d)
    multipliers = _multipliers(model, x, period)  # (d-1,) one of them is 1, along the way
    slowest = np.sort(np.abs(multipliers))[-2] if len(multipliers) > 1 else 0.0
    growth = max(float(np.log(max(slowest, 1e-300)) / period), others.growth)
    assert model.V is not None
    off = float(poles_distance(model.V, path).max())
    reached = max(others.moved, float(np.linalg.norm(x[k] - end[k])))
    return Replay(example, x, off, float(np.linalg.norm(path[-1] - path[0])), reached, growth, period, path)


def _flow(model: Attention, x: Array, times: Array) -> Array:
    from nucleate.integrate.simulate import simulate

    return simulate(model, x, float(times[-1]), save=times, rtol=1e-12, atol=1e-13, method="explicit").x


def _closed(model: Attention, x: Array) -> tuple[float, Array]:
    """The period, and a point of the round: the last token goes round until it crosses its first velocity's
    plane where it did before."""
    from scipy.optimize import brentq

    k, period = len(x) - 1, 0.0
    for _ in range(60):  # pushes decay from round to round
        way = drift(model, x)[k]
        times = np.linspace(0.0, 60.0 if period == 0.0 else 1.2 * period, 1201)
        side = (_flow(model, x, times)[:, k] - x[k]) @ way  # (m,)
        back = [i for i in range(1, len(times) - 1) if side[i] < 0.0 <= side[i + 1]]
        if not back:
            raise InputError(
                f"the last token must come round within t = {times[-1]:g}, but does not. It may rest."
            )
        i = back[0]
        period = float(
            brentq(
                lambda t, i=i, x=x, way=way: float((_flow(model, x, np.array([0.0, t]))[-1, k] - x[k]) @ way),
                times[i],
                times[i + 1],
                xtol=1e-12,
            )
        )
        after = _flow(model, x, np.array([0.0, period]))[-1]
        change, x = float(np.linalg.norm(after[k] - x[k])), np.concatenate([x[:k], after[k:]])
        if change < 1e-11:
            break
    return period, x


def _multipliers(model: Attention, x: Array, period: float) -> NDArray[np.complex128]:
    """How pushes of the last token have changed after one round, by central differences."""
    k, h = len(x) - 1, 1e-5
    B = frames(x)[k]  # (d, d-1)
    columns = []
    for b in range(B.shape[1]):
        ends = []
        for sign in (1.0, -1.0):
            start = x.copy()
            start[k] = retract(x[k] + sign * h * B[:, b])
            ends.append(_flow(model, start, np.array([0.0, period]))[-1, k])
        columns.append(B.T @ (ends[0] - ends[1]) / (2.0 * h))
    return np.asarray(np.linalg.eigvals(np.stack(columns, axis=1)), dtype=np.complex128)


def main(names: list[str]) -> int:
    """Replay what is named, or all, and print what was found; 0 if all hold."""
    try:
        chosen = [load_example(FOLDER / f"{name}.toml") for name in names] or examples()
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    bad = 0
    for example in chosen:
        found = replay(example)
        bad += not found.holds
        told = (
            f"comes round every {found.period:.6g}, closes to {found.speed:.0e}"
            if found.period
            else f"speed {found.speed:.0e}"
        )
        print(
            f"{example.name}: {example.words}\n    {'holds' if found.holds else 'DOES NOT HOLD'}: a token is"
            f" {found.off:.6f} off ±xi, {told}, pushes grow like e^({found.growth:.6g} t)"
        )
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
