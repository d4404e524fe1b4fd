"""What the pages show runs, links to what is there, and agrees with the package."""

import re
from pathlib import Path

import pytest
from support.project import PAGES, PROJECT, ROOT, blocks, page

import nucleate


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(block, id=f"{file.name}-{i}")
        for file in PAGES
        for i, block in enumerate(blocks(file.read_text(encoding="utf-8"), "python"))
    ],
)
def test_python_on_the_pages_runs(lines: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib.pyplot as plt

    monkeypatch.chdir(tmp_path)
    try:
        exec(compile(lines, "page", "exec"), {})
    finally:
        plt.close("all")


def test_the_readme_has_about_ten_lines_of_python_first() -> None:
    first = blocks(page("README.md"), "python")[0]
    assert 8 <= len([line for line in first.splitlines() if line.strip()]) <= 12


def test_every_link_and_picture_on_the_pages_is_there() -> None:
    missing = []
    for file in PAGES:
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", file.read_text(encoding="utf-8")):
            if "://" not in link and not (file.parent / link).is_file():
                missing.append(f"{file.name}: {link}")
    assert missing == []


def test_the_newest_version_in_the_changelog_is_the_package_version() -> None:
    versions = re.findall(r"^## \[(\d[^\]]*)\]", page("CHANGELOG.md"), flags=re.M)
    assert versions[0] == PROJECT["version"] == nucleate.__version__


def test_no_file_names_a_private_place() -> None:
    private = re.compile(r"/[r]oot/|/[h]ome/|/[U]sers/|/[w]ork/|[p]ypi\.org|[p]ythonhosted|[e]xtra-index-url")
    folders = ("src", "tests", "docs", "requirements", ".ci")
    files = [
        # .git is a file where the checkout is one of several
        *(file for file in ROOT.iterdir() if file.is_file() and file.name != ".git"),
        *(file for folder in folders for file in (ROOT / folder).rglob("*") if file.is_file()),
    ]
    texts = [
        file
        for file in files
        if file.suffix in {".py", ".md", ".toml", ".txt", ".json", ".csv", ""} and "_build" not in file.parts
    ]
    assert len(texts) > 20
    assert [
        f"{file.relative_to(ROOT)}: {found[0]}"
        for file in texts
        if (found := private.search(file.read_text(encoding="utf-8", errors="replace")))
    ] == []
