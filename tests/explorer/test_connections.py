"""Connections that say nothing are closed, and shut nobody out."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import httpx
import pytest
from support.explorer_server import PAGE, client, request, until
from support.time_limits import several_programs

from nucleate.explorer import connections
from nucleate.explorer.connections import MAX_SILENT
from nucleate.explorer.server import Server

pytestmark = several_programs
HALF_OPEN = 300
FIRST_WORDS = {
    "nothing": b"",
    "a part of a head": b"GET /?token=x HTTP/1.1\r\nHost: 127.0.0.1",
    "garbage": b"\x16\x03",
}


@contextmanager
def half_open(server: Server, count: int, words: bytes) -> Iterator[list[socket.socket]]:
    """Connections that say a few words and then nothing more."""
    with ExitStack() as stack:
        wires = []
        for _ in range(count):
            wire = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=10.0))
            wire.sendall(words)
            wires.append(wire)
        yield wires


@pytest.mark.parametrize("words", FIRST_WORDS.values(), ids=FIRST_WORDS)
def test_the_owner_comes_in_past_hundreds_of_connections_that_say_nothing(
    server: Server, words: bytes
) -> None:
    with half_open(server, HALF_OPEN, words), client(server) as page:
        assert page.hello["say"] == "hello"
        answer = httpx.get(server.address, trust_env=False)
        assert (answer.status_code, answer.text) == (200, PAGE)
        assert len(server.uvicorn.server_state.connections) <= MAX_SILENT + 3


def test_the_oldest_of_too_many_is_closed_and_no_other(server: Server) -> None:
    until(lambda: not server.uvicorn.server_state.connections)
    with half_open(server, MAX_SILENT + 1, b"") as wires:
        assert closed(wires[0])
        until(lambda: len(server.uvicorn.server_state.connections) == MAX_SILENT)
        for wire in wires[1:]:
            wire.setblocking(False)
            with pytest.raises(BlockingIOError):  # nothing to read, and not closed
                wire.recv(1)


def test_who_sends_no_request_in_time_is_sent_away_and_a_websocket_is_not(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.3)
    with client(server) as page, half_open(server, 5, b"GET / HT") as wires:
        for wire in wires:
            assert closed(wire)
        page.tell(do="python", scene={})
        assert page.hear()[0]["say"] == "python"


def closed(wire: socket.socket) -> bool:
    """Whether the other side closes this connection, within its time limit."""
    try:
        return wire.recv(1) == b""
    except ConnectionError:
        return True


def test_a_head_that_comes_in_pieces_is_taken(server: Server) -> None:
    words = request(f"/?token={server.explorer.token}", f"127.0.0.1:{server.port}")
    with half_open(server, 1, words[:20]) as [wire]:
        wire.sendall(words[20:])
        assert wire.recv(65536).startswith(b"HTTP/1.1 200")
