"""Sessions over a real websocket: the same bits as nc.simulate, one run at a time, and nothing a page says
can hurt the others."""

import asyncio
import base64
import json
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.explorer_scenes import FAMILIES, LONG, SMALL, simulated
from support.explorer_server import Client, client, explorer_server, until
from support.hostile_input import malformed_messages, refusal
from support.made_depth_runs import depth_run
from support.time_limits import check_wall_seconds, patient, several_programs
from websockets.exceptions import ConnectionClosed

import nucleate as nc
from nucleate.explorer.guard import RateLimit
from nucleate.explorer.measurements import measure
from nucleate.explorer.presets import presets
from nucleate.explorer.python_code import python_code
from nucleate.explorer.scene import parse_scene
from nucleate.explorer.server import Server
from nucleate.explorer.session import Session
from nucleate.explorer.stored_runs import Folder, open_folder
from nucleate.explorer.warm_up import is_compiling
from nucleate.explorer.wire_format import unpack
from nucleate.theory.table import OTHER_MODEL

pytestmark = several_programs


NO_CODE = 0  # the connection ended without one


SOON = 5.0  # seconds: a cancelled run ends within two ticks of 0.1 s, on a busy machine a little later


def engine_threads() -> int:
    return sum(thread.name.startswith("nucleate-runs") for thread in threading.enumerate())


@pytest.mark.parametrize(
    "scene",
    [
        {},
        {"t": 1e60, "frames": 30},
        {"n": 32, "d": 3, "beta": 9.0, "t": 5000.0, "V": {"preset": "row5"}},
        {"n": 40, "d": 3, "mask": {"window": 4}, "t": 20.0, "clock": "linear", "moved": {"3": [1, 1, 1]}},
        {
            "n": 20,
            "d": 6,
            "beta": 4.0,
            "t": 20.0,
            "V": {"preset": "gaussian", "seed": 1},
            "mask": "full",
            "start": {"kind": "cap", "angle": 1.0},
        },
    ],
    ids=str,
)
def test_a_run_over_the_websocket_is_that_of_simulate_to_the_last_bit(
    server: Server, scene: dict[str, Any]
) -> None:
    run = simulated(scene)
    with client(server) as page:
        page.tell(do="run", id=7, scene=scene)
        begun, t, x, found, ended = page.watch(7)
    assert np.array_equal(t, run.t)
    assert np.array_equal(x, run.x)
    assert ended["status"] == run.status == "done"
    assert ended["steps"] == run.steps
    assert begun["scene"] == parse_scene(scene).plain()
    assert begun["frames"] == len(t)
    assert np.array_equal(found["labels"], nc.clusters(run.x, begun["radius"]))
    assert np.array_equal(found["clusters"], nc.count_clusters(run.x, begun["radius"]))
    for name in ("renyi", "strong"):
        centers = nc.renyi_centers(run.x[0], begun["delta"], strong=name == "strong")
        assert begun["centers"][name] == centers.tolist()
        assert np.array_equal(found[f"consumed_{name}"], nc.consumption(run, centers, begun["delta"]))
    assert ("directions" in found) == (begun["d"] > 3)
    atlas, spoken = nc.atlas(np.array(begun["V"])), begun["mask"] == "causal"
    assert begun["spectrum"]["row"] == (atlas.row if spoken else None)
    assert begun["spectrum"]["verdict"] == (atlas.final if spoken else OTHER_MODEL)


def test_principal_directions_are_those_of_a_singular_value_decomposition(server: Server) -> None:
    with client(server) as page:
        page.tell(do="run", id=1, scene={"n": 30, "d": 5, "beta": 3.0, "t": 10.0, "frames": 20})
        _, _, x, found, _ = page.watch(1)
    slow = np.linalg.svd(x.reshape(-1, 5), full_matrices=False)[2][:3]  # (3, d)
    assert found["directions"].shape == (5, 3)
    # gaps of the spectrum are far above 1e-6
    assert np.abs(np.abs(slow @ found["directions"]) - np.eye(3)).max() < 1e-9


@patient
def test_the_first_frame_comes_within_300_ms_for_the_sizes_of_the_paper(server: Server) -> None:
    for name in ("figure2", "figure1-row3", "figure1-complex", "life"):
        scene = next(preset.scene for preset in presets() if preset.name == name)
        waits = []
        with client(server) as page:
            for id in range(3):
                began = time.perf_counter()
                page.tell(do="run", id=id, scene=scene.plain())
                page.wait_for("frames")
                waits.append(time.perf_counter() - began)
                page.wait_for("ended")
        check_wall_seconds(min(waits), 0.3, f"the first frame of {name}")


