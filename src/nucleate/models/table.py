"""Spectra in words, as a table, and as files."""

import csv
import io
import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import InputError, MissingFileError
from nucleate.integrate.storage import replacing

if TYPE_CHECKING:
    from nucleate.models.all_heads import HeadOutcomes
    from nucleate.models.spectra import Head, Spectra

__all__ = [
    "COLUMNS",
    "DATA",
    "OUTCOME_COLUMNS",
    "PAGE",
    "PICTURES",
    "check_out",
    "head_table",
    "layer_table",
    "region_words",
    "share_words",
    "summary",
    "write",
]

# what a report can be written as
DATA, PICTURES, PAGE = (".json", ".csv"), (".png", ".pdf", ".svg"), (".html",)
COLUMNS = (
    "layer",
    "head",
    "key_value_head",
    "beta",
    "lambda_max",
    "kind",
    "multiplicity",
    "row",
    "region",
    "left",
    "full_lambda_max",
    "full_row",
)
# further columns, if the heads were simulated
OUTCOME_COLUMNS = ("t", "near", "clusters", "opposite", "speed", "resting", "status", "ended", "as_said")
ROWS = {
    "1": "λ_max > 0, d-fold: the first token",
    "2": "λ_max > 0, several-fold: one point in L",
    "3": "λ_max > 0, simple: two points ±ξ",
    "4": "λ_max < 0, several-fold: a cloud around L",
    "5": "λ_max < 0, simple: two clouds around ±ξ",
    "zero": "λ_max = 0, outside the table",
    "mask": "outside the table, which is about causal attention",
}


def region_words(region: str) -> str:
    """A region in words: the row of Table 1, or why the head is outside of it."""
    if region in ROWS:
        return (f"row {region}: " if region.isdigit() else "") + ROWS[region]
    kind, sign = region.rsplit(" ", 1)
    return f"λ_max {'>' if sign == '+' else '<'} 0, {kind}: outside the table"


def share_words(part: float, whole: float = 1.0) -> str:
    """A share in per cent, where few are not none and nearly all are not all: "<1%", ">99%"."""
    words = f"{part / whole:.0%}"
    if words == "0%" and part > 0:
        return "<1%"
    return ">99%" if words == "100%" and part < whole else words


def summary(found: "Spectra") -> str:
    """The model, its heads by row beside the random initialisation, and what was left out."""
    groups = (
        f" over {found.key_value_heads} key-value heads"
        if found.key_value_heads < found.heads_per_layer
        else ""
    )
    first, total, draws = found.initial, len(found.heads), found.initial.draws
    known = (
        f"{found.model}: {found.architecture}, {_layers(found)} of {found.heads_per_layer} heads{groups}, d ="
        f" {found.d}, d_head = {found.head_dim}, stored as {', '.join(found.stored_as)}"
    )
    lines = [
        known,
        "",
        f"{'where the dominant eigenvalue of W_V W_O lies':<52}{'heads':>12}{'at random':>12}",
    ]
    for region in sorted({*found.regions, *first.regions}):
        here, there = found.regions.get(region, 0), first.regions.get(region, 0)
        ours = f"{here} ({share_words(here, total)})"
        lines.append(f"{region_words(region):<52}{ours:>12}{share_words(there, draws):>12}")
    lambda_max = np.array([head.lambda_max for head in found.heads])
    left = float(np.mean([head.left for head in found.heads]))
    betas = np.array([head.beta for head in found.heads])
    low, middle, high = np.quantile(betas, [0.1, 0.5, 0.9])
    lines += [
        "",
        (
            f"λ_max                    {lambda_max.min():.4g} to {lambda_max.max():.4g}; at random"
            f" {first.low:.4g} to {first.high:.4g} (middle 80 % of {draws} draws)"
        ),
        f"eigenvalues on the left  {left:.1%}; at random {first.left:.1%}",
        f"effective β              {middle:.4g} (middle 80 %: {low:.4g} to {high:.4g})",
        _negatives(found),
        *found.notes,
    ]
    return "\n".join(lines)


def _layers(found: "Spectra") -> str:
    return f"{found.layers} layer{'s' if found.layers > 1 else ''}"


def _negatives(found: "Spectra") -> str:
    if not found.negative:
        return "no head has λ_max < 0"
    shown = ", ".join(f"{head.layer}.{head.head}" for head in found.negative[:24])
    count = "1 head" if len(found.negative) == 1 else f"{len(found.negative)} heads"
    return f"λ_max < 0 in {count} (layer.head): {shown}" + (", ..." if len(found.negative) > 24 else "")


