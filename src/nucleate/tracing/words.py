"""The words and pictures of a report on one model: report.json, report.md, and a section for the page on all
models."""

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import Array
from nucleate.integrate.storage import replacing
from nucleate.printable import printable
from nucleate.tracing.bridge import VARIANTS
from nucleate.tracing.controls import CONTROLS
from nucleate.tracing.criteria import interval
from nucleate.tracing.figures import write_figures

if TYPE_CHECKING:
    from nucleate.tracing.report import TraceReport

__all__ = ["literal", "section", "short_name", "write_section", "write_words"]

Numbers = Mapping[str, NDArray[Any]]
COLUMNS = 120
MARKS = re.compile(r"[`|\[\]]")  # of Markdown


def write_words(report: "TraceReport", tokens: Sequence[Sequence[str]], missing: Sequence[str]) -> None:
    """report.json, report.md and the pictures into the report's folder."""
    captions = write_figures(report, tokens, report.folder, short_name(report.name))
    text = section(report, tokens, missing, captions)
    _write(report.folder / "report.md", text)
    _write(report.folder / "report.json", json.dumps(plain(report), indent=2, ensure_ascii=False) + "\n")


def write_section(page: Path, name: str, text: str) -> None:
    """A model's section of a page, between its two marks; new ones at the end."""
    begin, end = f"<!-- model: {name} -->", f"<!-- end: {name} -->"
    whole = page.read_text(encoding="utf-8")
    block = f"{begin}\n\n{wrapped(text.strip())}\n\n{end}"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.S)
    found = pattern.sub(lambda _: block, whole) if pattern.search(whole) else f"{whole.rstrip()}\n\n{block}\n"
    _write(page, found)


def wrapped(text: str) -> str:
    """Markdown with no line of prose longer than 120 letters; tables and pictures stay as they are."""
    lines = (
        [line]
        if line.startswith(("|", "!"))
        else textwrap.wrap(line, COLUMNS, break_on_hyphens=False) or [""]
        for line in text.splitlines()
    )
    return "\n".join(line for some in lines for line in some)


def short_name(name: str) -> str:
    """For names of files: "SmolLM2-135M-Instruct.Q4_1.gguf" -> "smollm2-135m-instruct"."""
    return re.sub(r"[^a-z0-9]+", "-", name.split(".")[0].lower()).strip("-")


def plain(report: "TraceReport") -> dict[str, Any]:
    """Plain data: verdicts, and the mean and interval of every number with a text axis, by layer."""
    from nucleate.tracing.report import criteria_plain

    T = len(report.texts)
    return {
        "model": dict(report.settings),
        "texts": list(report.texts),
        "tokens": report.n,
        "notes": list(report.notes),
        "criteria": criteria_plain(),
        "answer": {"word": report.answer.word, "why": report.answer.why},
        "positive control": None
        if report.positive is None
        else {"word": report.positive.word, "why": report.positive.why},
        "planted": {f"{s:g}": {"word": one.word, "why": one.why} for s, one in report.planted.items()},
        "verdicts": {
            key: {
                "word": one.word,
                "mean": _short(one.found.mean),
                "low": _short(one.found.low),
                "high": _short(one.found.high),
                "texts": one.found.texts,
            }
            for key, one in report.verdicts.items()
        },
        "numbers": {
            key: {
                name: _by_layer(value)
                for name, value in item.items()
                if value.ndim == 2 and value.shape[0] == T and value.dtype.kind == "f"
            }
            for key, item in report.items.items()
        },
    }


