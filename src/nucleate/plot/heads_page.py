"""Spectra as files: pictures, and one HTML page with everything inside; nothing is fetched from anywhere."""

import base64
import io
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from nucleate.checks import file_error
from nucleate.integrate.storage import replacing
from nucleate.models.all_heads import HeadOutcomes, agreement_words
from nucleate.models.head_simulation import HeadOutcome
from nucleate.models.spectra import Head, Spectra
from nucleate.models.table import (
    DATA,
    PAGE,
    PAGE_TITLE,
    PICTURES,
    SHARES,
    UNIT_OF_TIME,
    interval_words,
    null_models,
    refuse_others,
    region_words,
    score_words,
    share_words,
)
from nucleate.plot.files import save_figure
from nucleate.plot.head_outcomes import outcome_figure
from nucleate.plot.heads import head_map_figure, layer_figure
from nucleate.plot.styles import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["page", "write_heads"]

DPI = 110  # of pictures in the page and in the folder
PALETTE_SIZE = 64  # colours of such a picture: dots and lines need no more
STYLE = """
:root { color-scheme: light dark; --ink: #16181d; --paper: #fff; --faint: #5c6370; --line: #d9dce1;
  --bad: #a81d13; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --paper: #171717; --faint: #a2a9b5;
  --line: #3a3a3a; --bad: #ff7b70; }
  img { filter: invert(.91) hue-rotate(180deg); } } /* white becomes the colour of the page */
body { margin: 0 auto; padding: 2rem 1.2rem 4rem; max-width: 66rem; color: var(--ink);
  background: var(--paper); font: 16px/1.5 system-ui, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.7rem; margin: 0 0 .3rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.4rem 0 .5rem; border-top: 1px solid var(--line); padding-top: .6rem; }
table { border-collapse: collapse; font-size: .9rem; margin: .5rem 0 1rem; } .table { overflow-x: auto; }
th, td { text-align: right; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid var(--line);
  white-space: nowrap; }
th { color: var(--faint); } td.words, th.words { text-align: left; } td {
  font-variant-numeric: tabular-nums; }
tr.negative td { font-weight: 600; color: var(--bad); } a { color: inherit; }
img { max-width: 100%; height: auto; } .note { color: var(--faint); font-size: .92rem; } summary {
  cursor: pointer; }
@media print { :root { color-scheme: light; --ink: #000; --paper: #fff; --faint: #444; --line: #bbb;
  --bad: #a81d13; } img { filter: none; } }
"""
EXPLAINED = (
    "A head's value matrix is V = W_O W_V diag(γ), with the gain γ and, for LayerNorm, the centring of the"
    " normalisation in front folded in. It is d × d and of rank d_head, so it always has the eigenvalue 0 and"
    " its own λ_max is never negative. Rows of Table 1 are therefore read off the small product W_V diag(γ)"
    " W_O, which has the other eigenvalues; λ_max and row of V itself are columns of their own."
    f" {UNIT_OF_TIME}. The effective β is the largest score of two unit tokens, the rms score the root mean"
    " square score of two that are independent and uniform on the sphere. W_O swapped: the trained matrices,"
    " each W_V with the W_O of heads of other groups of its layer, which keeps everything but which W_O"
    " belongs to which W_V. At random: independent Gaussian weights with the gain 1, which keep the"
    " architecture alone. In parentheses: the middle 95 % of the share in such models with as many heads."
)
STORED_EXPLAINED = (
    " The normalisation is behind each layer (post-norm), so that its gain also multiplies what a layer is"
    " added to. In the state that the model stores, diag(γ) times a unit vector, the value matrix is W_O W_V"
    " without the gain: its spectrum is that of the stored state."
)
OUTCOMES_EXPLAINED = (
    "In L means: all tokens within 0.1 of L, the eigenspace at λ_max. Clusters are tokens in steps of at most"
    " 0.1. A head runs for 12 e-foldings of the gap below λ_max, and between 40 and 1000 of λ_max itself; a"
    " complex dominant eigenvalue keeps its tokens turning, so that they never come to an equilibrium."
)


