"""The one door: everything that reaches the explorer's server passes `Guard`, pages and websockets alike.

What is not on the list of routes is refused, so a new route stays out of reach until it is named here, and
then it is guarded as the others are.  A request must name a host that is ours to the letter (another name
that leads here is an attack), come from our own page if it says where it comes from (a websocket must say
it), and carry the token.
"""

import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

__all__ = ["ROUTES", "Bucket", "Guard", "Verdict", "hosts", "judge"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

ROUTES = {("http", b"/"): "GET", ("websocket", b"/socket"): "GET"}  # all there is
REQUESTS_PER_SECOND, REQUESTS_AT_ONCE = 50.0, 200.0
LONGEST = 16_384  # bytes of headers
PLAIN = [
    (b"content-type", b"text/plain; charset=utf-8"),
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
    (b"connection", b"close"),
]


@dataclass(frozen=True)
class Verdict:
    """Why a request is refused."""

    status: int
    words: str


HOST = Verdict(
    403, "The Host of this request is not the explorer's. Open the address that nucleate explore printed."
)
ORIGIN = Verdict(403, "This request comes from another page. Open the address that nucleate explore printed.")
TOKEN = Verdict(
    403,
    "The token is missing or wrong. Open the address that nucleate explore printed, with all that follows the"
    " question mark.",
)
PATH = Verdict(
    404, "There is nothing here. The explorer is one page: open the address that nucleate explore printed."
)
METHOD = Verdict(405, "Only GET is answered here.")
BODY = Verdict(413, "A request must have no body.")
LONG = Verdict(431, "The head of this request is too long.")
RATE = Verdict(429, "Too many requests. Wait a second.")


class Bucket:
    """Lets through `rate` a second, and `burst` at once."""

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate, self.burst, self.clock = rate, burst, clock
        self.left, self.last = burst, clock()

    def take(self) -> bool:
        """Whether one more may pass now."""
        now = self.clock()
        self.left, self.last = min(self.burst, self.left + self.rate * (now - self.last)), now
        if self.left < 1.0:
            return False
        self.left -= 1.0
        return True


class Guard:
    """Wraps the whole application: judges every request, and passes on those that are let in."""

    def __init__(self, app: App, token: str, port: int) -> None:
        self.app, self.token, self.hosts = app, token.encode(), hosts(port)
        self.bucket = Bucket(REQUESTS_PER_SECOND, REQUESTS_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI.  "lifespan" is the server's own start and end; any other kind of scope is refused."""
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        verdict = judge(scope, self.token, self.hosts)
        if verdict is None and not self.bucket.take():  # strangers cannot use up what the page may ask
            verdict = RATE
        if verdict is None:
            return await self.app(scope, receive, send)
        await _refuse(scope, send, verdict)


def hosts(port: int) -> frozenset[bytes]:
    """What the Host header may be."""
    return frozenset(f"{name}:{port}".encode() for name in ("127.0.0.1", "localhost", "[::1]"))


def judge(scope: Scope, token: bytes, ours: frozenset[bytes]) -> Verdict | None:
    """Why this request is refused; None if it may come in."""
    headers: dict[bytes, list[bytes]] = {}
    for name, value in scope["headers"]:
        headers.setdefault(bytes(name).lower(), []).append(bytes(value))
    host = headers.get(b"host", [])
    if len(host) != 1 or host[0] not in ours:
        return HOST
    origin = headers.get(b"origin", [])
    if origin != [b"http://" + host[0]] and (origin or scope["type"] != "http"):
        return ORIGIN
    if not secrets.compare_digest(bytes(scope.get("query_string", b"")), b"token=" + token):
        return TOKEN
    method = ROUTES.get((scope["type"], bytes(scope.get("raw_path", b""))))
    if method is None or bytes(scope["raw_path"]) != str(scope["path"]).encode():
        return PATH
    if scope.get("method", "GET") != method:
        return METHOD
    if b"transfer-encoding" in headers or headers.get(b"content-length", [b"0"]) != [b"0"]:
        return BODY
    if sum(len(name) + len(value) for name, value in scope["headers"]) > LONGEST:
        return LONG
    return None


async def _refuse(scope: Scope, send: Send, verdict: Verdict) -> None:
    """One plain sentence; to a websocket too, before it is opened."""
    if scope["type"] not in ("http", "websocket"):
        raise RuntimeError(f"the explorer knows no scope of type {scope['type']!r}")
    kind = "http.response" if scope["type"] == "http" else "websocket.http.response"
    if scope["type"] == "websocket" and kind not in scope.get("extensions", {}):
        return await send({"type": "websocket.close", "code": 1008, "reason": verdict.words})
    body = f"{verdict.words}\n".encode()
    headers = [*PLAIN, (b"content-length", str(len(body)).encode())]
    await send({"type": f"{kind}.start", "status": verdict.status, "headers": headers})
    await send({"type": f"{kind}.body", "body": body if scope.get("method") != "HEAD" else b""})
