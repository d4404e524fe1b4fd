"""`make test-torch` ends red if anything was skipped there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
SKIPS = {
    "a test that skips": "import pytest\n\ndef test_it():\n    pytest.skip('no weights')\n",
    "a file that skips": (
        "import pytest\n\npytest.importorskip('no_such_module')\n\ndef test_it():\n    pass\n"
    ),
    "a mark": "import pytest\n\n@pytest.mark.skip\ndef test_it():\n    pass\n",
}


def outcome(text: str, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(text)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *more, "test_it.py"]
    return subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(TESTS), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},  # a second less
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("name", SKIPS)
def test_a_skip_is_a_failure_with_the_plugin_and_none_without(name: str, tmp_path: Path) -> None:
    assert outcome(SKIPS[name], tmp_path).returncode in (0, 5)  # 5: nothing was collected
    done = outcome(SKIPS[name], tmp_path, "-p", "support.no_skips")
    assert done.returncode in (1, 2), done.stdout
    assert "skipped, but everything that is needed should be here" in done.stdout


def test_what_passes_passes_and_what_is_expected_to_fail_may(tmp_path: Path) -> None:
    text = (
        "import pytest\n\ndef test_it():\n    pass\n\n@pytest.mark.xfail\ndef test_other():\n    assert"
        " False\n"
    )
    assert outcome(text, tmp_path, "-p", "support.no_skips").returncode == 0
