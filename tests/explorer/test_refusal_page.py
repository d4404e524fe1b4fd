"""The page for those who come without the token: a browser may show it, and nothing else."""

import base64
import hashlib
import re

from nucleate.explorer.refusal_page import refusal_page, refusal_policy


def test_the_policy_of_the_page_allows_its_own_style_and_nothing_else() -> None:
    page, policy = refusal_page(), refusal_policy()
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.S)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; frame-ancestors 'none'; base-uri 'none';"
        " form-action 'none'"
    )
    assert not re.search(r"<script|javascript:|\bon\w+=|\bsrc=|\bhref=|\bstyle=", page)


def test_the_page_says_what_happened_and_what_to_do() -> None:
    words = " ".join(re.sub(r"<[^>]+>", " ", refusal_page()).split())
    assert "The token is missing or wrong" in words
    for what in (
        "nucleate explore",
        "Open that address in this browser",
        "load this page again",
        "Open link",
    ):
        assert what in words
