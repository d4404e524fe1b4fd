"""Small texts that come with the package, for models to read; each says where it is from."""

from dataclasses import dataclass
from importlib.resources import files

from nucleate.checks import InputError, shortened

__all__ = ["ANTIBODIES", "ENGLISH", "WRITTEN", "Text", "shipped_texts"]

ENGLISH = ("alice", "declaration", "gettysburg", "glaciers", "moby-dick", "origin", "pride", "two-cities")
# written for this package: no model has read them
WRITTEN = ("bread", "chess", "clocks", "letter", "lighthouses", "markets", "rivers", "vaccines")
ANTIBODIES = ("antibodies",)


@dataclass(frozen=True)
class Text:
    """A text, its name, and where it is from."""

    name: str
    source: str
    text: str


def shipped_texts(names: tuple[str, ...] = ENGLISH) -> tuple[Text, ...]:
    """The texts of these names; of antibodies one text for each chain."""
    found: list[Text] = []
    for name in names:
        known = ENGLISH + WRITTEN + ANTIBODIES
        if name not in known:
            raise InputError(f"There is no text {shortened(name)}. Choose among {', '.join(known)}.")
        raw = files("nucleate.models").joinpath("texts", f"{name}.txt").read_text(encoding="utf-8")
        head, _, text = raw.partition("\n\n")
        source = " ".join(line.removeprefix("# ") for line in head.splitlines())
        pieces = text.strip().splitlines() if name in ANTIBODIES else [text.strip()]
        many = len(pieces) > 1
        found += [Text(f"{name}-{i}" if many else name, source, piece) for i, piece in enumerate(pieces)]
    return tuple(found)