def section(
    report: "TraceReport",
    tokens: Sequence[Sequence[str]],
    missing: Sequence[str],
    captions: Mapping[str, str],
    images: str = "",
) -> str:
    """The section in Markdown; images: where the pictures are, seen from the page."""
    from nucleate.tracing.report import sensitivity

    s, items = report.settings, report.items
    name, architecture = literal(report.name), literal(s["architecture"])
    lines = [
        f"### {short_name(report.name)}",
        "",
        (
            f"{name}: {architecture}, {s['layers']} layers, d = {s['d']}, {s['heads']} heads,"
            f" {'causal' if s['causal'] else 'bidirectional'}, {s['norm_place']}-norm. {len(report.texts)}"
            f" texts of {report.n} tokens ({literal(', '.join(report.texts))})."
        ),
        "",
        f"**Answer: {report.answer.word}.** {report.answer.why}. {sensitivity(report)}",
        "",
        "| hypothesis | verdict | mean over texts, 95 % interval |",
        "|---|---|---|",
    ]
    lines += [
        f"| {one.hypothesis.statement} | **{one.word}** | {one.found} |" for one in report.verdicts.values()
    ]
    lines += [
        "",
        *_controls(items),
        "",
        *_known_captures(report),
        "",
        _over_depth(items),
        "",
        *_variants(items["text"]),
        "",
        *_blocks(items),
        "",
    ]
    lines += [*_layers(items), "", *_centers(items, tokens), ""]
    if "bridge" in items:
        lines += [*_bridge(items["bridge"], missing), ""]
    for name, caption in captions.items():
        lines += [f"![{caption.split('.')[0]}]({images}{name})", "", f"*{caption}*", ""]
    return "\n".join(lines).rstrip() + "\n"


def _controls(items: Mapping[str, Numbers]) -> list[str]:
    lines = [
        "After the last block (mean cosine and rank: first token out):",
        "",
        (
            "| | mean cosine | 90 % of all cosines | clusters at 12° | effective rank |"
            " rank of the own center | sight |"
        ),
        "|---|---|---|---|---|---|---|",
    ]
    for key in CONTROLS:
        one = items[key]
        cells = [_of(one["mean_cosine"]), _spread(one["cosine_histogram"]), _of(one["clusters"])]
        cells += [_of(one[name]) for name in ("effective_rank", "rank", "sight")]
        lines.append(f"| {key} | {' | '.join(cells)} |")
    if (ours := items.get("positive control")) is not None:
        lines.append(
            f"| *positive control*: our attention from the same start, β = {float(ours['beta']):.1f}, t ="
            f" {ours['times'][-1]:g} | {_of(ours['mean_cosine'])} | | | | {_of(ours['rank'])} |"
            f" {_of(ours['sight'])} |"
        )
    start = items["text"]
    cells = [_of(start["mean_cosine"], 0), _spread(start["cosine_histogram"], 0), _of(start["clusters"], 0)]
    cells.append(_of(start["effective_rank"], 0))
    return [*lines, f"| text, after the embedding | {' | '.join(cells)} | 1 | 0 |"]


def _known_captures(report: "TraceReport") -> list[str]:
    """What the same measures say where capture is known."""
    pull = report.items["pull"]
    lines = []
    if report.positive is not None:
        lines += [
            (
                "*Positive control*, causal attention of ours from the same start, by the same measures:"
                f" **{report.positive.word}**. {report.positive.why.capitalize()}."
            ),
            "",
        ]
    lines += [
        (
            "*Planted capture*: the directions after the last block, every token moved by s of the way to its"
            " center, in texts with a replaced center to the next one:"
        ),
        "",
        "| s | answer | rank | sight | pull |",
        "|---|---|---|---|---|",
    ]
    for i, (s, one) in enumerate(report.planted.items()):
        cells = [_of(pull[f"planted_{name}"], i) for name in ("rank", "sight", "pull")]
        lines.append(f"| {s:g} | {one.word} | {' | '.join(cells)} |")
    return lines


def _spread(histogram: NDArray[Any], layer: int = -1) -> str:
    """Between which cosines the middle 90 % of all pairs of all texts lie, (T, L + 1, bins) counts."""
    counts = histogram[:, layer].sum(0)  # (bins,)
    edges = np.linspace(-1.0, 1.0, len(counts) + 1)
    share = np.append(0.0, np.cumsum(counts) / counts.sum())  # (bins + 1,)
    return " to ".join(f"{np.interp(q, share, edges):.2f}".replace("-", "−") for q in (0.05, 0.95))


