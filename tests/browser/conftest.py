"""Tests in a real browser: `make test-browser` runs them, in an environment that has Playwright.  Elsewhere
they are left out."""

import importlib.util

if importlib.util.find_spec("playwright") is None:
    collect_ignore_glob = ["*.py"]
else:
    from support.chromium import browser, page, server

    __all__ = ["browser", "page", "server"]
