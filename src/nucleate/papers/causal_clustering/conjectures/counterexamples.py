"""Counterexamples to Conjecture 1, stored to the last bit in `counterexample_files/*.toml`, and their
verification.

    python -m nucleate.papers.causal_clustering.conjectures.counterexamples                all of them
    python -m nucleate.papers.causal_clustering.conjectures.counterexamples off_diagonal   one

Verification starts at the stored tokens, follows them, and refines the end by Newton's method: an equilibrium
counts if all small perturbations decay and a token is off the poles.  For a token on a periodic orbit the
period is refined, and perturbations must decay from period to period.  All this is floating point; that there
is an equilibrium near which attracts is then proved by interval arithmetic (attracting_box.py).  No periodic
orbit is proved.
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
from nucleate.papers.causal_clustering.conjectures.attracting_box import (
    AttractingBox,
    largest_attracting_box,
)
from nucleate.papers.causal_clustering.shared.linearisation import find_equilibrium, tangent_bases
from nucleate.sphere import retract

__all__ = [
    "EQUILIBRIUM_SPEED",
    "FOLDER",
    "OFF_POLES_DISTANCE",
    "Counterexample",
    "files_mark",
    "load_counterexample",
    "main",
    "poles_distance",
    "stored_counterexamples",
    "verify",
    "write_counterexample",
]

FOLDER = Path(__file__).resolve().parent / "counterexample_files"
# farther than this from both poles, a token is off them: a hundred thousand times the error of a run
OFF_POLES_DISTANCE = 1e-3
MAX_END_ERROR = 1e-6  # how near the run must come to the refined end
EQUILIBRIUM_SPEED = 1e-12  # the largest left by Newton's method: rounding, times the condition number


@dataclass(frozen=True, eq=False)
class Counterexample:
    """One counterexample."""

    name: str
    words: str
    kind: str  # what the tokens tend to: "equilibrium" or "periodic orbit"
    model: Attention
    x0: Array  # (n, d)
    t: float


@dataclass(frozen=True, eq=False)
class Verification:
    """What following a counterexample has shown."""

    counterexample: Counterexample
    x: Array  # (n, d) the refined equilibrium, or a point of the orbit
    off: float  # the largest distance of a token from both poles there
    speed: float  # the largest left at an equilibrium; of an orbit, how far it is from closing
    reached: float  # distance of the run's end from x
    # the largest real part of the rates; of an orbit, of the Floquet exponents across it
    growth: float
    period: float  # 0 for an equilibrium
    path: Array  # (m, d) the last token over one period; empty for an equilibrium
    box: AttractingBox  # what is proved around x

    @property
    def holds(self) -> bool:
        """Whether it is a counterexample, in floating point."""
        is_orbit = self.period > 0.0
        extent = float(np.linalg.norm(self.path - self.path[0], axis=-1).max()) if is_orbit else np.inf
        return bool(
            self.off > OFF_POLES_DISTANCE
            and self.speed < (MAX_END_ERROR if is_orbit else EQUILIBRIUM_SPEED)
            and self.reached < MAX_END_ERROR
            and self.growth < 0.0
            and extent > OFF_POLES_DISTANCE
        )


def stored_counterexamples() -> list[Counterexample]:
    """All of them, by name."""
    return [load_counterexample(path) for path in sorted(FOLDER.glob("*.toml"))]


def files_mark() -> str:
    """Their names, and a checksum of their files."""
    files = sorted(FOLDER.glob("*.toml"))
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
    return f"{', '.join(file.stem for file in files)} ({digest})"


def load_counterexample(path: Path) -> Counterexample:
    """One from its file."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        matrices: dict[str, Any] = {name: finite_array(name, table[name]) for name in "QKV" if name in table}
        model = Attention(table["beta"], **matrices)
        x0 = model.check(table["x0"])
        kind = {"equilibrium": "equilibrium", "periodic orbit": "periodic orbit"}[table["kind"]]
        return Counterexample(
            path.stem, str(table["words"]), kind, model, x0, finite_number("t", table["t"], above=0.0)
        )
    except OSError as error:
        raise file_error(
            f"{path} cannot be read: {error.strerror}. Stored are:"
            f" {', '.join(file.stem for file in sorted(FOLDER.glob('*.toml')))}.",
            error,
        ) from None
    except (KeyError, tomllib.TOMLDecodeError) as error:
        raise InputError(
            f"{path} is not a counterexample: {error!r}. It needs words, kind, beta, V, x0 and t."
        ) from None


def write_counterexample(counterexample: Counterexample, folder: Path) -> Path:
    """The file of one; every number with all its digits."""
    lines = [
        f'words = "{counterexample.words}"',
        f'kind = "{counterexample.kind}"',
        f"beta = {float(counterexample.model.beta)!r}",
        f"t = {counterexample.t!r}",
    ]
    for name in "QKV":
        if (M := getattr(counterexample.model, name)) is not None:
            lines.append(f"{name} = {M.tolist()!r}")
    lines += ["x0 = [", *(f"    {row.tolist()!r}," for row in counterexample.x0), "]"]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{counterexample.name}.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def poles_distance(V: Array, x: Array) -> Array:
    """The distance of tokens x (..., n, d) from the nearer of xi and -xi, the dominant eigenvector of V and
    its opposite, (..., n)."""
    w, vectors = np.linalg.eig(V)
    xi = vectors[:, w.real.argmax()].real
    xi = xi / np.linalg.norm(xi)
    return np.asarray(np.minimum(np.linalg.norm(x - xi, axis=-1), np.linalg.norm(x + xi, axis=-1)))


