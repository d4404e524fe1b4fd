"""The gallery shows every picture, and each is what its code draws."""

import re
from pathlib import Path
from types import ModuleType

import matplotlib
import numpy as np
import pytest
from PIL import Image
from support.docs_scripts import docs_script

from nucleate import plot

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "pictures.md").read_text(encoding="utf-8")
# The stored images are drawn by this version; others set words with other pixels.
CONSTRAINTS = (DOCS.parent / "constraints.txt").read_text(encoding="utf-8")
(PINNED,) = re.findall(r"^matplotlib==(\S+)$", CONSTRAINTS, flags=re.M)


@pytest.fixture(scope="module")
def gallery() -> ModuleType:
    return docs_script("gallery")


def test_every_picture_is_on_the_page() -> None:
    assert [
        name for name in plot.__all__ if not re.search(rf"`(nc\.plot\.)?{name}\b|plot\.{name}\(", PAGE)
    ] == []


def test_every_image_on_the_page_has_the_code_that_makes_it_and_is_small(gallery: ModuleType) -> None:
    shown = re.findall(r"\]\(images/([\w-]+\.png)\)", PAGE)
    assert len(shown) >= 10
    assert list(gallery.blocks(PAGE)) == shown
    assert [name for name in shown if (DOCS / "images" / name).stat().st_size >= 150_000] == []


@pytest.mark.parametrize("name", ["picture-spectrum.png", "picture-dark.png"])
def test_the_stored_image_is_what_the_code_draws(name: str, gallery: ModuleType, tmp_path: Path) -> None:
    gallery.draw(gallery.blocks(PAGE)[name], tmp_path / name)
    if matplotlib.__version__ != PINNED:
        pytest.skip(f"this is Matplotlib {matplotlib.__version__}; the stored pixels are those of {PINNED}")
    with Image.open(tmp_path / name) as new, Image.open(DOCS / "images" / name) as stored:
        assert new.size == stored.size
        apart = np.abs(
            np.asarray(new.convert("RGB"), dtype=float) - np.asarray(stored.convert("RGB"), dtype=float)
        )
    assert apart.mean() < 1.0  # of 255: the last digits of a run may differ between machines