def _over_depth(items: Mapping[str, Numbers]) -> str:
    """Where nearness is half way to chance, and the largest sight and pull of any layer."""
    text, pull = items["text"], items["pull"]
    rank, sight = text["rank"].mean(0), text["sight"].mean(0)  # (L + 1,)
    half = np.flatnonzero(rank < 0.75)
    best, most = int(sight[1:].argmax()) + 1, int(pull["pull"].mean(0).argmax())
    where = f"falls below ¾ after block {half[0]}" if len(half) else "stays above ¾"
    return (
        f"Over depth the rank {where}. The largest mean sight is {_of(text['sight'], best)}, after block"
        f" {best}; the largest mean pull {_of(pull['pull'], most)}, after block {int(pull['layers'][most])};"
        f" of all pulls at the end, followers {interval(pull['followers'][:, -1]).mean:.3f} and others"
        f" {interval(pull['others'][:, -1]).mean:.3f} on average. (Intervals of a largest value among many"
        " are too narrow.)"
    )


def _variants(text: Numbers) -> list[str]:
    names = {
        "": "as judged",
        "first_in_": "first token in",
        "same_word_in_": "same word in",
        "both_in_": "both in",
        "half_": "half of the tokens centers",
        "eighth_": "an eighth of the tokens centers",
        "late_": f"centers after block {int(text['late_layer'])}",
    }
    lines = [
        "The same question with other choices, after the last block:",
        "",
        "| | δ in degrees | rank | cover | sight |",
        "|---|---|---|---|---|",
    ]
    return lines + [
        f"| {words} | {np.degrees(float(text[f'{key}delta'])):.0f} | {_of(text[f'{key}rank'])} |"
        f" {_of(text[f'{key}cover'])} | {_of(text[f'{key}sight'])} |"
        for key, words in names.items()
    ]


def _blocks(items: Mapping[str, Numbers]) -> list[str]:
    blocks = items.get("blocks", {"S": np.array([]), "mean_cosine": np.array([])})
    told = [("1 (the text)", items["text"]["mean_cosine"])]
    told += [
        (f"4^{int(S)}", value) for S, value in zip(blocks["S"], blocks["mean_cosine"], strict=True)
    ]  # (T, L + 1) each
    told.append(("all tokens", items["shuffled"]["mean_cosine"]))
    return [
        "Mean cosine with the text shuffled in blocks, first token out:",
        "",
        "| blocks | after the last block | before it |",
        "|---|---|---|",
        *(f"| {name} | {_of(value)} | {_of(value, -2)} |" for name, value in told),
    ]


def _layers(items: Mapping[str, Numbers]) -> list[str]:
    text, frames = items["text"], items["frames"]
    peak = text["norm_ratio"].mean(0)  # (L + 1,)
    sink = frames["sink_share"].mean(1)  # (L,)
    largest = text["massive"][..., 0].mean(0)  # (L + 1,)
    at = int(largest.argmax())
    return [
        (
            f"Turns: attention {_of(text['attention_share'].mean(1))}, MLP {_of(text['mlp_share'].mean(1))}"
            f" (mean over layers). The paper's drift: R² {_of(text['drift_r2'].mean(1))}, median cosine"
            f" {_of(text['drift_cosine'].mean(1))}; with positions R² {_of(text['drift_rotary_r2'].mean(1))}."
            f" R² is at least ½ in {int((text['drift_r2'].mean(0) >= 0.5).sum())} of"
            f" {text['drift_r2'].shape[1]} layers."
        ),
        "",
        (
            f"Sink: the first token's norm is at most {peak.max():.0f} times the median (after block"
            f" {int(peak.argmax())}); it takes {sink.mean():.2f} of the attention of the others on average"
            f" (at most {sink.max():.2f}, in block {int(sink.argmax()) + 1}; equal weights"
            f" {float(frames['sink_equal']):.3f}). Largest activation {largest[at]:.0f} after block {at},"
            f" median {text['median_activation'].mean(0)[at]:.2g}. Consensus gap"
            f" {_of(text['consensus_gap'], 0)} to {_of(text['consensus_gap'])}; rank-one residual"
            f" {_of(text['rank_one_residual'], 0)} to {_of(text['rank_one_residual'])}."
        ),
        "",
        (
            "The nearest earlier token (first out) has the same word for"
            f" {_of(text['nearest_same_word'], 0)} of the tokens at the start and"
            f" {_of(text['nearest_same_word'])} at the end; it is the one just before for"
            f" {_of(text['nearest_just_before'], 0)} and {_of(text['nearest_just_before'])}."
        ),
    ]


