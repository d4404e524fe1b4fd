"""Parts of tensors as doubles: out of files of every format, out of shards, out of a loaded model."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save
from support.made_checkpoints import Made, make, slow_heads, spectra_of

from nucleate.checks import InputError
from nucleate.models.spectra import spectra
from nucleate.models.weights import SafetensorsWeights

CLOSE = 1e-9  # of the largest eigenvalue: those of Gaussian matrices this small move by about 1e-13


def test_what_the_safetensors_library_writes_is_read_as_it_reads_it(tmp_path: Path) -> None:
    import ml_dtypes

    rng = np.random.default_rng(0)
    kinds = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16}
    for i in range(60):
        shapes = [tuple(rng.integers(0, 5, rng.integers(1, 3))) for _ in range(rng.integers(0, 6))]
        tensors = {
            f"t{j}.é": rng.standard_normal(shape).astype(list(kinds.values())[(i + j) % 4])
            for j, shape in enumerate(shapes)
        }
        path = tmp_path / f"{i}.safetensors"
        path.write_bytes(save(tensors, {"format": "pt"} if i % 2 else None))
        weights = SafetensorsWeights([path])
        assert {name: weights.kinds[name] for name in tensors} == {
            name: next(k for k, v in kinds.items() if t.dtype == v) for name, t in tensors.items()
        }
        for name, tensor in tensors.items():
            assert weights.shapes[name] == tensor.shape
            if tensor.size:
                np.testing.assert_array_equal(weights.part(name), tensor.astype(np.float64))
            if tensor.ndim == 2 and tensor.size:
                np.testing.assert_array_equal(
                    weights.part(name, slice(1, 3), slice(0, 2)), tensor.astype(np.float64)[1:3, :2]
                )


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", ["q_proj", "k_proj", "v_proj", "o_proj", "input_layernorm"])
def test_weights_that_are_no_numbers_are_refused_by_name(value: float, kind: str, tmp_path: Path) -> None:
    made = make("llama")
    name = next(name for name in made.tensors if "layers.1" in name and kind in name)
    made.tensors[name].reshape(-1)[-1] = value
    with pytest.raises(InputError, match=rf"{name} must hold finite numbers, but holds 1 "):
        spectra(made.write(tmp_path), draws=1)


def test_weights_stored_as_whole_numbers_are_refused(tmp_path: Path) -> None:
    made = make("llama")
    T = {name: tensor.astype(np.int8) for name, tensor in made.tensors.items()}
    with pytest.raises(InputError, match="stored as I8"):
        spectra(Made(made.config, T, "llama").write(tmp_path))


def test_shards_that_hold_the_same_tensor_are_refused(tmp_path: Path) -> None:
    folder = make("llama").write(tmp_path)
    raw = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").unlink()
    for i in (1, 2):
        (folder / f"model-{i:05}-of-00002.safetensors").write_bytes(raw)
    with pytest.raises(InputError, match="both hold"):
        spectra(folder)


@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "bfloat16"])
def test_every_float_format_is_read_as_its_numbers_are(kind: str, tmp_path: Path) -> None:
    import ml_dtypes

    dtype = ml_dtypes.bfloat16 if kind == "bfloat16" else np.dtype(kind)
    made = make("llama")
    rounded = {name: tensor.astype(dtype) for name, tensor in made.tensors.items()}
    found = spectra_of(Made(made.config, rounded, "llama"), tmp_path)
    exact = Made(made.config, {name: tensor.astype(np.float64) for name, tensor in rounded.items()}, "llama")
    for head, (_, _, A, V) in zip(found.heads, slow_heads(exact), strict=True):
        assert head.beta == pytest.approx(np.linalg.norm(A, 2), rel=1e-12)
        assert np.sort(np.abs(np.linalg.eigvals(V)))[-1] == pytest.approx(
            np.abs(head.eigenvalues).max(), rel=CLOSE
        )
    assert found.stored_as == (
        {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16"}[kind],
    )


def test_many_shards_are_one_model(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    made = make("qwen2")
    whole = spectra_of(made, tmp_path / "one")
    folder = tmp_path / "many"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(made.config))
    names = sorted(made.tensors)
    where: dict[str, str] = {}
    for i in range(3):
        file = f"model-{i + 1:05}-of-00003.safetensors"
        save_file({name: made.tensors[name] for name in names[i::3]}, folder / file)
        where |= dict.fromkeys(names[i::3], file)
    without_index = spectra(folder, draws=1)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": where}))
    for parts in (
        without_index,
        spectra(folder, draws=1),
        spectra(folder / "model.safetensors.index.json", draws=1),
    ):
        assert all(
            np.array_equal(a.eigenvalues, b.eigenvalues)
            for a, b in zip(whole.heads, parts.heads, strict=True)
        )
    with pytest.raises(InputError, match="missing"):
        spectra(folder / "model-00001-of-00003.safetensors")


class Tensor:
    """As much of a torch tensor as is used."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array, self.shape, self.dtype = array, array.shape, "torch.float64"

    def __getitem__(self, at: Any) -> "Tensor":
        return Tensor(self.array[at])

    def detach(self) -> "Tensor":
        return self

    cpu = double = detach

    def numpy(self) -> NDArray[Any]:
        return self.array


