"""Checksums of the code really used: what counts, what does not, and that threads may ask at once."""

import ast
import gc
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from support.source_copies import SourceCopy

from nucleate.source_hash import modules_used, source_hash


def test_what_is_imported_counts_but_for_what_is_left_out() -> None:
    used = modules_used("nucleate.studies.block")
    assert {"nucleate.attention", "nucleate.integrate.storage", "nucleate.observe.clusters"} <= set(used)
    less = modules_used("nucleate.studies.block", without=("nucleate.integrate.storage", "nucleate.observe"))
    assert set(less) < set(used)
    assert not [name for name in less if name.startswith(("nucleate.integrate.storage", "nucleate.observe"))]
    assert "nucleate.integrate.simulate" in less


def test_comments_and_docstrings_do_not_count_and_code_does(source_copy: SourceCopy) -> None:
    before = source_hash("nucleate.attention")
    source_copy.edit("checks.py", "\n\n\ndef ", "\n\n\n# a remark\ndef ")
    source_copy.edit("attention.py", '"""', '"""In other words: ')
    assert source_hash("nucleate.attention") == before
    source_copy.edit("checks.py", "\n\n\ndef ", "\n\n\nX = 1\n\n\ndef ")
    assert source_hash("nucleate.attention") != before


def test_threads_may_ask_at_once(source_copy: SourceCopy) -> None:
    """The parser of Python 3.11 fails if another thread parses while it collects garbage, as Dask watches."""

    def switch(*_: Any) -> None:
        time.sleep(0)

    expected, interval = source_hash("nucleate.studies.block"), sys.getswitchinterval()
    gc.callbacks.append(switch)
    sys.setswitchinterval(1e-6)
    try:
        source_copy.forget()
        with ThreadPoolExecutor(4) as pool:
            found = set(pool.map(source_hash, ["nucleate.studies.block"] * 4))
        assert found == {expected}
    finally:
        sys.setswitchinterval(interval)
        gc.callbacks.remove(switch)


def test_a_parser_that_another_thread_has_disturbed_is_asked_again(
    source_copy: SourceCopy, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, real, failures = source_hash("nucleate.attention"), ast.parse, iter([True, True])

    def disturbed(source: bytes) -> ast.Module:
        if next(failures, False):
            raise SystemError("AST constructor recursion depth mismatch (before=72, after=65)")
        return real(source)

    source_copy.forget()
    monkeypatch.setattr(ast, "parse", disturbed)
    assert source_hash("nucleate.attention") == expected
    assert next(failures, None) is None
