"""The one door of the explorer's server: who gets in, and that nobody else does, by page or by websocket."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as some
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from support.explorer_server import PAGE, Client, client, house, raw, request, upgrade
from support.time_limits import several_programs

from nucleate.explorer import guard
from nucleate.explorer.guard import ROUTES, Bucket, Guard, hosts, judge
from nucleate.explorer.server import Explorer, Serving, make_app, routes

pytestmark = several_programs
REFUSED = {400, 403, 404, 405, 413, 429, 431}
PORT, TOKEN = 8765, "right-token"
OURS = f"127.0.0.1:{PORT}"


@pytest.fixture(scope="module")
def serving() -> Iterator[Serving]:
    with house() as serving:
        yield serving


def scope(
    kind: str = "http", path: str = "/", query: str = f"token={TOKEN}", method: str = "GET", **headers: Any
) -> dict[str, Any]:
    """What a server tells an application of a request that may come in, unless changed."""
    given = {"host": OURS, **({"origin": f"http://{OURS}"} if kind == "websocket" else {}), **headers}
    lines = [
        (name.replace("_", "-").encode(), one.encode())
        for name, value in given.items()
        for one in (value if isinstance(value, list) else [value])
    ]
    made = {
        "type": kind,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": lines,
    }
    return made | ({"method": method} if kind == "http" else {})


def ask(asked: dict[str, Any]) -> int | None:
    verdict = judge(asked, TOKEN.encode(), hosts(PORT))
    return None if verdict is None else verdict.status


# --- the door itself


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "[::1]:8765"])
def test_our_own_page_comes_in(host: str) -> None:
    assert ask(scope(host=host)) is None
    assert ask(scope(host=host, origin=f"http://{host}")) is None
    assert ask(scope("websocket", "/socket", host=host, origin=f"http://{host}")) is None


STRANGE_HOSTS = [
    "",
    "127.0.0.1",
    "localhost",
    "127.0.0.1:8766",
    "127.0.0.1:87650",
    "127.0.0.1:876",
    "127.0.0.1:08765",
    "127.0.0.1:8765 ",
    "127.0.0.1:8765.",
    "127.0.0.1.:8765",
    "127.0.0.2:8765",
    "127.1:8765",
    "127.0.0.1.evil.example:8765",
    "evil.example:8765",
    "127.0.0.1:8765.evil.example",
    "evil127.0.0.1:8765",
    "localhost.evil.example:8765",
    "notlocalhost:8765",
    "LOCALHOST:8765",
    "LocalHost:8765",
    "localhost:8765@evil.example",
    "user@127.0.0.1:8765",
    "127.0.0.1:8765@evil.example:80",
    "127.0.0.1:8765/",
    "127.0.0.1:8765, evil.example",
    "127.0.0.1:8765#",
    "http://127.0.0.1:8765",
    "[::1]",
    "::1:8765",
    "[0:0:0:0:0:0:0:1]:8765",
    "[::ffff:127.0.0.1]:8765",
    "0.0.0.0:8765",
    "0:8765",
    "2130706433:8765",
    "0x7f000001:8765",
    "１２７.0.0.1:8765",
    "localhost\t:8765",
]


@pytest.mark.parametrize("host", STRANGE_HOSTS)
def test_a_host_that_is_not_ours_to_the_letter_is_refused(host: str) -> None:
    assert ask(scope(host=host)) == 403
    assert ask(scope("websocket", "/socket", host=host, origin=f"http://{host}")) == 403
    assert ask(scope("websocket", "/socket", host=host)) == 403


def test_no_host_or_two_are_refused() -> None:
    assert ask(scope(host=[])) == 403
    assert ask(scope(host=[OURS, OURS])) == 403
    assert ask(scope(host=[OURS, "evil.example"])) == 403


STRANGE_ORIGINS = [
    "",
    "null",
    "http://evil.example",
    f"https://{OURS}",
    f"ws://{OURS}",
    f"http://{OURS}/",
    f"http://{OURS}.evil.example",
    f"http://evil.example/{OURS}",
    f"http://{OURS}@evil.example",
    f"http://user:password@{OURS}",
    "http://127.0.0.1",
    "http://127.0.0.1:8766",
    "http://127.0.0.1:876",
    "http://127.0.0.1:87655",
    "http://localhost:8765",  # ours too, but not the host this page came from
    f"HTTP://{OURS}",
    f"http:/{OURS}",
    f"//{OURS}",
    OURS,
    f" http://{OURS}",
    f"http://{OURS} http://evil.example",
    f"http://{OURS}, http://evil.example",
    f"http://{OURS}#",
    f"http://{OURS}?",
    "file://",
    "chrome-extension://abcdef",
]


@pytest.mark.parametrize("origin", STRANGE_ORIGINS)
def test_an_origin_that_is_not_ours_to_the_letter_is_refused(origin: str) -> None:
    assert ask(scope(origin=origin)) == 403
    assert ask(scope("websocket", "/socket", origin=origin)) == 403


def test_a_websocket_must_say_where_it_comes_from_and_only_once() -> None:
    assert ask(scope("websocket", "/socket", origin=[])) == 403
    assert ask(scope("websocket", "/socket", origin=[f"http://{OURS}", f"http://{OURS}"])) == 403
    assert ask(scope("websocket", "/socket", origin=[f"http://{OURS}", "http://evil.example"])) == 403


STRANGE_QUERIES = [
    "",
    "token",
    "token=",
    "token=wrong",
    "token=right-toke",
    "token=right-token2",
    "token=right-token ",
    "token=RIGHT-TOKEN",
    "Token=right-token",
    " token=right-token",
    "token=right-token&token=wrong",
    "token=wrong&token=right-token",
    "token=right-token&x=1",
    "x=1&token=right-token",
    "token[]=right-token",
    "token=%72ight-token",
    "token=right-token#",
    "token=right-token;",
    "token=right-token\0",
    "right-token",
    "token=" + "r" * 10_000,
]


@pytest.mark.parametrize("query", STRANGE_QUERIES)
def test_a_missing_or_wrong_token_is_refused(query: str) -> None:
    assert ask(scope(query=query)) == 403
    assert ask(scope("websocket", "/socket", query=query)) == 403


@pytest.mark.parametrize(
    "method",
    ["POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get", "GET "],
)
def test_no_method_but_get(method: str) -> None:
    assert ask(scope(method=method)) == 405


def test_bodies_are_refused() -> None:
    assert ask(scope(content_length="1")) == 413
    assert ask(scope(content_length="2000000")) == 413
    assert ask(scope(content_length=["0", "5"])) == 413
    assert ask(scope(transfer_encoding="chunked")) == 413
    assert ask(scope(content_length="0")) is None


@given(
    some.sampled_from(["http", "websocket"]),
    some.sampled_from([OURS, "localhost:8765", "evil.example"]) | some.text(max_size=20),
    some.none() | some.sampled_from([f"http://{OURS}", "http://evil.example"]) | some.text(max_size=20),
    some.sampled_from([f"token={TOKEN}", ""]) | some.text(max_size=20),
    some.sampled_from(["/", "/socket"]) | some.text(max_size=20),
)
def test_nothing_gets_in_but_what_is_right_in_every_point(
    kind: str, host: str, origin: str | None, query: str, path: str
) -> None:
    headers: dict[str, Any] = {"host": host, "origin": [] if origin is None else origin}
    asked = {**scope(kind, path, query, **headers)}
    right = host in ("127.0.0.1:8765", "localhost:8765", "[::1]:8765") and query == f"token={TOKEN}"
    right &= path == ("/" if kind == "http" else "/socket")
    right &= origin == f"http://{host}" or (origin is None and kind == "http")
    assert (ask(asked) is None) == right


def test_a_bucket_lets_through_its_rate_and_no_more() -> None:
    now = [0.0]
    bucket = Bucket(10.0, 5.0, lambda: now[0])
    assert [bucket.take() for _ in range(7)] == [True] * 5 + [False] * 2
    passed = 0
    for _ in range(1000):
        now[0] += 0.01
        passed += bucket.take()
    assert 99 <= passed <= 101  # ten seconds at ten a second
    now[0] += 1e6
    assert sum(bucket.take() for _ in range(100)) == 5


# --- no way around it


def test_the_guard_stands_around_the_whole_application(serving: Serving) -> None:
    assert serving.server.config.app is serving.guard
    assert isinstance(make_app(Explorer(PAGE), 1), Guard)


def test_every_route_is_on_the_guards_list_and_nothing_else_is() -> None:
    there = set()
    for route in routes(Explorer(PAGE)):
        assert isinstance(route, Route | WebSocketRoute), "mounts and hosts would hide routes from this test"
        there.add(("http" if isinstance(route, Route) else "websocket", route.path.encode()))
        assert getattr(route, "methods", {"GET"}) <= {"GET", "HEAD"}
    assert there == set(ROUTES)


def test_a_route_that_is_not_on_the_list_is_out_of_reach_even_with_the_token() -> None:
    called = []

    async def secret(request: Any) -> PlainTextResponse:
        called.append(request)
        return PlainTextResponse("secret")

    door = Guard(Starlette(routes=[Route("/new", secret)]), TOKEN, PORT)
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(door(scope(path="/new"), receive, send))
    assert sent[0]["status"] == 404
    assert not called


def test_a_route_on_the_list_is_guarded_by_that_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(guard.ROUTES, ("http", b"/new"), "GET")
    assert ask(scope(path="/new")) is None
    assert ask(scope(path="/new", query="")) == 403
    assert ask(scope(path="/new", host="evil.example:8765")) == 403
    assert ask(scope(path="/new", method="POST")) == 405


def test_other_kinds_of_requests_are_refused() -> None:
    async def never(*_: Any) -> None:
        raise AssertionError

    async def send(message: Any) -> None: ...

    with pytest.raises(RuntimeError, match="knows no scope"):
        asyncio.run(Guard(never, TOKEN, PORT)({**scope(), "type": "webtransport"}, never, send))  # type: ignore[arg-type]  # never receives


# --- over the wire


def test_the_page_comes_with_a_strict_policy(serving: Serving) -> None:
    answer = httpx.get(serving.address, trust_env=False)
    assert answer.status_code == 200
    assert answer.text == PAGE
    policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["connect-src"] == f"ws://127.0.0.1:{serving.port}/socket"
    assert policy["script-src"].startswith("'sha256-")
    assert "unsafe" not in str(policy)
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-store"
    assert "server" not in answer.headers
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("kind_and_path", ROUTES, ids=str)
def test_every_route_walked_by_strangers_is_refused(
    serving: Serving, kind_and_path: tuple[str, bytes]
) -> None:
    kind, path = kind_and_path[0], kind_and_path[1].decode()
    ours, good = f"127.0.0.1:{serving.port}", f"token={serving.explorer.token}"
    origin = f"Origin: http://{ours}"
    make = upgrade if kind == "websocket" else request
    right = [origin]
    status, _ = (
        raw(serving.port, make(f"{path}?{good}", ours, *right), patience=3.0)
        if kind == "http"
        else (101, b"")
    )
    assert status in (200, 101)
    tries = [make(path, ours, *right)]
    tries += [
        make(f"{path}?token={wrong}", ours, *right)
        for wrong in ("", "x", serving.explorer.token[:-1], serving.explorer.token.lower())
    ]
    tries += [
        make(f"{path}?{good}", host.replace("8765", str(serving.port)), *right)
        for host in STRANGE_HOSTS
        if host.isascii() and "\t" not in host
    ]
    tries += [make(f"{path}?{good}", None, *right)]
    tries += [
        make(f"{path}?{good}", ours, f"Origin: {one.replace('8765', str(serving.port))}")
        for one in STRANGE_ORIGINS
        if not one.startswith(" ")
    ]
    tries += [make(f"{path}?{good}", ours, origin, origin)]
    tries += [make(f"{path}?{good}", ours)] if kind == "websocket" else []
    stripped = {f"127.0.0.1:{serving.port} "}  # a server strips blanks around a value, as it must
    for one in tries:
        status, answer = raw(serving.port, one)
        if any(f"Host: {host}\r\n".encode() in one for host in stripped):
            continue
        assert status in REFUSED, (one, answer)
        assert b"a page" not in answer
        assert b"Traceback" not in answer


def test_a_websocket_is_told_in_words_why_it_is_refused(serving: Serving) -> None:
    status, answer = raw(
        serving.port,
        upgrade("/socket?token=x", f"127.0.0.1:{serving.port}", f"Origin: http://127.0.0.1:{serving.port}"),
    )
    assert status == 403
    assert b"The token is missing or wrong." in answer


def test_the_websocket_is_no_page_and_the_page_no_websocket(serving: Serving) -> None:
    ours, good = f"127.0.0.1:{serving.port}", f"token={serving.explorer.token}"
    assert raw(serving.port, request(f"/socket?{good}", ours))[0] == 404
    assert raw(serving.port, upgrade(f"/?{good}", ours, f"Origin: http://{ours}"))[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE"])
def test_other_methods_are_refused_over_the_wire(serving: Serving, method: str) -> None:
    good = f"/?token={serving.explorer.token}"
    status, answer = raw(serving.port, request(good, f"127.0.0.1:{serving.port}", method=method))
    assert status == 405
    assert b"a page" not in answer


def test_large_bodies_and_heads_are_refused_over_the_wire(serving: Serving) -> None:
    good, ours = f"/?token={serving.explorer.token}", f"127.0.0.1:{serving.port}"
    body = b"x" * 2_000_000
    assert raw(serving.port, request(good, ours, f"Content-Length: {len(body)}", body=body))[0] in {
        *REFUSED,
        0,
    }  # 0: closed while we were still sending
    chunked = b"".join(b"10000\r\n" + b"x" * 65536 + b"\r\n" for _ in range(32)) + b"0\r\n\r\n"
    assert raw(serving.port, request(good, ours, "Transfer-Encoding: chunked", body=chunked))[0] in {
        *REFUSED,
        0,
    }
    assert raw(serving.port, request(good, ours, f"X-Long: {'x' * 100_000}"))[0] in {*REFUSED, 0}
    assert raw(serving.port, request("/" + "x" * 100_000 + good[1:], ours))[0] in {*REFUSED, 0}


def traversals() -> list[str]:
    """Two hundred ways to ask for a file that is none of our business."""
    ups = [
        "..",
        "%2e%2e",
        "..%2f",
        "%2e%2e%2f",
        "..%5c",
        "..\\",
        "....//",
        "..;",
        "%252e%252e%252f",
        "..%c0%af",
        "%uff0e%uff0e",
        ".%00.",
        "..%00",
    ]
    files = ["etc/passwd", "zarr.json", "run.npz", "index.html", "pyproject.toml"]
    found = [f"/{'/'.join([up] * depth)}/{file}" for up in ups for depth in (1, 3, 8) for file in files]
    found += [
        "//etc/passwd",
        "/file:///etc/passwd",
        "/%2fetc%2fpasswd",
        "/static/../../etc/passwd",
        "/.git/config",
        "/page/index.html",
        "/socket/",
        "/socket/..",
    ]
    found += [
        "/./",
        "//",
        "/%2e",
        "/index.html",
        "/\\\\host\\share",
        "/C:/Windows/win.ini",
        "/proc/self/environ",
        "/~/.ssh/id_rsa",
    ]
    return found[:220]


def test_traversal_by_address_leads_nowhere(serving: Serving) -> None:
    paths = traversals()
    assert len(paths) >= 200
    ours = f"127.0.0.1:{serving.port}"
    for path in paths:
        serving.guard.bucket.left = 1e9  # the rate is another test's
        status, answer = raw(
            serving.port, request(f"{path.encode('ascii').decode()}?token={serving.explorer.token}", ours)
        )
        assert status in REFUSED, (path, answer[:200])
        assert b"root:" not in answer
        assert b"a page" not in answer


def test_a_flood_of_requests_with_the_token_is_slowed_down(serving: Serving) -> None:
    bucket = serving.guard.bucket
    bucket.left, bucket.last = 5.0, bucket.clock()
    ours = f"127.0.0.1:{serving.port}"
    answers = [raw(serving.port, request(f"/?token={serving.explorer.token}", ours))[0] for _ in range(40)]
    bucket.left = bucket.burst
    assert answers[:5] == [200] * 5
    assert 429 in answers


def test_the_wire_still_works_after_all_that(serving: Serving) -> None:
    with client(serving) as page:
        assert page.hello["say"] == "hello"
        page.tell(do="run", id=3, scene={"n": 5, "t": 1.0, "frames": 4})
        assert page.watch(3)[4]["status"] == "done"


def test_names_of_stored_runs_cannot_lead_out_of_the_folder(tmp_path: Any) -> None:
    from support.made_runs import one_run

    from nucleate.explorer.stored import open_folder

    one_run().save(tmp_path / "outside.npz")
    inside = tmp_path / "inside"
    inside.mkdir()
    one_run().save(inside / "run.npz")
    one_run().save(inside / "other.zarr")
    (inside / "link.npz").symlink_to(tmp_path / "outside.npz")
    (inside / "loop.npz").symlink_to(inside / "loop.npz")
    (inside / "up.zarr").symlink_to(tmp_path)
    (inside / "other.zarr" / "more").symlink_to(tmp_path / "outside.npz")
    names = [name.lstrip("/") for name in traversals()] + traversals()
    names += [
        "link.npz",
        "loop.npz",
        "up.zarr",
        "other.zarr",
        ".",
        "..",
        "run.npz/",
        "./run.npz",
        "run.npz\0",
        "../outside.npz",
        str(tmp_path / "outside.npz"),
    ]
    names += [
        "../inside/run.npz",
        quote("run.npz/../run.npz", safe=""),
        "RUN.NPZ",
        "run",
        "*",
        "run.np?",
        "~",
        "$HOME",
        "file:run.npz",
        "run.npz ",
    ]
    folder = open_folder(inside)
    assert [entry.name for entry in folder.entries()] == ["run.npz"]
    with house(folder) as serving, client(serving) as page:
        assert [entry["name"] for entry in page.hello["opened"]] == ["run.npz"]
        page.tell(do="open", id=1, name="run.npz")
        assert page.watch(1)[4]["status"] == "done"
        _all_refused(page, names)


def _all_refused(page: Client, names: list[str]) -> None:
    import time

    assert len(names) >= 200
    for number, name in enumerate(names):
        time.sleep(1 / 49 if number > 80 else 0.0)  # within the rate
        page.wire.send(json.dumps({"do": "open", "id": 2, "name": name}))
        header, _ = page.hear()
        assert header["say"] == "error", (name, header)
        assert "root:" not in header["text"]
