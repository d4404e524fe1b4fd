"""requirements/*.txt: what is installed is what pyproject.toml asks for and constraints.txt says, and every
file of it has a hash."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# an environment of the Makefile and the extras it has
EXTRAS = {
    name: words.split()
    for name, words in re.findall(
        r"^EXTRAS_(\w+) := (.+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M
    )
}
NOT_LOCKED = {"torch"}  # which build fits depends on the machine
FEWEST_WHEELS = 8  # of a compiled package: four systems, and more than one Python


class Locked(NamedTuple):
    """A version in a lock file."""

    package: str
    version: Version
    hashes: list[str]


def locked(name: str) -> list[Locked]:
    """The versions in a lock file; a package has several if they differ between systems or Pythons."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    found = []
    for line in text.replace("\\\n", "").splitlines():
        if line.strip() and not line.startswith("#"):
            pin = re.match(r"([a-zA-Z0-9._-]+)==(\S+)", line)
            assert pin, f"{line} is no exact version"
            hashes = re.findall(r"--hash=sha256:([0-9a-f]{64})\b", line)
            found.append(Locked(canonicalize_name(pin[1]), Version(pin[2]), hashes))
    return found


def versions(name: str, package: str) -> set[Version]:
    return {one.version for one in locked(name) if one.package == canonicalize_name(package)}


def asked(extras: list[str]) -> list[Requirement]:
    """What pyproject.toml asks for with some extras."""
    lines = list(PROJECT["dependencies"])
    for extra in extras:
        lines += PROJECT["optional-dependencies"][extra]
    found = []
    for requirement in map(Requirement, lines):
        found += asked(sorted(requirement.extras)) if requirement.name == "nucleate" else [requirement]
    return [one for one in found if canonicalize_name(one.name) not in NOT_LOCKED]


def constraints() -> dict[str, Version]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): Version(version) for name, version in pins}


def test_every_environment_has_a_lock_file_and_every_lock_file_an_environment() -> None:
    files = {path.stem for path in (ROOT / "requirements").glob("*.txt")}
    assert files == {*EXTRAS, "weights"}


@pytest.mark.parametrize("name", [*EXTRAS, "weights"])
def test_every_version_is_exact_and_has_its_hashes(name: str) -> None:
    assert [one.package for one in locked(name) if not one.hashes] == []


@pytest.mark.parametrize("name", EXTRAS)
def test_a_lock_file_holds_what_pyproject_asks_for_and_what_installs_the_package(name: str) -> None:
    for one in asked(EXTRAS[name]):
        found = versions(name, one.name)
        assert found, f"{one} is not there: make lock"
        assert all(version in one.specifier for version in found), f"{one}: make lock"
    packages = {one.package for one in locked(name)}
    assert {"hatchling", "editables"} <= packages
    assert not NOT_LOCKED & packages


@pytest.mark.parametrize("name", [name for name in EXTRAS if name != "lowest"])
def test_a_lock_file_has_the_versions_of_the_constraints(name: str) -> None:
    pins = constraints()
    wrong = [f"{one.package}=={one.version}" for one in locked(name) if pins.get(one.package) != one.version]
    assert wrong == [], "add what is missing to constraints.txt, then make lock"


@pytest.mark.parametrize("name", EXTRAS)
def test_the_hashes_of_compiled_packages_cover_other_systems_too(name: str) -> None:
    few = [one.package for one in locked(name) if len(one.hashes) < FEWEST_WHEELS]
    assert not {"numpy", "numba", "scipy"} & set(few)


def test_the_lowest_versions_are_those_of_pyproject() -> None:
    for one in asked(EXTRAS["lowest"]):
        (bound,) = one.specifier
        assert bound.operator == ">=", f"{one} has no lower bound alone"
        assert versions("lowest", one.name) == {Version(bound.version)}, f"{one}: make lock"


def test_only_what_needs_a_card_slurm_or_torch_is_not_tried_at_its_lowest_version() -> None:
    tried = {one.name for one in asked(EXTRAS["lowest"])}
    all_extras = [
        extra for extra in PROJECT["optional-dependencies"] if extra not in ("gpu", "slurm", "torch")
    ]
    assert {one.name for one in asked(all_extras)} == tried


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    """As a mirror, or somebody on the way, might hand it out."""
    wheel = tmp_path / "iniconfig-2.3.1-py3-none-any.whl"
    wheel.write_bytes(b"not what was locked")
    words = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-index", "--isolated"),
        *("--find-links", str(tmp_path), "--require-hashes", "-d", str(tmp_path / "out")),
        *("-r", str(tmp_path / "one.txt")),
    ]
    text = (ROOT / "requirements" / "dev.txt").read_text(encoding="utf-8")
    one = re.search(r"^iniconfig==.*?(?=^\w)", text, flags=re.M | re.S)
    assert one
    (tmp_path / "one.txt").write_text(one[0])
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "DO NOT MATCH THE HASHES" in done.stderr
