"""Where a token of one head can rest off ±ξ, and where simulated ones do: the picture images/head-minilm.png
of spectra.md, and the list of all heads that have such a place.

    python docs/head_equilibria.py PATH_TO_MINILM 3 1 docs/images/head-minilm.png
    python docs/head_equilibria.py PATH_TO_ANY_MODEL

The criterion is that of conjectures.md: after m tokens at ξ the next has an equilibrium at the angle φ from
−ξ, in the plane of the first two eigenvectors of V, iff F(φ) = m r, and it attracts iff F rises there away
from φ = 0.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
from matplotlib.figure import Figure

from nucleate import plot
from nucleate.checks import Array, InputError
from nucleate.integrate.simulate import simulate
from nucleate.models.head_simulation import (
    HeadSystem,
    head_system,
    open_heads,
    simulate_system,
    system_of,
)
from nucleate.papers.causal_clustering.conjectures.equilibria import (
    Plane,
    equilibria_in_plane,
    log_F,
    plane_of,
)
from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy
from nucleate.sphere import uniform

TOKENS, SEED = 64, 0  # as nucleate spectra --simulate-heads takes them
SHOWN_COUNTS = (1, 6, 63)  # m
FAR_RADIANS = 0.1  # from ±ξ: nearer tokens count as there, as in the simulations of all heads
PERTURBATION = 1e-3  # of the token that is put at a predicted equilibrium
LONGER = 10  # times as long as a head is simulated: nearly equal eigenvalues let perturbations die slowly
DPI = 110


def plane_of_head(system: HeadSystem) -> tuple[Plane, Array]:
    """The plane of the first two eigenvectors of V, and its orthonormal basis (d, 2), ξ first; the second
    eigenvalue must be real and positive."""
    f = system.factors
    values, vectors = np.linalg.eig(f.small())  # (d_head,), (d_head, d_head)
    first = np.argsort(-values.real)[:2]
    if system.region != "3" or values[first[1]].imag != 0.0 or values[first[1]].real <= 0.0:
        raise InputError(
            f"Head {system.head} of layer {system.layer} must be in row 3, its second eigenvalue real and"
            " positive, but is not. Choose another."
        )
    # V O u = O (V O) u: O takes eigenvectors of the small product to those of V
    basis = np.linalg.qr(f.O @ vectors[:, first].real)[0]  # (d, 2)
    V = (basis.T @ f.O) @ (f.V @ basis)  # (2, 2)
    A = f.scale / system.beta * (f.K @ basis).T @ (f.Q @ basis)  # (2, 2) K^T Q
    plane = plane_of(V, None, A, system.beta)
    return plane, basis @ plane.basis


def attracting(plane: Plane, m: int, beyond: float = 0.0) -> list[float]:
    """Angles φ from −ξ of attracting equilibria after m tokens at ξ, farther than `beyond` from ±ξ."""
    found = [one.alpha for one in equilibria_in_plane(plane, m) if one.rate < 0.0]
    return [from_antipode(a) for a in found if beyond < abs(a) < np.pi - beyond]


def from_antipode(alpha: Any) -> Any:
    """φ, the angle from −ξ, in (−π, π]: α = π + φ."""
    return np.pi - np.mod(-alpha, 2.0 * np.pi)


def simulated_angles(system: HeadSystem, basis: Array, seed: int = SEED) -> Array:
    """φ of every token at the end of a simulation, (n,); ±ξ is chosen so that the first token is at ξ."""
    reduced, run = simulate_system(system, uniform(TOKENS, system.d, seed), None, save=2)
    x = run.x[-1] if reduced.basis is None else run.x[-1] @ reduced.basis.T  # (n, d)
    in_plane = x @ basis  # (n, 2)
    in_plane = in_plane * np.sign(in_plane[0, 0])
    return np.asarray(from_antipode(np.arctan2(in_plane[:, 1], in_plane[:, 0])))


@dataclass(frozen=True)
class Attractor:
    """A head with an attracting equilibrium off ±ξ."""

    layer: int
    head: int
    m: int  # the fewest tokens at ξ in front
    predicted: float  # φ
    # φ of a token that was put there, moved a little in all d dimensions, and simulated with the m in front
    simulated: float
    in_plane: float  # length of that token's part in the plane, in the end


def attractors(model: Any) -> tuple[int, int, list[Attractor]]:
    """How many heads are in row 3; how many of them have a second eigenvalue that is real and positive; and
    of these all that have an attracting equilibrium off ±ξ after 1 to TOKENS − 1 tokens at ξ."""
    source, plan = open_heads(model)
    row_3, planes, found = 0, 0, []
    for i in range(len(plan.layers)):
        for h in range(plan.heads):
            system = system_of(source, plan, i, h)
            row_3 += system.region == "3"
            try:
                plane, basis = plane_of_head(system)
            except InputError:
                continue
            planes += 1
            m = next((m for m in range(1, TOKENS) if attracting(plane, m, FAR_RADIANS)), None)
            if m is not None:
                at = attracting(plane, m, FAR_RADIANS)[0]
                found.append(Attractor(i, h, m, at, *followed(system, basis, m, at)))
        source.weights.forget()
    return row_3, planes, found


def followed(system: HeadSystem, basis: Array, m: int, phi: float) -> tuple[float, float]:
    """m tokens at ξ and one near φ, simulated: its φ in the end, and the length of its part in the plane."""
    x0 = np.tile(basis[:, 0], (m + 1, 1))  # (m + 1, d)
    x0[m] = -basis @ [np.cos(phi), np.sin(phi)]
    x0[m] += PERTURBATION * uniform(1, system.d, SEED)[0]
    reduced = system.reduced(x0 / np.linalg.norm(x0, axis=1, keepdims=True))
    run = simulate(reduced.model, reduced.x0, LONGER * system.span, save=2, method="explicit")
    x = run.x[-1] if reduced.basis is None else run.x[-1] @ reduced.basis.T  # (m + 1, d)
    end = x[m] @ basis  # (2,)
    return float(from_antipode(np.arctan2(end[1], end[0]))), float(np.linalg.norm(end))


def draw(system: HeadSystem, path: Path) -> None:
    """F against m r, and the tokens at the end."""
    plane, basis = plane_of_head(system)
    ends = np.degrees(simulated_angles(system, basis))  # (n,)
    m = int(np.argmax(np.abs(ends) < 90.0))  # tokens at ξ before the first that is elsewhere
    with plot.style("light"):
        figure = Figure(figsize=(8.6, 3.7), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(1.15, 1.0))
        palette = tidy(left)
        tidy(right)
        phi = np.linspace(-np.pi, np.pi, 20_001)[1:-1]
        left.plot(np.degrees(phi), log_F(plane, phi) / np.log(10.0), color=palette.ink, linewidth=1.6)
        for count, colour in zip(SHOWN_COUNTS, (CLUSTER_COLOURS[i] for i in (4, 0, 2)), strict=True):
            level = np.log10(count * plane.ratio)
            left.axhline(level, color=colour, linewidth=1.0, linestyle=(0, (5, 3)))
            left.annotate(
                f"m = {count}",
                (178, level),
                xytext=(0, 2),
                textcoords="offset points",
                ha="right",
                color=colour,
                fontsize=SMALL_POINTS,
            )
            for one in equilibria_in_plane(plane, count):
                at = np.degrees(from_antipode(one.alpha))
                fill = colour if one.rate < 0.0 else palette.paper
                left.plot(at, level, "o", color=colour, markerfacecolor=fill, markersize=6, zorder=4)
        left.set(
            xlim=(-180, 180),
            xticks=range(-180, 181, 60),
            xlabel="angle φ from −ξ, degrees (±180: ξ)",
            ylim=(-1.0, 5.2),
            ylabel="log₁₀ F(φ), and log₁₀(m r), dashed",
        )
        left.set_title("where the next token can rest", loc="left", fontsize=SMALL_POINTS + 2)
        predicted = np.degrees(attracting(plane, m))
        for at in predicted:
            right.axhline(at, color=CLUSTER_COLOURS[0], linewidth=1.0, linestyle=(0, (5, 3)))
            right.annotate(
                f"F = {m} r",
                (TOKENS, at),
                xytext=(0, -11),
                textcoords="offset points",
                ha="right",
                color=CLUSTER_COLOURS[0],
                fontsize=SMALL_POINTS,
            )
        number = np.arange(1, TOKENS + 1)
        shown = np.where(ends > 90.0, ends - 360.0, ends)  # 180 and −180 are one place, ξ
        right.plot(number, shown, "o", color=palette.ink, markersize=3.2)
        for pole, name in ((0.0, "−ξ"), (-180.0, "ξ")):
            right.axhline(pole, color=palette.grey(0.5), linewidth=0.8, zorder=1)
            right.annotate(
                name, (TOKENS, pole), xytext=(0, 3), textcoords="offset points", ha="right",
                fontsize=SMALL_POINTS,
            )  # fmt: skip
        right.set(xlabel="token", ylabel="angle φ from −ξ at the end, degrees", ylim=(-195, 20))
        right.set_yticks(range(-180, 1, 30))
        right.set_title(f"{TOKENS} simulated tokens", loc="left", fontsize=SMALL_POINTS + 2)
        figure.savefig(path, dpi=DPI, pil_kwargs={"optimize": True})
    gap = plane.gap
    print(f"λ₁ = {plane.ratio * gap:.4f}, λ₂ = {(plane.ratio - 1) * gap:.4f}, r = {plane.ratio:.2f}")
    print(f"ℓ = {plane.non_normality:.3f}, β⟨ξ, Aξ⟩ = {system.beta * plane.A[0, 0]:.3f}, m = {m}")
    print(f"predicted φ = {', '.join(f'{at:.4f}' for at in predicted)}, simulated {ends[m]:.4f} degrees")


def main(words: list[str]) -> None:
    """A picture of one head, or a list of all."""
    if len(words) == 4:
        draw(head_system(words[0], int(words[1]), int(words[2])), Path(words[3]))
        return
    row_3, planes, found = attractors(words[0])
    print(f"{row_3} heads in row 3, {planes} of them with a real positive second eigenvalue")
    print(
        f"{len(found)} of these have an attracting equilibrium off ±ξ after at most {TOKENS - 1} tokens at ξ"
    )
    for one in found:
        print(
            f"layer {one.layer}, head {one.head}: m = {one.m}, φ = {np.degrees(one.predicted):.2f} degrees,"
            f" simulated {np.degrees(one.simulated):.2f}"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
