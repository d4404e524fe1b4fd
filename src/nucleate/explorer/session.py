"""One page and its server: messages in, frames out, one run at a time on a worker thread."""

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nucleate.checks import InputError
from nucleate.explorer import limits
from nucleate.explorer.export import recorded_page
from nucleate.explorer.guard import RateLimit
from nucleate.explorer.measurements import measure
from nucleate.explorer.page_requests import (
    BadMessage,
    CancelRun,
    OpenStored,
    ReadMatrix,
    Request,
    RunScene,
    SendData,
    SendPage,
    WritePython,
    parse_request,
)
from nucleate.explorer.prepared_run import PreparedRun, begun_message, prepare_scene
from nucleate.explorer.prepared_trace import PreparedTrace, trace_message
from nucleate.explorer.python_code import python_code
from nucleate.explorer.running import RunningRun
from nucleate.explorer.stored_runs import Folder
from nucleate.explorer.warm_up import is_compiling
from nucleate.explorer.wire_format import pack
from nucleate.integrate.family import is_ordinary
from nucleate.integrate.run import Run

__all__ = ["Session", "Socket"]

FRAMES_MESSAGE_BYTES = 2**21  # about the size of a message with frames
PROGRESS_SECONDS = 1.0  # between two messages about progress while there are no new frames
CLOSE_TOO_FAST, CLOSE_TOO_LARGE = 1008, 1009  # codes of websockets
COMPILING = "The engine is being compiled for this machine, once; that takes up to a minute."
COMPILING_KIND = "A model of a new kind is compiled for this machine, once; that takes up to a minute."
UNCOMPILED_SECONDS = (
    0.1  # after which a page that waits for that is told so: it can compute by itself meanwhile
)
PREPARING = "The run is being prepared."
SOON_SECONDS = 2.0  # within which a compiled model has its first frames, or reports progress
log = logging.getLogger("nucleate.explorer")


class PageLeft(Exception):
    """The page has closed its websocket."""


class Socket(Protocol):
    """What a session needs of a websocket; sending to a page that has left raises something."""

    async def receive(self) -> Any: ...

    async def send_text(self, data: str) -> None: ...

    async def send_bytes(self, data: bytes) -> None: ...

    async def close(self, code: int = 1000) -> None: ...


@dataclass(eq=False)
class RequestedRun:
    """A run that the page asked for, from the request to its end."""

    request: RunScene | OpenStored
    running: RunningRun | None = None  # once it is prepared
    prepared: PreparedRun | PreparedTrace | None = None
    run: Run | None = None  # once it has ended
    stopped: bool = False
    replaced: bool = False  # by a newer one, so that its measurements are not needed
    file: str = ""  # the name of its data, without the ending

    def stop(self, replaced: bool) -> None:
        """End it soon."""
        self.stopped, self.replaced = True, self.replaced or replaced
        if self.running is not None:
            self.running.stop.set()


