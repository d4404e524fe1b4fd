"""What `nucleate doctor` says of this machine and of what is installed."""

from pathlib import Path

import pytest
from support.command_line import nucleate
from support.project import PROJECT, name_of

from nucleate.cli import doctor


def test_it_fits_on_one_screen_and_names_version_processor_and_cache() -> None:
    done = nucleate("doctor")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert len(lines) <= 24
    rows = {line[: doctor.WIDE].strip(): line[doctor.WIDE :].strip() for line in lines}
    assert rows["nucleate"].startswith(PROJECT["version"])
    assert {"Python", "packages", "machine", "processor", "card", "compiled code", "ready"} <= set(rows)
    assert "cores" in rows["machine"]


@pytest.mark.parametrize(
    ("vectors", "shown"),
    [
        ("AVX-512, eight doubles at once", "znver4; AVX-512, 8 doubles at once"),
        ("AVX2, four", "znver4; AVX2, 4 doubles at once"),
        ("no wide vectors: slower", "znver4; no wide vectors: slower"),
    ],
)
def test_it_says_in_numbers_how_many_doubles_are_computed_at_once(vectors: str, shown: str) -> None:
    assert doctor._in_numbers("znver4", vectors) == shown


def test_nothing_is_both_ready_and_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_is_there", lambda name: False)
    (ready,) = doctor._present()
    assert not [one.what for one in doctor.EXTRAS if one.what in ready]


def test_what_is_missing_is_named_with_the_command_that_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_is_there", lambda name: name != "uvicorn")
    done = nucleate("doctor", "--quiet")
    assert done.stdout.splitlines() == [
        "missing         explore: uvicorn (python -m pip install 'nucleate[explorer]')"
    ]
    monkeypatch.setattr(doctor, "_is_there", lambda name: False)
    assert len(nucleate("doctor", "--quiet").stdout.splitlines()) == len(doctor.EXTRAS)


def test_it_knows_the_extras_of_the_package() -> None:
    """All of them, and every package; but those of developers, and what an extra only holds back."""
    known: dict[str, set[str]] = {}
    for one in doctor.EXTRAS:
        known.setdefault(one.extra, set()).update(one.packages)
    for extra, lines in PROJECT["optional-dependencies"].items():
        if extra not in ("dev", "docs", "browser"):
            asked = {name_of(line).replace("-", "_") for line in lines} - {"nucleate", "numpy"}
            assert known.pop(extra, None) == asked, extra
    assert not known


def test_compiled_code_that_vanishes_is_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "there.nbc").write_bytes(bytes(2**20))
    (tmp_path / "gone.nbc").symlink_to(tmp_path / "nothing")  # listed, but not to be looked at
    monkeypatch.setattr("nucleate.kernels.code_cache.cache_folder", lambda: tmp_path)
    assert "1 functions, 1.0 MiB" in doctor._compiled_code()[0]
