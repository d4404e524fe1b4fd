"""Picture and findings for the README, and the text of a report as a page of the documentation, from a
finished reproduction."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nucleate.checks import InputError, read_file
from nucleate.durations import in_words
from nucleate.integrate.storage import check_place, replacing
from nucleate.papers import DEFAULT
from nucleate.papers.core.paper import Paper
from nucleate.papers.report.findings import findings
from nucleate.papers.report.html import formulas, gathered_slips, is_first_look
from nucleate.papers.report.overview import KINDS_OF_STATEMENT, anchor, overview

__all__ = ["BEGIN", "END", "block", "check_page", "marked", "page_of", "update"]

BEGIN, END = "<!-- reproduce:begin -->", "<!-- reproduce:end -->"
MAX_PAGE_BYTES = 2**26
HERO_PIXELS, PICTURE_PIXELS = 1400, 1200  # across: the picture of the README, all others


def update(paper: Paper, page: Path, results: Mapping[str, Any], out: Path) -> list[Path]:
    """Write the page of a paper beside `page`, docs/report.md or docs/papers/NAME.md, and docs/images; of the
    first paper also the block between the marks of `page`. The files that were written."""
    first, hero = paper.name == DEFAULT, paper.picture
    text = marked(page) if first else ""
    items = results["items"]
    missing = [key for key in paper.items if key not in items or is_first_look(items[key])]
    if missing:
        raise InputError(
            f"{out} has no {', '.join(missing)} yet, but the page shows all items. Run nucleate reproduce"
            f"{'' if first else ' --paper ' + paper.name} first."
        )
    docs = page.parent / "docs"
    images = docs / "images"
    images.mkdir(parents=True, exist_ok=True)
    written = [
        _picture(out / "figures" / f"{hero}{dark}.png", images / f"reproduced-{hero}{dark}.png", HERO_PIXELS)
        for dark in ("", "-dark")
        if first
    ]
    pictures = [name for summary in items.values() for name in summary["figures"]]
    written += [
        _picture(out / "figures" / f"{name}.png", images / f"reproduced-{name}.png", PICTURE_PIXELS)
        for name in pictures
        if not (first and name == hero)
    ]
    texts = {docs / page_of(paper): report_page(paper, results)}
    if first:
        before, after = text.split(BEGIN)[0], text.split(END)[1]
        texts = {page: f"{before}{BEGIN}\n{block(paper, results)}\n{END}{after}", **texts}
    for path, words in texts.items():
        path.parent.mkdir(exist_ok=True)
        check_place(path).write_text(words, encoding="utf-8")
        written.append(path)
    return written


def check_page(paper: Paper, page: Path) -> None:
    """Refuse what `update` could not write, but for pictures."""
    if paper.name == DEFAULT:
        marked(page)
    check_place(page.parent / "docs" / page_of(paper))


def page_of(paper: Paper) -> str:
    """Where the page of a paper is in docs/."""
    return "report.md" if paper.name == DEFAULT else f"papers/{paper.name}.md"


def marked(page: Path) -> str:
    """The text of a page that has the marks, once each and in order."""
    try:
        text = read_file(page, MAX_PAGE_BYTES).decode("utf-8")
    except InputError as error:
        raise type(error)(f"--readme {error} It must have the lines {BEGIN} and {END}.") from None
    except UnicodeDecodeError:
        raise InputError(
            f"--readme {page} is not UTF-8 text. Name a page that has the lines {BEGIN} and {END}."
        ) from None
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise InputError(
            f"--readme {page} must have the lines {BEGIN} and {END} once each, in this order. Add them where"
            " the block is to stand."
        )
    return text


def block(paper: Paper, results: Mapping[str, Any]) -> str:
    """What stands between the marks of the README: the picture, and the findings with their numbers."""
    items, hero = results["items"], paper.picture
    caption = next(one["figures"][hero] for one in items.values() if hero in one["figures"])
    made = "a quick run of " * results["quick"] + f"nucleate {results['nucleate']}"
    picture = f'<source media="(prefers-color-scheme: dark)" srcset="docs/images/reproduced-{hero}-dark.png">'
    found = [
        f"- {formulas(one.words)} *{one.word}*, {_link(one.title, 'docs/' + page_of(paper))}"
        for one in findings(paper, items)
    ]
    return "\n".join(
        [
            f'<picture>{picture}<img alt="{caption}" src="docs/images/reproduced-{hero}.png"></picture>',
            "",
            f"*{caption}*",
            "",
            *found,
            "",
            (
                f"Found by `make reproduce` with {made}. Every claim of the paper, one by one, with intervals"
                f" and criteria, is in [docs/{page_of(paper)}](docs/{page_of(paper)})."
            ),
        ]
    )


def report_page(paper: Paper, results: Mapping[str, Any]) -> str:
    """The text of the report as a page of the documentation."""
    items = results["items"]
    first = paper.name == DEFAULT
    named = "" if first else f" --paper {paper.name}"
    up = "../" * page_of(paper).count("/")  # to docs/
    lines = [
        "# The paper, reproduced" if first else f"# {paper.title}",
        "",
        (
            f"Generated by `nucleate reproduce{named} --readme README.md` with nucleate"
            f" {results['nucleate']}{', a quick run' if results['quick'] else ''}, claim by claim: edits here"
            " are lost. The report it writes, `report.html`, has more: every"
        ),
        "measured number with its uncertainty, and all pictures for light and dark pages and for print.",
        "",
        *([] if first else [f"{paper.citation}, reproduced.", ""]),
        "",
        KINDS_OF_STATEMENT.format(arxiv=paper.arxiv),
        "",
        *_overview(items),
        "",
        "## All statements",
        "",
        *_verdicts(items, f"{up}images", up.rstrip("/") or "."),
    ]
    for summary in items.values():
        lines += [
            "",
            f"## {formulas(summary['title'])}",
            "",
            f"*The paper, {summary['source']}.* {summary['statement']}",
            "",
        ]
        lines += [f"*Ours.* {summary['ours']}", ""] if summary["ours"] else []
        lines += [
            f"![{_cell(caption)}]({up}images/reproduced-{name}.png)\n\n*{caption}*\n"
            for name, caption in summary["figures"].items()
        ]
        lines += [
            f"- **{one['part']}**: {_word(one, up.rstrip('/') or '.')}. {_sentence(one['why'])}"
            for one in summary["verdicts"]
        ]
        lines += [
            "",
            f"*Criteria.* {summary['criteria']}",
            "",
            "*Left to us, and chosen so.*",
            "",
            *(f"- {choice}" for choice in summary["choices"]),
        ]
        lines += [
            "",
            (
                "*Parameters.*"
                f" {', '.join(f'{name} = {_value(value)}' for name, value in summary['parameters'].items())}."
            ),
            "",
            f"*Again:* `{summary['command']}`, {in_words(summary['seconds'])} on two cores",
        ]
    slips = gathered_slips(items)
    if slips:
        lines += ["", "## All slips in the print", "", "| printed | right | evidence |", "|---|---|---|"]
        lines += [
            f"| {_cell(slip['printed'])} | {_cell(slip['right'])} |"
            f" {_cell(' '.join(_sentence(one[2]) for one in each))} |"
            for slip, each in slips
        ]
    return "\n".join(lines) + "\n"


def _overview(items: Mapping[str, Any]) -> list[str]:
    """Every statement once, by whose it is and how it is known."""
    lines = ["## At a glance"]
    for heading, statements in overview(items):
        lines += ["", f"**{heading}**", ""]
        lines += [f"- *{one.word}*: {_cell(one.part)} ({_link(one.title)})" for one in statements]
    return lines


def _verdicts(items: Mapping[str, Any], images: str, docs: str) -> list[str]:
    """Every statement with its verdict, figure and command; pictures lie in the folder `images`, proofs in
    `docs`."""
    rows = []
    for summary in items.values():
        pictures = ", ".join(f"[{name}]({images}/reproduced-{name}.png)" for name in summary["figures"])
        first = formulas(_cell(summary["title"])), pictures, f"`{summary['command']}`"
        for one in summary["verdicts"]:
            title, shown, command = first
            cells = title, _cell(one["part"]), one["kind"], _word(one, docs), shown, command
            rows.append(f"| {' | '.join(cells)} |")
            first = "", "", ""
    head = "item", "statement", "whose", "verdict", "figure", "command"
    return [f"| {' | '.join(head)} |", "|---" * len(head) + "|", *rows]


def _word(verdict: Mapping[str, Any], docs: str) -> str:
    """The word of a verdict, with a link to the proof if there is one."""
    word = f"**{verdict['word']}**"
    return f"[{word}]({docs}/{verdict['proof']})" if verdict["proof"] else word


def _link(title: str, page: str = "") -> str:
    """A link to the section of an item, named by its title up to the colon."""
    shown = re.sub(r"<[^>]*>", "", formulas(title))  # what a page makes the anchor from
    return f"[{formulas(_cell(title.split(':')[0]))}]({page}#{anchor(shown)})"


def _cell(words: str) -> str:
    return words.replace("|", "\\|").replace("[", "(").replace("]", ")")


def _sentence(words: str) -> str:
    """With a capital, unless it begins with a symbol, which a capital would change: only two ASCII letters or
    more make a word."""
    first = words[0].upper() if re.match(r"[A-Za-z]{2,}(?!\w)", words) else words[0]
    return first + words[1:].rstrip(".") + "."


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {one}" for name, one in value.items())
    return f"{value:g}" if isinstance(value, float) else str(value)


def _picture(source: Path, target: Path, width: int) -> Path:
    """A smaller copy with a palette: pages load fast, and the repository stays small."""
    from PIL import Image

    with Image.open(source, formats=["PNG"]) as picture:
        small = picture.convert("RGB")
        if small.width > width:
            small = small.resize((width, round(small.height * width / small.width)), Image.Resampling.LANCZOS)
        with replacing(target) as part:
            small.quantize(128, dither=Image.Dither.NONE).save(part, format="PNG", optimize=True)
    return target
