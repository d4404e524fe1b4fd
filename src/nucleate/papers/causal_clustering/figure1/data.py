"""Figures 1 and 6: tokens on the sphere for one value matrix V per panel, to t = 5000 as in the paper, and on
to the end."""

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from nucleate.checks import Array
from nucleate.papers.causal_clustering.shared.classify_end import angle_with
from nucleate.papers.core.item import Data, Numbers, Parameters, Verdict
from nucleate.papers.core.numbers import Number, compared, exact

if TYPE_CHECKING:
    from nucleate.integrate.run import Run
    from nucleate.papers.core.cache import Desk
    from nucleate.theory.atlas import Atlas

__all__ = ["STRETCH", "Panel", "Seen", "end_time", "measured", "run_panels", "seen", "verdicts_of"]

NEAR = 1e-6  # within this of the point it is said to end at, a token has ended there
ENDED = 1e-3  # tokens that move less than this after t = 5000 had reached the end to the eye
STRETCH = 10.0  # units of time that are saved closely at the end
REST = 1e-6  # tokens that move less than this in the last decade of time are at rest
# mean angle, in radians, of uniform tokens in three dimensions with a line, a plane, everything
CLOUD = {1: 1.0, 2: np.pi / 2 - 1.0, 3: 0.0}
SPREAD = (np.pi - 3.0) ** 0.5  # the standard deviation of the first two
CRITERIA = (
    f"Rows 1 to 3: agrees if at the end every token is within {NEAR:g} of the point, or of one of the two"
    " points, that V predicts. Rows 4 and 5: agrees if at the end the mean angle of the tokens with L is"
    " below that of uniform tokens by more than three of its standard deviations (L may be everything), and"
    " in row 5 both sides have tokens. V outside the table: not testable here, only described; an end that"
    " two tolerances disagree about is called unknown. t = 5000 is called the end if no token moves more"
    f" than {ENDED:g} afterwards."
)


@dataclass(frozen=True)
class Panel:
    """One value matrix."""

    name: str
    V: tuple[tuple[float, ...], ...]
    words: str  # what it stands for

    @property
    def matrix(self) -> Array:
        """V as an array (d, d)."""
        return np.array(self.V)

    @property
    def written(self) -> str:
        """V in one line."""
        V = self.matrix
        if np.array_equal(V, np.diag(np.diag(V))):
            return "V = diag(" + ", ".join(f"{v:g}" for v in np.diag(V)).replace("-", "−") + ")"
        return "V = [" + "; ".join("  ".join(f"{v:g}" for v in row) for row in V).replace("-", "−") + "]"


def end_time(p: Parameters) -> float:
    """100 n e^{2 beta}: long after two nearly opposite clusters would have merged."""
    return float(100.0 * p["n"] * np.exp(2.0 * p["beta"]))


def run_panels(desk: "Desk", panels: tuple[Panel, ...]) -> dict[str, "Run"]:
    """Every panel to t = 5000, once more with tighter tolerances, and from t = 5000 on to the end or as far
    as the steps go."""
    data: dict[str, Run] = {}
    for i, panel in enumerate(panels):
        key = panel.name
        first = data[key] = desk.run(key, partial(_to_T, desk.p, panel, 1e-8, _frames(desk.p)))
        data[f"{key}-careful"] = desk.run(
            f"{key}-careful", partial(_to_T, desk.p, panel, 1e-10, np.array([0.0, desk.p["T"]]))
        )
        desk.at((i + 0.5) / len(panels))
        end = data[f"{key}-end"] = desk.run(f"{key}-end", partial(_to_end, desk.p, panel, first, 1e-8))
        if end.done:
            data[f"{key}-end-careful"] = desk.run(
                f"{key}-end-careful", partial(_to_end, desk.p, panel, first, 1e-10)
            )
        desk.at((i + 1.0) / len(panels))
    return data


def _frames(p: Parameters) -> Array:
    """Many at first, when tokens move fast, then by powers of ten, and the last stretch again closely, for
    tokens that turn for ever."""
    T = p["T"]
    times = np.concatenate(
        [
            np.linspace(0.0, min(40.0, T), 201),
            np.geomspace(min(40.0, T), T, 60),
            np.linspace(max(T - STRETCH, 0.0), T, 51),
        ]
    )
    return np.unique(np.minimum(times, T))


def _to_T(p: Parameters, panel: Panel, rtol: float, frames: Array) -> "Run":
    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.sphere import uniform

    run = simulate(
        Attention(p["beta"], V=panel.matrix),
        uniform(p["n"], p["d"], p["seed"]),
        p["T"],
        save=frames,
        rtol=rtol,
        atol=rtol / 100,
    )
    return replace(run, notes={"start": "uniform(n, d, seed)", "seed": p["seed"], "panel": panel.words})


