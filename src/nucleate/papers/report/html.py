"""The report: one HTML file with everything inside, for a light or a dark screen and for paper; nothing is
fetched from anywhere."""

import base64
import io
import re
from collections.abc import Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from nucleate.durations import in_words
from nucleate.papers.core.item_file import FIRST_LOOK
from nucleate.papers.core.paper import Paper
from nucleate.papers.report.findings import findings, opening_picture
from nucleate.papers.report.overview import KINDS_OF_STATEMENT, overview
from nucleate.papers.report.style import LAYOUT, STYLE

__all__ = ["formulas", "gathered_slips", "is_first_look", "page", "typeset"]

PALETTE_COLOURS = 256  # of an embedded picture: line drawings need no more
MAX_PICTURE_PIXELS = 1800  # across
COLLECTING_ITEM = "slips"  # collects the slips that other items find
QUICK = "Quick run: fewer and smaller simulations than the full report; what takes many runs may not show."
MAX_OPEN_ROWS = 20  # of a table of numbers that is shown unasked
FORMULA_PATTERNS = (  # how formulas are written in plain text, and how a page shows them
    (r"(?<![A-Za-z]{2})([λxWZτEφθσastTmBcPI∫Σ])_(max|[0-9A-Za-zδ])(?![A-Za-z])", r"\1<sub>\2</sub>"),
    (r"_\{([^{}]*)\}", r"<sub>\1</sub>"),
    (r"\^\(([^()]*)\)|\^\{([^{}]*)\}|\^([−-]?[0-9.]*[0-9]|⊥)", r"<sup>\1\2\3</sup>"),
    (
        r"\b([0-9](?:\.[0-9]+)?)e([+−-])0*([0-9]+)\b",
        lambda m: f"{m[1]} · 10<sup>{'' if m[2] == '+' else '−'}{m[3]}</sup>",
    ),
)


def page(paper: Paper, results: Mapping[str, Any], figures: Path) -> str:
    """The whole report on a paper from what results.json holds and the pictures in `figures`."""
    items: Mapping[str, Any] = results["items"]
    made = ", ".join(f"{name} {version}" for name, version in results["made_with"].items())
    return LAYOUT.format(
        style=STYLE,
        title=escape(paper.title),
        version=escape(str(results["nucleate"])),
        paper=escape(results["paper"]),
        kind=_kind(paper, results),
        findings=_findings(paper, items),
        picture=_opening(paper, items, figures),
        made=escape(made),
        words=_emphasised(KINDS_OF_STATEMENT.format(arxiv=paper.arxiv)),
        overview=_overview(items),
        contents=_contents(items),
        sections="\n".join(_section(key, summary, figures) for key, summary in items.items()),
        slips=_slips(items),
        verdicts=_verdict_table(items),
    )


def typeset(words: str) -> str:
    """Plain text as HTML, with indices and exponents where they belong."""
    return formulas(escape(words))


def formulas(text: str) -> str:
    """Indices and exponents put where they belong, in text that is HTML or Markdown already."""
    for pattern, shown in FORMULA_PATTERNS:
        text = re.sub(pattern, shown, text)
    return text


def _kind(paper: Paper, results: Mapping[str, Any]) -> str:
    """What kind of run this was, and how much of it is done."""
    items = results["items"]
    if results["quick"]:
        return QUICK
    full, every = sum(not is_first_look(one) for one in items.values()), len(paper.items)
    if full == every:
        return "Full run."
    first = "; the others are first looks, from quick runs, and say so" if len(items) > full else ""
    return f"Under way: {full} of {every} items are full runs{first}."


def is_first_look(summary: Mapping[str, Any]) -> bool:
    """Whether an item of a full report is still the quick version."""
    return bool(summary.get("first_look"))


def _findings(paper: Paper, items: Mapping[str, Any]) -> str:
    rows = "".join(
        f'<li>{typeset(one.words)} {_badge(one.word)} <a class=note href="#{escape(one.key)}">'
        f"{typeset(one.title.split(':')[0])}</a></li>"
        for one in findings(paper, items)
    )
    return f"<ul class=findings>{rows}</ul>" if rows else ""


def _opening(paper: Paper, items: Mapping[str, Any], figures: Path) -> str:
    """The picture that the page opens with; it stands in the section of its item, too."""
    found = opening_picture(paper, items)
    if found is None:
        return ""
    key, name = found
    return _picture(name, items[key]["figures"][name], _folder(items[key], figures), "opening")


