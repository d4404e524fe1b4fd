"""`nucleate explore` as a person types it."""

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from support.command_line import start_nucleate, typed
from support.explorer_server import until
from support.made_runs import one_run
from support.time_limits import several_programs

from nucleate.checks import InputError
from nucleate.explorer.server import DEFAULT_PORT, listen

pytestmark = several_programs
NUCLEATE = [sys.executable, "-m", "nucleate"]


def start(*words: str, **environment: str) -> subprocess.Popen[str]:
    return start_nucleate("explore", "--no-browser", *words, env={"PYTHONUNBUFFERED": "1", **environment})


def address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if "http://" in line:
            return line.strip()
    raise AssertionError(process.communicate())


def free_port() -> int:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return int(place.getsockname()[1])


def test_the_explorer_serves_its_page_and_ends_cleanly_on_ctrl_c(tmp_path: Path) -> None:
    one_run().save(tmp_path / "run.npz")
    state = {"scene": {"n": 7}, "at": 3}
    port = free_port()
    with start(
        str(tmp_path / "run.npz"),
        "--port",
        str(port),
        "--link",
        f"http://127.0.0.1:1/#{quote(json.dumps(state))}",
    ) as process:
        where = address(process)
        assert where.startswith(f"http://127.0.0.1:{port}/?token=")
        assert json.loads(httpx.URL(where).fragment) == state
        answer = httpx.get(where.partition("#")[0], trust_env=False)
        assert answer.status_code == 200
        assert 'id="recorded"' in answer.text
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0
    assert "The explorer has ended." in out
    assert err == ""


def test_ctrl_c_ends_it_while_a_run_is_under_way() -> None:
    from support.explorer_server import client_at
    from websockets.exceptions import ConnectionClosed

    with start("--port", str(free_port())) as process, client_at(address(process)) as page:
        page.tell(do="run", id=1, scene={"n": 3000, "d": 3, "beta": 30.0, "t": 1e6, "frames": 50})
        page.wait_for("frames")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0
        assert "The explorer has ended." in out
        assert err == ""
        with pytest.raises(ConnectionClosed):
            page.wait_for("never said")


def test_each_start_has_a_token_of_its_own_and_the_port_falls_back(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", DEFAULT_PORT))
            taken.listen()
        except OSError:
            pass  # somebody else has it: as well
        with listen(None) as place:
            assert place.getsockname()[0] == "127.0.0.1"
            assert place.getsockname()[1] != DEFAULT_PORT
            with pytest.raises(InputError, match=r"Port \d+ of this machine is taken"):
                listen(place.getsockname()[1])
    from support.explorer_server import PAGE

    from nucleate.explorer.server import Explorer

    tokens = {Explorer(PAGE).token for _ in range(20)}
    assert len(tokens) == 20
    assert all(len(token) >= 40 for token in tokens)


def test_quiet_prints_the_address_alone() -> None:
    with start("--quiet", "--port", str(free_port())) as process:
        where = address(process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0
    assert where.startswith("http://127.0.0.1:")
    assert (out, err) == ("", "")


def test_a_taken_port_is_told_in_one_line() -> None:
    with listen(None) as place:
        code, said = typed("explore", "--no-browser", "--port", place.getsockname()[1])
    assert code == 2
    assert "is taken" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--port", "80"], "--port must lie between"),
        (["--port", "70000"], "--port must lie between"),
        (["nothing.zarr"], "does not exist"),
        (["--link", "no link"], "--link must be"),
        (["--link", "#{broken"], "does not hold a state"),
        (["--link", "#[1]"], "does not hold a state"),
    ],
    ids=str,
)
def test_bad_input_is_told_in_one_line(words: list[str], told: str) -> None:
    code, said = typed("explore", "--no-browser", *words)
    assert code == 2
    assert told in said


def test_without_the_extra_one_sentence_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "uvicorn" else find(name, *rest)
    )
    code, said = typed("explore", "--no-browser")
    assert code == 2
    assert "needs uvicorn" in said
    assert "nucleate[explorer]" in said


def test_what_is_too_large_is_refused_at_once_and_alike_by_explore_and_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nucleate.explorer.server.serve", lambda *_: None)  # it must not come to that
    for name in ("wide.zarr", "wide.npz"):
        one_run(d=70).save(tmp_path / name)
        said = [
            typed("explore", "--no-browser", tmp_path / name),
            typed("export", tmp_path / name, "--out", tmp_path / "page.html"),
        ]
        words = (
            f"Error: {name} has 9 tokens in dimension 70, but the explorer shows at most 10000 in 64. Draw"
            " it: run.plot()."
        )
        assert said == [(2, words)] * 2


BROWSER = """#!{python}
import html, json, re, sys, urllib.parse, urllib.request
page = open(urllib.parse.unquote(urllib.parse.urlsplit(sys.argv[1]).path)).read()
address = html.unescape(re.search('url=([^"]*)"', page)[1])
answer = urllib.request.urlopen(address.partition("#")[0])
json.dump([sys.argv[1:], address, answer.status], open({notes!r}, "w"))
"""


def test_the_browser_finds_the_page_and_the_token_is_on_no_command_line(tmp_path: Path) -> None:
    notes, home = tmp_path / "notes.json", tmp_path / "home"
    home.mkdir()
    browser = tmp_path / "browser"
    browser.write_text(BROWSER.format(python=sys.executable, notes=str(notes)))
    browser.chmod(0o755)
    environment = {"PYTHONUNBUFFERED": "1", "BROWSER": f"{browser} %s", "HOME": str(home), "no_proxy": "*"}
    with start_nucleate("explore", "--port", free_port(), env=environment) as process:
        where = address(process)
        until(lambda: notes.exists() and notes.stat().st_size > 0, 60.0)
        until(lambda: not list(home.glob("nucleate-*")))
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0
    words, found, status = json.loads(notes.read_text())
    token = httpx.URL(where).params["token"]
    assert found == where
    assert status == 200
    assert not [word for word in words if token in word]
    assert err == ""


def test_ctrl_c_before_the_browser_has_asked_for_the_page_leaves_no_file(tmp_path: Path) -> None:
    with start_nucleate(
        "explore",
        "--port",
        free_port(),
        env={"PYTHONUNBUFFERED": "1", "BROWSER": "true %s", "HOME": str(tmp_path)},
    ) as process:
        address(process)
        until(lambda: bool(list(tmp_path.glob("nucleate-*"))), 60.0)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode == 0
    assert not list(tmp_path.glob("nucleate-*"))
