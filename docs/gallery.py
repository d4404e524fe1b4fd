"""Draws the pictures of pictures.md and of instruments/*.md into docs/images: python docs/gallery.py [NAME
...]

Every block of Python on those pages with a picture below it is run, and its figure becomes that picture.
"""

import re
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

from nucleate import plot

HERE = Path(__file__).resolve().parent
DPI = 90  # small pictures: 630 pixels wide


def blocks(page: str) -> dict[str, str]:
    """The code that makes each picture, by the name of its file."""
    found = re.findall(
        r"^```python\n(.*?)^```\n(?:\n*!\[[^\]]*\]\((?:\.\./)?images/([\w-]+\.png)\))?",
        page,
        flags=re.M | re.S,
    )
    return {name: code for code, name in found if name}


def draw(code: str, file: Path) -> None:
    """Run the code; what it drew last goes into the file."""
    with plot.style("light"):
        exec(compile(code, file.name, "exec"), {})
        pyplot.gcf().savefig(file, dpi=DPI, pil_kwargs={"optimize": True})
    pyplot.close("all")


def main(names: list[str]) -> None:
    """All pictures, or those named."""
    for page in (HERE / "pictures.md", *sorted((HERE / "instruments").glob("*.md"))):
        for name, code in blocks(page.read_text(encoding="utf-8")).items():
            if not names or name in names:
                draw(code, HERE / "images" / name)
                print(f"images/{name}: {(HERE / 'images' / name).stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