def write_heads(found: Spectra, path: Path, progress: Callable[[int, int], object] | None = None) -> None:
    """Data (.json, .csv), the map of all heads (.png, .pdf, .svg), the page (.html), or a folder with all of
    these and a picture per layer."""
    ending = path.suffix.lower()
    if ending in DATA:
        found.save(path)
    elif ending in PICTURES:
        with style("light"):
            save_figure(outcome_figure(found) if found.outcomes else head_map_figure(found), path)
    elif ending in PAGE:
        text = page(found, progress)
        refuse_others(path)
        with replacing(path) as part:
            part.write_text(text, encoding="utf-8")
    else:
        _folder(found, path, progress)


def _folder(found: Spectra, path: Path, progress: Callable[[int, int], object] | None) -> None:
    """Everything; each picture is drawn once, for its file and for the page."""
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise file_error(
            f"--out {path} cannot be made: {error.strerror}. Choose another name.", error
        ) from None
    for name in ("spectra.json", "heads.csv"):
        found.save(path / name)
    pictures = _pictures(found, progress)
    for name, picture in pictures.items():
        with replacing(path / name) as part:
            part.write_bytes(picture)
    with replacing(path / "report.html") as part:
        part.write_text(_page(found, pictures), encoding="utf-8")


def page(found: Spectra, progress: Callable[[int, int], object] | None = None) -> str:
    """The whole report as one HTML text."""
    return _page(found, _pictures(found, progress))


def _pictures(found: Spectra, progress: Callable[[int, int], object] | None) -> dict[str, bytes]:
    """The map and one picture per layer, by the names of their files."""
    with style("light"):
        made = {"heads.png": _png(head_map_figure(found))}
        if found.outcomes:
            made["outcomes.png"] = _png(outcome_figure(found))
        for i in range(found.layers):
            made[_layer_name(found, i)] = _png(layer_figure(found, i))
            if progress is not None:
                progress(i + 1, found.layers)
    return made


def _layer_name(found: Spectra, i: int) -> str:
    return f"layer-{i:0{len(str(found.layers - 1))}}.png"


