"""The page that is shipped: built from the source that is here, and let in by its own hashes only."""

import base64
import hashlib
import re
from importlib.resources import files
from pathlib import Path

import pytest

from nucleate.explorer.built_page import content_security_policy, page_text
from nucleate.plot.styles import RED, RED_ON_DARK

ROOT = Path(__file__).resolve().parents[2]


def test_scripts_and_styles_are_let_in_by_their_own_hashes_only() -> None:
    page = (
        '<style>a{}</style><script type="module">one("</p>");\n</script><script>two</script><script'
        ' type="application/json">{}</script>'
    )
    rules = dict(part.split(" ", 1) for part in content_security_policy(page, "ws://x/socket").split("; "))

    def mark(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    assert rules["script-src"].split() == [mark('one("</p>");\n'), mark("two")]
    assert rules["style-src"] == mark("a{}")
    assert rules["connect-src"] == "ws://x/socket"


def test_the_shipped_page_needs_nothing_from_outside() -> None:
    page = page_text()
    assert len(re.findall(r'<script type="application/json" id="recorded"></script>', page)) == 1
    tags = re.sub(r"(<script\b[^>]*>).*?</script>|(<style\b[^>]*>).*?</style>", r"\1\2", page, flags=re.S)
    assert (
        re.findall(r"<(?:link|iframe|object|embed|base)\b[^>]*(?:href|src|data)=[\"'](?!data:)", tags) == []
    )
    assert re.findall(r"<(?:script|img)\b[^>]*\bsrc=[\"'](?!data:)", tags) == []
    assert re.findall(r"\s(?:style|on[a-z]+)=[\"']", tags) == [], "the policy lets no such attribute in"
    assert "eval(" not in page


def test_the_shipped_page_was_built_from_the_source_that_is_here() -> None:
    (said,) = re.findall(r'<meta name="nucleate-source" content="([0-9a-f]{64})"', page_text())
    assert said == web_source_hash(_web()), "web/ has changed: run make web"


def web_source_hash(web: Path) -> str:
    """sha256 over the paths and contents of everything in web/ but what was fetched or built;
    web/vite.config.js does the same."""
    files = sorted(
        (path.relative_to(web).as_posix(), path)
        for path in web.rglob("*")
        if path.is_file() and not {"node_modules", "dist"} & set(path.relative_to(web).parts)
    )
    lines = "".join(f"{name}\t{hashlib.sha256(path.read_bytes()).hexdigest()}\n" for name, path in files)
    return hashlib.sha256(lines.encode()).hexdigest()


def test_the_reds_of_the_page_are_those_of_the_figures() -> None:
    """Clusters have colours of their own on the page, one set on white and one on dark ground."""
    text = (_web() / "src" / "colours.ts").read_text(encoding="utf-8")
    reds = dict(
        re.findall(r'export const (LIGHT|DARK): Theme = \{.*?red: "(#[0-9a-f]{6})"', text, flags=re.S)
    )
    assert reds == {"LIGHT": RED, "DARK": RED_ON_DARK}


def _web() -> Path:
    web = ROOT / "web"
    if not web.is_dir():
        pytest.skip("the source of the page is not part of this installation")
    return web


def test_the_shipped_files_are_as_they_were_built_and_every_edit_of_them_is_found() -> None:
    page, texts = page_text(), licences()
    assert as_built(page, texts), "a file of src/nucleate/explorer/page was edited by hand: run make web"
    middle = len(page) // 2
    for edited in (
        page + "\n",
        page[1:],
        page[:middle] + page[middle + 1 :],
        page.replace("Rényi", "Renyi", 1),
    ):
        assert edited != page
        assert not as_built(edited, texts)
    assert not as_built(page, texts.replace("MIT", "ISC", 1))


def as_built(page: str, texts: str) -> bool:
    """Whether the page says the sha256 of itself, without that number, and of the licences;
    web/vite.config.js writes it."""
    mark = re.compile(r'(<meta name="nucleate-built" content=")([0-9a-f]{64})(">)')
    found = mark.findall(page)
    return (
        len(found) == 1
        and found[0][1] == hashlib.sha256((mark.sub(r"\1\3", page) + texts).encode()).hexdigest()
    )


def licences() -> str:

    return files("nucleate.explorer").joinpath("page", "LICENSES.txt").read_text(encoding="utf-8")


def test_licences_are_shipped_with_the_page() -> None:
    text = licences()
    assert "three" in text
    assert "MIT" in text