def test_python_is_sent_when_asked_for(server: Server) -> None:

    with client(server) as page:
        page.tell(do="python", scene={"n": 9})
        assert page.hear()[0] == {"say": "python", "text": python_code(parse_scene({"n": 9}))}


def test_a_matrix_that_was_typed_comes_back_in_the_form_a_scene_holds(server: Server) -> None:
    with client(server) as page:
        page.tell(do="matrix", name="Q", d=6, text="diag(1,2,3,4,5,6)")
        rows = np.diag([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).tolist()
        assert page.hear()[0] == {"say": "matrix", "name": "Q", "d": 6, "choice": {"matrix": rows}}
        page.tell(do="matrix", name="V", d=64, text="gaussian(7)")
        choice = {"preset": "gaussian", "seed": 7}
        assert page.hear()[0] == {"say": "matrix", "name": "V", "d": 64, "choice": choice}
        page.tell(do="matrix", name="K", d=6, text="diag(1,2)")
        words = page.hear()[0]
        assert words["say"] == "error"
        assert words["id"] is None, "about no run: the one that is shown goes on"
        assert words["text"].startswith("K must have 6 rows")


def test_downloaded_data_opens_as_the_same_run(server: Server, tmp_path: Path) -> None:
    scene = {"n": 12, "t": 5.0, "frames": 6, "V": {"preset": "complex"}}
    with client(server) as page:
        page.tell(do="run", id=4, scene=scene)
        _, t, x, _, _ = page.watch(4)
        page.tell(do="data", id=4)
        header, arrays = page.wait_for("file")
        page.tell(do="data", id=5)
        assert page.hear()[0]["say"] == "refused"
    assert header["name"] == "nucleate-run.npz"
    path = tmp_path / header["name"]
    path.write_bytes(arrays["bytes"].tobytes())
    run = nc.load(path)
    assert np.array_equal(run.x, x)
    assert np.array_equal(run.t, t)
    assert parse_scene(run.notes["scene"]) == parse_scene(scene)
    model = parse_scene(scene).model
    assert isinstance(model, nc.Attention)
    assert np.array_equal(run.model.V, model.V)  # type: ignore[arg-type]  # it has one


def test_a_run_aside_leaves_the_data_of_the_one_that_is_shown_at_hand(server: Server, tmp_path: Path) -> None:
    with client(server) as page:
        page.tell(do="run", id=4, scene=SMALL)
        _, _, x, _, _ = page.watch(4)
        page.tell(do="run", id=2**40, scene={**SMALL, "n": 3}, aside=True)
        assert page.watch(2**40)[2].shape[1] == 3
        page.tell(do="data", id=2**40)
        assert page.hear()[0]["say"] == "refused"
        page.tell(do="data", id=4)
        _, arrays = page.wait_for("file")
    (tmp_path / "run.npz").write_bytes(arrays["bytes"].tobytes())
    assert np.array_equal(nc.load(tmp_path / "run.npz").x, x)


def test_a_refused_run_leaves_the_data_of_the_one_that_is_shown_at_hand(server: Server) -> None:
    with client(server) as page:
        page.tell(do="run", id=4, scene=SMALL)
        page.watch(4)
        page.tell(do="open", id=5, name="none.zarr", run=0)
        assert page.wait_for("error")[0]["id"] == 5
        page.tell(do="data", id=4)
        assert page.hear()[0]["say"] == "file"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(28, "No space left on device"), "No space left on device"),
        (MemoryError(), "does not fit into memory"),
        (nc.InputError("It has no name."), "It has no name."),
    ],
    ids=["disk", "memory", "input"],
)
def test_a_file_that_cannot_be_written_is_refused_in_words_and_the_session_lives(
    server: Server, monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
) -> None:
    def fail(*_: Any) -> bytes:
        raise error

    monkeypatch.setattr("nucleate.explorer.session._npz_bytes", fail)
    with client(server) as page:
        page.tell(do="run", id=4, scene=SMALL)
        page.watch(4)
        page.tell(do="data", id=4)
        answer = page.hear()[0]
        assert (answer["say"], answer["id"]) == ("refused", 4)
        assert words in answer["text"]
        page.tell(do="python", scene={})
        assert page.hear()[0]["say"] == "python"


