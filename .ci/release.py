"""Check what was built, and write the changelog section of a release.

python .ci/release.py check           dist/: one sdist and one wheel of the package's version, what they hold,
                                      their licences, their description
python .ci/release.py section 0.2.0   CHANGELOG.md: [Unreleased] becomes [0.2.0]; pyproject.toml, CITATION.cff
                                      and SECURITY.md get the version
"""

import datetime
import email
import re
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NEVER = re.compile(r"(^|/)(\.venv|\.git/|__pycache__|_build|\.\w+_cache|\.weights|node_modules)")
PAGES = (
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CITATION.cff",
    "CODE_OF_CONDUCT.md",
)
BUNDLED_PAGE = "nucleate/explorer/page/"
MAX_WHEEL_BYTES = 10 * 2**20


def main(words: list[str]) -> int:
    """The command; 0, or 1 with what is wrong."""
    if words == ["check"]:
        faults = check(ROOT / "dist", version())
        print("\n".join(faults) or f"dist/ holds nucleate {version()}, and what it must.")
        return int(bool(faults))
    if len(words) == 2 and words[0] == "section":
        return release(words[1])
    print(__doc__)
    return 1


def version() -> str:
    """The version, from the one place where it is written by hand."""
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"])


def check(dist: Path, version: str) -> list[str]:
    """What is wrong with the packages in a folder."""
    wheel, sdist = dist / f"nucleate-{version}-py3-none-any.whl", dist / f"nucleate-{version}.tar.gz"
    faults = [f"{file.name} is missing" for file in (wheel, sdist) if not file.is_file()]
    faults += [f"{file.name} is of another version" for file in dist.iterdir() if file not in (wheel, sdist)]
    return faults or [*_wheel_faults(wheel, version), *_sdist_faults(sdist, version)]


def _wheel_faults(wheel: Path, version: str) -> list[str]:
    info = f"nucleate-{version}.dist-info"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = email.message_from_bytes(archive.read(f"{info}/METADATA"))
        page, licences = (
            archive.read(BUNDLED_PAGE + name).decode() if BUNDLED_PAGE + name in names else ""
            for name in ("index.html", "LICENSES.txt")
        )
    needed = (f"{info}/licenses/LICENSE", f"{info}/entry_points.txt", "nucleate/py.typed")
    faults = [f"{wheel.name} lacks {name}" for name in needed if name not in names]
    faults += [f"{wheel.name} holds {name}" for name in names if not name.startswith(("nucleate/", info))]
    faults += [f"{wheel.name} holds {name}" for name in names if NEVER.search(name)]
    if metadata["License-Expression"] != "MIT" or metadata["Description-Content-Type"] != "text/markdown":
        faults.append(f"{wheel.name} does not say its licence, or how its description is written")
    if not str(metadata.get_payload()).startswith("# nucleate"):
        faults.append(f"{wheel.name} does not have the README as its description")
    if wheel.stat().st_size > MAX_WHEEL_BYTES:
        faults.append(f"{wheel.name} is larger than {MAX_WHEEL_BYTES / 2**20:.0f} MiB")
    packages = re.findall(r"^(\S+) [\d.]+ \(", licences, flags=re.M)  # "three 0.180.0 (MIT)"
    if "<script" in page and not packages:
        faults.append("the explorer's page is bundled without the licences of what it contains")
    return faults


def _sdist_faults(sdist: Path, version: str) -> list[str]:
    with tarfile.open(sdist) as archive:
        names = {member.name.removeprefix(f"nucleate-{version}/") for member in archive.getmembers()}
    needed = (*PAGES, "pyproject.toml", "Makefile", ".ci/run", ".github/workflows/check.yml", "docs/conf.py", "tests/README.md")
    faults = [f"{sdist.name} lacks {name}" for name in needed if name not in names]
    return faults + [f"{sdist.name} holds {name}" for name in names if NEVER.search(name)]


def release(new: str) -> int:
    """Write the version of a release into the files that have it."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", new):
        print(f"A version has three numbers, such as 0.2.0, but this is {new}.")
        return 1
    texts = {
        name: (ROOT / name).read_text(encoding="utf-8")
        for name in ("pyproject.toml", "CITATION.cff", "SECURITY.md")
    }
    old, today = version(), datetime.date.today().isoformat()
    texts["pyproject.toml"] = texts["pyproject.toml"].replace(f'\nversion = "{old}"', f'\nversion = "{new}"')
    texts["CITATION.cff"] = texts["CITATION.cff"].replace(f"\nversion: {old}\n", f"\nversion: {new}\n")
    texts["CITATION.cff"] = re.sub(r"\ndate-released: .*", f"\ndate-released: {today}", texts["CITATION.cff"])
    series = new.rpartition(".")[0]
    texts["SECURITY.md"] = re.sub(r"at present [\d.]+\d", f"at present {series}", texts["SECURITY.md"])
    texts["CHANGELOG.md"] = section((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), new, today)
    for name, text in texts.items():
        (ROOT / name).write_text(text, encoding="utf-8")
        print(f"wrote {name}")
    return 0


def section(changelog: str, new: str, today: str) -> str:
    """The changelog with what was unreleased under the new version, and room for what comes next."""
    before, mark, after = changelog.partition("## [Unreleased]\n")
    if not mark or after.lstrip().startswith("## ["):
        sys.exit("CHANGELOG.md has nothing under [Unreleased]. Write first what has changed.")
    return f"{before}{mark}\n## [{new}] - {today}\n{after}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
