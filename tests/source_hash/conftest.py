"""Source code to edit."""

from support.source_copies import source_copy

__all__ = ["source_copy"]
