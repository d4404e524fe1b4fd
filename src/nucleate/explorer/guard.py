"""Who may reach the explorer's server: every request, for the page or for a websocket, passes `Guard`.

What is not on the list of routes is refused: a new route is out of reach until it is named here, and guarded
from then on.  A request must name a host that is ours to the letter (another name that leads here is an
attack), come from our own page if it says where it comes from (a websocket must say it), and carry the token.

Whoever has brought the token once gets a cookie, with which the page, and nothing but the page, opens without
it: so one's own links open in a new tab.  Browsers send cookies to every port of a host, also to what other
users of this machine serve there.  So the cookie is not the token, and does not open the websocket, behind
which all data lie; the page is the one of the package, which anybody has.
"""

import re
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from nucleate.explorer.refusal_page import refusal_page, refusal_policy

__all__ = [
    "MAX_REQUEST_HEADER_BYTES",
    "ROUTES",
    "Guard",
    "RateLimit",
    "Refusal",
    "cookie_header",
    "cookie_name",
    "find_refusal",
    "own_hosts",
]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

ROUTES = {("http", b"/"): "GET", ("websocket", b"/socket"): "GET"}  # and the method of each
REQUESTS_PER_SECOND, REQUESTS_AT_ONCE = 50.0, 200.0
MAX_REQUEST_HEADER_BYTES = 16_384
OLD_TOKEN = re.compile(rb"(token=[\w-]{0,100})?", re.ASCII)  # no query, or that of an earlier start
REFUSAL_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"connection", b"close"),
]


@dataclass(frozen=True)
class Refusal:
    """Why a request is refused."""

    status: int
    text: str


WRONG_HOST = Refusal(
    403, "The Host of this request is not the explorer's. Open the address that nucleate explore printed."
)
WRONG_ORIGIN = Refusal(
    403, "This request comes from another page. Open the address that nucleate explore printed."
)
WRONG_TOKEN = Refusal(
    403,
    "The token is missing or wrong. Open the address that nucleate explore printed, with all that follows the"
    " question mark.",
)
UNKNOWN_PATH = Refusal(
    404, "There is nothing here. The explorer is one page: open the address that nucleate explore printed."
)
WRONG_METHOD = Refusal(405, "Only GET is answered here.")
HAS_BODY = Refusal(413, "A request must have no body.")
LONG_HEADERS = Refusal(431, "The head of this request is too long.")
TOO_MANY_REQUESTS = Refusal(429, "Too many requests. Wait a second.")


class RateLimit:
    """Lets through `rate` requests or messages a second, and `burst` at once."""

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate, self.burst, self.clock = rate, burst, clock
        self.available, self.updated_at = burst, clock()

    def try_acquire(self) -> bool:
        """Whether one more may pass now."""
        now = self.clock()
        self.available = min(self.burst, self.available + self.rate * (now - self.updated_at))
        self.updated_at = now
        if self.available < 1.0:
            return False
        self.available -= 1.0
        return True


class Guard:
    """Wraps the whole application, and passes on the requests that are not refused."""

    def __init__(self, app: App, token: str, port: int, cookie: str) -> None:
        self.app, self.token, self.hosts = app, token.encode(), own_hosts(port)
        self.cookie = f"{cookie_name(port)}={cookie}".encode()
        self.rate_limit = RateLimit(REQUESTS_PER_SECOND, REQUESTS_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI.  "lifespan" is the server's own start and end; any other kind of scope is refused."""
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        refusal = find_refusal(scope, self.token, self.hosts, self.cookie)
        if refusal is None and not self.rate_limit.try_acquire():  # what was refused does not count
            refusal = TOO_MANY_REQUESTS
        if refusal is None:
            return await self.app(scope, receive, send)
        await _refuse(scope, send, refusal)


def own_hosts(port: int) -> frozenset[bytes]:
    """What the Host header may be."""
    return frozenset(f"{name}:{port}".encode() for name in ("127.0.0.1", "localhost", "[::1]"))


def cookie_name(port: int) -> str:
    """Servers at other ports of this host get the same cookies, and have names of their own."""
    return f"nucleate-{port}"


def cookie_header(port: int, cookie: str) -> str:
    """Set-Cookie, for whoever has brought the token: no script reads it, no other site sends it, and it goes
    with the browser."""
    return f"{cookie_name(port)}={cookie}; Path=/; HttpOnly; SameSite=Strict"


def find_refusal(scope: Scope, token: bytes, hosts: frozenset[bytes], cookie: bytes) -> Refusal | None:
    """Why this request is refused; None if it may come in.  `cookie` is name=value."""
    headers: dict[bytes, list[bytes]] = {}
    for name, value in scope["headers"]:
        headers.setdefault(bytes(name).lower(), []).append(bytes(value))
    host = headers.get(b"host", [])
    if len(host) != 1 or host[0] not in hosts:
        return WRONG_HOST
    origin = headers.get(b"origin", [])
    if origin != [b"http://" + host[0]] and (origin or scope["type"] != "http"):
        return WRONG_ORIGIN
    query = bytes(scope.get("query_string", b""))
    if not secrets.compare_digest(query, b"token=" + token) and not (
        scope["type"] == "http" and OLD_TOKEN.fullmatch(query) and _has_cookie(headers, cookie)
    ):
        return WRONG_TOKEN
    method = ROUTES.get((scope["type"], bytes(scope.get("raw_path", b""))))
    if method is None or bytes(scope["raw_path"]) != str(scope["path"]).encode():
        return UNKNOWN_PATH
    if scope.get("method", "GET") != method:
        return WRONG_METHOD
    if b"transfer-encoding" in headers or headers.get(b"content-length", [b"0"]) != [b"0"]:
        return HAS_BODY
    if sum(len(name) + len(value) for name, value in scope["headers"]) > MAX_REQUEST_HEADER_BYTES:
        return LONG_HEADERS
    return None


def _has_cookie(headers: dict[bytes, list[bytes]], cookie: bytes) -> bool:
    """Whether our cookie is among those that the request brings: other servers of this host may have set one
    of the same name."""
    brought = [one.strip() for line in headers.get(b"cookie", []) for one in line.split(b";")]
    return any(secrets.compare_digest(one, cookie) for one in brought)


async def _refuse(scope: Scope, send: Send, refusal: Refusal) -> None:
    """One plain sentence, to a websocket too, before it is opened; to a browser that shows pages, a page."""
    if scope["type"] not in ("http", "websocket"):
        raise RuntimeError(f"the explorer knows no scope of type {scope['type']!r}")
    kind = "http.response" if scope["type"] == "http" else "websocket.http.response"
    if scope["type"] == "websocket" and kind not in scope.get("extensions", {}):
        return await send({"type": "websocket.close", "code": 1008, "reason": refusal.text})
    shown = refusal is WRONG_TOKEN and kind == "http.response"
    body = (refusal_page() if shown else f"{refusal.text}\n").encode()
    content = "text/html" if shown else "text/plain"
    headers = [
        *REFUSAL_HEADERS,
        (b"content-type", f"{content}; charset=utf-8".encode()),
        (b"content-security-policy", refusal_policy().encode()),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": f"{kind}.start", "status": refusal.status, "headers": headers})
    await send({"type": f"{kind}.body", "body": body if scope.get("method") != "HEAD" else b""})
