"""Takes the pictures of explorer.md into docs/pictures/explorer: python docs/explorer_shots.py, in the
environment of `make test-browser`."""

import json
import shutil
import sys
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

from PIL import Image

HERE = Path(__file__).resolve().parent
TARGET = HERE / "pictures" / "explorer"
PALETTE_COLOURS = 256  # of a picture: small files
SECOND_RUN = (
    """() => document.querySelector("section[data-view=clusters] .reading").textContent.includes("other")"""
)
# file, preset, share of the frames, view or whole page, look
SHOTS: tuple[tuple[str, str, float, str | None, dict[str, Any]], ...] = (
    ("page", "life", 0.32, None, {"theme": "light"}),
    ("page-dark", "planet", 0.62, None, {"theme": "dark"}),
    ("sphere", "figure1-row1", 0.62, "sphere", {"theme": "light"}),
    ("circle", "figure2", 0.5, "circle", {"theme": "light"}),
    ("angles", "life", 0.5, "angles", {"theme": "light"}),
    ("clusters", "life", 0.5, "clusters", {"theme": "light"}),
    ("consumption", "figure3", 0.5, "consumption", {"theme": "light"}),
    ("attention", "figure2", 0.5, "attention", {"theme": "light", "order": "cluster"}),
    ("spectrum", "figure5", 0.5, "spectrum", {"theme": "light"}),
    ("mergers", "life", 0.5, "mergers", {"theme": "light"}),
    ("lengths", "family-pre", 0.6, "lengths", {"theme": "light"}),
    ("family", "family-layers", 0.1, None, {"theme": "light"}),
    ("story", "", 0.65, None, {"theme": "light", "story": 5}),  # the step has a scene of its own
    ("side-by-side", "figure2", 0.55, None, {"theme": "light", "side": "mask"}),
)


def save(data: bytes, path: Path) -> None:
    """A small PNG: few colours, the nearest ones."""
    picture = (
        Image.open(BytesIO(data)).convert("RGB").quantize(PALETTE_COLOURS, kmeans=3, dither=Image.Dither.NONE)
    )
    picture.save(path, optimize=True)
    print(f"{path.relative_to(HERE)}: {path.stat().st_size / 1000:.0f} kB")


def main() -> None:
    """All pictures."""
    # the browser tests know how to start a browser and when a page has settled
    sys.path[:0] = [str(HERE.parent / "tests")]
    from playwright.sync_api import sync_playwright
    from support.chromium import CHROMIUM_FLAGS, HEIGHT_PIXELS, WIDTH_PIXELS, WatchedPage, shipped_server

    from nucleate.explorer.presets import presets

    TARGET.mkdir(parents=True, exist_ok=True)
    scenes = {preset.name: preset.scene for preset in presets()}
    with shipped_server() as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=CHROMIUM_FLAGS)
        for name, preset, share, view, look in SHOTS:
            context = browser.new_context(
                viewport={"width": WIDTH_PIXELS, "height": HEIGHT_PIXELS}, device_scale_factor=1
            )
            page = WatchedPage(context.new_page())
            state = {"view": look, **({} if preset == "" else {"scene": scenes[preset].plain(), "at": 0})}
            page.open(f"{server.address}#{quote(json.dumps(state), safe='')}", run=2 if preset == "" else 1)
            page.seek(round(share * (page.now()["scene"]["frames"] - 1)))
            if name == "side-by-side":
                page.page.wait_for_function(SECOND_RUN)
            if name == "story":  # pointed at, as while it plays
                page.page.evaluate("window.nucleate.highlight(9)")
                page.drawn()
            if name == "family":
                page.page.locator("details.family summary").click()
                page.drawn()
            place: Any = page.page if view is None else page.page.locator(f"section[data-view={view}]")
            save(place.screenshot(), TARGET / f"{name}.png")
            context.close()
        browser.close()


if __name__ == "__main__":
    main()
