"""Heads of checkpoints as runs of the page."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.made_checkpoints import make

from nucleate.checks import InputError
from nucleate.explorer.head_runs import count_heads, is_checkpoint, prepare_head
from nucleate.explorer.prepared_run import PreparedRun, begun_message, compute
from nucleate.explorer.stored_runs import open_folder
from nucleate.models.head_simulation import head_system, simulate_head
from nucleate.sphere import uniform


def test_a_checkpoint_is_an_entry_with_a_run_for_every_head(tmp_path: Path) -> None:
    tiny = make("gpt2").write(tmp_path / "tiny")
    layers, heads = count_heads(tiny)
    (entry,) = open_folder(tmp_path).entries()
    assert (entry.name, entry.kind, entry.runs) == ("tiny", "heads", layers * heads)
    assert [one.name for one in open_folder(tiny).entries()] == ["tiny"]  # the checkpoint itself, too
    assert [one.name for one in open_folder(tiny / "model.safetensors").entries()] == ["model.safetensors"]
    (tmp_path / "empty").mkdir()
    assert not is_checkpoint(tmp_path / "empty")
    with pytest.raises(InputError, match=f"There is no run {layers * heads} in tiny"):
        open_folder(tmp_path).prepare("tiny", layers * heads)


def test_a_head_on_the_page_is_that_of_all_dimensions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = make("gpt2").write(tmp_path / "tiny")
    heads = count_heads(tiny)[1]
    prepared = open_folder(tmp_path).prepare("tiny", heads + 1)
    assert isinstance(prepared, PreparedRun)
    begun = begun_message(prepared, 3)
    assert "layer 1, head 1" in begun["about"]
    assert begun["title"].endswith("layer 1, head 1")
    run = compute(prepared)
    whole = simulate_head(tiny, 1, 1, tokens=32, seed=0, save=2).run
    # the same start, the same end: angles among the tokens, to what rtol 1e-6 over some e-foldings leaves
    for x, y in ((run.x[0], whole.x[0]), (run.x[-1], whole.x[-1])):
        assert np.allclose(x @ x.T, y @ y.T, atol=1e-3)
    assert begun["beta"] == head_system(tiny, 1, 1).beta
    # what a scene would say of it by default is not true of it, and its Python computes the same run
    assert (begun["known"]["seed"], begun["known"]["frames"]) == (None, 160)
    assert begun["known"]["t"] == prepared.settings["t"]
    assert begun["known"]["tolerance"] == prepared.settings["rtol"]
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {"print": lambda *_: None}
    exec(compile(begun["python"], "copied", "exec"), space)
    assert np.array_equal(space["run"].x, run.x)


def test_a_folder_that_may_not_be_read_does_not_hide_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make("gpt2").write(tmp_path / "tiny")
    (tmp_path / "shut").mkdir()
    is_file = Path.is_file

    def guarded(path: Path) -> bool:  # as the system does, but for whoever runs the tests as root
        if path.parent.name == "shut":
            raise PermissionError(13, "Permission denied", str(path))
        return is_file(path)

    monkeypatch.setattr(Path, "is_file", guarded)
    assert [one.name for one in open_folder(tmp_path).entries()] == ["tiny"]


def test_in_fewer_dimensions_the_motion_is_the_same_and_the_page_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = make("gpt2").write(tmp_path / "tiny")
    monkeypatch.setattr(
        "nucleate.explorer.head_runs.HEAD_TOKENS", 2
    )  # else they span all of so small a model
    prepared = prepare_head(tiny, 0, "tiny")
    system = head_system(tiny, 0, 0)
    assert prepared.x0.shape[1] < system.d
    assert f"of its {system.d} dimensions" in str(prepared.about)
    x0 = uniform(2, system.d, 0)
    assert np.allclose(prepared.x0 @ prepared.x0.T, x0 @ x0.T, atol=1e-12)
    reduced = system.reduced(x0)
    assert np.array_equal(prepared.x0, reduced.x0)
