"""Connections that say nothing: closed after a while, the oldest first where there are many, so that whoever
opens hundreds of them shuts nobody out."""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["BACKLOG", "MAX_SILENT", "REQUEST_SECONDS", "Connection"]

REQUEST_SECONDS = 10.0  # to send the head of the first request
MAX_SILENT = 256  # connections without a request
# Connections taken at a time.  Of two such lots, taken before the first request of them is read, none is
# closed.
BACKLOG = MAX_SILENT // 4


class Connection(H11Protocol):
    """Uvicorn's connection, with a limit of time for the first request."""

    made_at: float
    timer: asyncio.TimerHandle

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn's
        """Begin to wait for a request."""
        super().connection_made(transport)
        self.made_at = self.loop.time()
        self.timer = self.loop.call_later(REQUEST_SECONDS, self.close_if_silent)
        silent = [one for one in self.connections if isinstance(one, Connection) and one.is_silent()]
        if len(silent) > MAX_SILENT:
            min(silent, key=lambda one: one.made_at).close_if_silent()

    def connection_lost(self, exc: Exception | None) -> None:
        self.timer.cancel()
        super().connection_lost(exc)

    def is_silent(self) -> bool:
        """Whether no request has come yet; one for a websocket takes this connection off the list."""
        return self.cycle is None and self in self.connections and not self.transport.is_closing()

    def close_if_silent(self) -> None:
        if self.is_silent():
            self.transport.abort()
