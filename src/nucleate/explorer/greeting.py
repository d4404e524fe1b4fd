"""What a page is told before anything else: defaults, limits, presets and matrices, by a server or inside a
site."""

from typing import Any

from nucleate import __version__
from nucleate.explorer import limits
from nucleate.explorer.matrices import MENU
from nucleate.explorer.presets import presets
from nucleate.explorer.scene import Scene
from nucleate.explorer.thumbnails import thumbnail_of

__all__ = ["greeting"]


def greeting() -> dict[str, Any]:
    """The part of the first message that is the same for every page."""
    return {
        "say": "hello",
        "version": __version__,
        "defaults": Scene().plain(),
        "limits": limits.PAGE_LIMITS,
        "presets": [preset.plain() for preset in presets()],
        "first_thumbnail": thumbnail_of("start", Scene()),
        "matrices": [one.plain() for one in MENU],
    }