def verify(counterexample: Counterexample) -> Verification:
    """Follow it, and see whether it holds."""
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.interruption import uninterrupted

    model = counterexample.model
    x0, t = counterexample.x0, counterexample.t
    run = uninterrupted(simulate(model, x0, t, save=[t], rtol=1e-10, atol=1e-12))
    end = run.x[-1]  # (n, d)
    assert model.V is not None
    if counterexample.kind == "equilibrium":
        found = find_equilibrium(model, end)
        off = float(poles_distance(model.V, found.x).max())
        path, box = np.empty((0, end.shape[1])), largest_attracting_box(model, found.x)
        return Verification(
            counterexample, found.x, off, found.speed, found.moved, found.growth, 0.0, path, box
        )
    return _periodic_orbit(counterexample, end)


def _periodic_orbit(counterexample: Counterexample, end: Array) -> Verification:
    """A last token on a periodic orbit while the others are at equilibrium: its period, and whether
    perturbations decay."""
    model, k = counterexample.model, len(end) - 1
    others = find_equilibrium(model, end[:k])
    here = np.concatenate([others.x, end[k:]])  # (n, d)
    period, x = _closed_orbit(model, here)
    path = _flow(model, x, np.linspace(0.0, period, 241))[:, k]  # (m, d)
    multipliers = _multipliers(model, x, period)  # (d-1,) one of them is 1, along the orbit
    slowest = np.sort(np.abs(multipliers))[-2] if len(multipliers) > 1 else 0.0
    growth = max(float(np.log(max(slowest, 1e-300)) / period), others.growth)
    assert model.V is not None
    off = float(poles_distance(model.V, path).max())
    reached = max(others.moved, float(np.linalg.norm(x[k] - end[k])))
    gap = float(np.linalg.norm(path[-1] - path[0]))
    box = AttractingBox("a periodic orbit is followed, not proved")
    return Verification(counterexample, x, off, gap, reached, growth, period, path, box)


def _flow(model: Attention, x: Array, times: Array) -> Array:
    from nucleate.integrate.simulate import simulate

    return simulate(model, x, float(times[-1]), save=times, rtol=1e-12, atol=1e-13, method="explicit").x


def _closed_orbit(model: Attention, x: Array) -> tuple[float, Array]:
    """The period, and a point of the orbit: the last token is followed until it crosses the plane across its
    first velocity where it did before."""
    from scipy.optimize import brentq

    k, period = len(x) - 1, 0.0
    for _ in range(60):  # perturbations decay from period to period
        normal = drift(model, x)[k]
        times = np.linspace(0.0, 60.0 if period == 0.0 else 1.2 * period, 1201)
        side = (_flow(model, x, times)[:, k] - x[k]) @ normal  # (m,)
        back = [i for i in range(1, len(times) - 1) if side[i] < 0.0 <= side[i + 1]]
        if not back:
            raise InputError(
                f"the last token must come round within t = {times[-1]:g}, but does not. It may be at an"
                " equilibrium."
            )
        i = back[0]

        def crossing(t: float, x: Array = x, normal: Array = normal) -> float:
            return float((_flow(model, x, np.array([0.0, t]))[-1, k] - x[k]) @ normal)

        period = float(brentq(crossing, times[i], times[i + 1], xtol=1e-12))
        after = _flow(model, x, np.array([0.0, period]))[-1]
        change, x = float(np.linalg.norm(after[k] - x[k])), np.concatenate([x[:k], after[k:]])
        if change < 1e-11:
            break
    return period, x


def _multipliers(model: Attention, x: Array, period: float) -> NDArray[np.complex128]:
    """How perturbations of the last token have changed after one period, by central differences."""
    k, h = len(x) - 1, 1e-5
    B = tangent_bases(x)[k]  # (d, d-1)
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
    """Verify what is named, or all, and print what was found; 0 if all hold."""
    try:
        chosen = [load_counterexample(FOLDER / f"{name}.toml") for name in names] or stored_counterexamples()
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    bad = 0
    for counterexample in chosen:
        found = verify(counterexample)
        bad += not found.holds
        left = (
            f"its orbit has the period {found.period:.6g} and closes to {found.speed:.0e}"
            if found.period
            else f"speed {found.speed:.0e}"
        )
        verdict = "holds" if found.holds else "DOES NOT HOLD"
        proved = (
            f"proved: an equilibrium off ±xi attracts all starts within {found.box.ball:.1g} of this end,"
            f" like e^({-found.box.rate:.2g} t) at least"
            if found.box.holds
            else f"not proved: {found.box.failure}"
        )
        print(
            f"{counterexample.name}: {counterexample.words}\n    {verdict}: a token is {found.off:.6f} off"
            f" ±xi, {left}, perturbations grow like e^({found.growth:.6g} t)\n    {proved}"
        )
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
