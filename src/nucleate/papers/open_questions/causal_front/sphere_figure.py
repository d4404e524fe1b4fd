"""The limit equation on the sphere beside runs: profiles, when the front passes, coefficients of ln t, and
where later tokens end."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import Array
from nucleate.papers.core.item import Data, Numbers, Parameters
from nucleate.papers.core.numbers import mean_of
from nucleate.papers.open_questions.causal_front.crossings import LEVEL, crossing_times
from nucleate.papers.open_questions.causal_front.data import Case, bins_of, cases
from nucleate.papers.open_questions.causal_front.figures import draw_logarithms, draw_profiles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_sphere_limit"]

COLOURS = (1, 0, 2, 3, 4)  # of CLUSTER_COLOURS, by the order of cases


def draw_sphere_limit(data: Data, numbers: Numbers, p: Parameters) -> "Figure":
    """Four panels."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 7.4), layout="constrained")
    draw_profiles(figure.add_subplot(2, 2, 1), data, p, cases(p)[0])
    _passing(figure.add_subplot(2, 2, 2), data, p)
    reach = f"s = {p['far']['begin']:g} to {p['far']['end'] - 5:g}"
    draw_logarithms(
        figure.add_subplot(2, 2, 3),
        numbers,
        (
            ("far_noisy_logarithm", f"with noise, given 4λ,\n{reach}", 1.5),
            ("far_quiet_logarithm", f"without noise, given 4λ,\n{reach}", 3.0),
            ("far_logarithm_difference", "their difference", 1.5),
            ("far_noisy_joint_logarithm", "with noise,\nfitted with the speed", 1.5),
            ("far_quiet_joint_logarithm", "without noise,\nfitted with the speed", 3.0),
        ),
    )
    _ends(figure.add_subplot(2, 2, 4, projection="mollweide"), data, cases(p)[0])
    return figure


def _passing(ax: Any, data: Data, p: Parameters) -> None:
    from nucleate.plot.styles import CLUSTER_COLOURS, SMALL_POINTS, tidy

    palette = tidy(ax)
    for i, case in enumerate(cases(p)):
        colour, s = CLUSTER_COLOURS[COLOURS[i % 5]], bins_of(p["first"], case.n).s
        found = data[case.name]
        times = {kind: _crossing(found[f"{kind}seen"].values, p) for kind in ("", "own_")}  # (start, bin)
        known = np.isfinite(times[""]).all(0) & np.isfinite(times["own_"]).all(0)  # (bin,)
        means = [mean_of(column, "") for column in times[""][:, known].T]
        value = [one.value for one in means]
        half = [one.ends[1] - one.value if len(times[""]) > 1 else 0.0 for one in means]
        style = {"fmt": "o", "color": colour, "markersize": 3.0, "elinewidth": 0.6}
        ax.errorbar(
            np.exp(s[known]) * (1.0 + 0.03 * i), value, half, label=f"runs, β = {case.beta:g}", **style
        )
        line = {"color": palette.red, "linewidth": 1.2, "linestyle": ("-", "--")[i % 2]}
        ax.plot(np.exp(s[known]), times["own_"][:, known].mean(0), label=f"limit, β = {case.beta:g}", **line)
    ax.set(xscale="log", xlabel="place k in the sequence", ylabel="time at which the front passes")
    ax.legend(fontsize=SMALL_POINTS - 1, frameon=False)


def _crossing(seen: Array, p: Parameters) -> Array:
    return crossing_times(seen, np.array(p["times"]), LEVEL)


def _ends(ax: Any, data: Data, case: Case) -> None:
    """Later tokens at the last time, in the run and in the limit, on a map of equal areas."""
    from nucleate.plot.styles import SMALL_POINTS, palette_of

    palette = palette_of(ax)
    kinds = (
        ("own_end", "limit equation", {"markersize": 9, "mfc": "none", "mec": palette.red, "alpha": 0.5}),
        ("run_end", "run", {"markersize": 3, "mfc": palette.ink, "mec": "none", "alpha": 0.5}),
    )
    for key, words, style in kinds:
        x = data[case.name][key].values[0]  # (tokens, 3)
        ax.plot(np.arctan2(x[:, 1], x[:, 0]), np.arcsin(x[:, 2]), "o", label=words, **style)
    ax.set_xticklabels([])
    ax.set_yticklabels([])
    ax.grid(linewidth=0.3)
    ax.legend(
        fontsize=SMALL_POINTS - 1, frameon=False, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=2
    )
    ax.set_title(f"where the last tokens end, β = {case.beta:g}", fontsize=SMALL_POINTS + 1)
