"""What attackers and broken programs send to the explorer: malformed messages, paths out of a folder."""

import json
import random
from collections.abc import Iterator
from typing import Any

from nucleate.explorer.page_requests import BadMessage, parse_request


def malformed_messages(count: int, seed: int = 0) -> Iterator[str]:
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
        {"do": "matrix", "name": "V", "d": 3, "text": "diag(1,1,-2)"},
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


def refusal(message: str) -> str | None:
    """Why a message is not understood; any other exception is a mistake of ours."""
    try:
        parse_request(message)
    except BadMessage as error:
        return str(error)
    return None


def path_traversals() -> list[str]:
    """Two hundred ways to ask for a file that is none of our business."""
    ups = [
        "..",
        "%2e%2e",
        "..%2f",
        "%2e%2e%2f",
        "..%5c",
        "..\\",
        "....//",
        "..;",
        "%252e%252e%252f",
        "..%c0%af",
        "%uff0e%uff0e",
        ".%00.",
        "..%00",
    ]
    files = ["etc/passwd", "zarr.json", "run.npz", "index.html", "pyproject.toml"]
    found = [f"/{'/'.join([up] * depth)}/{file}" for up in ups for depth in (1, 3, 8) for file in files]
    found += [
        "//etc/passwd",
        "/file:///etc/passwd",
        "/%2fetc%2fpasswd",
        "/static/../../etc/passwd",
        "/.git/config",
        "/page/index.html",
        "/socket/",
        "/socket/..",
    ]
    found += [
        "/./",
        "//",
        "/%2e",
        "/index.html",
        "/\\\\host\\share",
        "/C:/Windows/win.ini",
        "/proc/self/environ",
        "/~/.ssh/id_rsa",
    ]
    return found[:220]
