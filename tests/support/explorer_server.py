"""An explorer's server to test against, with a page of its own, and clients that say exactly what they are
told to say."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from nucleate.checks import Array
from nucleate.explorer.server import Explorer, Server
from nucleate.explorer.stored_runs import Folder
from nucleate.explorer.wire_format import unpack

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="nucleate-source" content="test">
<title>test</title><style>body { color: teal }</style></head>
<body><p>a page</p><script type="application/json" id="recorded"></script>
<script type="module">globalThis.there = true;</script></body></html>
"""


@contextmanager
def explorer_server(
    folder: Folder | None = None,
    *,
    page: str = PAGE,
    token: str | None = None,
    port: int = 0,
    warm: bool = True,
) -> Iterator[Server]:
    """A server, on a free port unless one is named, until the block ends; `warm`: first it has compiled."""
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", port))
    listening.listen(128)
    explorer = Explorer(page, folder or Folder(None))
    if token is not None:
        explorer.token = token
    server = Server(explorer, listening)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until(lambda: server.uvicorn.started and (explorer.compiled.is_set() or not warm), 300.0)
        yield server
    finally:
        server.stop()
        thread.join(30.0)
        assert not thread.is_alive(), "the server must end when told to"


def until(true: Callable[[], bool], seconds: float = 10.0) -> None:
    """Wait for something to become true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.005)


def raw(port: int, request: bytes, patience: float = 10.0) -> tuple[int, bytes]:
    """Send bytes, read until the server closes; status (0 if there is no answer) and the whole answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=patience) as wire:
        answer = b""
        try:
            wire.sendall(request)
            wire.shutdown(socket.SHUT_WR)
            while part := wire.recv(65536):
                answer += part
        except TimeoutError:
            raise
        except OSError:  # the server closed while we were still talking
            pass
    first = answer.split(b"\r\n", 1)[0].split()
    return (int(first[1]) if len(first) > 1 and first[1].isdigit() else 0), answer


def request(
    target: str | bytes, host: str | None, *headers: str, method: str = "GET", body: bytes = b""
) -> bytes:
    """A request, word for word."""
    path = target.encode() if isinstance(target, str) else target
    lines = [*([] if host is None else [f"Host: {host}"]), *headers, "Connection: close"]
    return (
        b" ".join([method.encode(), path, b"HTTP/1.1\r\n"])
        + "".join(f"{line}\r\n" for line in lines).encode()
        + b"\r\n"
        + body
    )


def upgrade(target: str, host: str | None, *headers: str) -> bytes:
    """A websocket's first words."""
    own = [
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version: 13",
    ]
    lines = [*([] if host is None else [f"Host: {host}"]), *own, *headers]
    return f"GET {target} HTTP/1.1\r\n".encode() + "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n"


class Client:
    """A page's end of the websocket."""

    def __init__(self, wire: ClientConnection) -> None:
        self.wire = wire
        self.hello = self.hear()[0]

    def tell(self, **message: Any) -> None:
        self.wire.send(json.dumps(message))

    def hear(self, timeout: float = 60.0) -> tuple[dict[str, Any], Mapping[str, Any]]:
        """The next message: its header, and its arrays if it has some."""
        message = self.wire.recv(timeout)
        return unpack(message) if isinstance(message, bytes) else (json.loads(message), {})

    def wait_for(self, say: str) -> tuple[dict[str, Any], Mapping[str, Any]]:
        while True:
            header, arrays = self.hear()
            if header["say"] == say:
                return header, arrays
            assert header["say"] != "error", header

    def watch(self, id: int = 0) -> tuple[dict[str, Any], Array, Array, Mapping[str, Any], dict[str, Any]]:
        """Everything until the run has ended and is measured: begun, t (m,), x (m, n, d), what was measured,
        ended."""
        begun: dict[str, Any] = {}
        ended: dict[str, Any] = {}
        t: list[Array] = []
        x: list[Array] = []
        while True:
            header, arrays = self.hear()
            assert header["say"] != "error", header
            assert header["id"] == id
            if header["say"] == "begun":
                begun = header
            elif header["say"] == "frames":
                assert header["first"] == sum(map(len, t)), "frames come one after the other, none twice"
                t.append(arrays["t"])
                x.append(arrays["x"])
            elif header["say"] == "ended":
                ended = header
            elif header["say"] == "measured":
                assert ended, "measured last"
                return begun, np.concatenate(t), np.concatenate(x), arrays, ended


def client(server: Server) -> AbstractContextManager[Client]:
    """A page, connected."""
    return client_at(server.address)


@contextmanager
def client_at(address: str) -> Iterator[Client]:
    """A page, connected to the server that prints this address."""
    where = urlsplit(address)
    host = where.netloc
    with connect(
        f"ws://{host}/socket?{where.query}",
        origin=Origin(f"http://{host}"),
        max_size=None,
        compression=None,
        proxy=None,
    ) as wire:
        yield Client(wire)
