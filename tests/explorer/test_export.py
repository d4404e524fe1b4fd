"""Stored runs as pages of their own."""

import base64
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.explorer_server import PAGE
from support.hostile_files import huge_file
from support.made_depth_runs import depth_run
from support.made_runs import many_runs, one_run, rich_run
from support.time_limits import not_waiting_for_ever

import nucleate as nc
from nucleate.checks import InputError
from nucleate.explorer.export import check_html, export, page_with_recording, recording
from nucleate.explorer.prepared_run import begun_message, compute, prepare_stored


def recorded(page: str) -> dict[str, Any]:
    """The record inside a page, found as a browser finds it."""
    (found,) = re.findall(r'<script type="application/json" id="recorded">(.*?)</script>', page, flags=re.S)
    return json.loads(found)


def numbers(text: str, kind: str, *shape: int) -> Any:
    return np.frombuffer(base64.b64decode(text), kind).reshape(shape)


@pytest.mark.parametrize("name", ["run.zarr", "run.npz"])
def test_an_exported_page_holds_the_run_to_the_precision_of_32_bits(tmp_path: Path, name: str) -> None:
    run = nc.simulate(nc.Attention(9.0), nc.uniform(8, 5, 4), 1e4, save=12)
    run.save(tmp_path / name)
    shown, size = export(tmp_path / name, tmp_path / "page.html", page=PAGE)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    found = recorded(text)
    assert np.array_equal(shown.x, run.x)
    assert size == len(text.encode())
    assert found["t"] == run.t.tolist()
    assert np.array_equal(numbers(found["x"], "<f4", 12, 8, 5), run.x.astype(np.float32))
    assert found["begun"]["recorded"]
    assert found["ended"] == {"status": "done", "steps": run.steps}
    measured = found["measured"]
    assert np.array_equal(
        numbers(measured["labels"], "<i4", 12, 8), nc.clusters(run.x, found["begun"]["radius"])
    )
    assert measured["clusters"] == nc.count_clusters(run.x, found["begun"]["radius"]).tolist()
    assert np.shape(measured["directions"]) == (5, 3)


def test_an_exported_page_holds_lengths_and_heads_of_the_family(tmp_path: Path) -> None:
    block = nc.Block([nc.Attention(1.0, mask="full"), nc.Attention(4.0, mask="full")], norm="pre")
    run = nc.simulate(block, nc.uniform(7, 2, 0), 3.0, save=5)
    run.save(tmp_path / "run.zarr")
    export(tmp_path / "run.zarr", tmp_path / "page.html", page=PAGE)
    found = recorded((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert np.array_equal(numbers(found["measured"]["norms"], "<f8", 5, 7), run.norms)  # type: ignore[arg-type]  # it has some
    assert found["measured"]["consumed_renyi"] is None
    assert [head["beta"] for head in found["begun"]["blocks"][0]] == [1.0, 4.0]
    assert "one softmax head" in found["begun"]["missing"]["consumption"]


def test_a_trace_is_exported_with_its_words_and_nothing_of_its_states(tmp_path: Path) -> None:
    run = depth_run((2,))
    run.save(tmp_path / "trace.zarr")
    shown, _ = export(tmp_path / "trace.zarr", tmp_path / "page.html", which=1, page=PAGE)
    assert shown.over_depth
    found = recorded((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert found.keys() == {"begun"}
    (reading,) = found["begun"]["trace"]["readings"]
    assert reading["words"] == list(run.tokens[1])  # type: ignore[index]  # it has some
    assert np.array_equal(numbers(reading["norms"], "<f8", *run.norms[1].shape), run.norms[1])  # type: ignore[index]  # it has some
    assert dict(found["begun"]["trace"]["facts"])["Tokens"] == "5, text 2 of 2"


def test_an_exported_page_may_reach_nothing(tmp_path: Path) -> None:
    page = page_with_recording(PAGE, {"title": "</script><script>alert(1)</script>", "more": "<!--"})
    assert page.count("</script>") == PAGE.count("</script>")
    assert recorded(page)["title"] == "</script><script>alert(1)</script>"
    (meta,) = re.findall(r'<head[^>]*>\s*<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
    assert "default-src 'none'" in meta
    assert "connect-src 'none'" in meta
    assert "unsafe" not in meta


def test_a_page_without_a_place_for_the_record_is_refused() -> None:
    for page in ("", "<head></head>", PAGE.replace('id="recorded"', 'id="other"'), PAGE + PAGE):
        with pytest.raises(InputError, match="no place for a recorded run"):
            page_with_recording(page, {})


def test_nothing_of_value_is_replaced(tmp_path: Path) -> None:
    one_run().save(tmp_path / "run.npz")
    precious = tmp_path / "page.html"
    precious.write_text("my thesis")
    with pytest.raises(InputError, match="is not an exported page"):
        export(tmp_path / "run.npz", precious, page=PAGE)
    assert precious.read_text() == "my thesis"
    export(tmp_path / "run.npz", tmp_path / "other.html", page=PAGE)
    export(tmp_path / "run.npz", tmp_path / "other.html", page=PAGE)  # ours may be written again
    for bad, words in ((tmp_path / "page.txt", "ending"), (tmp_path / "no" / "page.html", "does not exist")):
        with pytest.raises(InputError, match=words):
            export(tmp_path / "run.npz", bad, page=PAGE)
    with pytest.raises(InputError, match="is a folder"):
        export(tmp_path, tmp_path / "new.html", page=PAGE)


def test_one_of_several_runs_is_exported(tmp_path: Path) -> None:
    many_runs().save(tmp_path / "many.zarr")
    shown, _ = export(tmp_path / "many.zarr", tmp_path / "page.html", which=1, page=PAGE)
    assert shown.status == "stalled"
    assert np.array_equal(shown.x, many_runs().x[1, :4])
    with pytest.raises(InputError, match="no run 3"):
        export(tmp_path / "many.zarr", tmp_path / "page.html", which=3, page=PAGE)


def test_a_run_with_everything_in_it_can_be_shown() -> None:
    prepared = prepare_stored(rich_run(), 0, "rich")
    told = begun_message(prepared, 1)
    frozen = rich_run().model.frozen
    assert frozen is not None
    assert np.array_equal(told["frozen"]["x"], frozen.x)
    assert told["frozen"]["weight"] == [1.5, 2.0]
    assert told["mask"] == {"window": 4}
    assert (
        json.loads(json.dumps(recording(prepared, compute(prepared)), allow_nan=False))["begun"]["title"]
        == "rich"
    )


@pytest.mark.parametrize("what", ["pipe", "folder", "huge", "text"])
def test_what_is_no_page_is_not_replaced_and_not_waited_for(what: str, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    if what == "pipe":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    elif what == "huge":
        huge_file(path, 2**40)
    else:
        path.write_bytes(b"\xff\xfe")
    with (
        not_waiting_for_ever(),
        pytest.raises(InputError, match="not an exported page, so it is not replaced"),
    ):
        check_html(path)
