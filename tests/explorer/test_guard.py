"""The guard of the explorer's server: who gets in, and that nobody else does, by page or by websocket."""

import asyncio
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as some
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from support.explorer_server import PAGE, client, raw, request, upgrade
from support.hostile_input import path_traversals
from support.time_limits import several_programs

from nucleate.explorer import guard
from nucleate.explorer.guard import ROUTES, Guard, RateLimit, cookie_name, find_refusal, own_hosts
from nucleate.explorer.server import Explorer, Server, make_app, routes

pytestmark = several_programs
REFUSED = {400, 403, 404, 405, 413, 429, 431}
PORT, TOKEN, COOKIE = 8765, "right-token", "right-cookie"
OURS_COOKIE = f"nucleate-{PORT}={COOKIE}"
OURS = f"127.0.0.1:{PORT}"


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
    refusal = find_refusal(asked, TOKEN.encode(), own_hosts(PORT), OURS_COOKIE.encode())
    return None if refusal is None else refusal.status


# --- what is refused


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


# --- the cookie

STRANGE_COOKIES = [
    "",
    COOKIE,
    f"nucleate-{PORT}=",
    f"nucleate-{PORT}={COOKIE[:-1]}",
    f"nucleate-{PORT}={COOKIE}2",
    f"nucleate-{PORT}={COOKIE.upper()}",
    f'nucleate-{PORT}="{COOKIE}"',
    f"nucleate-{PORT}={TOKEN}",  # the token is no cookie
    f"nucleate-{PORT + 1}={COOKIE}",  # another server's, on the same host
    f"nucleate={COOKIE}",
    f"x{OURS_COOKIE}",
    f"a={OURS_COOKIE}",
    f"{OURS_COOKIE} x",
    f"{OURS_COOKIE},x",
]


def test_the_cookie_opens_the_page_without_a_token_or_with_an_old_one() -> None:
    for query in ("", "token=of-an-earlier-start", "token="):
        assert ask(scope(query=query, cookie=OURS_COOKIE)) is None
        assert ask(scope(query=query, cookie=f"a=b; {OURS_COOKIE};c=d")) is None
        assert ask(scope(query=query, cookie=["a=b", f"nucleate-{PORT}=old", OURS_COOKIE])) is None


@pytest.mark.parametrize("cookie", STRANGE_COOKIES)
def test_a_cookie_that_is_not_ours_to_the_letter_opens_nothing(cookie: str) -> None:
    assert ask(scope(query="", cookie=cookie)) == 403


def test_the_cookie_opens_no_websocket_and_takes_the_place_of_no_other_check() -> None:
    """Browsers send it to every port of this host, so it must be worth nothing to whoever listens there."""
    for query in ("", "token=", "token=wrong", f"token={COOKIE}", COOKIE):
        assert ask(scope("websocket", "/socket", query=query, cookie=OURS_COOKIE)) == 403
    assert ask(scope(query="", cookie=OURS_COOKIE, host="evil.example:8765")) == 403
    assert ask(scope(query="", cookie=OURS_COOKIE, origin="http://127.0.0.1:8766")) == 403
    assert ask(scope(query="", cookie=OURS_COOKIE, path="/new")) == 404
    assert ask(scope(query="", cookie=OURS_COOKIE, method="POST")) == 405
    for query in ("x=1", "token=a&x=1", "token=a/b", "Token=a", "token=" + "r" * 101, "token=a\n"):
        assert ask(scope(query=query, cookie=OURS_COOKIE)) == 403


def test_whoever_brings_the_token_gets_a_cookie_that_opens_the_page_alone(server: Server) -> None:
    ours = f"127.0.0.1:{server.port}"
    answer = httpx.get(server.address, trust_env=False)
    given = answer.headers["set-cookie"]
    value, *attributes = given.split("; ")
    assert value == f"{cookie_name(server.port)}={server.explorer.cookie}"
    assert attributes == ["Path=/", "HttpOnly", "SameSite=Strict"]  # and of this session of the browser
    assert server.explorer.cookie != server.explorer.token
    assert server.explorer.token not in str(answer.headers) + answer.text
    status, again = raw(server.port, request("/", ours, f"Cookie: {value}"))
    assert status == 200
    assert b"a page" in again
    assert raw(server.port, request("/", ours, "Cookie: nucleate=1"))[0] == 403
    wire = upgrade("/socket", ours, f"Origin: http://{ours}", f"Cookie: {value}")
    assert raw(server.port, wire)[0] == 403


