"""GGUF files: what the gguf package writes is read as it reads it; damaged ones are refused."""

import struct
import warnings
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from numpy.typing import NDArray
from support.made_checkpoints import Made, make
from support.soak import SOAK
from support.time_limits import SECONDS_PER_FILE, within_cpu_seconds

from nucleate.checks import InputError, MissingPackageError
from nucleate.models.mapping import built_in
from nucleate.models.spectra import Spectra, spectra
from nucleate.models.weights import GgufWeights

MUTANTS = 10_000 if SOAK else 2_000
NUMBERS = [0, 1, 2**31, 2**32, 2**62, 2**63, 2**64 - 1]
QUANTS = [gguf.GGMLQuantizationType.F32, gguf.GGMLQuantizationType.F16, gguf.GGMLQuantizationType.BF16]
QUANTS += [
    gguf.GGMLQuantizationType.Q8_0,
    gguf.GGMLQuantizationType.Q4_0,
    gguf.GGMLQuantizationType.Q4_1,
    gguf.GGMLQuantizationType.Q5_0,
]
HEADS, KV, D = 2, 1, 64
NAMES = {"q": "attn_q", "k": "attn_k", "v": "attn_v", "o": "attn_output"}


def llama(
    path: Path, kind: Any = gguf.GGMLQuantizationType.F32, arch: str = "llama", scaling: str = ""
) -> dict[str, NDArray[np.float32]]:
    """A Llama of two layers; the tensors as they are after quantisation, by their names in transformers."""
    rng = np.random.default_rng(0)
    writer = gguf.GGUFWriter(path, arch)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV)
    writer.add_block_count(2)
    writer.add_embedding_length(D)
    if scaling:
        writer.add_rope_scaling_type(gguf.RopeScalingType(scaling))
    writer.add_array("tokenizer.ggml.tokens", ["a", "bc", ""])
    writer.add_array("tokenizer.ggml.scores", [0.5, 1.5, 2.5])
    kept = {}
    for i in range(2):
        gain = (1 + 0.3 * rng.standard_normal(D)).astype(np.float32)
        writer.add_tensor(f"blk.{i}.attn_norm.weight", gain)
        kept[f"model.layers.{i}.input_layernorm.weight"] = gain
        for name, shape in {"q": (D, D), "k": (D // 2, D), "v": (D // 2, D), "o": (D, D)}.items():
            raw = gguf.quants.quantize(rng.standard_normal(shape).astype(np.float32), kind)
            writer.add_tensor(f"blk.{i}.{NAMES[name]}.weight", raw, raw_dtype=kind)
            kept[f"model.layers.{i}.self_attn.{name}_proj.weight"] = gguf.quants.dequantize(raw, kind).astype(
                np.float32
            )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return kept


def same(one: Spectra, two: Spectra) -> bool:
    return all(
        np.array_equal(a.eigenvalues, b.eigenvalues) and a.beta == b.beta
        for a, b in zip(one.heads, two.heads, strict=True)
    )


@pytest.mark.parametrize("kind", QUANTS, ids=lambda kind: kind.name)
def test_a_quantised_model_has_the_spectra_of_its_dequantised_weights(kind: Any, tmp_path: Path) -> None:
    kept = llama(tmp_path / "a.gguf", kind)
    found = spectra(tmp_path / "a.gguf", draws=1)
    config = {
        "model_type": "llama",
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV,
        "num_hidden_layers": 2,
    }
    assert same(found, spectra(Made(config, dict(kept), "llama").write(tmp_path / "b"), draws=1))
    assert found.stored_as == (kind.name,)
    told = f"quantised ({kind.name}) and were dequantised" in " ".join(found.notes)
    assert told == (kind not in QUANTS[:3])


@pytest.mark.parametrize("kind", QUANTS[3:], ids=lambda kind: kind.name)
def test_infinite_scales_are_refused_by_name_and_without_a_warning(kind: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    llama(path, kind)
    raw = bytearray(path.read_bytes())
    begin = next(
        tensor.data_offset for tensor in gguf.GGUFReader(path).tensors if tensor.name == "blk.1.attn_v.weight"
    )
    raw[begin : begin + 2] = np.float16(np.inf).tobytes()  # the first block's scale
    path.write_bytes(raw)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match=r"blk\.1\.attn_v\.weight must hold finite numbers"):
            spectra(path, draws=1)


@pytest.mark.parametrize("scaling", ["none", "linear", "yarn", "longrope"])
def test_a_file_whose_positions_are_scaled_so_that_scores_grow_says_that_beta_is_without(
    scaling: str, tmp_path: Path
) -> None:
    llama(tmp_path / "a.gguf", scaling=scaling)
    assert any("left out of beta" in note for note in spectra(tmp_path / "a.gguf", draws=1).notes) == (
        scaling in ("yarn", "longrope")
    )


def test_every_tensor_and_setting_is_what_the_packages_own_reader_finds(tmp_path: Path) -> None:
    for kind in QUANTS:
        llama(tmp_path / "a.gguf", kind)
        ours, theirs = GgufWeights(tmp_path / "a.gguf"), gguf.GGUFReader(tmp_path / "a.gguf")
        assert list(ours.shapes) == [tensor.name for tensor in theirs.tensors]
        for tensor in theirs.tensors:
            exact = gguf.quants.dequantize(tensor.data, tensor.tensor_type).reshape(ours.shapes[tensor.name])
            np.testing.assert_array_equal(ours.part(tensor.name), exact.astype(np.float64))
            if exact.ndim == 2:
                np.testing.assert_array_equal(
                    ours.part(tensor.name, columns=slice(7, 20)), exact[:, 7:20].astype(np.float64)
                )
                np.testing.assert_array_equal(
                    ours.part(tensor.name, rows=slice(3, 9)), exact[3:9].astype(np.float64)
                )
        settings = {
            name: ours.settings[name] for name in theirs.fields if not name.startswith(("GGUF.", "tokenizer"))
        }
        assert settings == {name: theirs.fields[name].contents() for name in settings}
        assert len(settings) == 5


def test_rows_permuted_for_rope_alike_in_queries_and_keys_change_no_beta(tmp_path: Path) -> None:
    """As converters do with Llama: the halves of each head are interleaved."""
    made = make("llama", seed=2)
    other = dict(made.tensors)
    for name, heads in (("q", 4), ("k", 2)):
        for i in range(2):
            W = other[f"model.layers.{i}.self_attn.{name}_proj.weight"]
            order = np.random.default_rng(9).permutation(3)
            other[f"model.layers.{i}.self_attn.{name}_proj.weight"] = W.reshape(heads, 3, -1)[
                :, order
            ].reshape(W.shape)
    one, two = (
        spectra(Made(made.config, T, "llama").write(tmp_path / str(i)), draws=1)
        for i, T in enumerate((made.tensors, other))
    )
    for a, b in zip(one.heads, two.heads, strict=True):
        assert a.beta == pytest.approx(b.beta, rel=1e-12)


# How the converter of llama.cpp changes weights: Gemma's gains get their 1, GPT-2's matrices a row per
# output, GPT-NeoX all queries first.
def changed(kind: str, name: str, W: NDArray[Any]) -> NDArray[Any]:
    if kind.startswith("gemma") and name.endswith("norm.weight"):
        return W + 1.0
    if kind == "gpt2" and name.endswith(("c_attn.weight", "c_proj.weight")):
        return W.T
    if kind == "gpt_neox" and name.endswith("query_key_value.weight"):
        # (head, part, d_head, d) to (part, head, ...)
        return W.reshape(3, 3, 4, 12).transpose(1, 0, 2, 3).reshape(W.shape)
    return W


ARCHITECTURES = {
    "llama": "LLAMA",
    "qwen2": "QWEN2",
    "qwen3": "QWEN3",
    "gemma": "GEMMA",
    "gemma2": "GEMMA2",
    "minilm": "BERT",
    "gpt2": "GPT2",
}
ARCHITECTURES |= {"gpt_neox": "GPTNEOX", "gemma3 that sees": "GEMMA3"}


@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_a_converted_model_has_the_spectra_of_the_one_it_was_made_of(kind: str, tmp_path: Path) -> None:
    made, arch = make(kind), getattr(gguf.MODEL_ARCH, ARCHITECTURES[kind])
    config = {**made.config, **made.config.get("text_config", {})}
    config.pop("text_config", None)
    writer, table = (
        gguf.GGUFWriter(tmp_path / "a.gguf", gguf.MODEL_ARCH_NAMES[arch]),
        gguf.get_tensor_name_map(arch, 3),
    )
    writer.add_head_count(3 if kind == "gpt2" else config["num_attention_heads"])
    writer.add_block_count(2)
    if "num_key_value_heads" in config:
        writer.add_head_count_kv(config["num_key_value_heads"])
    if "head_dim" in config:
        writer.add_key_length(config["head_dim"])
    if "attn_logit_softcapping" in config:
        writer.add_attn_logit_softcapping(config["attn_logit_softcapping"])
    single = {name: W.astype(np.float32) for name, W in made.tensors.items()}
    for name, W in single.items():
        known = table.get_name(
            name.removeprefix("language_model.").removeprefix("transformer."), (".weight", ".bias")
        )
        if known and W.dtype == np.float32 and W.ndim < 3:
            writer.add_tensor(known, np.ascontiguousarray(changed(kind, name, W)))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    found = spectra(tmp_path / "a.gguf", draws=1)
    if "query_pre_attn_scalar" in config:
        config["query_pre_attn_scalar"] = 3  # no GGUF file says it: d_head is taken
    first = spectra(Made(config, single, kind).write(tmp_path / "b"), draws=1)
    assert len(found.heads) == len(first.heads)
    for one, two in zip(found.heads, first.heads, strict=True):
        np.testing.assert_allclose(
            one.eigenvalues, two.eigenvalues, rtol=1e-5, atol=1e-6 * np.abs(two.eigenvalues).max()
        )  # 1 + w in single precision
        assert one.beta == pytest.approx(two.beta, rel=1e-5)
    for words in ("offset 0", "normalised in each head", "behind the attention", "capped"):
        assert (words in " ".join(found.notes)) == (words in " ".join(first.notes)), words
    assert ("does not say by what scores are divided" in " ".join(found.notes)) == (
        kind.split()[0] in ("gemma2", "gemma3")
    )


def test_the_27b_gemmas_divide_their_scores_by_the_root_of_d_over_heads(tmp_path: Path) -> None:
    def written(layers: int) -> Spectra:
        writer = gguf.GGUFWriter(tmp_path / f"{layers}.gguf", "gemma3")
        writer.add_head_count(2)
        writer.add_block_count(layers)
        writer.add_embedding_length(16)
        writer.add_key_length(2)
        rng = np.random.default_rng(0)
        one = {
            name: rng.standard_normal(shape).astype(np.float32)
            for name, shape in {"q": (4, 16), "k": (4, 16), "v": (4, 16), "o": (16, 4)}.items()
        }
        for i in range(layers):
            writer.add_tensor(f"blk.{i}.attn_norm.weight", np.ones(16, dtype=np.float32))
            for name, W in one.items():
                writer.add_tensor(f"blk.{i}.{NAMES[name]}.weight", W)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return spectra(tmp_path / f"{layers}.gguf", draws=1)

    small, large = written(2).heads[0], written(62).heads[0]
    assert small.beta / large.beta == pytest.approx((16 / 2) ** 0.5 / 2**0.5)
    np.testing.assert_array_equal(small.eigenvalues, large.eigenvalues)


@pytest.mark.parametrize(
    ("ours", "arch"),
    [
        *(("llama", arch) for arch in ("LLAMA", "QWEN2", "QWEN3", "QWEN2MOE", "QWEN3MOE", "SMOLLM3")),
        *(("gemma", arch) for arch in ("GEMMA", "GEMMA2", "GEMMA3")),
        *(("bert", "BERT"), ("gpt2", "GPT2"), ("gpt_neox", "GPTNEOX")),
    ],
)
def test_the_names_are_those_that_the_package_translates_to(ours: str, arch: str) -> None:
    """From the names in transformers, which other tests check against models, through the package's own
    table."""
    kind = getattr(gguf.MODEL_ARCH, arch)
    table = gguf.get_tensor_name_map(kind, 3)
    theirs = next(
        mapping for mapping in built_in().values() if f"gguf:{gguf.MODEL_ARCH_NAMES[kind]}" in mapping.models
    )
    here = built_in()[ours]
    prefix = {"llama": "model.", "gemma": "model.", "bert": "", "gpt2": "", "gpt_neox": "gpt_neox."}[ours]
    for key in ("query", "key", "value", "fused", "output", "norm"):
        if getattr(here, key):
            name = prefix + here.place((2,)) + getattr(here, key)
            assert table.get_name(name, (".weight",)) == theirs.place((2,)) + getattr(theirs, key)
    if here.first:
        assert table.get_name(here.first, (".weight",)) == theirs.first
    assert (here.centred, here.front, here.rope, here.shrunk) == (
        theirs.centred,
        theirs.front,
        theirs.rope,
        theirs.shrunk,
    )


@pytest.mark.soak(mutants=MUTANTS)
def test_mutants_are_read_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    llama(path, gguf.GGMLQuantizationType.Q8_0)
    raw, rng, refused = path.read_bytes(), np.random.default_rng(0), 0
    header = raw.index(b"blk.1.attn_output") + 64
    for i in range(MUTANTS):
        data = bytearray(raw)
        for _ in range(rng.integers(1, 4)):
            at = int(rng.integers(0, header))
            if rng.random() < 0.3:
                data[at : at + 8] = struct.pack("<Q", NUMBERS[rng.integers(len(NUMBERS))])
            else:
                data[at] = int(rng.integers(0, 256))
        if rng.random() < 0.2:
            del data[int(rng.integers(0, len(data))) :]
        path.write_bytes(data)
        with within_cpu_seconds(SECONDS_PER_FILE):
            try:
                weights = GgufWeights(path)
                if i % 10 == 0:
                    spectra(path, draws=1)
                assert all(isinstance(name, str) for name in weights.shapes)
            except InputError:
                refused += 1
    assert MUTANTS / 4 < refused < MUTANTS


def test_an_unknown_architecture_is_told(tmp_path: Path) -> None:
    llama(tmp_path / "a.gguf", arch="rwkv6")
    with pytest.raises(InputError, match=r"unknown type 'gguf:rwkv6'.*blk\.#\.attn_norm"):
        spectra(tmp_path / "a.gguf")


def test_a_package_that_gguf_lacks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """gguf 0.10 imports sentencepiece, and says nowhere that it needs it."""
    import builtins

    real = builtins.__import__

    def lacking(name: str, *rest: Any) -> Any:
        if name == "gguf":
            raise ModuleNotFoundError("No module named 'sentencepiece'", name="sentencepiece")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", lacking)
    with pytest.raises(MissingPackageError, match=r"gguf, which cannot be imported \(No module named 'sente"):
        GgufWeights(tmp_path / "model.gguf")