def test_a_run_is_handed_out_as_the_page_that_nucleate_export_makes_of_it(server: Server) -> None:
    with client(server) as page:
        page.tell(do="run", id=4, scene={"n": 12, "t": 5.0, "frames": 6})
        _, t, x, _, _ = page.watch(4)
        page.tell(do="page", id=4)
        header, arrays = page.wait_for("file")
        page.tell(do="page", id=5)
        assert page.hear()[0]["say"] == "refused"
    assert header["name"] == "nucleate-run.html"
    text = arrays["bytes"].tobytes().decode()
    assert "connect-src 'none'" in text
    assert "unsafe-inline" not in text
    found = re.search(r'<script[^>]*id="recorded"[^>]*>(.*?)</script>', text)
    assert found is not None
    recorded = json.loads(found[1])
    assert recorded["t"] == t.tolist()
    assert np.array_equal(np.frombuffer(base64.b64decode(recorded["x"]), "<f4"), x.astype("<f4").reshape(-1))


def test_a_trace_comes_in_one_message_and_its_data_are_the_run_that_was_stored(tmp_path: Path) -> None:
    run = depth_run()
    run.save(tmp_path / "trace.zarr")
    with explorer_server(open_folder(tmp_path)) as server, client(server) as page:
        page.tell(do="open", id=3, name="trace.zarr", run=0)
        begun, _ = page.wait_for("begun")
        ended, _ = page.wait_for("ended")
        page.tell(do="data", id=3)
        header, arrays = page.wait_for("file")
    assert begun["trace"]["readings"][0]["words"] == list(run.tokens or ())
    assert (ended["status"], header["name"]) == ("done", "nucleate-trace.npz")
    (tmp_path / "again.npz").write_bytes(arrays["bytes"].tobytes())
    assert np.array_equal(nc.load(tmp_path / "again.npz").x, run.x)


def test_a_run_of_the_family_has_the_bits_and_lengths_of_simulate(server: Server) -> None:
    scene = {**SMALL, "mask": "full", "family": FAMILIES["sharper heads"]}
    run = simulated(scene)
    with client(server) as page:
        page.tell(do="run", id=1, scene=scene)
        begun, t, x, found, ended = page.watch(1)
        page.tell(do="run", id=2, scene={**scene, "family": {"norm": "mix"}})
        assert "tau is missing" in page.hear()[0]["text"]
    assert np.array_equal(t, run.t)
    assert np.array_equal(x, run.x)
    assert np.array_equal(found["norms"], run.norms)  # type: ignore[arg-type]  # it has some
    assert "consumed_renyi" not in found
    assert (begun["lengths"], ended["status"]) == (True, "done")


@patient
def test_a_run_with_noise_and_many_heads_is_cancelled_as_soon_as_others(server: Server) -> None:
    """An hour of steps, of which none ends a frame."""
    family = {"noise": 10.0, "heads": 8, "weights": "exponential"}
    scene = {"n": 1500, "d": 2, "beta": 1.0, "mask": "full", "t": 1000.0, "dt": 0.001, "frames": 3}
    with client(server) as page:
        page.tell(do="run", id=1, scene={**scene, "family": family})
        page.wait_for("progress")
        time.sleep(0.3)
        began = time.perf_counter()
        page.tell(do="cancel", id=1)
        ended = page.wait_for("ended")[0]
        check_wall_seconds(time.perf_counter() - began, SOON)
    assert ended["status"] == "cancelled"
    until(lambda: engine_threads() == 0)


@patient
def test_a_cancelled_run_keeps_what_there_is_and_ends_soon(server: Server) -> None:
    with client(server) as page:
        page.tell(do="run", id=1, scene=LONG)
        page.wait_for("frames")
        time.sleep(0.3)
        began = time.perf_counter()
        page.tell(do="cancel", id=2)  # another run: nothing happens
        page.tell(do="cancel", id=1)
        ended = page.wait_for("ended")[0]
        check_wall_seconds(time.perf_counter() - began, SOON)
        _, found = page.wait_for("measured")
    assert ended["status"] == "cancelled"
    assert 1 <= len(found["clusters"]) < LONG["frames"]
    until(lambda: engine_threads() == 0)


