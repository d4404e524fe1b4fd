"""The tests leave nothing behind: what is no `tmp_path`, which pytest looks after, is removed in the end."""

import os
from pathlib import Path

from support.project import TESTS, python

CODE = """
from support.folders import folder_of_this_process

folder = folder_of_this_process()
(folder / "data").mkdir()
(folder / "data" / "numbers.npz").write_bytes(b"numbers")
print(folder)
"""


def test_a_folder_of_a_process_is_there_while_it_runs_and_gone_afterwards() -> None:
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    checked = f"{CODE}assert folder.is_dir()\n"
    assert not Path(python(checked, PYTHONPATH=path).strip()).exists()


def test_no_other_test_makes_a_temporary_folder_by_hand() -> None:
    makers = ("mkd" + "temp", "mks" + "temp")
    files = [file for file in TESTS.rglob("*.py") if any(maker in file.read_text() for maker in makers)]
    assert [file.name for file in files] == ["folders.py"]
