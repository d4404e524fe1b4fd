"""What every page is told first."""

import json

from nucleate import __version__
from nucleate.explorer.greeting import greeting
from nucleate.explorer.presets import presets
from nucleate.explorer.scene import Scene, parse_scene


def test_the_greeting_is_plain_and_complete() -> None:
    told = json.loads(json.dumps(greeting(), allow_nan=False))
    assert told["version"] == __version__
    assert parse_scene(told["defaults"]) == Scene()
    assert [one["name"] for one in told["presets"]] == [one.name for one in presets()]
    assert told["limits"]["n"] >= 10_000
    assert {"identity", "row3"} <= {one["name"] for one in told["matrices"]}
