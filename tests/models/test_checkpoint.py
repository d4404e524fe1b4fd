"""Files made to harm: refused with a reason, never a crash, never a hang, and no pickle is ever opened."""

import io
import json
import os
import pickle
import shlex
import struct
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save
from support.made_checkpoints import Made, make

from nucleate.checks import InputError
from nucleate.models.header import MOST_NAMES, read_header
from nucleate.models.spectra import spectra
from nucleate.models.weights import SafetensorsWeights

MUTANTS = 10_000
LONGEST = 2.0  # seconds of work for one small file; other programs may be slow, too


def file_of(header: Any, data: bytes = b"", length: int | None = None) -> bytes:
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(raw) if length is None else length) + raw + data


def entry(begin: Any = 0, end: Any = 8, shape: Any = (2,), dtype: Any = "F32", **more: Any) -> dict[str, Any]:
    return {
        "dtype": dtype,
        "shape": list(shape) if isinstance(shape, tuple) else shape,
        "data_offsets": [begin, end],
        **more,
    }


EIGHT = bytes(8)
DEEP = b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
HOSTILE: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "too few"),
    "seven bytes": (b"\0" * 7, "too few"),
    "a header larger than the file": (file_of({}, length=1000), "announces a header of 1000 bytes"),
    "a header of 2^63 bytes": (file_of({}, length=2**63), "announces a header of 9223372036854775808"),
    "a header of 2^64 - 1 bytes": (file_of({}, length=2**64 - 1), "announces a header"),
    "a header of no bytes": (file_of(b""), "brace"),
    "a header that is a list": (file_of(b"[]"), "brace"),
    "a header that is no JSON": (file_of(b"{'a': 1}"), "not JSON"),
    "a header that is not UTF-8": (file_of(b'{"\xff\xfe": 1}'), "not UTF-8"),
    "a header with a lone surrogate as bytes": (file_of(b'{"\xed\xa0\x80": 1}'), "not UTF-8"),
    "a header of brackets without end": (file_of(DEEP), "not JSON"),
    "a number of 5000 digits": (
        file_of(b'{"a":{"dtype":"F32","shape":[' + b"9" * 5000 + b'],"data_offsets":[0,8]}}', EIGHT),
        "not JSON",
    ),
    "a name twice": (
        file_of(
            b'{"a":' + json.dumps(entry()).encode() + b',"a":' + json.dumps(entry()).encode() + b"}", EIGHT
        ),
        "'a' twice",
    ),
    "a name twice after 700,000 others": (
        file_of(b"{" + b",".join(b'"%x":0' % i for i in range(700_000)) + b',"z":0,"z":0}'),
        "'z' twice",
    ),
    "a key twice": (
        file_of(b'{"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}}', EIGHT),
        "'dtype' twice",
    ),
    "two tensors on the same bytes": (
        file_of({"a": entry(), "b": entry()}, EIGHT),
        "'a' ends at byte|'b' begins",
    ),
    "two tensors that overlap": (file_of({"a": entry(), "b": entry(4, 12)}, bytes(12)), "begins at byte"),
    "a hole between tensors": (file_of({"a": entry(), "b": entry(12, 20)}, bytes(20)), "begins at byte"),
    "bytes after the last tensor": (file_of({"a": entry()}, bytes(9)), "'the end' begins"),
    "bytes and no tensor": (file_of({}, EIGHT), "'the end' begins"),
    "a tensor beyond the file": (file_of({"a": entry(0, 80, (20,))}, EIGHT), "to byte 80 of 8"),
    "offsets the wrong way round": (file_of({"a": entry(8, 0)}, EIGHT), "from byte 8 to byte 0"),
    "negative offsets": (file_of({"a": entry(-8, 0)}, EIGHT), "no two places"),
    "offsets that are not whole": (file_of({"a": entry(0.0, 8.0)}, EIGHT), "no two places"),
    "offsets that are true": (file_of({"a": entry(False, True, (), "U8")}, b"\0"), "no two places"),
    "three offsets": (file_of({"a": {**entry(), "data_offsets": [0, 4, 8]}}, EIGHT), "no two places"),
    "a huge shape": (file_of({"a": entry(shape=(2**62, 2**62))}, EIGHT), "no list of sizes"),
    "a shape whose size overflows to the right one": (
        file_of({"a": entry(shape=(2**32, 2**32, 2))}, EIGHT),
        "has 8 bytes",
    ),
    "a negative shape": (file_of({"a": entry(shape=(-2,))}, EIGHT), "no list of sizes"),
    "a shape that is a number": (file_of({"a": entry(shape=2)}, EIGHT), "no list of sizes"),
    "33 dimensions": (file_of({"a": entry(shape=(1,) * 32 + (2,))}, EIGHT), "no list of sizes"),
    "a shape that does not fill its bytes": (file_of({"a": entry(shape=(3,))}, EIGHT), "has 8 bytes"),
    "an unknown dtype": (file_of({"a": entry(dtype="F99")}, EIGHT), "unknown dtype 'F99'"),
    "a dtype that is a list": (file_of({"a": entry(dtype=["F32"])}, EIGHT), "unknown dtype"),
    "a key too many": (file_of({"a": entry(extra=1)}, EIGHT), "dtype, shape and data_offsets alone"),
    "a tensor that is a text": (file_of({"a": "F32"}, EIGHT), "dtype, shape and data_offsets alone"),
    "metadata of numbers": (file_of({"__metadata__": {"a": 1}}), "__metadata__"),
    "metadata that is a list": (file_of({"__metadata__": []}), "__metadata__"),
    "100,000 names": (
        file_of({f"t{i}": entry(0, 0, (0,)) for i in range(100_000)}),
        f"{MOST_NAMES} are the most",
    ),
    "a header of 17 MB of blanks": (file_of(b"{" + b" " * 17_000_000 + b"}"), "are the most that is read"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_every_hostile_header_is_refused_with_its_reason(name: str, tmp_path: Path) -> None:
    raw, reason = HOSTILE[name]
    path = tmp_path / "model.safetensors"
    path.write_bytes(raw)
    began = time.process_time()
    with pytest.raises(InputError, match=reason) as told:
        read_header(path)
    assert time.process_time() - began < LONGEST
    assert len(str(told.value)) < 600
    with pytest.raises(InputError):
        spectra(tmp_path)


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


def mutant(raw: bytes, rng: np.random.Generator) -> bytes:
    """The file with a few bytes changed, cut, doubled or made up; most of the harm in the header."""
    data = bytearray(raw)
    size = 8 + int.from_bytes(raw[:8], "little")
    for _ in range(rng.integers(1, 4)):
        at, kind = int(rng.integers(0, size if rng.random() < 0.8 else len(data))), rng.integers(0, 7)
        at = min(at, len(data) - 1)
        if kind == 0:
            data[at] ^= 1 << int(rng.integers(0, 8))
        elif kind == 1:
            data[at] = int(rng.integers(0, 256))
        elif kind == 2:
            del data[at : at + int(rng.integers(1, 9))]
        elif kind == 3:
            data[at:at] = rng.bytes(int(rng.integers(1, 9)))
        elif kind == 4:
            data[at] = rng.choice(list(b'0123456789-[]{},:"eE.\\'))
        elif kind == 5:
            data[at:at] = data[max(at - 20, 0) : at]
        else:
            del data[int(rng.integers(at, len(data))) :]
        if not data:
            break
    return bytes(data)


def test_ten_thousand_mutants_are_read_or_refused_and_never_more_trusted_than_by_the_library(
    tmp_path: Path,
) -> None:
    made = make("llama")
    small = {
        name: tensor.astype(np.float32)
        for name, tensor in made.tensors.items()
        if "layers.0.self" in name or "layers.0.input" in name
    }
    made = Made({**made.config, "num_hidden_layers": 1}, small, "llama")
    made.write(tmp_path)
    path = tmp_path / "model.safetensors"
    raw, rng, refused, read, odd = path.read_bytes(), np.random.default_rng(0), 0, 0, []
    for i in range(MUTANTS):
        path.write_bytes(mutant(raw, rng))
        began = time.process_time()
        try:
            names = read_header(path).keys()
            read += 1
            if read % 16 == 0:
                spectra(tmp_path, draws=1)  # all the way: what was damaged may be a number, a name or a shape
        except InputError:
            names, refused = None, refused + 1
        assert time.process_time() - began < LONGEST, i
        if names is not None and not _library_reads(path, set(names)):
            odd.append(i)
    assert odd == [], "the library refuses what we trust"
    assert refused > MUTANTS / 2
    assert read > MUTANTS / 100, "mutants must also get past the header, or nothing behind it was tried"


def _library_reads(path: Path, names: set[str]) -> bool:
    try:
        with safe_open(path, framework="np") as file:
            return set(file.keys()) == names
    except (SafetensorError, ValueError, OSError):
        return False


# --- pickles


class Harm:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


def pickles(mark: Path) -> dict[str, bytes]:
    raw = {f"protocol {p}": pickle.dumps(Harm(mark), protocol=p) for p in range(6)}
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as file:
        file.writestr("archive/data.pkl", raw["protocol 2"])
    array = io.BytesIO()
    np.save(array, np.array([Harm(mark)], dtype=object), allow_pickle=True)
    return raw | {"zip": zipped.getvalue(), "npy": array.getvalue()}


def test_the_pickles_of_this_test_do_harm_when_they_are_opened(tmp_path: Path) -> None:
    mark = tmp_path / "harm"
    for raw in list(pickles(mark).values())[:6]:
        pickle.loads(raw)
        assert mark.exists()
        mark.unlink()


DRESSES = [
    "pytorch_model.bin",
    "model.pt",
    "model.pth",
    "model.ckpt",
    "model.pkl",
    "model.safetensors",
    "model.gguf",
    "model.npz",
    "model",
    "model.SAFETENSORS",
]


@pytest.mark.parametrize("dress", DRESSES)
def test_no_pickle_is_opened_in_any_dress(dress: str, tmp_path: Path) -> None:
    mark = tmp_path / "harm"
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(make("llama").config))
    for raw in pickles(mark).values():
        (folder / dress).write_bytes(raw)
        for path in (folder, folder / dress):
            with pytest.raises(InputError):
                spectra(path)
        assert not mark.exists()


