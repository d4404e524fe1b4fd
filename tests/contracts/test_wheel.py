"""The built package, away from its source tree."""

import os
import re
import runpy
import signal
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest

import nucleate

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "nucleate"


def environment() -> dict[str, str]:
    """This process's, less what would lead to its own Python."""
    ours = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    return {**{name: value for name, value in os.environ.items() if name not in ours}, "MPLBACKEND": "Agg"}


def run(words: Sequence[str | Path], cwd: Path, timeout: float = 300) -> str:
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    run([sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT], cwd=folder)
    return folder


def test_what_is_built_passes_the_check_of_a_release(built: Path) -> None:
    release = runpy.run_path(str(ROOT / ".ci" / "release.py"))
    assert release["check"](built, nucleate.__version__) == []
    assert release["check"](built, "9.9.9")[0] == "nucleate-9.9.9-py3-none-any.whl is missing"


def test_wheel_holds_the_package_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    source = {
        f"nucleate/{file.relative_to(SOURCE).as_posix()}"
        for file in SOURCE.rglob("*")
        if file.is_file() and file.suffix != ".pyc"
    }
    info = f"nucleate-{nucleate.__version__}.dist-info"
    assert {name for name in names if not name.startswith(f"{info}/")} == source
    assert {f"{info}/licenses/LICENSE", f"{info}/entry_points.txt"} <= names
    assert "nucleate/py.typed" in names


def test_sdist_holds_what_building_and_testing_need(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    top = f"nucleate-{nucleate.__version__}/"
    with tarfile.open(sdist) as archive:
        names = {member.name.removeprefix(top) for member in archive.getmembers()}
    pages = {"README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md"}
    assert (
        pages
        | {
            "pyproject.toml",
            "Makefile",
            "constraints.txt",
            "requirements/dev.txt",
            ".ci/run",
            ".github/workflows/check.yml",
            "docs/conf.py",
            "tests/contracts/test_wheel.py",
        }
        <= names
    )
    assert [
        name for name in names if re.search(r"(^|/)(\.venv|\.git/|__pycache__|_build|\.\w+_cache)", name)
    ] == []


def test_wheel_installs_into_an_empty_environment_and_the_readme_runs_there(
    built: Path, tmp_path: Path
) -> None:
    (wheel,) = built.glob("*.whl")
    venv.create(tmp_path / "empty")
    scripts = tmp_path / "empty" / ("Scripts" if os.name == "nt" else "bin")
    pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", scripts / "python"]
    # Most modules of the dependencies are never imported here: what is, Python compiles itself.
    run([*pip, "install", "--quiet", "--no-compile", "-c", ROOT / "constraints.txt", wheel], cwd=tmp_path)

    assert nucleate.__version__ in run([scripts / "nucleate", "--version"], cwd=tmp_path)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for number, block in enumerate(re.findall(r"^```python\n(.*?)^```", readme, flags=re.M | re.S)):
        (tmp_path / f"lines{number}.py").write_text(
            f"{block}\nassert nc.__file__.startswith({str(tmp_path)!r})\n", encoding="utf-8"
        )
        run([scripts / "python", "-W", "error", f"lines{number}.py"], cwd=tmp_path)
    assert (tmp_path / "run.png").stat().st_size > 1000

    def command(words: str) -> str:
        return run([scripts / "nucleate", *words.split()], cwd=tmp_path)

    command("simulate -n 200 -d 2 --beta 64 -t 150 --out run.npz")
    assert (tmp_path / "run.npz").is_file()
    command("life -n 200")
    assert (tmp_path / "life.png").stat().st_size > 1000
    command("reproduce --quick --only figure4 --out reproduction")
    assert "Figure 4" in (tmp_path / "reproduction" / "report.html").read_text(encoding="utf-8")
    said = command("doctor")
    assert str(tmp_path) in said
    (hint,) = re.findall(r"^missing +explore: starlette.*\(python -m pip install '(.+)'\)$", said, flags=re.M)
    run([*pip, "install", "--quiet", "--no-compile", "-c", ROOT / "constraints.txt", hint], cwd=tmp_path)
    assert "missing         explore" not in command("doctor")
    with subprocess.Popen(
        [scripts / "nucleate", "explore", "--no-browser", "--quiet"],
        cwd=tmp_path,
        env={**environment(), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    ) as explorer:
        try:
            assert explorer.stdout is not None
            address = explorer.stdout.readline().strip()
            page = httpx.get(address, timeout=60.0, trust_env=False)
            assert page.status_code == 200
            assert "<title>nucleate" in page.text
        finally:
            explorer.send_signal(signal.SIGINT)
            assert explorer.wait(60.0) == 0
