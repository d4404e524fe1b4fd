"""What the help shows beside an option: nothing for a switch, else a word for the value."""

import re

import pytest
from support.command_line import nucleate


@pytest.mark.parametrize(
    "words", ["", "simulate", "ensemble", "reproduce", "spectra", "trace", "export", "bench"]
)
def test_switches_have_no_value_and_no_type_of_python_is_shown(words: str) -> None:
    shown = nucleate(*words.split(), "--help").stdout
    assert "--help" in shown
    assert re.findall(r"<bool>|<list|<str>|<float>|<Path>|range>", shown) == []


def test_an_option_that_may_be_repeated_shows_what_one_of_them_is() -> None:
    (line,) = [line for line in nucleate("simulate", "--help").stdout.splitlines() if "--out" in line][:1]
    assert re.search(r"<path>|PATH", line)


def test_brackets_in_a_help_are_not_taken_for_markup() -> None:
    shown = " ".join(re.sub(r"[│\s]+", " ", nucleate("simulate", "--help").stdout).split())
    assert "the table [model] of a .toml file" in shown