def _centers(items: Mapping[str, Numbers], tokens: Sequence[Sequence[str]]) -> list[str]:
    frames = items["frames"]
    words = [word.strip().casefold() for word in tokens[0]]
    first = np.array([word not in words[:k] for k, word in enumerate(words)])  # (n,)
    L = len(frames["gain"])
    rows = [
        ("directions of the stream, 12°", frames["stream"][[0, L // 2, L]]),
        ("what attention reads, 12°", frames["gain"][[0, L // 2, L - 1]]),
        ("scores of a head, D ≤ 1, mean", frames["heads"][[0, L // 2, L - 1]].mean(1)),
        ("dominant eigenspace of a head, 12°, mean", frames["eigenspace"][[0, L // 2, L - 1]].mean(1)),
    ]
    lines = [
        (
            f"Rényi centers of the first text ({len(words)} tokens, {int(first.sum())} first occurrences of a"
            " word) at the start, in the middle and at the end:"
        ),
        "",
        "| frame | start | middle | end |",
        "|---|---|---|---|",
    ]
    for name, masks in rows:
        lines.append(f"| {name} | {' | '.join(f'{mask.sum():.0f}' for mask in masks)} |")
    start = frames["stream"][0]
    agree = int((start & first).sum())
    told = ", ".join(f"“{word.strip()}”" for word, mark in zip(tokens[0], start, strict=True) if mark)
    shown = literal(told if len(told) < 200 else told[:200].rsplit(",", 1)[0] + ", …")
    return [
        *lines,
        "",
        (
            f"At the start {agree} of {int(start.sum())} centers of the stream are first occurrences of a"
            f" word: {shown}. The eigenspaces keep {frames['eigenspace_kept'].mean():.3f} of the squared"
            " length on average."
        ),
    ]


def _bridge(item: Numbers, missing: Sequence[str]) -> list[str]:
    cosine = item["cosine"]  # (texts, variants, L + 1, n)
    L = cosine.shape[2] - 1
    lines = [
        (
            "The bridge: our `Layers` with the layers' own Q, K, V, MLP and norms, from the real start"
            f" ({cosine.shape[0]} text{'s' * (cosine.shape[0] != 1)} of {cosine.shape[3]} tokens). Left out:"
            f" {', '.join(missing)}. Cosine of the simulated and the real direction, mean over tokens:"
        ),
        "",
        "| | after block 1 | in the middle | at the end | worst token there | below 0.9 from block |",
        "|---|---|---|---|---|---|",
    ]
    for i, name in enumerate(VARIANTS):
        mean = cosine[:, i].mean((0, 2))  # (L + 1,)
        below = np.flatnonzero(mean < 0.9)
        cells = [
            _digits(mean[1]),
            _digits(mean[L // 2]),
            _digits(mean[L]),
            _digits(cosine[:, i, L].min()),
            str(int(below[0])) if len(below) else "never",
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def literal(text: str) -> str:
    """A name or a word out of a file: no tag, link, cell or line of Markdown."""
    plain = escape(printable(" ".join(text.split())), quote=False)
    return MARKS.sub(r"\\\g<0>", plain)


def _digits(cosine: float) -> str:
    if cosine > 1.0 - 1e-15:
        return "1"
    return f"1 − {1.0 - cosine:.0e}" if cosine > 0.9999 else f"{cosine:.3f}".replace("-", "−")


def _of(values: Array, layer: int = -1) -> str:
    """Mean and interval over texts, of (T,) or of one layer of (T, layers)."""
    return str(interval(values if values.ndim == 1 else values[:, layer]))


def _by_layer(values: Array) -> list[list[float | None]]:
    found = [interval(column, draws=1000) for column in values.T]
    return [[_short(one.mean), _short(one.low), _short(one.high)] for one in found]


def _short(value: float) -> float | None:
    return float(f"{value:.4g}") if np.isfinite(value) else None


def _write(path: Path, text: str) -> None:
    with replacing(path) as part:
        Path(part).write_text(text, encoding="utf-8")