@pytest.mark.parametrize("name", ["config.json", "model.safetensors.index.json", "mapping.toml"])
def test_no_pickle_is_opened_in_the_files_beside_the_weights(name: str, tmp_path: Path) -> None:
    mark, folder = tmp_path / "harm", make("llama").write(tmp_path / "checkpoint")
    for raw in pickles(mark).values():
        (folder / name).write_bytes(raw)
        with pytest.raises(InputError):
            spectra(folder, mapping=folder / name if name.endswith("toml") else None)
    assert not mark.exists()


def test_a_folder_of_pickles_is_refused_with_the_command_that_converts(tmp_path: Path) -> None:
    folder = tmp_path / "my model"
    folder.mkdir()
    (folder / "training_args.bin").write_bytes(b"")
    (folder / "pytorch_model.bin").write_bytes(b"PK\x03\x04")
    for path in (folder, folder / "pytorch_model.bin"):
        with pytest.raises(InputError, match="Convert it once") as told:
            spectra(path)
        words = shlex.split(str(told.value).partition("Convert it once: ")[2])  # as a shell would read them
        assert words == [
            "nucleate",
            "convert",
            str(folder / "pytorch_model.bin"),
            "--out",
            str(folder / "pytorch_model.safetensors"),
        ]


@pytest.mark.parametrize("name", ["my model.safetensors", "my model.SAFETENSORS"])
def test_a_pickle_that_is_called_safetensors_is_to_be_renamed_before_it_is_converted(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(b"PK\x03\x04")
    with pytest.raises(InputError, match="is a pickle") as told:
        spectra(tmp_path / name)
    rename, _, command = str(told.value).partition("Rename it first: ")[2].partition("\nConvert it once: ")
    assert shlex.split(rename) == ["mv", "-n", str(tmp_path / name), str(tmp_path / "my model.bin")]
    assert shlex.split(command) == [
        "nucleate",
        "convert",
        str(tmp_path / "my model.bin"),
        "--out",
        str(tmp_path / "my model.safetensors"),
    ]


def test_a_file_is_not_converted_onto_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nucleate.models.convert import convert

    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"PK\x03\x04")
    (tmp_path / "link.safetensors").symlink_to(path)
    for source, target in ((path, path), ("model.safetensors", path), (path, "link.safetensors")):
        with pytest.raises(InputError, match=r"would be replaced by what is made of it.*model\.bin"):
            convert(source, target)
    assert path.read_bytes() == b"PK\x03\x04"


