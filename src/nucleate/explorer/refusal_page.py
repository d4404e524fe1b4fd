"""The page for a browser that comes without the right token: what happened, and what to do.  It runs no
script, loads nothing, and repeats nothing of what was asked for."""

from functools import cache

from nucleate.explorer.built_page import inline_hashes

__all__ = ["refusal_page", "refusal_policy"]

STYLE = """
:root { color-scheme: light dark }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 40rem; margin: 10vh auto; padding: 0 1.2rem }
h1 { font-size: 1.35rem; line-height: 1.3 }
code { font: 0.92em ui-monospace, monospace; background: rgb(128 128 128 / 0.18); padding: 0.1em 0.35em }
li { margin: 0.5em 0 }
p.small { opacity: 0.75; font-size: 0.9rem }
"""
PAGE = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>nucleate explorer: not let in</title><style>{STYLE}</style></head>
<body>
<h1>The explorer runs here, but this browser has not shown its token</h1>
<p>The token is missing or wrong: this address has none, or the one of an earlier start.</p>
<ol>
<li>Look at the terminal where <code>nucleate explore</code> runs. It printed an address with
<code>?token=</code> in it. Open that address in this browser.</li>
<li>Then load this page again. From then on links open in every tab of this browser, until the explorer
ends.</li>
</ol>
<p>Was the link sent to you? Copy it, open your own explorer, and paste it there under <em>Share</em>,
<em>Open link</em>; or start with it: <code>nucleate explore --link "THE LINK"</code>.</p>
<p class="small">The token keeps other programs and other users of this machine out. It is new at every
start.</p>
</body></html>
"""


def refusal_page() -> str:
    """The page."""
    return PAGE


@cache
def refusal_policy() -> str:
    """The Content-Security-Policy of every refusal: the page's own style, and nothing else."""
    _, styles = inline_hashes(PAGE)
    nowhere = "; ".join(f"{one} 'none'" for one in ("frame-ancestors", "base-uri", "form-action"))
    return f"default-src 'none'; style-src {styles}; {nowhere}"
