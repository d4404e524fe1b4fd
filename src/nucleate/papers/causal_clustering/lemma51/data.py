"""How long strong centers stay, for Lemma 5.1: among uniform starts, at a chosen index, with all earlier
tokens at one point, and beyond the lemma on the sphere, d = 3.

A center of index s (counted from 1) is strong if all s - 1 tokens before it lie outside its cap of radius
delta; given that, uniform tokens are independent and uniform on the rest of the circle.  So a center of any
index can be drawn directly, and tokens after it need not be drawn at all.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import Array
from nucleate.papers.core.threads import all_in_threads

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.integrate.run import Run
    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data
    from nucleate.theory.bounds import Guarantee

__all__ = [
    "CHORD",
    "FOLLOWED_TIMES",
    "draw_center",
    "draw_center_on_sphere",
    "ensemble_name",
    "guarantees",
    "one_chord",
    "run",
]

EARLY_SHARES = np.array([0.25, 0.5, 0.75, 1.0])  # of the guaranteed time: when displacements are looked at
FRAMES_PER_DECADE = 24  # beyond it
SEED = 51
FOLLOWED_TIMES = 1e5  # guaranteed times for which a center is followed
GATHERED_TIME = 20.0  # time by which tokens have gathered into clusters
BEYOND_DELTA = 1e-9  # relative: distances exceed delta, which is excluded, by so much
LOOSE_TOLERANCE = (1e-7, 1e-9)  # rtol, atol
TIGHT_TOLERANCE = (1e-10, 1e-12)  # where all earlier tokens are at one point: compared with an exact time
# d = 3, lengths in units of beta^(-1/2): two tokens on the edge of a center's cap, `apart` from where
# `tokens` others stand between them; all of these moved at random by about `moved`, out of the cap
CHORD: dict[str, Any] = {"beta": 256.0, "separation": 5.5, "apart": 3.0, "tokens": 200, "moved": 1e-4}


def _times(first: float, last: float) -> Array:
    """0, quarters of the first guaranteed time, then by powers of ten."""
    count = int(np.ceil(FRAMES_PER_DECADE * np.log10(last / first))) + 1
    return np.concatenate([[0.0], first * EARLY_SHARES[:-1], np.geomspace(first, last, count)])


def _followed(beta: float, x: Array, times: Array, tolerance: tuple[float, float]) -> "Run":
    """Tokens x (b, n, d), followed."""
    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.papers.core.interruption import uninterrupted

    return uninterrupted(
        simulate(
            Attention(beta),
            x,
            float(times[-1]),
            save=times,
            rtol=tolerance[0],
            atol=tolerance[1],
        )
    )


def _points(phi: Array) -> Array:
    return np.stack([np.cos(phi), np.sin(phi)], axis=-1)


def _on_sphere(polar: Array, azimuth: Array) -> Array:
    """Points (..., 3) at polar angles from e_3."""
    polar, azimuth = np.broadcast_arrays(polar, azimuth)
    return np.stack(
        [np.sin(polar) * np.cos(azimuth), np.sin(polar) * np.sin(azimuth), np.cos(polar)], axis=-1
    )


def draw_center(delta: float, s: int, runs: int, seed: int) -> Array:
    """Angles (b, s): a strong center of index s, the last, at 0, and uniform tokens before it, outside its
    cap."""
    from nucleate.studies.points import stream

    phi, edge = np.zeros((runs, s)), delta * (1.0 + BEYOND_DELTA)
    for run in range(runs):
        phi[run, :-1] = np.random.default_rng(stream(seed, run, s)).uniform(edge, 2.0 * np.pi - edge, s - 1)
    return phi


def centers_at_index(beta: float, separation: float, s: int, runs: int, seed: int) -> "Dataset":
    """Centers of index s among uniform tokens: displacement up to the guaranteed time, over what is allowed,
    and lifetime over that time."""
    import xarray

    from nucleate.observe.stationarity import stationarity
    from nucleate.theory.bounds import best_guarantee

    guarantee = best_guarantee(beta, separation)
    T = guarantee.time(s)
    run_ = _followed(
        beta,
        _points(draw_center(separation * beta**-0.5, s, runs, seed)),
        _times(T, FOLLOWED_TIMES * T),
        LOOSE_TOLERANCE,
    )
    found = stationarity(run_, [s - 1], guarantee.displacement, T)
    early = run_.t <= T * (1.0 + 1e-12)  # (m,)
    done = np.array([status == "done" for status in run_.status], dtype=np.int8)
    moved = found.displacement[:, early, 0].max(1) / guarantee.displacement  # (b,)
    return xarray.Dataset(
        {
            "moved": ("run", moved),
            "ratio": ("run", found.ratio[:, 0]),
            "done": ("run", done),
            "nearest": (
                "run",
                _nearest(run_.x[:, 0]) * beta**0.5,
                {"long_name": "distance of the nearest earlier token, in units of beta^(-1/2)"},
            ),
            "gathered": (
                "run",
                _nearest(run_.x[:, np.searchsorted(run_.t, GATHERED_TIME)]) * beta**0.5,
                {"long_name": "the same once tokens have gathered"},
            ),
        }
    )


def _nearest(x: Array) -> Array:
    """The distance of the last token of x (b, s, 2) from the nearest earlier one, (b,)."""
    from nucleate.sphere import distance

    return np.asarray(distance(x[:, :-1], x[:, -1:]).min(1))


def guarantees(beta: float, separation: float, shares: list[float]) -> "list[Guarantee]":
    """Lemma 5.1 for several c with c (1 + 2 eps) = separation, from beta^(1/2) tau* (share 0) to separation
    (share 1)."""
    from nucleate.theory.bounds import Guarantee, guaranteed_time
    from nucleate.theory.interaction import strongest_distance

    smallest = float(beta**0.5 * strongest_distance(beta))
    found = []
    for share in shares:
        c = smallest + share * (separation - smallest)
        eps = (separation / c - 1.0) / 2.0
        found.append(Guarantee(beta, separation, c, eps, guaranteed_time(1, beta, c, eps)))
    return found


def uniform_starts(
    beta: float, separation: float, n: int, starts: int, shares: list[float], seed: int
) -> "Dataset":
    """Every strong center of uniform starts, one row each: index, displacement over time, and ratios for
    several c; the best c first."""
    import xarray

    from nucleate.observe.centers import renyi_centers
    from nucleate.observe.stationarity import stationarity
    from nucleate.sphere import uniform
    from nucleate.theory.bounds import best_guarantee

    all_guarantees = [best_guarantee(beta, separation), *guarantees(beta, separation, shares)]
    x0 = uniform(n, 2, seed, runs=starts)  # (b, n, 2)
    centers = [renyi_centers(x, separation * beta**-0.5, strong=True) for x in x0]
    times = _times(all_guarantees[0].product / n, FOLLOWED_TIMES * all_guarantees[0].product / 10.0)
    run = _followed(beta, x0, times, LOOSE_TOLERANCE)
    table = stationarity(run, centers, all_guarantees[0].displacement).centers  # (b, c)
    there = table > 0  # the first token never moves
    index = np.where(there, table + 1, 1)  # (b, c) from 1
    rows = [
        stationarity(run, centers, guarantee.displacement, guarantee.product / index)
        for guarantee in all_guarantees
    ]
    moved = np.moveaxis(rows[0].displacement, 1, -1)[there]  # (centers, m)
    return xarray.Dataset(
        {
            "index": ("center", index[there]),
            "moved": (("center", "time"), moved / all_guarantees[0].displacement),
            "ratio": (("split", "center"), np.stack([row.ratio[there] for row in rows])),
            "at_least": (("split", "center"), np.stack([row.at_least[there] for row in rows])),
            "done": ("start", np.array([status == "done" for status in run.status], dtype=np.int8)),
        },
        {
            "time": run.t,
            "c": ("split", np.array([guarantee.c for guarantee in all_guarantees])),
            "eps": ("split", np.array([guarantee.eps for guarantee in all_guarantees])),
        },
    )


def one_point(beta: float, separation: float, indices: list[int]) -> "Dataset":
    """All tokens before the center in one place, just outside its cap: its lifetime by simulation and by the
    exact two-token law, over the guaranteed."""
    import xarray

    from nucleate.observe.stationarity import stationarity
    from nucleate.theory.bounds import best_guarantee
    from nucleate.theory.flows import two_token_time

    guarantee, delta = best_guarantee(beta, separation), separation * beta**-0.5 * (1.0 + BEYOND_DELTA)
    simulated, exact = [], []
    for s in indices:
        law = two_token_time(
            beta, float(np.cos(delta)), float(np.cos(delta - guarantee.displacement)), float(s - 1)
        )
        phi = np.append(np.full(s - 1, delta), 0.0)[None]  # (1, s)
        run = _followed(
            beta, _points(phi), law * np.concatenate([[0.0], np.linspace(0.99, 1.01, 41)]), TIGHT_TOLERANCE
        )
        simulated.append(
            float(stationarity(run, [s - 1], guarantee.displacement, guarantee.time(s)).ratio[0, 0])
        )
        exact.append(law / guarantee.time(s))
    return xarray.Dataset(
        {"simulated": ("index", np.array(simulated)), "exact": ("index", np.array(exact))},
        {"index": np.array(indices)},
    )


def draw_center_on_sphere(delta: float, s: int, runs: int, seed: int) -> Array:
    """Tokens (b, s, 3): a strong center of index s, the last, at e_3, and uniform tokens before it, outside
    its cap."""
    from nucleate.studies.points import stream

    x, lowest = np.zeros((runs, s, 3)), np.cos(delta * (1.0 + BEYOND_DELTA))
    x[:, -1, 2] = 1.0
    for run in range(runs):
        rng = np.random.default_rng(stream(seed, run, s, 3))
        polar = np.arccos(rng.uniform(-1.0, lowest, s - 1))  # areas go with the cosine
        x[run, :-1] = _on_sphere(polar, rng.uniform(0.0, 2.0 * np.pi, s - 1))
    return x


def centers_on_sphere(beta: float, separation: float, indices: list[int], runs: int, seed: int) -> "Dataset":
    """The bound of the lemma where it is not stated, d = 3: displacement up to its time, over what it
    allows, for centers of every index among uniform tokens."""
    import xarray

    from nucleate.observe.stationarity import stationarity
    from nucleate.theory.bounds import best_guarantee

    guarantee, moved, done = best_guarantee(beta, separation), [], []
    for s in indices:
        T = guarantee.time(s)
        run = _followed(
            beta,
            draw_center_on_sphere(separation * beta**-0.5, s, runs, seed),
            np.append(0.0, T * EARLY_SHARES),
            LOOSE_TOLERANCE,
        )
        found = stationarity(run, [s - 1], guarantee.displacement, T)
        moved.append(found.displacement[..., 0].max(1) / guarantee.displacement)  # (b,)
        done.append([status == "done" for status in run.status])
    return xarray.Dataset(
        {
            "moved": (("index", "run"), np.array(moved)),
            "done": (("index", "run"), np.array(done, dtype=np.int8)),
        },
        {"index": np.array(indices)},
    )


def one_chord(rng: np.random.Generator) -> Array:
    """Tokens (n, 3) of CHORD: two on the edge of the cap of the last one, at e_3, the others between them."""
    s, edge = CHORD["beta"] ** -0.5, CHORD["separation"] * CHORD["beta"] ** -0.5 * (1.0 + BEYOND_DELTA)
    # cos(apart) = cos^2(edge) + sin^2(edge) cos(azimuth)
    azimuth = np.arccos((np.cos(CHORD["apart"] * s) - np.cos(edge) ** 2) / np.sin(edge) ** 2)
    around = np.concatenate([[azimuth, -azimuth], np.zeros(CHORD["tokens"])])  # (n - 1,)
    step = CHORD["moved"] * s * rng.standard_normal((2, len(around)))
    x = _on_sphere(edge + np.abs(step[0]), around + step[1] / np.sin(edge))
    return np.concatenate([x, [[0.0, 0.0, 1.0]]])


def chords(runs: int, seed: int) -> "Dataset":
    """The tokens of CHORD, d = 3, until the time of the lemma: how far the center has moved, over what the
    lemma would allow, and how near the nearest earlier token is, in units of beta^(-1/2)."""
    import xarray

    from nucleate.sphere import distance
    from nucleate.studies.points import stream
    from nucleate.theory.bounds import best_guarantee

    guarantee = best_guarantee(CHORD["beta"], CHORD["separation"])
    x = np.stack([one_chord(np.random.default_rng(stream(seed, run))) for run in range(runs)])  # (b, n, 3)
    times = guarantee.time(x.shape[1]) * np.linspace(0.0, 1.0, 81)
    run = _followed(CHORD["beta"], x, times, TIGHT_TOLERANCE)
    moved = distance(run.x[:, :, -1], x[:, None, -1])  # (b, m)
    nearest = distance(run.x[:, :, :-1], run.x[:, :, -1:]).min(-1)  # (b, m)
    return xarray.Dataset(
        {
            "moved": (("run", "time"), moved / guarantee.displacement),
            "nearest": (("run", "time"), nearest * CHORD["beta"] ** 0.5),
            "done": ("run", np.array([status == "done" for status in run.status], dtype=np.int8)),
            "path": (
                ("time", "shown", "coordinate"),
                run.x[0][:, [0, 1, 2, -1]],
                {"long_name": "of one run: the two, the first between them, the center"},
            ),
            "allowed": ((), guarantee.displacement * CHORD["beta"] ** 0.5),
        },
        {"time": times},
    )


def run(workspace: "ItemWorkspace") -> "Data":
    """Uniform starts, centers of every index, all earlier tokens at one point; and d = 3."""
    p = workspace.parameters
    compute: dict[str, Callable[[], Dataset]] = {
        "starts": lambda: uniform_starts(p["beta"], p["separation"], p["n"], p["starts"], p["shares"], SEED),
        "chords": lambda: chords(p["chord_runs"], SEED),
    }
    for beta, separation in p["sphere"]:
        compute[f"sphere-{ensemble_name(beta, separation)}"] = partial(
            centers_on_sphere, beta, separation, p["sphere_indices"], p["sphere_runs"], SEED
        )
    for s in sorted(p["indices"], reverse=True):  # those first that take longest
        for beta, separation in p["ensembles"]:
            compute[f"{ensemble_name(beta, separation)}-{s}"] = partial(
                centers_at_index, beta, separation, s, p["runs"], SEED
            )
    for beta, separation in p["ensembles"]:
        compute[f"{ensemble_name(beta, separation)}-point"] = partial(
            one_point, beta, separation, p["indices"]
        )
    jobs = {name: partial(workspace.dataset, name, one) for name, one in compute.items()}
    return all_in_threads(jobs, workspace.progress)


def ensemble_name(beta: float, separation: float) -> str:
    """Of the centers at one beta and separation, for files and numbers."""
    return f"beta{beta:g}-c{separation:g}"
