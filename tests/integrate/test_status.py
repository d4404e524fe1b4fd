"""Every way a run can end has a name, a number and a remedy."""

from nucleate.integrate import status
from nucleate.integrate.status import STATUS, STATUS_HELP


def test_every_status_says_what_happened_and_what_to_do() -> None:
    assert set(STATUS_HELP) == set(STATUS) - {"running"}
    for name, help in STATUS_HELP.items():
        fact, _, remedy = help.partition(". ")
        assert fact, name
        assert remedy.endswith("."), name


def test_the_numbers_of_compiled_code_are_the_places_of_the_names() -> None:
    for number, name in enumerate(STATUS):
        assert getattr(status, name.upper().replace(" ", "_").replace("-", "_")) == number
