"""One page and its server: messages in, frames out, one run at a time on a worker thread."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import numpy as np

from nucleate.checks import InputError
from nucleate.explorer.frames import pack
from nucleate.explorer.guard import Bucket
from nucleate.explorer.measures import measure
from nucleate.explorer.prepared_run import Take, begun, of_scene
from nucleate.explorer.python import as_python
from nucleate.explorer.requests import AsPython, Cancel, Data, Open, Refused, Request, Run, parse_request
from nucleate.explorer.running import Stage
from nucleate.explorer.scene import LIMITS
from nucleate.explorer.stored import Folder
from nucleate.integrate.run import Run as Record

__all__ = ["BURST", "Session", "Socket"]

CHUNK = 2**21  # bytes of frames in one message
PULSE = 1.0  # seconds between two signs of life while nothing new is there
BURST = 100.0  # messages at once
TOO_FAST, TOO_LARGE = 1008, 1009  # codes with which a websocket is closed
COMPILING = "The engine is being compiled for this machine, once; that takes up to a minute."
log = logging.getLogger("nucleate.explorer")


class Gone(Exception):
    """The page has left."""


class Socket(Protocol):
    """What a session needs of a websocket; sending to a page that has left raises something."""

    async def receive(self) -> Any: ...

    async def send_text(self, data: str) -> None: ...

    async def send_bytes(self, data: bytes) -> None: ...

    async def close(self, code: int = 1000) -> None: ...


@dataclass(eq=False)
class Job:
    """A run that was asked for."""

    request: Run | Open
    stage: Stage | None = None
    stopped: bool = False
    replaced: bool = False  # by a newer one: nobody wants its measurements
    record: Record | None = None  # once it has ended
    file: str = ""  # the name of its data, without the ending

    def stop(self, replaced: bool) -> None:
        """End it soon."""
        self.stopped, self.replaced = True, self.replaced or replaced
        if self.stage is not None:
            self.stage.stop.set()


@dataclass(eq=False)
class Session:
    """Talks with one page until it leaves."""

    socket: Socket
    folder: Folder
    pool: Executor
    warm: Callable[[], bool]  # whether the engine is compiled
    bucket: Bucket = field(default_factory=lambda: Bucket(float(LIMITS["rate"]), BURST))
    job: Job | None = None  # the last one asked for
    news: asyncio.Event = field(default_factory=asyncio.Event)
    voice: asyncio.Lock = field(default_factory=asyncio.Lock)  # one message at a time

    async def live(self, hello: dict[str, Any]) -> None:
        """Say hello, then serve until the page is gone; its run ends with it."""
        worker = asyncio.create_task(self._work())
        try:
            with suppress(Gone):
                await self._say(hello)
                await self._listen()
        finally:
            if self.job is not None:
                self.job.stop(replaced=True)
            worker.cancel()
            with suppress(asyncio.CancelledError):
                await worker

    # What comes in

    async def _listen(self) -> None:
        while True:
            message = await self.socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            if not self.bucket.take():
                return await self._part(
                    TOO_FAST,
                    f"More than {LIMITS['rate']:g} messages a second are not taken. Load the page again, and"
                    " be slower.",
                )
            text = message.get("text")
            if text is not None and len(text) > LIMITS["message"]:
                return await self._part(
                    TOO_LARGE,
                    f"A message of more than {LIMITS['message']:,} bytes is not taken. Load the page again.",
                )
            try:
                if text is None:
                    raise Refused("Messages must be text, but this one is binary.", None)
                await self._answer(parse_request(text))
            except Refused as error:
                await self._error(error.id, str(error))

    async def _answer(self, request: Request) -> None:
        if isinstance(request, AsPython):
            await self._say({"say": "python", "text": as_python(request.scene)})
        elif isinstance(request, Cancel):
            if self.job is not None and self.job.request.id == request.id:
                self.job.stop(replaced=False)
        elif isinstance(request, Data):
            await self._send_data(request.id)
        else:
            if self.job is not None:
                self.job.stop(replaced=True)
            self.job = Job(request)
            self.news.set()

    async def _send_data(self, id: int) -> None:
        if self.job is None or self.job.request.id != id or self.job.record is None:
            raise Refused(
                "That run has not ended, or is not the one that is shown. Wait until it has, or cancel it.",
                id,
            )
        data = await self._aside(_as_file, self.job.record)
        await self._send(
            pack(
                {"say": "file", "id": id, "name": f"{self.job.file}.npz"},
                {"bytes": np.frombuffer(data, np.uint8)},
            )
        )

    # What goes out

    async def _work(self) -> None:
        """Perform the newest job, one after the other."""
        done: Job | None = None
        while True:
            while self.job is None or self.job is done:
                self.news.clear()
                await self.news.wait()
            done = self.job
            try:
                with suppress(Gone):
                    await self._try(done)
            except Exception:  # a mistake of ours: say so, and stay there for the next run
                log.exception("run %d failed", done.request.id)
                with suppress(Gone):
                    await self._error(
                        done.request.id,
                        "The server failed, and says why where it was started. Try other values.",
                    )

    async def _try(self, job: Job) -> None:
        try:
            await self._perform(job)
        except InputError as error:
            await self._error(job.request.id, str(error))
        except MemoryError:
            await self._error(
                job.request.id, "This does not fit into memory. Ask for fewer tokens or frames."
            )

    async def _perform(self, job: Job) -> None:
        id, loop = job.request.id, asyncio.get_running_loop()
        take, told = await self._aside(self._prepare, job.request)
        job.file = take.file
        stage = job.stage = Stage(take, lambda: loop.call_soon_threadsafe(self.news.set))
        if job.stopped:
            stage.stop.set()
        await self._say(told)
        running = loop.run_in_executor(self.pool, stage.perform)
        running.add_done_callback(lambda _: self.news.set())
        try:
            await self._stream(id, stage, running)
        finally:  # whatever happens, the thread ends before the session does
            stage.stop.set()
            with suppress(Exception):
                await asyncio.shield(running)
        job.record = running.result()
        status = "cancelled" if job.replaced else job.record.status
        # Before it is measured, which can take as long as the run: whoever cancels does not wait for that.
        await self._say(
            {
                "say": "ended",
                "id": id,
                "status": status,
                "steps": int(np.max(job.record.steps)),
                "seconds": stage.seconds,
            }
        )
        found = (
            None if job.replaced else await self._aside(measure, job.record.x, told, lambda: not job.replaced)
        )
        if found is not None:
            await self._send(pack({"say": "measured", "id": id}, found.arrays()))

    def _prepare(self, request: Run | Open) -> tuple[Take, dict[str, Any]]:
        take = (
            of_scene(request.scene)
            if isinstance(request, Run)
            else self.folder.take(request.name, request.run)
        )
        return take, begun(take, request.id)

    async def _stream(self, id: int, stage: Stage, running: "asyncio.Future[Record]") -> None:
        """Send frames as they come, at the pace of the client."""
        sent, times = 0, stage.take.times
        size = max(CHUNK // max(stage.x[0].nbytes, 1), 1)
        while True:
            self.news.clear()
            over = running.done()  # before counting: what is counted after the end is all there is
            while sent < stage.reached:
                some = slice(sent, min(sent + size, stage.reached))
                await self._send(
                    pack({"say": "frames", "id": id, "first": sent}, {"t": times[some], "x": stage.x[some]})
                )
                sent = some.stop
            if over:
                return
            words = None if self.warm() else COMPILING
            at = float(times[max(sent - 1, 0)])
            await self._say(
                {"say": "progress", "id": id, "share": sent / len(times), "t": at, "words": words}
            )
            with suppress(TimeoutError):
                await asyncio.wait_for(self.news.wait(), PULSE)

    async def _aside(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run something slow on a worker thread."""
        return await asyncio.get_running_loop().run_in_executor(self.pool, function, *arguments)

    async def _error(self, id: int | None, words: str) -> None:
        await self._say({"say": "error", "id": id, "text": " ".join(words.split())})

    async def _part(self, code: int, words: str) -> None:
        await self._error(None, words)
        await self.socket.close(code)

    async def _say(self, message: dict[str, Any]) -> None:
        await self._out(self.socket.send_text, json.dumps(message, allow_nan=False))

    async def _send(self, message: bytes) -> None:
        await self._out(self.socket.send_bytes, message)

    async def _out(self, send: Callable[[Any], Awaitable[None]], message: str | bytes) -> None:
        async with self.voice:
            try:
                await send(message)
            except Exception as error:  # each server has its own for a page that has left
                raise Gone from error


def _as_file(record: Record) -> bytes:
    """The run as `record.save` writes it."""
    with TemporaryDirectory(prefix="nucleate-") as folder:
        path = Path(folder, "run.npz")
        record.save(path)
        return path.read_bytes()