def test_who_cancels_does_not_wait_until_everything_is_measured(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()

    def slow(*arguments: Any) -> Any:
        assert go_on.wait(60.0), "the run was never reported as ended"
        return measure(*arguments)

    monkeypatch.setattr("nucleate.explorer.session.measure", slow)
    with client(server) as page:
        page.tell(do="run", id=1, scene=LONG)
        page.wait_for("frames")
        page.tell(do="cancel", id=1)
        assert page.wait_for("ended")[0]["status"] == "cancelled"
        go_on.set()
        assert page.wait_for("measured")[0]["id"] == 1


def test_a_new_run_takes_the_place_of_the_old_one(server: Server) -> None:
    small = {"n": 5, "t": 1.0, "frames": 4}
    with client(server) as page:
        page.tell(do="run", id=1, scene=LONG)
        page.wait_for("frames")
        began = time.perf_counter()
        for id in range(2, 12):  # a slider is dragged
            page.tell(do="run", id=id, scene=small)
        ended = page.wait_for("ended")[0]
        assert (ended["id"], ended["status"]) == (1, "cancelled")
        while (ended := page.wait_for("ended")[0])["id"] != 11:
            assert ended["id"] < 11
        assert ended["status"] == "done"
        check_wall_seconds(time.perf_counter() - began, 2 * SOON)
    until(lambda: engine_threads() == 0)


def test_a_run_ends_when_its_time_is_over(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nucleate.explorer.limits.MAX_RUN_SECONDS", 0.3)
    with client(server) as page:
        page.tell(do="run", id=1, scene=LONG)
        assert page.wait_for("ended")[0]["status"] == "time limit"


def test_a_lost_client_frees_its_run_and_its_place(server: Server) -> None:
    until(lambda: server.explorer.sessions == 0)
    with client(server) as page:
        page.tell(do="run", id=1, scene=LONG)
        page.wait_for("frames")
        until(lambda: engine_threads() > 0)
        assert server.explorer.sessions == 1
        page.wire.socket.close()  # no goodbye
    until(lambda: server.explorer.sessions == 0 and engine_threads() == 0, SOON)


class FakeSocket:
    """A websocket that takes binary messages only when told to."""

    def __init__(self, messages: list[Any]) -> None:
        self.messages = list(messages)
        self.texts: list[dict[str, Any]] = []
        self.taken: list[bytes] = []
        self.offered = 0
        self.open = asyncio.Event()
        self.over = asyncio.Event()

    async def receive(self) -> Any:
        if self.messages:
            return self.messages.pop(0)
        await self.over.wait()
        return {"type": "websocket.disconnect"}

    async def send_text(self, data: str) -> None:
        self.texts.append(json.loads(data))
        if self.texts[-1]["say"] == "ended":
            self.over.set()

    async def send_bytes(self, data: bytes) -> None:
        self.offered += 1
        await self.open.wait()
        self.taken.append(data)

    async def close(self, code: int = 1000) -> None:
        self.over.set()


def text(message: Any) -> dict[str, Any]:
    return {"type": "websocket.receive", "text": message if isinstance(message, str) else json.dumps(message)}


def test_a_slow_client_piles_up_nothing_and_gets_every_frame_in_the_end() -> None:
    scene = {"n": 200, "t": 100.0, "frames": 200}

    async def main() -> FakeSocket:
        socket = FakeSocket([text({"do": "run", "id": 1, "scene": scene})])
        with ThreadPoolExecutor(4) as pool:
            session = Session(socket, Folder(None), pool, lambda: True)
            living = asyncio.create_task(session.serve({"say": "hello"}))
            while (
                session.requested is None
                or session.requested.running is None
                or session.requested.running.ready < 200
            ):
                await asyncio.sleep(0.01)
            assert socket.offered == 1, (
                "one message waits for the client; the rest stays in the one array of frames"
            )
            socket.open.set()
            await living
        return socket

    socket = asyncio.run(main())
    parts = [unpack(message) for message in socket.taken]
    x = np.concatenate([arrays["x"] for header, arrays in parts if header["say"] == "frames"])
    assert np.array_equal(x, simulated(scene).x)


def test_while_the_kernels_are_compiled_the_page_is_told_why_it_waits() -> None:
    async def main() -> FakeSocket:
        socket = FakeSocket([text({"do": "run", "id": 1, "scene": LONG})])
        socket.open.set()
        with ThreadPoolExecutor(4) as pool:
            serving = asyncio.create_task(
                Session(socket, Folder(None), pool, lambda: False).serve({"say": "hello"})
            )
            while not any(message["say"] == "progress" for message in socket.texts):
                await asyncio.sleep(0.01)
            socket.over.set()
            await serving
        return socket

    progress = [message for message in asyncio.run(main()).texts if message["say"] == "progress"]
    assert all("being compiled" in message["text"] and message["compiling"] for message in progress)


def test_while_a_run_is_prepared_the_page_is_told_why_it_waits(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Centers are found by compiled code: with an empty cache the first click waited for it in silence."""
    told, prepare = threading.Event(), Session._prepare

    def slow(session: Session, request: Any) -> Any:
        told.wait(30.0)
        return prepare(session, request)

    monkeypatch.setattr("nucleate.explorer.session.PROGRESS_SECONDS", 0.05)
    monkeypatch.setattr("nucleate.explorer.session.is_compiling", lambda: False)  # the server may compile
    monkeypatch.setattr(Session, "_prepare", slow)
    with client(server) as page:
        page.tell(do="run", id=5, scene=SMALL)
        first = page.hear()[0]
        told.set()
        assert (first["say"], first["id"], first["share"]) == ("progress", 5, 0.0)
        assert (first["text"], first["compiling"]) == ("The run is being prepared.", False)
        with not_awaited():
            assert page.wait_for("begun")[0]["id"] == 5


@contextmanager
def not_awaited() -> Iterator[None]:
    """Something is being compiled meanwhile, or so it seems."""
    end = threading.Event()
    thread = threading.Thread(target=end.wait, name="nucleate-compile")
    thread.start()
    try:
        assert is_compiling()
        yield
    finally:
        end.set()
        thread.join()


def test_a_session_outlives_thousands_of_malformed_messages() -> None:
    bad = [message for message in malformed_messages(3000, seed=1) if refusal(message) is not None]
    assert len(bad) > 1500
    messages = [text(message) for message in bad] + [{"type": "websocket.receive", "bytes": b"\0" * 100}]

    async def main() -> FakeSocket:
        socket = FakeSocket(
            [*messages, text({"do": "run", "id": 1, "scene": {"n": 5, "t": 1.0, "frames": 4}})]
        )
        socket.open.set()
        with ThreadPoolExecutor(4) as pool:
            await Session(socket, Folder(None), pool, lambda: True, rate_limit=RateLimit(1e9, 1e9)).serve(
                {"say": "hello"}
            )
        return socket

    socket = asyncio.run(main())
    said = [message["say"] for message in socket.texts]
    assert said.count("error") == len(messages)
    assert socket.texts[-1] == {**socket.texts[-1], "say": "ended", "status": "done"}


@pytest.mark.parametrize("size", [1_000_001, 1_003_000])
def test_a_message_a_little_too_large_ends_the_session_in_words(server: Server, size: int) -> None:
    with client(server) as page:
        page.wire.send('{"do":"python","scene":{"clock":"' + "x" * size + '"}}')
        words, code = last_words(page)
    assert "more than 1,000,000 bytes" in words
    assert code == 1009


def test_an_oversized_message_ends_the_session_and_no_other(server: Server) -> None:
    with client(server) as other, client(server) as page:
        with suppress(ConnectionClosed):  # while it is being sent
            page.wire.send('{"do":"python","scene":{"clock":"' + "x" * 3_000_000 + '"}}')
        # The server hangs up on what it has not read, so its code may be overtaken by the reset of the
        # connection.
        assert last_words(page) in [("", 1009), ("", NO_CODE)]
        other.tell(do="python", scene={})
        assert other.hear()[0]["say"] == "python"


def test_too_many_messages_end_the_session_in_words(server: Server) -> None:
    """As soon as it is told no more is sent: what is sent to a closed connection resets it."""
    told = ""
    with client(server) as page:
        with suppress(ConnectionClosed):  # while one more is being sent
            while not told:
                page.tell(do="cancel", id=1)
                with suppress(TimeoutError):
                    told = page.hear(0.0)[0].get("text", "")
        words, code = last_words(page)
    assert code in (1008, NO_CODE)  # the reset may overtake the code, and the words
    assert code == NO_CODE or "messages a second" in (words or told)


def last_words(page: Client) -> tuple[str, int]:
    """The last error a session was told before it was closed, and the code it was closed with."""
    words = ""
    while True:
        try:
            words = page.hear()[0].get("text", words)
        except ConnectionClosed as closed:
            return words, NO_CODE if closed.rcvd is None else closed.rcvd.code


def test_fifty_messages_a_second_are_taken(server: Server) -> None:
    with client(server) as page:
        for _ in range(60):
            page.tell(do="python", scene={})
            assert page.hear()[0]["say"] == "python"
            time.sleep(0.02)
