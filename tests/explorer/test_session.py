"""Sessions over a real websocket: the same bits as nc.simulate, one run at a time, and nothing a page says
can hurt the others."""

import asyncio
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from numpy.typing import NDArray
from support.explorer_server import Client, client, house, raw, request, until, upgrade
from support.time_limits import patient, several_programs, soon
from websockets.exceptions import ConnectionClosed

import nucleate as nc
from nucleate.explorer.frames import pack, unpack
from nucleate.explorer.guard import Bucket
from nucleate.explorer.measures import measure, model_facts
from nucleate.explorer.prepared_run import of_scene
from nucleate.explorer.presets import presets
from nucleate.explorer.requests import Refused, parse_request
from nucleate.explorer.running import Stage
from nucleate.explorer.scene import LIMITS, parse_scene
from nucleate.explorer.server import Explorer, Serving
from nucleate.explorer.session import Session
from nucleate.explorer.stored import Folder

LONG = {"n": 3000, "d": 3, "beta": 30.0, "t": 1e6, "frames": 50}  # minutes
OUTSIDE = "outside the table: Table 1 is about causal attention without frozen tokens"
NO_CODE = 0  # the connection ended without one
pytestmark = several_programs
SOON = 5.0  # seconds: a cancelled run ends within two ticks of 0.1 s, on a busy machine a little later


@pytest.fixture(scope="module")
def serving() -> Iterator[Serving]:
    with house() as serving:
        yield serving


def simulated(scene: dict[str, Any]) -> nc.Run:
    made = parse_scene(scene)
    return nc.simulate(
        made.model, made.x0, made.t, save=made.times, rtol=made.tolerance, atol=made.tolerance / 100
    )


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
    serving: Serving, scene: dict[str, Any]
) -> None:
    run = simulated(scene)
    with client(serving) as page:
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
    assert begun["spectrum"]["verdict"] == (atlas.final if spoken else OUTSIDE)


@pytest.mark.parametrize(
    ("model", "row", "why"),
    [
        (nc.Attention(4.0), 1, "Theorem 4.1"),
        (nc.Attention(4.0, mask=nc.Window(9)), 1, "Theorem 4.1"),  # as wide as the sequence: causal
        (nc.Attention(4.0, mask="full"), None, "sees all others"),
        (nc.Attention(4.0, mask=nc.Window(1)), None, "only itself"),
        (nc.Attention(4.0, mask=nc.Window(8)), None, "only the last 8"),
        (nc.Attention(4.0, frozen=nc.Frozen(nc.uniform(1, 2, 0))), None, "frozen tokens"),
    ],
    ids=["causal", "wide window", "full", "alone", "window", "frozen"],
)
def test_table_1_is_applied_to_causal_attention_without_frozen_tokens_only(
    model: nc.Attention, row: int | None, why: str
) -> None:
    spectrum = model_facts(model, 9, 2)["spectrum"]
    assert spectrum["row"] == row
    assert why in spectrum["why"]
    assert (spectrum["status"] == "theorem") == (row == 1)
    assert (spectrum["verdict"] == OUTSIDE) == (row is None)


def test_principal_directions_are_those_of_a_singular_value_decomposition(serving: Serving) -> None:
    with client(serving) as page:
        page.tell(do="run", id=1, scene={"n": 30, "d": 5, "beta": 3.0, "t": 10.0, "frames": 20})
        _, _, x, found, _ = page.watch(1)
    slow = np.linalg.svd(x.reshape(-1, 5), full_matrices=False)[2][:3]  # (3, d)
    assert found["directions"].shape == (5, 3)
    # gaps of the spectrum are far above 1e-6
    assert np.abs(np.abs(slow @ found["directions"]) - np.eye(3)).max() < 1e-9


@patient
def test_the_first_frame_comes_within_300_ms_for_the_sizes_of_the_paper(serving: Serving) -> None:
    for name in ("figure2", "figure1-row3", "figure1-complex", "life"):
        scene = next(preset.scene for preset in presets() if preset.name == name)
        waits = []
        with client(serving) as page:
            for id in range(3):
                began = time.perf_counter()
                page.tell(do="run", id=id, scene=scene.plain())
                page.wait_for("frames")
                waits.append(time.perf_counter() - began)
                page.wait_for("ended")
        soon(min(waits), 0.3, f"the first frame of {name}")