def test_converting_never_falls_back_to_a_full_pickle(tmp_path: Path) -> None:
    """With torch its weights-only loader refuses; without torch nothing is opened at all."""
    from nucleate.models.convert import convert

    mark, source = tmp_path / "harm", tmp_path / "model.bin"
    for raw in pickles(mark).values():
        source.write_bytes(raw)
        with pytest.raises(InputError, match=r"weights-only|torch and safetensors are needed"):
            convert(source, tmp_path / "model.safetensors")
    assert not mark.exists()
    assert not (tmp_path / "model.safetensors").exists()
    with pytest.raises(InputError, match=r"must end in \.safetensors"):
        convert(source, tmp_path / "model.bin")
    with pytest.raises(InputError, match="cannot be read"):
        convert(tmp_path / "nothing.bin", tmp_path / "model.safetensors")


# --- files around the weights


@pytest.mark.parametrize(
    "target",
    [
        "../outside.safetensors",
        "/etc/passwd",
        "sub/model.safetensors",
        "..\\outside.safetensors",
        "model.bin",
        "",
        ".hidden.safetensors",
        "a\0.safetensors",
        "é.safetensors",
        "x" * 500,
    ],
)
def test_an_index_that_points_elsewhere_is_not_followed(target: str, tmp_path: Path) -> None:
    made = make("llama")
    folder = made.write(tmp_path / "inside")
    (tmp_path / "outside.safetensors").write_bytes((folder / "model.safetensors").read_bytes())
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"weight_map": dict.fromkeys(made.tensors, target)})
    )
    with pytest.raises(InputError, match="not followed"):
        spectra(folder)


