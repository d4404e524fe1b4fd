"""A release: one version everywhere, a section of the changelog, the same checks on a forge."""

import re
import runpy

import pytest
from support.project import PROJECT, ROOT, page

RELEASE = runpy.run_path(str(ROOT / ".ci" / "release.py"))


def test_the_version_is_the_same_wherever_it_is_repeated() -> None:
    assert RELEASE["version"]() == PROJECT["version"]
    assert f"\nversion: {PROJECT['version']}\n" in page("CITATION.cff")
    released = re.search(
        rf"^## \[{re.escape(PROJECT['version'])}\] - (\S+)$", page("CHANGELOG.md"), flags=re.M
    )
    assert released
    assert f"\ndate-released: {released[1]}\n" in page("CITATION.cff")
    assert f"at present {PROJECT['version'].rpartition('.')[0]};" in page("SECURITY.md")


def test_what_was_unreleased_becomes_the_section_of_the_release() -> None:
    text = RELEASE["section"]("# C\n\n## [Unreleased]\n\n- new\n\n## [0.1.0] - d\n", "0.2.0", "2030-01-02")
    assert text == "# C\n\n## [Unreleased]\n\n## [0.2.0] - 2030-01-02\n\n- new\n\n## [0.1.0] - d\n"
    with pytest.raises(SystemExit, match="nothing under"):
        RELEASE["section"](text, "0.3.0", "2030-01-02")


def test_the_forge_runs_what_the_check_of_a_change_runs() -> None:
    workflow = page(".github/workflows/check.yml")
    commands = re.findall(r"^ +- run: (.+)$", workflow, flags=re.M)
    assert commands == [".ci/run", "make test", "make coverage", "make dist"]
    for command in commands[1:]:
        assert re.search(rf"^{command.split()[1]}:", page("Makefile"), flags=re.M), command
    pythons = re.findall(r'"(3\.\d+)"', re.search(r"python: \[(.*)\]", workflow)[1])  # type: ignore[index]  # it is there
    assert f">={pythons[0]}" == PROJECT["requires-python"]


def test_addresses_of_the_project_are_none_that_were_made_up() -> None:
    assert PROJECT["urls"] == {"Paper": "https://arxiv.org/abs/2411.04990"}