def test_hello_says_what_there_is(serving: Serving) -> None:
    with client(serving) as page:
        hello = page.hello
    assert hello["version"] == nc.__version__
    assert parse_scene(hello["defaults"]) == parse_scene({})
    assert hello["limits"] == LIMITS
    assert len(hello["presets"]) == len(presets())
    first = hello["matrices"][0]
    assert first == {
        "name": "identity",
        "title": "identity",
        "of_V": "identity: row 1, all tokens end at the first",
        "dims": [2, 64],
        "seeded": False,
    }
    assert [one["title"] for one in hello["matrices"] if "row" in one["title"]] == [], (
        "Table 1 speaks of V, not of Q and K"
    )
    assert hello["opened"] == []
    assert hello["open"] is None
    assert hello["link"] is None


def test_python_is_sent_when_asked_for(serving: Serving) -> None:
    from nucleate.explorer.python import as_python

    with client(serving) as page:
        page.tell(do="python", scene={"n": 9})
        assert page.hear()[0] == {"say": "python", "text": as_python(parse_scene({"n": 9}))}


def test_downloaded_data_opens_as_the_same_run(serving: Serving, tmp_path: Path) -> None:
    scene = {"n": 12, "t": 5.0, "frames": 6, "V": {"preset": "complex"}}
    with client(serving) as page:
        page.tell(do="run", id=4, scene=scene)
        _, t, x, _, _ = page.watch(4)
        page.tell(do="data", id=4)
        header, arrays = page.wait_for("file")
        page.tell(do="data", id=5)
        assert page.hear()[0]["say"] == "error"
    assert header["name"] == "nucleate-run.npz"
    path = tmp_path / header["name"]
    path.write_bytes(arrays["bytes"].tobytes())
    run = nc.load(path)
    assert np.array_equal(run.x, x)
    assert np.array_equal(run.t, t)
    assert parse_scene(run.notes["scene"]) == parse_scene(scene)
    assert np.array_equal(run.model.V, parse_scene(scene).model.V)  # type: ignore[arg-type]  # it has one


@patient
def test_a_cancelled_run_keeps_what_there_is_and_ends_soon(serving: Serving) -> None:
    with client(serving) as page:
        page.tell(do="run", id=1, scene=LONG)
        page.wait_for("frames")
        time.sleep(0.3)
        began = time.perf_counter()
        page.tell(do="cancel", id=2)  # another run: nothing happens
        page.tell(do="cancel", id=1)
        ended = page.wait_for("ended")[0]
        soon(time.perf_counter() - began, SOON)
        _, found = page.wait_for("measured")
    assert ended["status"] == "cancelled"
    assert 1 <= len(found["clusters"]) < LONG["frames"]
    until(lambda: engine_threads() == 0)