def _folder(summary: Mapping[str, Any], figures: Path) -> Path:
    """Where the pictures of an item are."""
    return figures.parent / FIRST_LOOK / figures.name if is_first_look(summary) else figures


def _emphasised(words: str) -> str:
    return re.sub(r"\*([^*]*)\*", r"<em>\1</em>", escape(words))


def gathered_slips(items: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], list[tuple[str, str, str]]]]:
    """Every slip once, with (key, title, evidence) of the items that find it; the item that only gathers them
    speaks where no other does."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    last: dict[str, Mapping[str, Any]] = {}
    for key, summary in items.items():
        for slip in summary["slips"]:
            found.setdefault(slip["printed"], []).append((key, summary["title"], slip["evidence"]))
            last[slip["printed"]] = slip  # a later item knows better what is right
    return [
        (last[printed], [one for one in each if one[0] != COLLECTING_ITEM] or each)
        for printed, each in found.items()
    ]


def _overview(items: Mapping[str, Any]) -> str:
    """Every statement once, by whose it is and how it is known."""
    groups = []
    for heading, statements in overview(items):
        rows = "".join(
            f'<li>{_badge(one.word)} {typeset(one.part)} <a class=note href="#{escape(one.key)}">'
            f"{typeset(one.title.split(':')[0])}</a></li>"
            for one in statements
        )
        groups.append(f"<h3>{escape(heading)}</h3><ul class=overview>{rows}</ul>")
    return "".join(groups)


def _contents(items: Mapping[str, Any]) -> str:
    """What there is, with the verdicts of each item in few words."""
    rows = []
    for key, summary in items.items():
        words = [one["word"] for one in summary["verdicts"]]
        badges = " ".join(
            _badge(word) + (f"&nbsp;×&nbsp;{words.count(word)}" if words.count(word) > 1 else "")
            for word in dict.fromkeys(words)
        )
        link = f'<a href="#{escape(key)}">{typeset(summary["title"])}</a>'
        rows.append(f"<li>{link} <span class=words>{badges}</span></li>")
    return (
        f'<ul class=contents>{"".join(rows)}<li><a href="#verdicts">All statements and verdicts in one'
        " table</a></li></ul>"
    )


def _verdict_table(items: Mapping[str, Any]) -> str:
    """The closing table: every statement, its verdict, the picture to look at and the command that redoes
    it."""
    rows, last = [], None
    for key, summary, one in _verdicts(items):
        name = pictures = command = ""
        if key != last:
            name = f'<a href="#{escape(key)}">{typeset(summary["title"])}</a>'
            pictures = "<br>".join(
                f'<a href="#{escape(name)}-picture">{escape(name)}</a>' for name in summary["figures"]
            )
            command = f"<code>{escape(summary['command'])}</code>"
        rows.append(
            f"<tr><td>{name}</td><td>{typeset(one['part'])}</td><td>{escape(one['kind'])}</td>"
            f"<td>{_badge(one['word'])}</td><td>{pictures}</td><td>{command}</td></tr>"
        )
        last = key
    head = "<tr><th>item<th>statement<th>whose<th>verdict<th>figure<th>command"
    return f"<table class=verdicts><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"


def _verdicts(items: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """(key, summary of the item, verdict), one for every verdict."""
    return [(key, summary, one) for key, summary in items.items() for one in summary["verdicts"]]


def _badge(word: str) -> str:
    return f'<span class="badge {escape(word.replace(" ", "-"))}">{escape(word)}</span>'


def _section(key: str, summary: Mapping[str, Any], figures: Path) -> str:
    place = _folder(summary, figures)
    pictures = "".join(_picture(name, caption, place, name) for name, caption in summary["figures"].items())
    first_look = f"<p class=note>First look. {QUICK}</p>" if is_first_look(summary) else ""
    verdicts = "".join(
        f"<p>{_badge(one['word'])} <b>{typeset(one['part'])}.</b> {typeset(one['why'])}"
        + (f" <span class=note>Proof: docs/{escape(one['proof'])}</span>" if one["proof"] else "")
        + "</p>"
        for one in summary["verdicts"]
    )
    ours = f"<h3>What is ours</h3><p>{typeset(summary['ours'])}</p>" if summary["ours"] else ""
    cost = in_words(summary["seconds"])
    choices = "".join(f"<li>{typeset(choice)}</li>" for choice in summary["choices"])
    return f"""<section id="{escape(key)}">