def _page(found: Spectra, pictures: dict[str, bytes]) -> str:
    overview = (
        _outcomes(found.outcomes, pictures["outcomes.png"])
        if found.outcomes
        else _image(pictures["heads.png"], "All heads by layer, coloured by row of Table 1")
    )
    layers = [_layer(found, i, pictures[_layer_name(found, i)]) for i in range(found.layers)]
    name, groups = (
        escape(found.model),
        (
            f" over {found.key_value_heads} key-value heads"
            if found.key_value_heads < found.heads_per_layer
            else ""
        ),
    )
    notes = "".join(f"<li>{escape(note)}</li>" for note in found.notes)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
{PAGE_TITLE}{name}</title><style>{STYLE}</style></head><body>
<h1>Heads of {name}</h1>
<p>{escape(found.architecture)}: {found.layers} layer{"s" * (found.layers > 1)}
of {found.heads_per_layer} heads{groups}, d = {found.d}, d_head = {found.head_dim}, stored as
{escape(", ".join(found.stored_as))}.</p>
<h2>Rows of Table 1</h2>{_rows(found)}
{_shares(found)}
<p class=note>{EXPLAINED}{STORED_EXPLAINED if found.post_norm else ""}
({found.initial.draws} draws, seed {found.initial.seed}, standard deviation {found.initial.std:g},
of W_O {found.initial.output_std:.3g}.)</p>
<ul class=note>{notes}</ul>
<h2>All heads</h2>{overview}
{_links(found)}
{"".join(layers)}
</body></html>
"""


def _rows(found: Spectra) -> str:
    """Heads by row of Table 1, beside the null models."""
    nulls, total, rows = null_models(found), len(found.heads), []
    states = [found.regions] + ([found.stored_regions] if found.post_norm else [])
    for region in sorted(
        {*states[0], *states[-1], *(name for null in nulls.values() for name in null.regions)}
    ):
        counts = [one.get(region, 0) for one in states]
        shares = [(null.regions.get(region, 0), sum(null.regions.values())) for null in nulls.values()]
        rows.append(
            f"<tr><td class=words>{escape(region_words(region))}"
            + "".join(f"<td>{count}<td>{escape(share_words(count, total))}" for count in counts)
            + "".join(f"<td>{escape(share_words(*share))}" for share in shares)
            + "</tr>"
        )
    stored = "<th>stored state<th>share" if found.post_norm else ""
    return _table(
        f"<tr><th class=words>dominant eigenvalue of the small product<th>heads<th>share{stored}"
        f"{''.join(f'<th>{name}' for name in nulls)}</tr>",
        rows,
    )


def _shares(found: Spectra) -> str:
    """What is compared with the null models, with their intervals."""
    rows = []
    for stored in (False, True) if found.post_norm else (False,):
        nulls, shares = null_models(found, stored), found.stored_shares if stored else found.shares
        for name, words in SHARES.items():
            null_words = [interval_words(getattr(null.shares, name)) for null in nulls.values()]
            rows.append(
                f"<tr><td class=words>{escape(words)}{', stored state' if stored else ''}"
                f"<td>{shares[name]:.1%}"
                f"{''.join(f'<td>{one}' for one in null_words)}</tr>"
            )
    names = "".join(f"<th>{name} (95 %)" for name in null_models(found))
    return _table(f"<tr><th class=words>share<th>heads{names}</tr>", rows)


def _outcomes(outcomes: HeadOutcomes, png: bytes) -> str:
    """What happened when the heads were simulated."""
    rows = [
        f"<tr><td class=words>{escape(region_words(region))}<td class=words>{escape(ended)}<td>{count}</tr>"
        for (region, ended), count in outcomes.counts.items()
    ]
    return (
        f"<p>{outcomes.tokens} tokens under each head alone, causal, all from one random start (seed"
        f" {outcomes.seed}): {escape(agreement_words(outcomes))}.</p>"
        + _table("<tr><th class=words>Table 1 says<th class=words>what happened<th>heads</tr>", rows)
        + f"<p class=note>{OUTCOMES_EXPLAINED}</p>"
        + _image(png, "What Table 1 says of every head, beside where its tokens ended")
    )


def _links(found: Spectra) -> str:
    """Links to the layers, if there are several."""
    return (
        f"<p>Layers: {' '.join(f'<a href=#layer-{i}>{i}</a>' for i in range(found.layers))}</p>"
        if found.layers > 1
        else ""
    )


def _table(head: str, rows: list[str]) -> str:
    return f"<div class=table><table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table></div>"


def _layer(found: Spectra, i: int, png: bytes) -> str:
    more = ("<th>λ_max, stored<th>row, stored" if found.post_norm else "") + (
        "<th class=words>what happened" if found.outcomes else ""
    )
    head = (
        "<tr><th>head<th>β<th>rms score<th>λ_max<th class=words>dominant eigenvalue<th>row<th>on the left"
        f"<th>λ_max of V<th>row of V{more}</tr>"
    )
    first, heads = i * found.heads_per_layer, found.layer(i)
    outcome = found.outcomes.heads[first : first + len(heads)] if found.outcomes else [None] * len(heads)
    rows = [_row(one, what) for one, what in zip(heads, outcome, strict=True)]
    picture = _image(png, f"Eigenvalues of every head of layer {i} in the complex plane")
    return (
        f"<h2 id=layer-{i}>Layer"
        f" {i}</h2>{picture}<details><summary>Numbers</summary>{_table(head, rows)}</details>"
    )


def _row(one: Head, outcome: HeadOutcome | None) -> str:
    negative = " class=negative" if one.lambda_max < 0.0 and one.region != "zero" else ""
    return (
        f"<tr{negative}><td>{one.head}<td>{one.beta:.4g}<td>{score_words(one)}<td>{one.lambda_max:.4g}<td"
        f" class=words>{escape(one.kind)}<td>{one.row or '–'}"
        f"<td>{one.left:.1%}<td>{one.full_lambda_max:.4g}<td>{one.full_row or '–'}"
        + (f"<td>{one.stored.lambda_max:.4g}<td>{one.stored.row or '–'}" if one.stored else "")
        + (f"<td class=words>{outcome.ended}" if outcome else "")
        + "</tr>"
    )


def _png(figure: "Figure") -> bytes:
    """The figure as a PNG with a palette, which halves it."""
    from PIL import Image

    drawn, small = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", dpi=DPI)
    with Image.open(drawn) as picture:
        picture.convert("RGB").quantize(PALETTE_SIZE, dither=Image.Dither.NONE).save(
            small, format="PNG", optimize=True
        )
    return small.getvalue()


def _image(png: bytes, words: str) -> str:
    return (
        f'<p><img alt="{escape(words, quote=True)}"'
        f' src="data:image/png;base64,{base64.b64encode(png).decode("ascii")}"></p>'
    )
