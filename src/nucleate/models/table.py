"""Spectra in words, as a table, and as files."""

import csv
import io
import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import InputError, MissingFileError, as_path, read_file
from nucleate.integrate.storage import followed, replacing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nucleate.models.all_heads import HeadOutcomes
    from nucleate.models.nulls import Initial, Share, Swapped
    from nucleate.models.spectra import Head, Spectra

__all__ = [
    "COLUMNS",
    "DATA",
    "OUTCOME_COLUMNS",
    "PAGE",
    "PAGE_TITLE",
    "PICTURES",
    "SHARES",
    "STORED_COLUMNS",
    "UNIT_OF_TIME",
    "check_out",
    "head_table",
    "interval_words",
    "layer_table",
    "null_models",
    "refuse_others",
    "region_words",
    "score_words",
    "share_words",
    "summary",
    "write",
]

# what a report can be written as
DATA, PICTURES, PAGE = (".json", ".csv"), (".png", ".pdf", ".svg"), (".html",)
PAGE_TITLE = "<title>Heads of "
MAX_REPORT_BYTES = 2**28  # more than any report has
COLUMNS = (
    "layer",
    "head",
    "key_value_head",
    "beta",
    "rms_score",
    "lambda_max",
    "kind",
    "multiplicity",
    "row",
    "region",
    "left",
    "full_lambda_max",
    "full_row",
)
# the same in the stored state: further columns for post-norm models, with "stored_" in front
STORED_COLUMNS = ("lambda_max", "kind", "multiplicity", "row", "region", "left")
# further columns, if the heads were simulated
OUTCOME_COLUMNS = ("t", "near", "clusters", "opposite", "speed", "resting", "status", "ended", "as_said")
SHARES = {
    "negative": "heads with λ_max < 0",
    "real": "heads with a real dominant eigenvalue",
    "left": "eigenvalues on the left",
}
UNIT_OF_TIME = "λ is a rate: V leaves out the √d that a normalised token is long, which is a unit of time"
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


def null_models(found: "Spectra", stored: bool = False) -> "dict[str, Swapped | Initial]":
    """What the heads are compared with, by name; `stored`: in the stored state, which is the same at random,
    where the gain is 1."""
    swapped = found.swapped_stored if stored else found.swapped
    return ({"W_O swapped": swapped} if swapped else {}) | {"at random": found.initial}


def summary(found: "Spectra") -> str:
    """The model, its heads by row beside both null models, and what was left out."""
    groups = (
        f" over {found.key_value_heads} key-value heads"
        if found.key_value_heads < found.heads_per_layer
        else ""
    )
    known = (
        f"{found.model}: {found.architecture}, {_layers(found)} of {found.heads_per_layer} heads{groups}, d ="
        f" {found.d}, d_head = {found.head_dim}, stored as {', '.join(found.stored_as)}"
    )
    betas = np.array([head.beta for head in found.heads])
    scores = np.array([head.rms_score for head in found.heads if head.rms_score is not None])
    lines = [
        known,
        "",
        *_region_lines(found),
        "",
        *_share_lines(found),
        *(["", *_share_lines(found, stored=True)] if found.post_norm else []),
        "",
        f"{UNIT_OF_TIME}.",
        f"effective β, the largest score of unit tokens      {_middle(betas)}",
        f"root mean square score of random unit tokens       {_middle(scores)}",
        _negatives(found),
        *found.notes,
    ]
    return "\n".join(lines)


def _middle(values: "NDArray[np.float64]") -> str:
    if not len(values):
        return "none: queries and keys are normalised in each head"
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
    return f"{middle:.4g} (middle 80 %: {low:.4g} to {high:.4g})"


def _region_lines(found: "Spectra") -> list[str]:
    """One line per region: heads, and shares of the null models."""
    nulls, total = null_models(found), len(found.heads)
    states = [found.regions] + ([found.stored_regions] if found.post_norm else [])
    names = ["heads"] + (["stored state"] if found.post_norm else [])
    lines = [
        f"{'where the dominant eigenvalue of W_V W_O lies':<52}"
        + "".join(f"{name:>14}" for name in (*names, *nulls))
    ]
    for region in sorted(
        {region for one in (*states, *(null.regions for null in nulls.values())) for region in one}
    ):
        here = [f"{count} ({share_words(count, total)})" for one in states for count in (one.get(region, 0),)]
        there = [
            share_words(null.regions.get(region, 0), sum(null.regions.values())) for null in nulls.values()
        ]
        lines.append(f"{region_words(region):<52}" + "".join(f"{one:>14}" for one in (*here, *there)))
    return lines


def _share_lines(found: "Spectra", stored: bool = False) -> list[str]:
    """The shares that are compared, with the middle 95 % in null models of as many heads; and λ_max."""
    nulls, shares = null_models(found, stored), found.stored_shares if stored else found.shares
    title = "shares in the stored state, without the gain" if stored else "shares"
    lines = [f"{title:<52}{'heads':>14}" + "".join(f"{f'{name} (95 %)':>28}" for name in nulls)]
    for name, words in SHARES.items():
        lines.append(
            f"{words:<52}{shares[name]:>14.1%}"
            + "".join(f"{interval_words(getattr(null.shares, name)):>28}" for null in nulls.values())
        )
    spectra = [head.stored if stored else head for head in found.heads]
    lambda_max = [one.lambda_max for one in spectra if one is not None]
    low, high = np.quantile(lambda_max, [0.1, 0.9])
    ranges = [(low, high), *((null.low, null.high) for null in nulls.values())]
    told = [f"{low:.3g} to {high:.3g}" for low, high in ranges]
    return [*lines, f"{'λ_max, middle 80 %':<48}{told[0]:>18}" + "".join(f"{one:>28}" for one in told[1:])]