<h2>{typeset(summary["title"])}</h2>{first_look}
<h3>What the paper states: {escape(summary["source"])}</h3><p>{typeset(summary["statement"])}</p>
{ours}
{pictures}
<h3>Verdict</h3>{verdicts}<p class=note>Criteria: {typeset(summary["criteria"])}</p>
<h3>Measured</h3>{_numbers(summary["numbers"])}
<div class=pair><div><h3>Parameters</h3>{_parameters(summary["parameters"])}</div>
<div><h3>Left to us, and chosen so</h3><ul>{choices}</ul></div></div>
<p class=note>Again, this item alone: <code>{escape(summary["command"])}</code>, {cost} on two cores</p>
</section>"""


def _picture(name: str, caption: str, figures: Path, mark: str) -> str:
    """A picture for light and for dark pages; `mark` is where links to it lead."""
    shown = "".join(
        f'<img class="{theme}" alt="{escape(caption, quote=True)}"'
        f' src="data:image/png;base64,{_embedded(figures / file)}">'
        for theme, file in (("light", f"{name}.png"), ("dark", f"{name}-dark.png"))
    )
    return f'<figure id="{escape(mark)}-picture">{shown}<figcaption>{typeset(caption)}</figcaption></figure>'


def _embedded(path: Path) -> str:
    """The picture as base64, with a palette, which halves it."""
    state = path.stat()
    return _encoded(path, state.st_mtime_ns, state.st_size)


@cache  # a report is written again after every item, most of whose pictures have not changed
def _encoded(path: Path, changed: int, size: int) -> str:
    from PIL import Image

    with Image.open(path, formats=["PNG"]) as picture:
        small = picture.convert("RGB")
        if small.width > MAX_PICTURE_PIXELS:
            small = small.resize(
                (MAX_PICTURE_PIXELS, round(small.height * MAX_PICTURE_PIXELS / small.width)),
                Image.Resampling.LANCZOS,
            )
        small = small.quantize(PALETTE_COLOURS, dither=Image.Dither.NONE)
        buffer = io.BytesIO()
        small.save(buffer, format="PNG")
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def _numbers(numbers: Mapping[str, Any]) -> str:
    from nucleate.papers.core.numbers import from_plain

    rows = []
    for name, plain in numbers.items():
        number = from_plain(plain)
        expected = "" if number.expected is None else typeset(number.expected_text)
        rows.append(
            f"<tr><td>{typeset(number.about)}<br><code>{escape(name)}</code></td><td"
            f" class=value>{typeset(str(number))}</td><td"
            f" class=value>{expected}</td><td>{escape(number.how)}</td></tr>"
        )
    table = (
        "<table><thead><tr><th>what<th>value<th>expected<th>uncertainty</thead><tbody>"
        + "".join(rows)
        + "</tbody></table>"
    )
    return (
        table
        if len(rows) <= MAX_OPEN_ROWS
        else (
            f"<details><summary>All {len(rows)} numbers</summary>{table}</details><p class='note printed'>The"
            f" {len(rows)} numbers of this item are in results.json and in the report on screen.</p>"
        )
    )


def _parameters(parameters: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td><code>{escape(_written(value))}</code></td></tr>"
        for name, value in parameters.items()
    )
    return f"<table><tbody>{rows}</tbody></table>"


def _written(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_written, value)) + "]"
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_written(one)}" for name, one in value.items())
    return "none" if value is None else str(value)


def _slips(items: Mapping[str, Any]) -> str:
    found = gathered_slips(items)
    if not found:
        return ""
    rows = "".join(
        f"<tr><td>{typeset(slip['printed'])}</td><td>{typeset(slip['right'])}</td><td>"
        + "<br>".join(
            f'<a href="#{escape(key)}">{typeset(title)}</a>: {typeset(evidence)}'
            for key, title, evidence in each
        )
        + "</td></tr>"
        for slip, each in found
    )
    return (
        "<section id=slip-table><h2>All slips in the print</h2><p>Gathered from the items above; each with"
        " what shows "
        f"it.</p><table><thead><tr><th>printed<th>right<th>evidence</thead><tbody>{rows}</tbody></table></section>"
    )