def test_a_browser_without_the_token_gets_a_page_that_says_what_to_do(server: Server) -> None:
    answer = httpx.get(f"http://127.0.0.1:{server.port}/?token=%3Cb%3Estale", trust_env=False)
    assert answer.status_code == 403
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "set-cookie" not in answer.headers
    assert "nucleate explore" in answer.text
    assert "load this page again" in answer.text
    assert "stale" not in answer.text, "nothing of what was asked for is repeated"
    assert "<script" not in answer.text
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert "script-src" not in policy
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-store"
    assert server.explorer.token not in str(answer.headers) + answer.text
    assert server.explorer.cookie not in str(answer.headers) + answer.text


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
    some.sampled_from(["", OURS_COOKIE, "nucleate-8766=right-cookie"]) | some.text(max_size=20),
)
def test_nothing_gets_in_but_what_is_right_in_every_point(
    kind: str, host: str, origin: str | None, query: str, path: str, cookie: str
) -> None:
    headers: dict[str, Any] = {"host": host, "origin": [] if origin is None else origin, "cookie": cookie}
    asked = {**scope(kind, path, query, **headers)}
    by_cookie = kind == "http" and query == "" and cookie == OURS_COOKIE
    right = host in ("127.0.0.1:8765", "localhost:8765", "[::1]:8765")
    right &= query == f"token={TOKEN}" or by_cookie
    right &= path == ("/" if kind == "http" else "/socket")
    right &= origin == f"http://{host}" or (origin is None and kind == "http")
    assert (ask(asked) is None) == right


def test_a_bucket_lets_through_its_rate_and_no_more() -> None:
    now = [0.0]
    rate_limit = RateLimit(10.0, 5.0, lambda: now[0])
    assert [rate_limit.try_acquire() for _ in range(7)] == [True] * 5 + [False] * 2
    passed = 0
    for _ in range(1000):
        now[0] += 0.01
        passed += rate_limit.try_acquire()
    assert 99 <= passed <= 101  # ten seconds at ten a second
    now[0] += 1e6
    assert sum(rate_limit.try_acquire() for _ in range(100)) == 5


# --- no way around it


def test_the_guard_stands_around_the_whole_application(server: Server) -> None:
    assert server.uvicorn.config.app is server.guard
    assert isinstance(make_app(Explorer(PAGE), 1), Guard)


def test_every_route_is_on_the_guards_list_and_nothing_else_is() -> None:
    there = set()
    for route in routes(Explorer(PAGE), 1):
        assert isinstance(route, Route | WebSocketRoute), "mounts and hosts would hide routes from this test"
        there.add(("http" if isinstance(route, Route) else "websocket", route.path.encode()))
        assert getattr(route, "methods", {"GET"}) <= {"GET", "HEAD"}
    assert there == set(ROUTES)


def test_a_route_that_is_not_on_the_list_is_out_of_reach_even_with_the_token() -> None:
    called = []

    async def secret(request: Any) -> PlainTextResponse:
        called.append(request)
        return PlainTextResponse("secret")

    guarded = Guard(Starlette(routes=[Route("/new", secret)]), TOKEN, PORT, COOKIE)
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(guarded(scope(path="/new"), receive, send))
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
        asyncio.run(Guard(never, TOKEN, PORT, COOKIE)({**scope(), "type": "webtransport"}, never, send))  # type: ignore[arg-type]  # never receives


# --- over the wire


