"""A time in words is one number."""

import pytest

from nucleate.durations import in_words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "about 1 s"),
        (40.0, "about 40 s"),
        (89.0, "about 89 s"),
        (100.0, "about 1.7 min"),
        (1930.0, "about 32 min"),
        (4 * 3600.0, "about 4 h"),
        (2.4 * 86400.0, "about 2.4 days"),
        (1e6, "about 12 days"),
    ],
)
def test_a_time_is_one_number(seconds: float, words: str) -> None:
    assert in_words(seconds) == words
