"""The page as it was built into the package, and the policy that lets a browser run it and nothing else."""

import base64
import hashlib
from functools import lru_cache
from html.parser import HTMLParser
from importlib.resources import files

from nucleate.checks import MissingFileError

__all__ = ["content_security_policy", "inline_hashes", "page_text"]

EXECUTED_SCRIPT_TYPES = {"", "module", "text/javascript", "application/javascript"}


def page_text() -> str:
    """The built page."""
    path = files("nucleate.explorer").joinpath("page", "index.html")
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise MissingFileError(
            "The explorer's page is missing from this installation. Build it with make web, or install"
            " nucleate again."
        ) from None


@lru_cache(maxsize=8)
def content_security_policy(page: str, connect: str) -> str:
    """A Content-Security-Policy: the page's own scripts and styles by their hashes, one address to connect
    to, pictures from data, and a worker, the engine of the page, from text that the page holds."""
    scripts, styles = inline_hashes(page)
    return (
        f"default-src 'none'; script-src {scripts}; style-src {styles}; img-src data: blob:; connect-src"
        f" {connect}; base-uri 'none'; form-action 'none'; worker-src blob:"
    )


def inline_hashes(page: str) -> tuple[str, str]:
    """The sources for a policy of a page's own scripts, and of its own styles: their hashes, or 'none'."""
    inline = _InlineCode()
    inline.feed(page)
    inline.close()
    scripts, styles = (
        " ".join(_hash(text) for text in texts) or "'none'" for texts in (inline.scripts, inline.styles)
    )
    return scripts, styles


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


class _InlineCode(HTMLParser):
    """Collects the texts of scripts and styles."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self.current: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "style":
            self.current = self.styles
        elif tag == "script" and "src" not in given and (given.get("type") or "") in EXECUTED_SCRIPT_TYPES:
            self.current = self.scripts
        else:
            self.current = None
        if self.current is not None:
            self.current.append("")

    def handle_data(self, data: str) -> None:
        if self.current is not None:
            self.current[-1] += data

    def handle_endtag(self, tag: str) -> None:
        self.current = None
