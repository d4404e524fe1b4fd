"""Dequantised weights on the disk: found again, never stale, never another's, never damaged."""

import os
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from support.made_transformers import make_transformer, write_gguf

from nucleate.models.forward import open_model, weight_cache
from nucleate.models.forward.weight_cache import WeightCache
from nucleate.models.weights import GgufWeights

Q8 = gguf.GGMLQuantizationType.Q8_0
NAME = "blk.0.ffn_up.weight"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache is in a folder of its own."""
    made = tmp_path / "weights"
    made.mkdir(mode=0o700)
    monkeypatch.setattr(weight_cache, "weights_folder", lambda: made)
    weight_cache._say.cache_clear()
    return made


def quantised(path: Path, seed: int = 0) -> Path:
    """A GGUF file with one quantised matrix of 2 x 32."""
    writer = gguf.GGUFWriter(path, "llama")
    W = np.random.default_rng(seed).standard_normal((2, 32)).astype(np.float32)
    writer.add_tensor(NAME, gguf.quants.quantize(W, Q8), raw_dtype=Q8)
    writer.add_tensor("plain.weight", W)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def read(path: Path) -> Any:
    return WeightCache(GgufWeights(path)).get(NAME)


def test_a_tensor_is_dequantised_once_and_then_mapped(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = quantised(tmp_path / "a.gguf")
    exact = GgufWeights(path).whole(NAME, np.float32)
    assert np.array_equal(read(path), exact)
    (kept,) = folder.iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert np.array_equal(np.load(kept, allow_pickle=False), exact)
    monkeypatch.setattr(GgufWeights, "whole", lambda *_: pytest.fail("dequantised again"))
    cache = WeightCache(GgufWeights(path))
    assert np.array_equal(cache.get(NAME), exact)  # type: ignore[arg-type]  # it is there
    cache.forget()
    assert np.array_equal(cache.get(NAME), exact)  # type: ignore[arg-type]  # it is there
    assert cache.get("plain.weight") is None


def test_a_file_that_changed_is_never_taken_for_the_old_one(folder: Path, tmp_path: Path) -> None:
    """The same name, size, header and times, as after unpacking another version of a package."""
    path = quantised(tmp_path / "a.gguf")
    first, info = read(path).copy(), path.stat()
    quantised(path, seed=1)
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))
    assert path.stat().st_size == info.st_size
    assert np.abs(read(path) - first).max() > 0.1
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("damage", ["flipped", "cut", "longer", "header", "a link", "a folder's pipe"])
def test_what_is_damaged_or_not_ours_is_made_anew_with_one_line(
    damage: str, folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = quantised(tmp_path / "a.gguf")
    exact = read(path).copy()
    (kept,) = folder.iterdir()
    content = bytearray(kept.read_bytes())
    if damage == "flipped":
        content[-20] ^= 1
    elif damage == "cut":
        content = content[:-9]
    elif damage == "longer":
        content += b"\0"
    elif damage == "header":
        content[20] ^= 1
    kept.unlink()
    if damage == "a link":
        (tmp_path / "other.npy").write_bytes(content)
        kept.symlink_to(tmp_path / "other.npy")
    elif damage == "a folder's pipe":
        os.mkfifo(kept)
    else:
        kept.write_bytes(content)
    assert np.array_equal(read(path), exact)
    assert [one.message for one in caplog.records] == [
        f"Damaged dequantised weights in {folder} are made anew."
    ]
    assert not kept.is_symlink()
    assert kept.is_file()


def test_without_a_folder_or_without_room_all_works_and_one_line_says_so(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made = make_transformer("llama")
    path = write_gguf(made, tmp_path / "a.gguf")
    path = quantised(tmp_path / "b.gguf")
    monkeypatch.setattr(weight_cache, "FREE_BYTES", 2**80)
    assert read(path) is None
    assert "Dequantised weights cannot be kept in" in caplog.text
    assert list(folder.iterdir()) == []
    monkeypatch.setattr(weight_cache, "weights_folder", lambda: None)
    assert read(path) is None
    assert open_model(write_gguf(made, tmp_path / "c.gguf")).run([1, 2]).states.shape[1] == 2


def test_the_oldest_go_when_there_is_no_more_room_and_too_large_models_are_not_kept(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(3):
        read(quantised(tmp_path / f"{seed}.gguf", seed))
    for number, kept in enumerate(sorted(folder.iterdir())):
        os.utime(kept, (number, number))
    oldest, *others = sorted(folder.iterdir())
    size = oldest.stat().st_size
    monkeypatch.setattr(weight_cache, "MAX_BYTES", 3 * size)
    read(quantised(tmp_path / "3.gguf", 3))
    assert not oldest.exists()
    assert all(one.exists() for one in others)
    monkeypatch.setattr(weight_cache, "MAX_BYTES", 100)
    assert read(quantised(tmp_path / "4.gguf", 4)) is None


def test_the_folder_lies_in_the_cache_of_compiled_code_for_its_user_alone() -> None:
    found = weight_cache.weights_folder()
    assert found is None or (found.stat().st_mode & 0o777 == 0o700 and found.stat().st_uid == os.geteuid())


def test_a_folder_of_another_kind_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    weight_cache._say.cache_clear()
    (tmp_path / "code").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "weights").symlink_to(tmp_path / "elsewhere")
    monkeypatch.setattr(weight_cache, "cache_folder", lambda: tmp_path / "code")
    assert weight_cache.weights_folder() is None
    assert "is no folder of this user" in caplog.text
    monkeypatch.setattr(weight_cache, "cache_folder", lambda: None)
    assert weight_cache.weights_folder() is None
