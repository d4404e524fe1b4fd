"""Stored runs as pages of their own, and the page that is shipped."""

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.explorer_server import PAGE
from support.made_runs import many_runs, one_run, rich_run

import nucleate as nc
from nucleate.checks import InputError
from nucleate.explorer.built_page import page_text, policy
from nucleate.explorer.export import export, filled, record
from nucleate.explorer.measures import measure
from nucleate.explorer.prepared_run import begun, of_run, of_scene, perform, thinned
from nucleate.explorer.scene import parse_scene
from nucleate.explorer.stored import open_folder

ROOT = Path(__file__).resolve().parents[2]


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


def test_an_exported_page_may_reach_nothing(tmp_path: Path) -> None:
    page = filled(PAGE, {"title": "</script><script>alert(1)</script>", "more": "<!--"})
    assert page.count("</script>") == PAGE.count("</script>")
    assert recorded(page)["title"] == "</script><script>alert(1)</script>"
    (meta,) = re.findall(r'<head[^>]*>\s*<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
    assert "default-src 'none'" in meta
    assert "connect-src 'none'" in meta
    assert "unsafe" not in meta


def test_a_page_without_a_place_for_the_record_is_refused() -> None:
    for page in ("", "<head></head>", PAGE.replace('id="recorded"', 'id="other"'), PAGE + PAGE):
        with pytest.raises(InputError, match="no place for a recorded run"):
            filled(page, {})


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
    take = of_run(rich_run(), 0, "rich")
    told = begun(take, 1)
    frozen = rich_run().model.frozen
    assert frozen is not None
    assert np.array_equal(told["frozen"]["x"], frozen.x)
    assert told["frozen"]["weight"] == [1.5, 2.0]
    assert told["mask"] == {"window": 4}
    assert json.loads(json.dumps(record(take, perform(take)), allow_nan=False))["begun"]["title"] == "rich"


def test_data_have_one_scheme_of_names(tmp_path: Path) -> None:
    one_run().save(tmp_path / "first.zarr")
    many_runs().save(tmp_path / "several.npz")
    folder = open_folder(tmp_path)
    names = [
        begun(take, 0)["file"]
        for take in (of_scene(parse_scene({})), folder.take("first.zarr", 0), folder.take("several.npz", 2))
    ]
    assert names == ["nucleate-run", "nucleate-first", "nucleate-several-2"]


def test_long_recordings_are_thinned_but_keep_their_ends() -> None:
    run = one_run(m=2500)
    take = of_run(run, 0, "long")
    assert len(take.times) == 1000
    assert take.frames_of == 2500
    assert (take.times[0], take.times[-1]) == (run.t[0], run.t[-1])
    assert len(thinned(run, 9 * 2 * 50).t) == 50


def test_too_large_a_recording_is_refused_in_words() -> None:
    with pytest.raises(InputError, match="shows at most"):
        of_run(one_run(d=70), 0, "wide")


def test_a_run_saved_by_the_explorer_brings_its_scene_back(tmp_path: Path) -> None:
    scene = parse_scene({"n": 6, "t": 2.0, "frames": 4, "c": 2.5, "moved": {"1": [1, 1]}})
    perform(of_scene(scene)).save(tmp_path / "run.zarr")
    take = open_folder(tmp_path / "run.zarr").take("run.zarr", 0)
    assert take.scene == scene
    assert take.c == 2.5


def test_the_command_line_opens_one_run_or_a_folder_and_says_what_is_wrong(tmp_path: Path) -> None:
    one_run().save(tmp_path / "a.npz")
    one_run().save(tmp_path / "b.zarr")
    assert [one.name for one in open_folder(tmp_path).entries()] == ["a.npz", "b.zarr"]
    assert [one.name for one in open_folder(tmp_path / "b.zarr").entries()] == ["b.zarr"]
    with pytest.raises(InputError, match="no stored run of that name"):
        open_folder(tmp_path / "b.zarr").take("a.npz", 0)
    assert open_folder(None).entries() == []
    (tmp_path / "c.npz").write_bytes(b"junk")
    (tmp_path / "d.txt").write_text("junk")
    for name, words in (
        ("c.npz", "neither a run"),
        ("d.txt", "neither a stored run"),
        ("e.zarr", "does not exist"),
    ):
        with pytest.raises(InputError, match=words):
            open_folder(tmp_path / name)


def test_a_run_whose_positions_have_one_axis_is_refused_and_not_listed(tmp_path: Path) -> None:
    one_run().save(tmp_path / "run.zarr")
    head = tmp_path / "run.zarr" / "x" / "zarr.json"
    head.write_text(json.dumps({**json.loads(head.read_text()), "shape": [3]}))
    assert open_folder(tmp_path).entries() == []
    with pytest.raises(InputError, match="head is damaged"):
        open_folder(tmp_path / "run.zarr")


def test_a_damaged_run_is_refused_without_telling_where_it_lies(tmp_path: Path) -> None:
    one_run().save(tmp_path / "a.zarr")
    chunk = next(
        file for file in (tmp_path / "a.zarr" / "x").rglob("*") if file.is_file() and file.name != "zarr.json"
    )
    chunk.write_bytes(bytes(len(chunk.read_bytes())))
    with pytest.raises(InputError) as error:
        open_folder(tmp_path).take("a.zarr", 0)
    assert str(tmp_path) not in str(error.value)


def test_an_ensembles_own_functions_are_not_imported_when_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib

    from support.small_studies import small, spread

    nc.ensemble(small(observables={"own": {"kind": "function", "function": spread}}), tmp_path / "own.zarr")
    asked, fetch = [], importlib.import_module

    def import_module(name: str, package: str | None = None) -> Any:
        asked.append(name)
        return fetch(name, package)

    monkeypatch.setattr(importlib, "import_module", import_module)
    take = open_folder(tmp_path).take("own.zarr", 3)
    assert "small_studies" not in asked
    assert take.x0.shape == (8, 2)


def test_measuring_stops_when_told_to() -> None:
    run = one_run(m=12, n=60)
    assert measure(run.x, begun(of_run(run, 0, "run"), 0), lambda: False) is None


# --- the page that is shipped


def test_scripts_and_styles_are_let_in_by_their_own_hashes_only() -> None:
    page = (
        '<style>a{}</style><script type="module">one("</p>");\n</script><script>two</script><script'
        ' type="application/json">{}</script>'
    )
    rules = dict(part.split(" ", 1) for part in policy(page, "ws://x/socket").split("; "))

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
    web = ROOT / "web"
    if not web.is_dir():
        pytest.skip("the source of the page is not part of this installation")
    (said,) = re.findall(r'<meta name="nucleate-source" content="([0-9a-f]{64})"', page_text())
    assert said == source_hash(web), "web/ has changed: run make web"


def source_hash(web: Path) -> str:
    """sha256 over the paths and contents of everything in web/ but what was fetched or built;
    web/vite.config.js does the same."""
    files = sorted(
        (path.relative_to(web).as_posix(), path)
        for path in web.rglob("*")
        if path.is_file() and not {"node_modules", "dist"} & set(path.relative_to(web).parts)
    )
    lines = "".join(f"{name}\t{hashlib.sha256(path.read_bytes()).hexdigest()}\n" for name, path in files)
    return hashlib.sha256(lines.encode()).hexdigest()


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
    from importlib.resources import files

    return files("nucleate.explorer").joinpath("page", "LICENSES.txt").read_text(encoding="utf-8")


def test_licences_are_shipped_with_the_page() -> None:
    text = licences()
    assert "three" in text
    assert "MIT" in text