def test_the_page_comes_with_a_strict_policy(server: Server) -> None:
    answer = httpx.get(server.address, trust_env=False)
    assert answer.status_code == 200
    assert answer.text == PAGE
    policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["connect-src"] == f"ws://127.0.0.1:{server.port}/socket"
    assert policy["script-src"].startswith("'sha256-")
    assert policy["worker-src"] == "blob:"  # made by a script of the page, which has a hash
    assert "unsafe" not in str(policy)
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-store"
    assert "server" not in answer.headers
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("kind_and_path", ROUTES, ids=str)
def test_every_route_walked_by_strangers_is_refused(server: Server, kind_and_path: tuple[str, bytes]) -> None:
    kind, path = kind_and_path[0], kind_and_path[1].decode()
    ours, good = f"127.0.0.1:{server.port}", f"token={server.explorer.token}"
    origin = f"Origin: http://{ours}"
    make = upgrade if kind == "websocket" else request
    right = [origin]
    status, _ = (
        raw(server.port, make(f"{path}?{good}", ours, *right), patience=3.0) if kind == "http" else (101, b"")
    )
    assert status in (200, 101)
    tries = [make(path, ours, *right)]
    tries += [
        make(f"{path}?token={wrong}", ours, *right)
        for wrong in ("", "x", server.explorer.token[:-1], server.explorer.token.lower())
    ]
    tries += [
        make(f"{path}?{good}", host.replace("8765", str(server.port)), *right)
        for host in STRANGE_HOSTS
        if host.isascii() and "\t" not in host
    ]
    tries += [make(f"{path}?{good}", None, *right)]
    tries += [
        make(f"{path}?{good}", ours, f"Origin: {one.replace('8765', str(server.port))}")
        for one in STRANGE_ORIGINS
        if not one.startswith(" ")
    ]
    tries += [make(f"{path}?{good}", ours, origin, origin)]
    tries += [make(f"{path}?{good}", ours)] if kind == "websocket" else []
    stripped = {f"127.0.0.1:{server.port} "}  # a server strips blanks around a value, as it must
    for one in tries:
        status, answer = raw(server.port, one)
        if any(f"Host: {host}\r\n".encode() in one for host in stripped):
            continue
        assert status in REFUSED, (one, answer)
        assert b"a page" not in answer
        assert b"Traceback" not in answer


def test_a_websocket_is_told_in_words_why_it_is_refused(server: Server) -> None:
    status, answer = raw(
        server.port,
        upgrade("/socket?token=x", f"127.0.0.1:{server.port}", f"Origin: http://127.0.0.1:{server.port}"),
    )
    assert status == 403
    assert b"The token is missing or wrong." in answer


def test_the_websocket_is_no_page_and_the_page_no_websocket(server: Server) -> None:
    ours, good = f"127.0.0.1:{server.port}", f"token={server.explorer.token}"
    assert raw(server.port, request(f"/socket?{good}", ours))[0] == 404
    assert raw(server.port, upgrade(f"/?{good}", ours, f"Origin: http://{ours}"))[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE"])
def test_other_methods_are_refused_over_the_wire(server: Server, method: str) -> None:
    good = f"/?token={server.explorer.token}"
    status, answer = raw(server.port, request(good, f"127.0.0.1:{server.port}", method=method))
    assert status == 405
    assert b"a page" not in answer


def test_large_bodies_and_heads_are_refused_over_the_wire(server: Server) -> None:
    good, ours = f"/?token={server.explorer.token}", f"127.0.0.1:{server.port}"
    body = b"x" * 2_000_000
    assert raw(server.port, request(good, ours, f"Content-Length: {len(body)}", body=body))[0] in {
        *REFUSED,
        0,
    }  # 0: closed while we were still sending
    chunked = b"".join(b"10000\r\n" + b"x" * 65536 + b"\r\n" for _ in range(32)) + b"0\r\n\r\n"
    assert raw(server.port, request(good, ours, "Transfer-Encoding: chunked", body=chunked))[0] in {
        *REFUSED,
        0,
    }
    assert raw(server.port, request(good, ours, f"X-Long: {'x' * 100_000}"))[0] in {*REFUSED, 0}
    assert raw(server.port, request("/" + "x" * 100_000 + good[1:], ours))[0] in {*REFUSED, 0}


def test_traversal_by_address_leads_nowhere(server: Server) -> None:
    paths = path_traversals()
    assert len(paths) >= 200
    ours = f"127.0.0.1:{server.port}"
    for path in paths:
        server.guard.rate_limit.available = 1e9  # the rate is another test's
        status, answer = raw(
            server.port, request(f"{path.encode('ascii').decode()}?token={server.explorer.token}", ours)
        )
        assert status in REFUSED, (path, answer[:200])
        assert b"root:" not in answer
        assert b"a page" not in answer


def test_a_flood_of_requests_with_the_token_is_slowed_down(server: Server) -> None:
    rate_limit = server.guard.rate_limit
    rate_limit.available, rate_limit.updated_at = 5.0, rate_limit.clock()
    ours = f"127.0.0.1:{server.port}"
    answers = [raw(server.port, request(f"/?token={server.explorer.token}", ours))[0] for _ in range(40)]
    rate_limit.available = rate_limit.burst
    assert answers[:5] == [200] * 5
    assert 429 in answers


def test_the_wire_still_works_after_all_that(server: Server) -> None:
    with client(server) as page:
        assert page.hello["say"] == "hello"
        page.tell(do="run", id=3, scene={"n": 5, "t": 1.0, "frames": 4})
        assert page.watch(3)[4]["status"] == "done"