def test_a_loaded_model_gives_what_its_checkpoint_gives(tmp_path: Path) -> None:
    made = make("gpt2")
    tensors = {name: Tensor(array) for name, array in made.tensors.items()}
    loaded = SimpleNamespace(
        state_dict=lambda: tensors,
        config=SimpleNamespace(to_dict=lambda: {**made.config, "_name_or_path": "me/mine"}),
    )
    one, two = spectra(loaded, draws=1), spectra_of(made, tmp_path)
    assert one.model == "me/mine"
    assert all(
        np.array_equal(a.eigenvalues, b.eigenvalues) and a.beta == b.beta
        for a, b in zip(one.heads, two.heads, strict=True)
    )


@pytest.mark.parametrize("kind", ["torch.int8", "torch.uint8", "torch.float8_e4m3fn"])
def test_a_loaded_model_whose_weights_are_codes_is_refused(kind: str) -> None:
    made = make("llama")
    tensors = {name: Tensor(array) for name, array in made.tensors.items()}
    tensors["model.layers.1.self_attn.v_proj.weight"].dtype = kind
    loaded = SimpleNamespace(state_dict=lambda: tensors, config=SimpleNamespace(to_dict=lambda: made.config))
    with pytest.raises(
        InputError, match=rf"layers\.1\.self_attn\.v_proj\.weight is loaded as {kind.removeprefix('torch.')}"
    ):
        spectra(loaded, draws=1)


MEASURE = """
import sys, numpy as np
from pathlib import Path
from nucleate.models.spectra import spectra

def highest():
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) * 1024

spectra(sys.argv[1], draws=1)  # what is loaded and set up on first use
Path("/proc/self/clear_refs").write_text("5")  # the highest mark starts anew
before = highest()
spectra(sys.argv[2], draws=1)
print(highest() - before)
"""


@pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="memory is measured through Linux's /proc"
)
def test_memory_stays_below_twice_the_largest_layer(tmp_path: Path) -> None:
    """Four layers of 34 MB: to keep the whole file, or one layer's tensors as doubles, would take twice as
    much as is allowed."""
    from safetensors.numpy import save_file

    d, heads, width, rng = 8192, 8, 64, np.random.default_rng(0)
    # the upper half: bfloat16
    one = (rng.standard_normal((heads * width, d), dtype=np.float32) * 0.02).view(np.uint32) >> 16
    stored = one.astype(np.uint16)
    import ml_dtypes

    shapes = {"q": stored, "k": stored[::-1], "v": stored, "o": stored.T}
    T = {
        f"model.layers.{i}.self_attn.{name}_proj.weight": np.ascontiguousarray(W).view(ml_dtypes.bfloat16)
        for i in range(4)
        for name, W in shapes.items()
    }
    T |= {f"model.layers.{i}.input_layernorm.weight": np.ones(d, dtype=ml_dtypes.bfloat16) for i in range(4)}
    sizes = {
        "num_attention_heads": heads,
        "num_key_value_heads": heads,
        "num_hidden_layers": 4,
        "head_dim": width,
    }
    large, small = tmp_path / "large", make("llama").write(tmp_path / "small")
    large.mkdir()
    save_file(T, large / "model.safetensors")
    (large / "config.json").write_text(json.dumps({"model_type": "llama", **sizes}))
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, small, large],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    layer = 4 * stored.nbytes
    assert 0 < int(done.stdout) <= 2 * layer, f"{int(done.stdout) / layer:.2f} layers"