def test_who_cancels_does_not_wait_until_everything_is_measured(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()

    def slow(*arguments: Any) -> Any:
        assert go_on.wait(60.0), "the run was never reported as ended"
        return measure(*arguments)

    monkeypatch.setattr("nucleate.explorer.session.measure", slow)
    with client(serving) as page:
        page.tell(do="run", id=1, scene=LONG)
        page.wait_for("frames")
        page.tell(do="cancel", id=1)
        assert page.wait_for("ended")[0]["status"] == "cancelled"
        go_on.set()
        assert page.wait_for("measured")[0]["id"] == 1


def test_a_new_run_takes_the_place_of_the_old_one(serving: Serving) -> None:
    small = {"n": 5, "t": 1.0, "frames": 4}
    with client(serving) as page:
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
        assert time.perf_counter() - began < 2 * SOON
    until(lambda: engine_threads() == 0)


def test_a_run_ends_when_its_time_is_over(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LIMITS, "seconds", 0.3)
    with client(serving) as page:
        page.tell(do="run", id=1, scene=LONG)
        assert page.wait_for("ended")[0]["status"] == "time limit"


def test_a_lost_client_frees_its_run_and_its_place(serving: Serving) -> None:
    until(lambda: serving.explorer.sessions == 0)
    with client(serving) as page:
        page.tell(do="run", id=1, scene=LONG)
        page.wait_for("frames")
        until(lambda: engine_threads() > 0)
        assert serving.explorer.sessions == 1
        page.wire.socket.close()  # no goodbye
    until(lambda: serving.explorer.sessions == 0 and engine_threads() == 0, SOON)


def test_a_fifth_session_is_told_so_and_comes_in_when_another_leaves(serving: Serving) -> None:
    until(lambda: serving.explorer.sessions == 0)
    pages = [client(serving) for _ in range(4)]
    for page in pages:
        assert page.__enter__().hello["say"] == "hello"
    with client(serving) as fifth:
        assert fifth.hello["say"] == "error"
        assert "open 4 times already" in fifth.hello["text"]
        with pytest.raises(ConnectionClosed) as closed:
            fifth.hear()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1013
    pages.pop().__exit__(None, None, None)
    until(lambda: serving.explorer.sessions == 3)
    with client(serving) as again:
        assert again.hello["say"] == "hello"
    for page in pages:
        page.__exit__(None, None, None)


def test_stored_runs_and_ensembles_are_shown(tmp_path: Path) -> None:
    from support.made_runs import many_runs
    from support.small_studies import small

    from nucleate.explorer.stored import open_folder

    run = nc.simulate(nc.Attention(9.0, V=np.diag([1.0, 0.5, 0.2])), nc.uniform(8, 3, 4), 50.0, save=12)
    run.save(tmp_path / "a.zarr")
    many_runs().save(tmp_path / "b.npz")
    ensemble = nc.ensemble(small(), tmp_path / "c.zarr")
    (tmp_path / "d.npz").write_bytes(b"no run")
    (tmp_path / "e.txt").write_text("no run")
    points = int(np.prod([len(values) for values in ensemble.study["grid"].values()]))
    with house(open_folder(tmp_path)) as serving, client(serving) as page:
        listed = {one["name"]: (one["kind"], one["runs"]) for one in page.hello["opened"]}
        assert listed == {
            "a.zarr": ("run", 1),
            "b.npz": ("run", 3),
            "c.zarr": ("ensemble", points * ensemble.data.sizes["run"]),
        }
        page.tell(do="open", id=1, name="a.zarr")
        begun, t, x, found, ended = page.watch(1)
        assert np.array_equal(x, run.x)
        assert np.array_equal(t, run.t)
        assert begun["recorded"]
        assert begun["scene"] is None
        assert begun["spectrum"]["row"] == 3
        assert (ended["status"], ended["steps"]) == (run.status, run.steps)
        page.tell(do="open", id=2, name="b.npz", run=1)
        begun, t, x, found, ended = page.watch(2)
        assert np.array_equal(x, many_runs().x[1, :4])  # it was cut short
        assert begun["beta"] == 2.0
        assert ended["status"] == "stalled"
        page.tell(do="open", id=3, name="c.zarr", run=points * ensemble.data.sizes["run"] - 1)
        begun, _, x, _, ended = page.watch(3)
        assert begun["recorded"]
        assert ended["status"] == "done"
        _check_ensemble_run(ensemble, x)
        page.tell(do="open", id=4, name="b.npz", run=3)
        assert "no run 3" in page.hear()[0]["text"]


def _check_ensemble_run(ensemble: Any, x: Any) -> None:
    """The last run of the last point, started and ended as the ensemble did."""
    from nucleate.studies.points import stream

    runs = ensemble.data.sizes["run"]
    assert np.array_equal(x[0], nc.uniform(x.shape[1], x.shape[2], stream(ensemble.study["seed"], runs - 1)))
    stored = ensemble.data["ends"].values[-1, -1]  # (n, d) at the last time
    # both are good to a few times rtol = 1e-6, grown while tokens part
    assert np.abs(x[-1] - stored).max() < 1e-4


# --- a slow client


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
            living = asyncio.create_task(session.live({"say": "hello"}))
            while session.job is None or session.job.stage is None or session.job.stage.reached < 200:
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


def test_the_start_is_there_before_the_engine_is_called() -> None:
    take = of_scene(parse_scene({"n": 5, "frames": 4}))
    stage = Stage(take, lambda: None)
    assert stage.reached == 1
    assert np.array_equal(stage.x[0], take.x0)


def test_frames_computed_after_the_last_report_are_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = simulated({"n": 5, "frames": 6, "t": 1.0})

    def cut_short(take: Any, on_frames: Any) -> nc.Run:
        assert on_frames(whole.t[:2], whole.x[:2])
        return replace(whole, t=whole.t[:5], x=whole.x[:5], status="cancelled")

    monkeypatch.setattr("nucleate.explorer.running.perform", cut_short)
    stage = Stage(of_scene(parse_scene({"n": 5, "frames": 6, "t": 1.0})), lambda: None)
    stage.x[1:] = np.nan  # memory is handed out again with what was in it: the very frames, as it happens
    assert np.array_equal(stage.perform().x, whole.x[:5])
    assert stage.reached == 5


# --- hostile clients


def junk(count: int, seed: int = 0) -> Iterator[str]:
    """Messages no page would send, most of them nearly right."""
    rng = random.Random(seed)
    good = [
        {
            "do": "run",
            "id": 7,
            "scene": {"n": 20, "d": 2, "beta": 9.0, "V": {"preset": "row3"}, "moved": {"1": [1, 0]}},
        },
        {"do": "cancel", "id": 7},
        {"do": "python", "scene": {"mask": {"window": 3}}},
        {"do": "data", "id": 1},
        {"do": "open", "name": "run.zarr", "run": 0},
    ]
    odd: list[Any] = [
        None,
        True,
        -1,
        1e308,
        10**30,
        "x" * 50,
        [],
        {},
        [[]],
        {"a": 1},
        "NaN",
        -0.0,
        "\0",
        "\u202e",
        "\ud83d",
    ]
    for _ in range(count):
        message = json.loads(json.dumps(rng.choice(good)))
        kind = rng.randrange(6)
        if kind == 0:
            yield json.dumps(message)[: rng.randrange(60)]
        elif kind == 1:
            message[rng.choice(["do", "id", "scene", "name", "run", "extra"])] = rng.choice(odd)
            yield json.dumps(message)
        elif kind == 2:
            scene = message.setdefault("scene", {})
            scene[
                rng.choice(
                    [
                        "n",
                        "d",
                        "beta",
                        "t",
                        "frames",
                        "mask",
                        "start",
                        "moved",
                        "V",
                        "Q",
                        "c",
                        "tolerance",
                        "seed",
                        "__proto__",
                    ]
                )
            ] = rng.choice(odd)
            yield json.dumps(message)
        elif kind == 3:
            words = list(json.dumps(message))
            for _ in range(rng.randrange(1, 4)):
                words[rng.randrange(len(words))] = chr(rng.randrange(1, 0x3000))
            yield "".join(words)
        elif kind == 4:
            yield rng.choice(
                [
                    "[" * 5000,
                    '{"a":' * 3000,
                    "1" * 5000,
                    '"' + "\\u0000" * 100 + '"',
                    "nul",
                    "",
                    " ",
                    "NaN",
                    "-Infinity",
                    "1e999",
                ]
            )
        else:
            yield "".join(chr(rng.randrange(32, 0x250)) for _ in range(rng.randrange(80)))


def test_malformed_messages_are_refused_in_words() -> None:
    words = [told for message in junk(4000) if (told := refusal(message)) is not None]
    assert len(words) > 2800  # some mutations change nothing that matters
    assert all(0 < len(told) < 700 for told in words)


def refusal(message: str) -> str | None:
    """Why a message is not understood; any other exception is a mistake of ours."""
    try:
        parse_request(message)
    except Refused as error:
        return str(error)
    return None


def test_a_session_outlives_thousands_of_malformed_messages() -> None:
    bad = [message for message in junk(3000, seed=1) if refusal(message) is not None]
    assert len(bad) > 1500
    messages = [text(message) for message in bad] + [{"type": "websocket.receive", "bytes": b"\0" * 100}]

    async def main() -> FakeSocket:
        socket = FakeSocket(
            [*messages, text({"do": "run", "id": 1, "scene": {"n": 5, "t": 1.0, "frames": 4}})]
        )
        socket.open.set()
        with ThreadPoolExecutor(4) as pool:
            await Session(socket, Folder(None), pool, lambda: True, bucket=Bucket(1e9, 1e9)).live(
                {"say": "hello"}
            )
        return socket

    socket = asyncio.run(main())
    said = [message["say"] for message in socket.texts]
    assert said.count("error") == len(messages)
    assert socket.texts[-1] == {**socket.texts[-1], "say": "ended", "status": "done"}


def test_duplicate_keys_and_numbers_that_are_none_are_refused() -> None:
    for message in (
        '{"do":"cancel","id":1,"id":2}',
        '{"do":"cancel","id":NaN}',
        '{"do":"run","id":1,"scene":{"beta":Infinity}}',
        '{"do":"cancel","id":1e999}',
    ):
        with pytest.raises(Refused):
            parse_request(message)


@pytest.mark.parametrize("size", [1_000_001, 1_003_000])
def test_a_message_a_little_too_large_ends_the_session_in_words(serving: Serving, size: int) -> None:
    with client(serving) as page:
        page.wire.send('{"do":"python","scene":{"clock":"' + "x" * size + '"}}')
        words, code = last_words(page)
    assert "more than 1,000,000 bytes" in words
    assert code == 1009


def test_an_oversized_message_ends_the_session_and_no_other(serving: Serving) -> None:
    with client(serving) as other, client(serving) as page:
        with suppress(ConnectionClosed):  # while it is being sent
            page.wire.send('{"do":"python","scene":{"clock":"' + "x" * 3_000_000 + '"}}')
        # The server hangs up on what it has not read, so its code may be overtaken by the reset of the
        # connection.
        assert last_words(page) in [("", 1009), ("", NO_CODE)]
        other.tell(do="python", scene={})
        assert other.hear()[0]["say"] == "python"


def test_too_many_messages_end_the_session_in_words(serving: Serving) -> None:
    with client(serving) as page:
        with suppress(ConnectionClosed):  # while they are being sent
            for _ in range(400):
                page.tell(do="cancel", id=1)
        words, code = last_words(page)
    assert "messages a second" in words
    assert code == 1008


def last_words(page: Client) -> tuple[str, int]:
    """The last error a session was told before it was closed, and the code it was closed with."""
    words = ""
    while True:
        try:
            words = page.hear()[0].get("text", words)
        except ConnectionClosed as closed:
            return words, NO_CODE if closed.rcvd is None else closed.rcvd.code


def test_fifty_messages_a_second_are_taken(serving: Serving) -> None:
    with client(serving) as page:
        for _ in range(60):
            page.tell(do="python", scene={})
            assert page.hear()[0]["say"] == "python"
            time.sleep(0.02)


HOUSE = """
import sys
sys.path[:0] = {path!r}
from support.explorer_server import house
with house() as serving:
    print(serving.port, serving.explorer.token, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def apart() -> Iterator[tuple[Any, psutil.Process]]:
    """A server in a process of its own, whose memory is its own."""
    code = HOUSE.format(path=[str(Path(__file__).parents[1])])
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        port, token = process.stdout.readline().split()
        yield _Apart(int(port), token), psutil.Process(process.pid)
        process.stdin.close()
        assert process.wait(30) == 0


class _Apart:
    """As much of a Serving as a client needs."""

    def __init__(self, port: int, token: str) -> None:
        self.port, self.explorer = port, Explorer("", token=token)


def test_under_a_flood_memory_is_steady_and_a_running_simulation_undisturbed(
    apart: tuple[Any, psutil.Process],
) -> None:
    serving, process = apart
    scene = {"n": 700, "d": 3, "beta": 40.0, "t": 1e3, "frames": 60, "tolerance": 1e-6}
    ours = f"127.0.0.1:{serving.port}"
    with client(serving) as page:
        # what it needs anyway is in memory before it is weighed
        page.tell(do="run", id=1, scene={**scene, "t": 1.0})
        page.watch(1)
        before = process.memory_info().rss
        most = [before]
        page.tell(do="run", id=2, scene=scene)
        floods = [
            threading.Thread(target=_flood, args=(serving, ours, kind, most, process)) for kind in range(4)
        ]
        for flood in floods:
            flood.start()
        _, t, x, _, ended = page.watch(2)
        for flood in floods:
            flood.join()
        page.tell(do="python", scene={})
        assert page.hear()[0]["say"] == "python"
    assert ended["status"] == "done"
    assert np.array_equal(x, simulated(scene).x)
    assert max(most) - before < 100e6


def _flood(serving: Any, ours: str, kind: int, most: list[int], process: psutil.Process) -> None:
    end = time.monotonic() + 4.0
    while time.monotonic() < end:
        try:
            if kind == 0:  # strangers
                raw(serving.port, request("/?token=guess", ours))
                raw(serving.port, upgrade("/socket?token=guess", ours, f"Origin: http://{ours}"))
            elif kind == 1:  # large bodies
                raw(serving.port, request("/", ours, "Content-Length: 900000", body=b"x" * 900_000))
            elif kind == 2:  # a page gone mad
                with client(serving) as page:
                    for message in junk(300):
                        page.wire.send(message)
            else:  # garbage
                raw(serving.port, os.urandom(5000))
        except (ConnectionClosed, OSError):
            pass
        most.append(process.memory_info().rss)


# --- the wire format


def test_packed_arrays_come_out_as_they_went_in_and_are_aligned() -> None:
    rng = np.random.default_rng(0)
    for words in range(12):
        arrays: dict[str, NDArray[Any]] = {
            "x": rng.standard_normal((3, 2, words)),
            "labels": rng.integers(-5, 5, (words, 3), dtype=np.int32),
            "bytes": rng.integers(0, 255, 5 + words, dtype=np.uint8),
            "last": np.array([np.nan, np.inf, -0.0]),
        }
        message = pack({"say": "frames", "id": words, "note": "β" * words}, arrays)
        header, found = unpack(message)
        assert header["note"] == "β" * words
        assert (4 + int.from_bytes(message[:4], "little")) % 8 == 0
        assert len(message) % 8 == 0
        for name, array in arrays.items():
            assert found[name].dtype == array.dtype
            assert np.array_equal(found[name], array, equal_nan=array.dtype.kind == "f")
