"""The pictures of a report on one model."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.tracing.bridge import VARIANTS
from nucleate.tracing.controls import CONTROLS
from nucleate.tracing.criteria import interval
from nucleate.tracing.sentence import SHOWN

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from nucleate.plot.depth import DepthLine
    from nucleate.tracing.report import TraceReport

__all__ = ["write_figures"]

Numbers = Mapping[str, NDArray[Any]]
WIDE = (7.0, 4.2)


def write_figures(
    report: "TraceReport", tokens: Sequence[Sequence[str]], folder: Path, name: str
) -> dict[str, str]:
    """All pictures into `folder`; their files' names and captions."""
    from nucleate.plot.files import save_figure
    from nucleate.plot.styles import style

    captions = {}
    with style("light"):
        for key, (figure, caption) in _figures(report.items, tokens).items():
            file = f"trace-{name}-{key}.png"
            save_figure(figure, folder / file)
            captions[file] = caption
    return captions


def _figures(
    items: Mapping[str, Numbers], tokens: Sequence[Sequence[str]]
) -> "dict[str, tuple[Figure, str]]":
    T = len(items["text"]["mean_cosine"])
    made = {
        "cosine": (
            _cosine(items),
            (
                f"Mean cosine of the tokens' directions over depth, first token left out, with controls: mean"
                f" over {T} texts and its 95 % interval."
            ),
        ),
        "capture": (
            _capture(items),
            (
                "Capture over depth. Top: rank of a token's own center among earlier centers of another word,"
                " chance dotted. Middle: sight, the contrast beyond that of unseen twins in other texts."
                f" Bottom: pull, followers less other tokens. Means over {T} texts with 95 % intervals."
            ),
        ),
        "turns": (
            _turns(items["text"]),
            (
                "What turns the tokens: shares of attention and MLP in each block, and R² of the paper's"
                " drift for what attention adds, without and with positions; first token left out."
            ),
        ),
    }
    if "sentence" in items:
        made["sphere"] = (
            _sphere(items["sentence"], tokens[0]),
            (
                "A sentence on the sphere over depth, with controls below it. Three principal directions of"
                " each row; the titles say which share of the tokens' squared length they keep, so that"
                " distances inside the globe are not those of the model. Rings: Rényi centers at the start;"
                " red: the first token; dark to light: place in the text."
            ),
        )
    if "bridge" in items:
        made["bridge"] = (
            _bridge(items["bridge"]),
            (
                "The bridge: cosine of the direction simulated with the layers' own weights and the real one,"
                " mean over tokens, for all parts of a layer and with some left out."
            ),
        )
    return made


def _line(values: Array, layers: Array | None = None) -> "DepthLine":
    """A line of (T, m) with its interval."""
    from nucleate.plot.depth import DepthLine

    found = [interval(column, draws=1000) for column in values.T]
    at = np.arange(values.shape[1]) if layers is None else layers
    low, high = (np.array([getattr(one, end) for one in found]) for end in ("low", "high"))
    return DepthLine(np.asarray(at, dtype=np.float64), np.array([one.mean for one in found]), low, high)


def _cosine(items: Mapping[str, Numbers]) -> "Figure":
    from matplotlib.figure import Figure

    from nucleate.plot.depth import depth_lines

    figure = Figure(figsize=WIDE, layout="constrained")
    lines = {key: _line(items[key]["mean_cosine"]) for key in CONTROLS}
    depth_lines(lines, figure.add_subplot(), ylabel="mean cosine")
    return figure


def _capture(items: Mapping[str, Numbers]) -> "Figure":
    from matplotlib.figure import Figure

    from nucleate.plot.depth import depth_lines

    figure = Figure(figsize=(7.0, 9.0), layout="constrained")
    rank, sight, pull = figure.subplots(3, 1)
    for ax, name, chance, label in (
        (rank, "rank", 0.5, "rank of the own center"),
        (sight, "sight", 0.0, "sight"),
    ):
        lines = {key: _line(items[key][name], items[key]["layers"]) for key in CONTROLS}
        depth_lines(lines, ax, ylabel=label, chance=chance)
    item = items["pull"]
    depth_lines({"text": _line(item["pull"], item["layers"])}, pull, ylabel="pull", chance=0.0)
    for ax in (sight, pull):
        legend = ax.get_legend()
        if legend is not None:
            legend.remove()
    return figure


def _turns(text: Numbers) -> "Figure":
    from matplotlib.figure import Figure

    from nucleate.plot.depth import depth_lines

    figure = Figure(figsize=(7.0, 6.4), layout="constrained")
    shares, fits = figure.subplots(2, 1)
    at = np.arange(1, text["drift_r2"].shape[1] + 1)
    depth_lines(
        {"attention": _line(text["attention_share"], at), "MLP": _line(text["mlp_share"], at)},
        shares,
        ylabel="share of the turn",
        chance=0.0,
    )
    depth_lines(
        {
            "the paper's drift": _line(text["drift_r2"], at),
            "with positions": _line(text["drift_rotary_r2"], at),
        },
        fits,
        ylabel="R² for attention's part",
        chance=0.5,
    )
    for ax in (shares, fits):
        ax.set_xlabel("block")
    return figure


def _sphere(item: Numbers, words: Sequence[str]) -> "Figure":
    from nucleate.plot.token_sphere import token_sphere

    rows = {
        key: (
            item["x"][i].astype(np.float64),
            [words[k] for k in item["order"][i].tolist()],
            item["centers"][i],
        )
        for i, key in enumerate(SHOWN)
    }
    return token_sphere(rows, item["layers"].tolist())


def _bridge(item: Numbers) -> "Figure":
    from matplotlib.figure import Figure

    from nucleate.plot.depth import depth_lines, line_of

    cosine = item["cosine"]  # (texts, variants, L + 1, n)
    figure = Figure(figsize=WIDE, layout="constrained")
    lines = {
        name: line_of(np.arange(cosine.shape[2]), cosine[:, i].mean((0, 2)))
        for i, name in enumerate(VARIANTS)
    }
    depth_lines(lines, figure.add_subplot(), ylabel="cosine of simulated and real", chance=1.0)
    return figure