@pytest.mark.parametrize(
    ("index", "words"),
    [
        ({}, "no weight_map"),
        ({"weight_map": []}, "no weight_map"),
        ({"weight_map": {}}, "no weight_map"),
        ({"weight_map": {"a": 3}}, "no weight_map"),
        ({"weight_map": {"a": "nothing.safetensors"}}, "cannot be read"),
        ({"weight_map": {"a": "model.safetensors"}}, "does not"),
    ],
)
def test_an_index_that_does_not_fit_is_told(index: Any, words: str, tmp_path: Path) -> None:
    folder = make("llama").write(tmp_path)
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(InputError, match=words):
        spectra(folder)


@pytest.mark.parametrize(
    "raw",
    [b"", b"[]", b"{", b"\xff", b'{"a":1,"a":2}', b"[" * 100_000, b'{"a":' + b"9" * 5000 + b"}"],
    ids=lambda raw: repr(raw[:12]),
)
def test_a_broken_configuration_is_told(raw: bytes, tmp_path: Path) -> None:
    folder = make("llama").write(tmp_path)
    (folder / "config.json").write_bytes(raw)
    with pytest.raises(InputError, match=r"config\.json"):
        spectra(folder)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", ["q_proj", "k_proj", "v_proj", "o_proj", "input_layernorm"])
def test_weights_that_are_no_numbers_are_refused_by_name(value: float, kind: str, tmp_path: Path) -> None:
    made = make("llama")
    name = next(name for name in made.tensors if "layers.1" in name and kind in name)
    made.tensors[name].reshape(-1)[-1] = value
    with pytest.raises(InputError, match=rf"{name} must hold finite numbers, but holds 1 "):
        spectra(made.write(tmp_path), draws=1)


def test_weights_whose_products_overflow_are_refused(tmp_path: Path) -> None:
    made = make("llama")
    for name, tensor in made.tensors.items():
        if "v_proj" in name or "o_proj" in name:
            tensor *= 1e200
    with pytest.raises(InputError, match="overflow"):
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


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    for name in ("model.safetensors", "model.gguf"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(InputError, match="no ordinary file"):
            spectra(tmp_path / name)
    with pytest.raises(InputError, match="no ordinary file"):
        spectra(tmp_path)


@pytest.mark.parametrize("path", ["nowhere", "a\0b", "model.onnx", "", 3, None])
def test_a_path_that_is_none_is_told(path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"x")
    with pytest.raises(InputError):
        spectra(path)


def test_a_folder_with_several_models_asks_which(tmp_path: Path) -> None:
    folder = make("llama").write(tmp_path)
    raw = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").rename(folder / "a.safetensors")
    (folder / "b.safetensors").write_bytes(raw)
    with pytest.raises(InputError, match=r"a\.safetensors, b\.safetensors"):
        spectra(folder)
    assert spectra(folder / "b.safetensors", draws=1).layers == 2