def interval_words(share: "Share") -> str:
    """A share of a null model with its interval."""
    return f"{share.mean:.1%} ({share.low:.1%} to {share.high:.1%})"


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
        f"{'layer':>5} {'head':>4} {'β':>10} {'rms score':>10} {'λ_max':>11} {'dominant':<18} {'row':>4}"
        f" {'left':>6} {'λ_max of V':>11} {'row':>4}"
    )
    stored = bool(heads) and heads[0].stored is not None
    first += f" {'λ_max, stored':>14} {'row':>4}" if stored else ""
    lines = [first + ("  what happened" if outcomes else "")]
    for i, one in enumerate(heads):
        lines.append(
            f"{one.layer:>5} {one.head:>4} {one.beta:>10.4g} {score_words(one):>10} {one.lambda_max:>11.4g}"
            f" {one.kind:<18} {one.row or '–':>4} {one.left:>6.1%} {one.full_lambda_max:>11.4g}"
            f" {one.full_row or '–':>4}"
            + (f" {one.stored.lambda_max:>14.4g} {one.stored.row or '–':>4}" if one.stored else "")
            + (f"  {outcomes.heads[i].ended}" if outcomes else "")
        )
    return "\n".join(lines)


def score_words(head: "Head") -> str:
    """The root mean square score of a head, or a dash where there is none."""
    return "–" if head.rms_score is None else f"{head.rms_score:.4g}"


def layer_table(found: "Spectra") -> str:
    """One line per layer, for models with many heads."""
    names = list(found.regions)
    lines = [
        f"{'layer':>5} {'β, median':>10} {'rms score':>10} {'λ_max':>23}  "
        + "  ".join(f"{_short(name):>11}" for name in names)
    ]
    for i in range(found.layers):
        heads = found.layer(i)
        lambda_max = [head.lambda_max for head in heads]
        scores = [head.rms_score for head in heads if head.rms_score is not None]
        median = f"{np.median(scores):.4g}" if scores else "–"
        counts = "  ".join(f"{sum(head.region == name for head in heads):>11}" for name in names)
        lines.append(
            f"{i:>5} {np.median([head.beta for head in heads]):>10.4g} {median:>10}"
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
    refuse_others(path)
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


def refuse_others(path: Path) -> None:
    """Refuse to replace a file that is no report of ours, such as the config.json of a model."""
    followed(path)  # a link that leads nowhere is refused, too
    if path.suffix.lower() in DATA + PAGE and path.exists() and not _is_report(path):
        raise InputError(
            f"{path} exists and is no report on heads, so it is not replaced. Choose another name, or move it"
            " away."
        )


def _is_report(path: Path) -> bool:
    """Whether this was written here."""
    try:
        raw = read_file(path, MAX_REPORT_BYTES)
        if path.suffix.lower() == ".csv":
            return raw.startswith(",".join(COLUMNS).encode())
        if path.suffix.lower() in PAGE:
            return PAGE_TITLE.encode() in raw
        found = json.loads(raw)
    except (InputError, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and {"regions", "shares", "initial", "heads"} <= found.keys()


def check_out(path: Path) -> Path:
    """A path that a report can be written to; a name without an ending is a folder."""
    path = as_path("--out", path)
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
    for one in (
        (path / "spectra.json", path / "heads.csv", path / "report.html") if path.is_dir() else (path,)
    ):
        refuse_others(one)
    return path


def as_plain(found: "Spectra") -> dict[str, Any]:
    """Numbers, texts, lists and tables only; an eigenvalue is [real, imaginary]."""
    plain: dict[str, Any] = {
        one.name: getattr(found, one.name)
        for one in fields(found)
        if one.name not in ("heads", "initial", "swapped", "swapped_stored", "outcomes")
    }
    nulls = {
        name: None if null is None else asdict(null)
        for name in ("initial", "swapped", "swapped_stored")
        for null in (getattr(found, name),)
    }
    heads = [
        _plain_spectrum(head, COLUMNS)
        | {"stored": None if head.stored is None else _plain_spectrum(head.stored, STORED_COLUMNS)}
        for head in found.heads
    ]
    regions = {"regions": found.regions, "stored_regions": found.stored_regions}
    shares = {"shares": found.shares, "stored_shares": found.stored_shares}
    outcomes = {} if found.outcomes is None else {"outcomes": found.outcomes.as_plain()}
    return plain | regions | shares | nulls | {"heads": heads} | outcomes


def _plain_spectrum(one: Any, names: tuple[str, ...]) -> dict[str, Any]:
    values = one.eigenvalues
    return {name: getattr(one, name) for name in names} | {
        "eigenvalues": np.stack([values.real, values.imag], -1).tolist()
    }


def as_csv(found: "Spectra") -> str:
    """One line per head."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    outcomes = found.outcomes.heads if found.outcomes else [None] * len(found.heads)
    stored = [f"stored_{name}" for name in STORED_COLUMNS] if found.post_norm else []
    lines.writerow([*COLUMNS, *stored, *(OUTCOME_COLUMNS if found.outcomes else ())])
    for head, outcome in zip(found.heads, outcomes, strict=True):
        values = [getattr(head, name) for name in COLUMNS]
        values += [getattr(head.stored, name) for name in STORED_COLUMNS] if head.stored else []
        values += [getattr(outcome, name) for name in OUTCOME_COLUMNS] if outcome else []
        lines.writerow(
            ["" if value is None else repr(value) if isinstance(value, float) else value for value in values]
        )
    return text.getvalue()
