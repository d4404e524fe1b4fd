"""The local server: one page, one websocket, both behind the guard; the engine is warmed up in the
background."""

import asyncio
import logging
import secrets
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket

from nucleate.checks import InputError
from nucleate.explorer import limits
from nucleate.explorer.built_page import content_security_policy
from nucleate.explorer.greeting import greeting
from nucleate.explorer.guard import MAX_REQUEST_HEADER_BYTES, Guard, cookie_header
from nucleate.explorer.session import Session
from nucleate.explorer.stored_runs import Folder
from nucleate.explorer.warm_up import warm_up

__all__ = ["DEFAULT_PORT", "Explorer", "Server", "listen", "make_app", "serve"]

DEFAULT_PORT = 8765
LOOPBACK = "127.0.0.1"  # never anything else: the page is for the person at this machine
CLOSE_TRY_AGAIN_LATER = 1013  # a code of websockets
PAGE_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
MESSAGE_SLACK_BYTES = 4096  # a message that is too long by up to so much is answered in words


@dataclass(eq=False)
class Explorer:
    """What all sessions share."""

    page: str
    folder: Folder = field(default_factory=lambda: Folder(None))
    link: Any = None  # the state given on the command line
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32))  # opens the page, and no more
    sessions: int = 0
    compiled: threading.Event = field(default_factory=threading.Event)  # the kernels
    asked_for: threading.Event = field(default_factory=threading.Event)  # the page, or nobody will any more
    closing: threading.Event = field(default_factory=threading.Event)  # the server ends
    pool: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(
            2 * limits.MAX_SESSIONS + 2, thread_name_prefix="nucleate-explorer"
        )
    )

    def hello_message(self) -> dict[str, Any]:
        """The first message of every session."""
        return {
            **greeting(),
            "opened": [entry.plain() for entry in self.folder.entries()],
            "open": None if self.folder.only is None else {"name": self.folder.only, "run": 0},
            "link": self.link,
        }


def routes(explorer: Explorer, port: int) -> list[BaseRoute]:
    """The page and the websocket.  Each also stands in guard.ROUTES, or it is not answered."""

    async def page(request: Request) -> HTMLResponse:
        explorer.asked_for.set()
        policy = (
            content_security_policy(explorer.page, f"ws://{request.headers['host']}/socket")
            + "; frame-ancestors 'none'"
        )
        headers = {"Content-Security-Policy": policy, "Set-Cookie": cookie_header(port, explorer.cookie)}
        return HTMLResponse(explorer.page, headers={**PAGE_HEADERS, **headers})

    async def session(websocket: WebSocket) -> None:
        await websocket.accept()
        if explorer.sessions >= limits.MAX_SESSIONS:
            text = (
                f"The explorer is open {explorer.sessions} times already, and serves no more. Close another"
                " of its tabs, then load this one again."
            )
            await websocket.send_json({"say": "error", "id": None, "text": text})
            return await websocket.close(CLOSE_TRY_AGAIN_LATER)
        explorer.sessions += 1
        try:
            hello = await asyncio.get_running_loop().run_in_executor(explorer.pool, explorer.hello_message)
            await Session(websocket, explorer.folder, explorer.pool, explorer.compiled.is_set).serve(hello)
        finally:
            explorer.sessions -= 1

    return [Route("/", page, methods=["GET"]), WebSocketRoute("/socket", session)]


def make_app(explorer: Explorer, port: int) -> Guard:
    """The application, with the guard around all of it."""
    return Guard(Starlette(routes=routes(explorer, port)), explorer.token, port, explorer.cookie)


def listen(port: int | None) -> socket.socket:
    """A socket on this machine: at the port asked for, else at the usual one, else at any that is free."""
    for wanted in (port,) if port is not None else (DEFAULT_PORT, 0):
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((LOOPBACK, wanted))
            listening.listen()
            return listening
        except OSError:
            listening.close()
    raise InputError(
        f"Port {port} of this machine is taken. Choose another with --port, or leave it out to take any free"
        " one."
    )


class Server:
    """A server on a socket; `run` blocks until `stop`, or Ctrl-C."""

    def __init__(self, explorer: Explorer, listening: socket.socket) -> None:
        import uvicorn

        from nucleate.explorer.connections import BACKLOG, MAX_SILENT, Connection

        self.explorer, self.socket, self.port = explorer, listening, int(listening.getsockname()[1])
        self.address = f"http://{LOOPBACK}:{self.port}/?token={explorer.token}"
        self.guard = make_app(explorer, self.port)
        config = uvicorn.Config(
            self.guard,
            loop="asyncio",
            http=Connection,
            ws="websockets-sansio",
            ws_max_size=limits.MAX_MESSAGE_BYTES + MESSAGE_SLACK_BYTES,
            ws_per_message_deflate=False,
            lifespan="off",
            log_config=None,
            log_level="critical",  # addresses carry the token, and a stranger's broken request is no news
            access_log=False,
            server_header=False,
            backlog=BACKLOG,
            limit_concurrency=2 * MAX_SILENT,
            timeout_keep_alive=5,
            timeout_graceful_shutdown=3,
            h11_max_incomplete_event_size=MAX_REQUEST_HEADER_BYTES,
        )
        self.uvicorn = uvicorn.Server(config)

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve, on this thread."""
        from threadpoolctl import threadpool_limits

        logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # connections that strangers drop half-way
        # here once: runs of several sessions would set and unset it for each other
        with threadpool_limits(1, user_api="blas"):
            threading.Thread(
                target=warm_up,
                args=(self.explorer.compiled, self.explorer.closing),
                name="nucleate-warm-up",
                daemon=True,
            ).start()
            try:
                asyncio.run(self._serve(ready))
            finally:
                self.explorer.closing.set()
                self.explorer.asked_for.set()
                self.socket.close()
                self.explorer.pool.shutdown(wait=False, cancel_futures=True)

    async def _serve(self, ready: Callable[[], None]) -> None:
        ready()  # inside the loop: Ctrl-C right after it finds something to end
        await self.uvicorn.serve(sockets=[self.socket])

    def stop(self) -> None:
        """End `run`, from another thread."""
        self.uvicorn.should_exit = True


def serve(explorer: Explorer, port: int | None, ready: Callable[[Server], None]) -> None:
    """Listen, call ready(server), and serve until Ctrl-C."""
    server = Server(explorer, listen(port))
    server.run(lambda: ready(server))
