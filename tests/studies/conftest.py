"""What several tests of studies use: the small study, finished; and source code to edit."""

from support.finished_study import finished
from support.source_copies import source_copy

__all__ = ["finished", "source_copy"]