def head_table(heads: "tuple[Head, ...]", outcomes: "HeadOutcomes | None" = None) -> str:
    """One line per head; with what happened, if they were simulated."""
    first = (
        f"{'layer':>5} {'head':>4} {'β':>10} {'λ_max':>11} {'dominant':<18} {'row':>4} {'left':>6}"
        f" {'λ_max of V':>11} {'row':>4}"
    )
    lines = [first + ("  what happened" if outcomes else "")]
    for i, one in enumerate(heads):
        lines.append(
            f"{one.layer:>5} {one.head:>4} {one.beta:>10.4g} {one.lambda_max:>11.4g} {one.kind:<18}"
            f" {one.row or '–':>4} {one.left:>6.1%} {one.full_lambda_max:>11.4g} {one.full_row or '–':>4}"
            + (f"  {outcomes.heads[i].ended}" if outcomes else "")
        )
    return "\n".join(lines)


def layer_table(found: "Spectra") -> str:
    """One line per layer, for models with many heads."""
    names = list(found.regions)
    lines = [
        f"{'layer':>5} {'β, median':>10} {'λ_max':>23}  " + "  ".join(f"{_short(name):>11}" for name in names)
    ]
    for i in range(found.layers):
        heads = found.layer(i)
        lambda_max = [head.lambda_max for head in heads]
        counts = "  ".join(f"{sum(head.region == name for head in heads):>11}" for name in names)
        lines.append(
            f"{i:>5} {np.median([head.beta for head in heads]):>10.4g}"
            f" {f'{min(lambda_max):.4g} to {max(lambda_max):.4g}':>23}  {counts}"
        )
    return "\n".join(lines)


def _short(region: str) -> str:
    return f"row {region}" if region.isdigit() else region


def write(found: "Spectra", path: Path) -> None:
    """All numbers as .json, or one line per head as .csv; in one piece, or not at all."""
    ending = path.suffix.lower()
    if ending == ".json":
        text = json.dumps(as_plain(found), indent=1, allow_nan=False) + "\n"
    elif ending == ".csv":
        text = as_csv(found)
    else:
        raise InputError(
            f"{path} has the ending {ending or '(none)'}, but data are .json or .csv. Pictures and pages:"
            " nucleate.plot."
        )
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


def check_out(path: Path) -> Path:
    """A path that a report can be written to; a name without an ending is a folder."""
    ending = path.suffix.lower()
    if ending and not path.is_dir() and ending not in DATA + PICTURES + PAGE:
        raise InputError(
            f"--out {path} has the ending {ending}, but must have one of {', '.join(DATA + PAGE + PICTURES)},"
            " or none, for a folder with everything."
        )
    if not path.resolve().parent.is_dir():
        raise MissingFileError(
            f"--out {path} cannot be written: there is no folder {path.parent}. Make it first."
        )
    return path


def as_plain(found: "Spectra") -> dict[str, Any]:
    """Numbers, texts, lists and tables only; an eigenvalue is [real, imaginary]."""
    plain: dict[str, Any] = {
        one.name: getattr(found, one.name)
        for one in fields(found)
        if one.name not in ("heads", "initial", "outcomes")
    }
    heads = []
    for head in found.heads:
        values = head.eigenvalues
        heads.append(
            {name: getattr(head, name) for name in COLUMNS}
            | {"eigenvalues": np.stack([values.real, values.imag], -1).tolist()}
        )
    outcomes = {} if found.outcomes is None else {"live": found.outcomes.as_plain()}
    return plain | {"regions": found.regions, "initial": asdict(found.initial), "heads": heads} | outcomes


def as_csv(found: "Spectra") -> str:
    """One line per head."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    outcomes = found.outcomes.heads if found.outcomes else [None] * len(found.heads)
    lines.writerow([*COLUMNS, *(OUTCOME_COLUMNS if found.outcomes else ())])
    for head, outcome in zip(found.heads, outcomes, strict=True):
        values = [getattr(head, name) for name in COLUMNS]
        values += [getattr(outcome, name) for name in OUTCOME_COLUMNS] if outcome else []
        lines.writerow(
            ["" if value is None else repr(value) if isinstance(value, float) else value for value in values]
        )
    return text.getvalue()