@dataclass(eq=False)
class Session:
    """Serves one page until it leaves."""

    socket: Socket
    folder: Folder
    pool: Executor
    compiled: Callable[[], bool]  # whether the kernels are
    rate_limit: RateLimit = field(
        default_factory=lambda: RateLimit(limits.MAX_MESSAGES_PER_SECOND, limits.MAX_MESSAGES_AT_ONCE)
    )
    requested: RequestedRun | None = None  # the last run asked for
    shown: RequestedRun | None = None  # the last one that the page shows: not aside
    changed: asyncio.Event = field(default_factory=asyncio.Event)  # a new request, new frames, or an end
    sending: asyncio.Lock = field(default_factory=asyncio.Lock)  # one message at a time

    async def serve(self, hello: dict[str, Any]) -> None:
        """Say hello, then serve until the page has left; its run ends with it."""
        runs = asyncio.create_task(self._run_requests())
        try:
            with suppress(PageLeft):
                await self._send_message(hello)
                await self._receive_messages()
        finally:
            if self.requested is not None:
                self.requested.stop(replaced=True)
            runs.cancel()
            with suppress(asyncio.CancelledError):
                await runs

    # What comes in

    async def _receive_messages(self) -> None:
        while True:
            message = await self.socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            if not self.rate_limit.try_acquire():
                return await self._close(
                    CLOSE_TOO_FAST,
                    f"More than {limits.MAX_MESSAGES_PER_SECOND:g} messages a second are not taken. Load the"
                    " page again, and be slower.",
                )
            text = message.get("text")
            if text is not None and len(text) > limits.MAX_MESSAGE_BYTES:
                return await self._close(
                    CLOSE_TOO_LARGE,
                    f"A message of more than {limits.MAX_MESSAGE_BYTES:,} bytes is not taken. Load the page"
                    " again.",
                )
            try:
                if text is None:
                    raise BadMessage("Messages must be text, but this one is binary.", None)
                await self._answer(parse_request(text))
            except BadMessage as error:
                await self._send_error(error.id, str(error))

    async def _answer(self, request: Request) -> None:
        if isinstance(request, WritePython):
            await self._send_message({"say": "python", "text": python_code(request.scene)})
        elif isinstance(request, ReadMatrix):
            await self._send_message(
                {"say": "matrix", "name": request.name, "d": request.d, "choice": request.choice}
            )
        elif isinstance(request, CancelRun):
            if self.requested is not None and self.requested.request.id == request.id:
                self.requested.stop(replaced=False)
        elif isinstance(request, SendData):
            await self._send_file(request.id, "npz", lambda one: _npz_bytes(one.run))
        elif isinstance(request, SendPage):
            await self._send_file(request.id, "html", _page_bytes)
        else:
            if self.requested is not None:
                self.requested.stop(replaced=True)
            self.requested = RequestedRun(request)
            self.changed.set()

    async def _send_file(self, id: int, ending: str, write: Callable[[Any], bytes]) -> None:
        """The file, or why there is none; the run that is shown stays as it is."""
        requested = self.shown
        try:
            if requested is None or requested.request.id != id or requested.run is None:
                raise InputError(
                    "That run has not ended, or is not the one that is shown. Wait until it has, or cancel"
                    " it."
                )
            data = await self._in_thread(write, requested)
        except InputError as error:
            return await self._refuse(id, str(error))
        except OSError as error:
            return await self._refuse(
                id, f"The file could not be written: {error.strerror or error}. Try again."
            )
        except MemoryError:
            return await self._refuse(id, "This does not fit into memory. Ask for fewer tokens or frames.")
        await self._send_arrays(
            {"say": "file", "id": id, "name": f"{requested.file}.{ending}"},
            {"bytes": np.frombuffer(data, np.uint8)},
        )

    # What goes out

    async def _run_requests(self) -> None:
        """Run what was requested last, again and again."""
        done: RequestedRun | None = None
        while True:
            while self.requested is None or self.requested is done:
                self.changed.clear()
                await self.changed.wait()
            done = self.requested
            try:
                with suppress(PageLeft):
                    await self._run_or_explain(done)
            except Exception:  # a mistake of ours: say so, and stay there for the next run
                log.exception("run %d failed", done.request.id)
                with suppress(PageLeft):
                    await self._send_error(
                        done.request.id,
                        "The server failed, and says why where it was started. Try other values.",
                    )

    async def _run_or_explain(self, requested: RequestedRun) -> None:
        try:
            await self._run(requested)
        except InputError as error:
            await self._send_error(requested.request.id, str(error))
        except MemoryError:
            await self._send_error(
                requested.request.id, "This does not fit into memory. Ask for fewer tokens or frames."
            )

    async def _run(self, requested: RequestedRun) -> None:
        id, loop = requested.request.id, asyncio.get_running_loop()
        prepared, begun = await self._prepared(requested.request)
        requested.file, requested.prepared = prepared.file, prepared
        if not (isinstance(requested.request, RunScene) and requested.request.aside):
            self.shown = requested  # not before: the page keeps the one that it has when this is refused
        if isinstance(prepared, PreparedTrace):
            requested.run = prepared.run
            await self._send_message(begun)
            return await self._send_message({"say": "ended", "id": id, "status": "done"})
        running = RunningRun(prepared, lambda: loop.call_soon_threadsafe(self.changed.set))
        requested.running = running
        if requested.stopped:
            running.stop.set()
        await self._send_message(begun)
        computing = loop.run_in_executor(self.pool, running.compute)
        computing.add_done_callback(lambda _: self.changed.set())
        try:
            await self._send_frames(id, running, computing)
        finally:  # whatever happens, the thread ends before the session does
            running.stop.set()
            with suppress(Exception):
                await asyncio.shield(computing)
        run = requested.run = computing.result()
        # Before it is measured, which can take as long as the run: a cancelled run does not wait for that.
        await self._send_message(
            {
                "say": "ended",
                "id": id,
                "status": "cancelled" if requested.replaced else run.status,
                "steps": int(np.max(run.steps)),
                "seconds": running.seconds,
            }
        )
        if requested.replaced:
            return
        measured = await self._in_thread(measure, run.x, begun, lambda: not requested.replaced)
        if measured is not None:
            lengths = {} if run.norms is None else {"norms": run.norms}
            await self._send_arrays({"say": "measured", "id": id}, measured.arrays() | lengths)

    async def _prepared(
        self, request: RunScene | OpenStored
    ) -> tuple[PreparedRun | PreparedTrace, dict[str, Any]]:
        """Prepare a run on a worker thread; where that takes long, for centers are found by compiled code,
        the page is told why it waits."""
        preparing = asyncio.ensure_future(self._in_thread(self._prepare, request))
        timeout = PROGRESS_SECONDS if self.compiled() else UNCOMPILED_SECONDS
        while not (await asyncio.wait([preparing], timeout=timeout))[0]:
            timeout = PROGRESS_SECONDS
            text = COMPILING if not self.compiled() else COMPILING_KIND if is_compiling() else PREPARING
            await self._send_message(
                {
                    "say": "progress",
                    "id": request.id,
                    "share": 0.0,
                    "t": 0.0,
                    "text": text,
                    "compiling": text != PREPARING,
                }
            )
        prepared: tuple[PreparedRun | PreparedTrace, dict[str, Any]] = preparing.result()
        return prepared

    def _prepare(self, request: RunScene | OpenStored) -> tuple[PreparedRun | PreparedTrace, dict[str, Any]]:
        if isinstance(request, RunScene):
            scene = prepare_scene(request.scene)
            return scene, begun_message(scene, request.id)
        stored = self.folder.prepare(request.name, request.run)
        if isinstance(stored, PreparedTrace):
            return stored, trace_message(stored, request.id)
        return stored, begun_message(stored, request.id)

    async def _send_frames(self, id: int, running: RunningRun, computing: "asyncio.Future[Run]") -> None:
        """Send frames as they come, at the pace of the client."""
        sent, times = 0, running.prepared.times
        began = time.monotonic()
        size = max(FRAMES_MESSAGE_BYTES // max(running.x[0].nbytes, 1), 1)
        while True:
            self.changed.clear()
            ended = computing.done()  # asked before counting: what is counted after the end is all there is
            while sent < running.ready:
                some = slice(sent, min(sent + size, running.ready))
                await self._send_arrays(
                    {"say": "frames", "id": id, "first": sent}, {"t": times[some], "x": running.x[some]}
                )
                sent = some.stop
            if ended:
                return
            text = self._progress_text(running, time.monotonic() - began)
            await self._send_message(
                {
                    "say": "progress",
                    "id": id,
                    "share": sent / len(times),
                    "t": float(times[max(sent - 1, 0)]),
                    "text": text,
                    "compiling": text is not None,
                }
            )
            with suppress(TimeoutError):
                await asyncio.wait_for(self.changed.wait(), PROGRESS_SECONDS)

    def _progress_text(self, running: RunningRun, seconds: float) -> str | None:
        if not self.compiled():
            return COMPILING
        waits = running.computed == 0 and seconds > SOON_SECONDS
        new = is_compiling() or not is_ordinary(running.prepared.model)
        return COMPILING_KIND if waits and new else None

    async def _in_thread(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run something slow on a worker thread."""
        return await asyncio.get_running_loop().run_in_executor(self.pool, function, *arguments)

    async def _refuse(self, id: int, text: str) -> None:
        await self._send_message({"say": "refused", "id": id, "text": " ".join(text.split())})

    async def _send_error(self, id: int | None, text: str) -> None:
        await self._send_message({"say": "error", "id": id, "text": " ".join(text.split())})

    async def _close(self, code: int, text: str) -> None:
        await self._send_error(None, text)
        await self.socket.close(code)

    async def _send_message(self, message: dict[str, Any]) -> None:
        await self._send(self.socket.send_text, json.dumps(message, allow_nan=False))

    async def _send_arrays(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        await self._send(self.socket.send_bytes, pack(header, arrays))

    async def _send(self, send: Callable[[Any], Awaitable[None]], message: str | bytes) -> None:
        async with self.sending:
            try:
                await send(message)
            except Exception as error:  # each server has its own for a page that has left
                raise PageLeft from error


def _page_bytes(requested: RequestedRun) -> bytes:
    """The run and the page that plays it, as `nucleate export` writes them."""
    assert requested.prepared is not None
    assert requested.run is not None
    return recorded_page(requested.prepared, requested.run).encode()


def _npz_bytes(run: Run) -> bytes:
    """The run as `run.save` writes it."""
    with TemporaryDirectory(prefix="nucleate-") as folder:
        path = Path(folder, "run.npz")
        run.save(path)
        return path.read_bytes()
