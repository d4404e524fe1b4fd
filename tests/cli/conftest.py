"""The small study, finished."""

from support.finished_study import finished

__all__ = ["finished"]
