"""Draw the picture of docs/open-questions/predicted-lives.md that needs a long simulation: predicted lives of
a million tokens, and of tokens at beta = 10^4.

    python studies/predicted_lives.py [TOKENS]

Tokens, a million unless given, are simulated until clusters have formed; the rest is predicted.  A million
take about 40 s of processor time; after every look at them the tokens are kept in build/predicted-lives, and
a second call goes on from there.
"""

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from study_command import arguments, ending

import nucleate as nc
from nucleate.checks import Array, whole_number
from nucleate.cli.progress import ProgressBar
from nucleate.durations import in_words
from nucleate.observe.clusters import compact
from nucleate.observe.merges import FORMED_SHARE, cluster_width
from nucleate.papers.core.cache import fingerprint, made_by
from nucleate.papers.core.interruption import uninterrupted
from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, style, tidy
from nucleate.plot.tree import branches
from nucleate.theory.predicted_life import PredictedMerges

IMAGES = Path(__file__).parents[1] / "docs" / "images"
KEPT = Path(__file__).parents[1] / "build" / "predicted-lives"
SECONDS, SECONDS_PER_TOKEN = 3.0, 3.7e-5  # of processor time, measured with a million
LEVELS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0)  # of ln t / beta, marked
TIMES = np.arange(8.0, 62.0, 2.0)  # at which it is looked whether clusters have formed


def tokens_at_formation(beta: float, n: int, seed: int, rtol: float) -> tuple[float, Array]:
    """The first of TIMES with 95 % of the tokens in compact clusters, and the tokens (n, 2) then."""
    mark = fingerprint([n, beta, seed, rtol, made_by("nucleate.integrate.simulate")])
    width, path = cluster_width(beta), KEPT / f"{mark[:16]}.npz"
    t, x = _kept(path) if path.exists() else (0.0, nc.uniform(n, 2, seed))
    for later in TIMES[TIMES >= t].tolist():
        if later > t:
            run = nc.simulate(nc.Attention(beta), x, later - t, save=2, rtol=rtol, atol=rtol / 100.0)
            assert uninterrupted(run).status == "done", run.status
            t, x = later, run.x[-1]
            _keep(path, t, x)
        label = nc.clusters(x, width)
        if compact(x, label, width)[label].mean() >= FORMED_SHARE:
            return t, x
    raise RuntimeError(f"No clusters by t = {t:g}.")


def _kept(path: Path) -> tuple[float, Array]:
    with np.load(path, allow_pickle=False) as found:
        return float(found["t"]), found["x"]


def _keep(path: Path, t: float, x: Array) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        np.savez(file, t=t, x=x)
    part.replace(path)


def _root(level: Array) -> Array:
    return np.sqrt(np.maximum(level, 0.0))


def draw_life(top: Any, bottom: Any, beta: float, n: int, seed: int, rtol: float) -> PredictedMerges:
    """Leaders' angles over ln t / beta, and below the number of clusters."""
    begin_cpu = time.process_time()
    with ProgressBar(f"until clusters have formed, n = {_spaced(n)}"):
        t_f, x = tokens_at_formation(beta, n, seed, rtol)
    formed_cpu = time.process_time()
    found = nc.predict_merges(nc.Attention(beta), x, t=t_f)
    print(
        f"n = {n}, beta = {beta:g}: clusters formed by t = {t_f:g} after {formed_cpu - begin_cpu:.0f} s of"
        f" processor time, {len(found.leaders)} leaders; the rest of the life predicted in"
        f" {time.process_time() - formed_cpu:.2f} s"
    )
    level, begin = found.log_times / beta, np.log(t_f) / beta
    angle = {k: float(np.arctan2(x[k, 1], x[k, 0])) for k in found.leaders.tolist()}
    lost = {event.lost: (at, event.into) for event, at in zip(found, level.tolist(), strict=True)}
    rows = {k: i for i, k in enumerate(branches(found.leaders.tolist(), list(found.events)))}
    colour = {k: CLUSTER_COLOURS[rows[k] % len(CLUSTER_COLOURS)] for k in rows}
    palette = tidy(top)
    lines = [[(begin, angle[k]), (lost[k][0] if k in lost else 2.05, angle[k])] for k in angle]
    top.add_collection(LineCollection(lines, colors=[colour[k] for k in angle], linewidths=1.2))
    for k, (at, into) in lost.items():
        way = (angle[into] - angle[k] + np.pi) % (2.0 * np.pi) - np.pi  # the short way round
        for turn in (0.0, 2.0 * np.pi, -2.0 * np.pi):
            start = angle[k] + turn
            top.plot([at, at], [start, start + way], color=palette.grey(0.6), linewidth=0.5, zorder=0)
    top.set(ylim=(-np.pi, np.pi), ylabel="angle of the leader (π is −π)")
    top.set_yticks([-np.pi, 0.0, np.pi], ["−π", "0", "π"])
    for ax in (top, bottom):
        # 1 - cos of an angle: its root is nearly that angle, and early merges have room
        ax.set_xscale("function", functions=(_root, np.square))
        ticks = [level for level in LEVELS if level >= begin]
        ax.set_xticks(ticks, [f"{level:g}" for level in ticks])
        ax.set_xlim(begin, 2.05)
    top.set_title(f"n = {_spaced(n)}, β = {_spaced(beta)}: predicted from t = {t_f:g} on", fontsize=11)
    tidy(bottom)
    left = len(found.leaders) - np.arange(len(level) + 1)  # (merges + 1,)
    bottom.step([begin, *level, 2.05], [*left, left[-1]], where="post", color=palette.ink, linewidth=1.2)
    last = found.log_times[-1] / np.log(10.0)
    words = rf"last merge at t = $\mathdefault{{10^{{{last:.1f}}}}}$"
    bottom.set_title(words, loc="right", fontsize=SMALL_POINTS, pad=4.0)
    ticks = [tick for tick in (1, 2, 5, 10, 20, 50, 100, 200) if tick <= 1.2 * left[0]]
    bottom.set(yscale="log", xlabel="ln t / β, spread like its square root", ylabel="clusters")
    bottom.set_yticks(ticks, [str(tick) for tick in ticks])
    bottom.minorticks_off()
    return found


def _spaced(number: float) -> str:
    return f"{number:,.0f}".replace(",", " ")


def main(*words: str) -> None:
    """Both lives."""
    line = arguments(__doc__)
    usual = 1_000_000
    line.add_argument("tokens", metavar="TOKENS", nargs="?", type=int, default=usual, help=f"usually {usual}")
    with ending(f"Tokens are kept in {KEPT}; the same command goes on from there."):
        draw(
            whole_number(
                "TOKENS", line.parse_args(words).tokens, least=100, help="A million are drawn in docs."
            )
        )


def draw(tokens: int) -> None:
    """Both lives, side by side."""
    cost = in_words(SECONDS + SECONDS_PER_TOKEN * tokens)
    print(f"{_spaced(tokens)} tokens: {cost} of processor time, less what is kept in {KEPT}", flush=True)
    with style("light"):
        figure = Figure(figsize=(10.4, 6.0), layout="constrained")
        axes = figure.subplots(2, 2, height_ratios=[2.2, 1.0])
        draw_life(axes[0, 0], axes[1, 0], 64.0, tokens, 0, 1e-5)
        draw_life(axes[0, 1], axes[1, 1], 1e4, 3000, 0, 1e-6)
        figure.savefig(IMAGES / "predicted-lives.png", dpi=130)


if __name__ == "__main__":
    main(*sys.argv[1:])