def _to_end(p: Parameters, panel: Panel, first: "Run", rtol: float) -> "Run":
    """On from t = T, whose frame is the first; `t` goes on counting from the start."""
    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate

    end = end_time(p) - p["T"]
    times = np.concatenate([np.linspace(0.0, 20.0, 101), np.geomspace(20.0, end, 120)[1:]])
    times[-1] = end
    model = Attention(p["beta"], V=panel.matrix)
    run = simulate(model, first.x[-1], end, save=times, rtol=rtol, atol=rtol / 100, max_steps=p["most_steps"])
    t, x = run.t, run.x
    if run.status == "max steps":  # for tokens that turn for ever, a last stretch that can be followed by eye
        more = simulate(model, x[-1], STRETCH, save=51)
        t, x = np.append(t, t[-1] + more.t[1:]), np.concatenate([x, more.x[1:]])
    return replace(
        run, t=t + p["T"], x=x, notes={"start": "the last frame of the run before", "panel": panel.words}
    )


@dataclass(frozen=True)
class Seen:
    """What happened in one panel."""

    atlas: "Atlas"
    points: Array | None  # (1 or 2, d) where the tokens ought to end; None if V predicts no points
    reached: float  # the last time
    resting: bool  # whether the tokens are at rest there
    moved_after: float  # how far a token went from t = T to the end
    # largest difference at the end to a run with tighter tolerances; NaN where there is no end
    error_end: float
    off_T: float  # largest distance of a token from those points, or its angle with L, at t = T
    off_end: float  # and at the end, the worse of two tolerances
    angle: float  # mean angle with L at the end
    sides: tuple[int, int]  # tokens on either side of the plane across the first direction of L, at the end
    clusters_T: int
    clusters_end: int

    @property
    def resolved(self) -> bool:
        """Whether two tolerances lead to the same end, where there is one."""
        return not self.error_end > ENDED


def seen(data: Data, p: Parameters, panel: Panel) -> Seen:
    """Measure one panel."""
    from nucleate.observe.clusters import count_clusters
    from nucleate.observe.merges import usual_radius
    from nucleate.sphere import distance
    from nucleate.theory.atlas import atlas, limit_point

    first, end, again = data[panel.name], data[f"{panel.name}-end"], data.get(f"{panel.name}-end-careful")
    known = atlas(panel.matrix)
    points: Array | None = None
    if "complex" not in known.kind and (known.lambda_max > 0.0 or known.row is None):
        point = limit_point(known, first.x[0, 0])  # (d,)
        points = point[None] if known.row in (1, 2) or known.basis.shape[1] > 1 else np.stack([point, -point])
    x_T, x_end = first.x[-1], end.x[-1]  # (n, d)
    late = end.t >= end.t[-1] / 10.0  # (m,) the last decade of time
    moved = float(distance(end.x[late], x_end).max())
    radius = usual_radius(p["beta"])
    angle = angle_with(x_end, known.basis)  # (n,)
    side = x_end @ known.basis[:, 0]  # (n,)
    return Seen(
        known,
        points,
        float(end.t[-1]),
        moved < REST,
        float(distance(end.x, x_T).max()),
        float(distance(x_end, again.x[-1]).max()) if again is not None else np.nan,
        _off(x_T, points, known.basis),
        max(_off(run.x[-1], points, known.basis) for run in (end, again) if run is not None),
        float(angle.mean()),
        (int((side > 0).sum()), int((side < 0).sum())),
        int(count_clusters(x_T, radius)),
        int(count_clusters(x_end, radius)),
    )


def _off(x: Array, points: Array | None, basis: Array) -> float:
    """The largest distance of tokens x (n, d) from the nearest of `points`, or, without points, their largest
    angle with L."""
    from nucleate.sphere import distance

    return float(
        distance(x[:, None], points[None]).min(1).max() if points is not None else angle_with(x, basis).max()
    )


def measured(data: Data, p: Parameters, panels: tuple[Panel, ...]) -> dict[str, Number]:
    """The numbers of all panels, each named after its panel."""
    from nucleate.sphere import distance

    numbers: dict[str, Number] = {}
    for panel in panels:
        found, key = seen(data, p, panel), panel.name
        what = (
            "distance of a token from where it ought to end"
            if found.points is not None
            else "angle of a token with L"
        )
        wrong = distance(data[key].x[-1], data[f"{key}-careful"].x[-1]).max()
        uniform = CLOUD[found.atlas.basis.shape[1]]
        numbers |= {
            f"{key}_row": exact(
                found.atlas.row or 0,
                f"{panel.words}: row of Table 1 by the atlas, 0 if outside",
                "computed from V",
            ),
            f"{key}_error_T": exact(
                wrong, "largest difference at t = 5000 to a run with tolerances a hundred times tighter"
            ),
            f"{key}_off_T": compared(
                found.off_T,
                found.off_T + min(wrong, np.pi),
                f"largest {what}, at t = {p['T']:g}",
                "difference to the tighter run",
            ),
            f"{key}_off_end": exact(
                found.off_end,
                f"the same at the end, t = {found.reached:.3g}",
                expected=0.0 if found.points is not None else None,
            ),
            f"{key}_error_end": exact(
                found.error_end,
                "largest difference at the end to a run with tolerances a hundred times tighter; none if"
                " there is no end",
            ),
            f"{key}_moved": exact(found.moved_after, "farthest that a token goes after t = 5000"),
            f"{key}_resting": exact(
                found.resting, f"1 if no token moves {REST:g} or more in the last decade of time"
            ),
            f"{key}_clusters_T": exact(
                found.clusters_T, f"clusters at t = {p['T']:g}, by steps of 0.1 β^(−1/2)", "counted"
            ),
            f"{key}_clusters_end": exact(found.clusters_end, "clusters at the end", "counted"),
            f"{key}_angle": exact(
                found.angle,
                "mean angle with L at the end; expected is that of uniform tokens",
                expected=uniform,
            ),
            f"{key}_least_side": exact(
                min(found.sides), "tokens on the side of L's first direction that has fewer"
            ),
        }
    return numbers


