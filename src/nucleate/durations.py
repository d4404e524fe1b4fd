"""A time in words, as a person would say it."""

__all__ = ["in_words"]

UNITS = (("days", 86400.0, 172800.0), ("h", 3600.0, 5400.0), ("min", 60.0, 90.0))  # seconds; said from ... on


def in_words(seconds: float) -> str:
    """In one number: "about 40 s", "about 1.7 min", "about 6 min", "about 1.5 h", "about 12 days"."""
    unit, size = next(((unit, size) for unit, size, least in UNITS if seconds >= least), ("s", 1.0))
    many = max(seconds, 1.0) / size
    return f"about {many:.2g} {unit}" if size > 1.0 and many < 3.0 else f"about {many:.0f} {unit}"