def verdicts_of(numbers: Numbers, p: Parameters, panels: tuple[Panel, ...]) -> tuple[Verdict, ...]:
    """By the criteria: one verdict for points, one for clouds, one for what is outside the table."""
    rows = {panel: int(numbers[f"{panel.name}_row"].value) for panel in panels}
    points = [panel for panel in panels if rows[panel] in (1, 2, 3)]
    clouds = [panel for panel in panels if rows[panel] in (4, 5)]
    outside = [panel for panel in panels if rows[panel] == 0]
    found = []
    if points:
        bad = [panel for panel in points if not numbers[f"{panel.name}_off_end"].value <= NEAR]
        worst = max(numbers[f"{panel.name}_off_end"].value for panel in points)
        told = (
            f"in {len(points) - len(bad)} of {len(points)} panels every token ends where V predicts, to"
            f" {worst:.0e} at worst" + _not_yet(numbers, p, points)
        )
        found.append(
            Verdict("λ_max > 0: tokens end at the points of Table 1", "disagrees" if bad else "agrees", told)
        )
    if clouds:
        bad = [panel for panel in clouds if not _cloudy(numbers, panel, rows[panel], p["n"])]
        told = "; ".join(
            f"{panel.words}: mean angle with L {numbers[f'{panel.name}_angle'].value:.2f} (uniform"
            f" {numbers[f'{panel.name}_angle'].expected:.2f})"
            for panel in clouds
        )
        found.append(
            Verdict(
                "λ_max < 0: clouds around L",
                "disagrees" if bad else "agrees",
                told + _not_yet(numbers, p, clouds) + _never(numbers, clouds),
            )
        )
    if outside:
        told = "; ".join(f"{panel.words}: {_described(numbers, panel)}" for panel in outside)
        found.append(
            Verdict(
                "tops outside the table",
                "not testable here",
                f"the table does not speak of them. Measured: {told}",
            )
        )
    return tuple(found)


def _cloudy(numbers: Numbers, panel: Panel, row: int, n: int) -> bool:
    angle = numbers[f"{panel.name}_angle"]
    uniform = angle.expected or 0.0
    near = angle.value < uniform - 3.0 * SPREAD / n**0.5 or uniform == 0.0
    return near and (row == 4 or numbers[f"{panel.name}_least_side"].value > 0)


def _not_yet(numbers: Numbers, p: Parameters, panels: list[Panel]) -> str:
    """Where t = 5000 is not the end, and by how much."""
    late = [panel for panel in panels if numbers[f"{panel.name}_moved"].value > ENDED]
    counts = {
        panel: [int(numbers[f"{panel.name}_clusters_{when}"].value) for when in ("T", "end")]
        for panel in late
    }
    words = [
        f"“{panel.words}”"
        + (f" ({then} clusters then, {last} at the end)" if then != last and then <= p["n"] / 2 else "")
        for panel, (then, last) in counts.items()
    ]
    return (
        f"; t = 5000 is not yet the end for {', '.join(words)}"
        if late
        else "; t = 5000 is the end to the eye"
    )


def _never(numbers: Numbers, panels: list[Panel]) -> str:
    moving = [f"“{panel.words}”" for panel in panels if not numbers[f"{panel.name}_resting"].value]
    return f"; not at rest when last seen: {', '.join(moving)}" if moving else ""


def _described(numbers: Numbers, panel: Panel) -> str:
    if numbers[f"{panel.name}_error_end"].value > ENDED:
        return "the end depends on the tolerance, so it is not known"
    off = numbers[f"{panel.name}_off_end"]
    near = f"{max(off.value, 1e-16):.0e}" if off.value < 0.01 else f"{off.value:.2f}"
    rest = "at rest" if numbers[f"{panel.name}_resting"].value else "still moving"
    return f"within {near} of {'±ξ or L' if off.expected is not None else 'L'} at the end, {rest}"
