"""nucleate.spectra against the matrices it never makes: every architecture, every head."""

import csv
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from support.made_checkpoints import MAKERS, Made, make, slow_heads

from nucleate.checks import InputError
from nucleate.models.heads import full_row, read_spectrum
from nucleate.models.rope import rope_note, stretches
from nucleate.models.spectra import Spectra, spectra
from nucleate.models.table import COLUMNS, head_table, layer_table, region_words, share_words
from nucleate.theory.atlas import atlas

KINDS = list(MAKERS)
CLOSE = 1e-9  # of the largest eigenvalue: those of Gaussian matrices this small move by about 1e-13


def read(made: Made, folder: Path, **more: Any) -> Spectra:
    return spectra(made.write(folder), draws=1, **more)


def apart(one: NDArray[Any], other: NDArray[Any]) -> float:
    """The largest distance in the best pairing of two sets of numbers."""
    distance = np.abs(one[:, None] - other[None, :])
    return float(distance[linear_sum_assignment(distance)].max())


# --- the numbers


@pytest.mark.parametrize("kind", KINDS)
def test_every_head_has_the_eigenvalues_of_the_explicit_product(kind: str, tmp_path: Path) -> None:
    made = make(kind)
    found = read(made, tmp_path)
    slow = list(slow_heads(made))
    assert [(head.layer, head.head) for head in found.heads] == [(layer, head) for layer, head, _, _ in slow]
    for head, (_, _, _, V) in zip(found.heads, slow, strict=True):
        exact = np.linalg.eigvals(V)  # (d,)
        ours = np.concatenate([head.eigenvalues, np.zeros(len(V) - len(head.eigenvalues))])
        assert apart(ours, exact) <= CLOSE * np.abs(exact).max()
        assert head.full_lambda_max == pytest.approx(exact.real.max(), abs=CLOSE * np.abs(exact).max())


@pytest.mark.parametrize("kind", KINDS)
def test_beta_is_the_norm_of_the_explicit_score_matrix(kind: str, tmp_path: Path) -> None:
    made = make(kind, seed=1)
    for head, (_, _, A, _) in zip(read(made, tmp_path).heads, slow_heads(made), strict=True):
        # a product of well-conditioned factors: some rounding
        assert head.beta == pytest.approx(np.linalg.norm(A, 2), rel=1e-12)


def test_the_row_is_that_of_the_small_product_and_both_largest_real_parts_are_told(tmp_path: Path) -> None:
    """The weights are built so that head h of the small product is what we want: W_V takes three coordinates,
    W_O puts S in their place."""
    S = [
        -np.diag([1.0, 2.0, 3.0]),
        2.0 * np.eye(3),
        np.diag([1.0, 1.0, -4.0]),
        np.array([[0.5, -1, 0], [1, 0.5, 0], [0, 0, -2.0]]),
    ]
    S += [-np.eye(3), np.zeros((3, 3)), np.array([[1.0, 1, 0], [0, 1, 0], [0, 0, -1]])]
    made = make("llama")
    T, n = dict(made.tensors), len(S)
    T |= {f"model.layers.{i}.input_layernorm.weight": np.ones(12) for i in range(2)}
    for i in range(2):
        p = f"model.layers.{i}.self_attn."
        T[p + "q_proj.weight"], T[p + "k_proj.weight"] = np.ones((3 * n, 12)), np.ones((3 * n, 12))
        T[p + "v_proj.weight"] = np.tile(np.eye(3, 12), (n, 1))
        T[p + "o_proj.weight"] = np.concatenate([np.eye(12, 3) @ M for M in S], axis=1)
    config = {**made.config, "num_attention_heads": n, "num_key_value_heads": n}
    heads = read(Made(config, T, "llama"), tmp_path).layer(1)
    assert [head.region for head in heads] == ["5", "1", "2", "complex +", "4", "zero", "defective +"]
    assert [head.row for head in heads] == [5, 1, 2, None, 4, None, None]
    assert [head.full_row for head in heads] == [None, 2, 2, None, None, None, None]
    assert [head.full_lambda_max for head in heads] == pytest.approx([0, 2, 1, 0.5, 0, 0, 1])
    assert [head.left for head in heads] == pytest.approx([1, 0, 1 / 3, 1 / 3, 1, 0, 1 / 3])
    for head, M in zip(heads, S, strict=True):
        whole = atlas(np.eye(12, 3) @ M @ np.eye(3, 12))  # (d, d)
        assert head.full_row == whole.row
        assert head.full_lambda_max == pytest.approx(whole.lambda_max)


@pytest.mark.parametrize("seed", range(20))
def test_the_row_of_the_large_matrix_is_what_its_own_atlas_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    W, U = rng.standard_normal((3, 7)), rng.standard_normal((7, 3))
    whole = atlas(U @ W)
    top, row = full_row(read_spectrum(W @ U), 7)
    assert row == whole.row
    assert top == pytest.approx(max(whole.lambda_max, 0.0), abs=1e-12)


def test_at_random_the_largest_real_part_follows_the_circular_law(tmp_path: Path) -> None:
    """std^2 sqrt(d d_head) is the radius of the disc; on the left lie half of the eigenvalues, and no head is
    negative."""
    made = make("llama")
    g = np.random.default_rng(0)
    d, heads = 256, 8
    T = {f"model.layers.0.self_attn.{name}_proj.weight": g.standard_normal((d, d)) for name in "qkvo"}
    T["model.layers.0.input_layernorm.weight"] = np.ones(d)
    config = {
        **made.config,
        "num_attention_heads": heads,
        "num_key_value_heads": heads,
        "num_hidden_layers": 1,
    }
    first = spectra(Made(config, T, "llama").write(tmp_path), draws=40).initial
    # the largest of 32 lies within the disc by about n^(-1/2)
    assert first.lambda_max == pytest.approx(0.02**2 * np.sqrt(d * d / heads), rel=0.15)
    assert first.left == pytest.approx(0.5, abs=0.05)  # 1280 eigenvalues: three standard errors
    assert not any(region.endswith("-") or region in "45" for region in first.regions)
    assert sum(first.regions.values()) == first.draws == 40
    assert first.low < first.lambda_max < first.high


def test_gpt2_starts_with_an_output_that_is_smaller_by_the_root_of_twice_its_layers(tmp_path: Path) -> None:
    first = read(make("gpt2"), tmp_path).initial
    assert first.std == 0.02
    assert first.output_std == pytest.approx(0.01)


def test_the_same_seed_gives_the_same_bits_and_another_one_others(tmp_path: Path) -> None:
    path = make("gpt_neox").write(tmp_path)
    one, two, other = (spectra(path, draws=3, seed=seed) for seed in (5, 5, 6))
    assert one.initial == two.initial
    assert one.initial.lambda_max != other.initial.lambda_max
    assert all(
        np.array_equal(a.eigenvalues, b.eigenvalues) for a, b in zip(one.heads, two.heads, strict=True)
    )


# --- where the numbers come from


@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "bfloat16"])
def test_every_float_format_is_read_as_its_numbers_are(kind: str, tmp_path: Path) -> None:
    import ml_dtypes

    dtype = ml_dtypes.bfloat16 if kind == "bfloat16" else np.dtype(kind)
    made = make("llama")
    rounded = {name: tensor.astype(dtype) for name, tensor in made.tensors.items()}
    found = read(Made(made.config, rounded, "llama"), tmp_path)
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
    whole = read(made, tmp_path / "one")
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
    one, two = spectra(loaded, draws=1), read(made, tmp_path)
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


def test_what_is_left_out_is_named(tmp_path: Path) -> None:
    notes = {kind: " ".join(read(make(kind), tmp_path / kind).notes) for kind in KINDS}
    assert "self_attn.q_proj.bias, self_attn.k_proj.bias, self_attn.v_proj.bias" in notes["qwen2"]
    assert "Biases" not in notes["llama"]
    assert "attn.c_attn.bias, attn.c_proj.bias, ln_1.bias" in notes["gpt2"]
    stretched = {
        kind: word
        for word in ("yarn", "longrope")
        for kind in KINDS
        if f"offset 0, with what {word} multiplies them by." in notes[kind]
    }
    told = {
        "offset 0": {*KINDS[KINDS.index("gpt_neox") :]},
        "normalised in each head": {"qwen3", "gemma3 that sees"},
        "behind the attention": {"gemma2", "gemma3 that sees"},
        "capped": {"gemma2"},
        "second pass": {"albert", "albert, one group passed once"},
        "of the layer before in group 1, passed once": {"albert, one group passed once"},
        "no normalisation, is in front of the first layer": {
            "albert, each group passed once",
            "electra, small embeddings",
        },
    }
    for words, kinds in told.items():
        assert {kind for kind in KINDS if words in notes[kind]} == kinds, words
    assert stretched == {
        kind: "yarn" if "YaRN" in kind else "longrope"
        for kind in KINDS
        if "YaRN" in kind or "LongRoPE" in kind
    }


def test_settings_that_change_scores_but_are_not_used_are_named(tmp_path: Path) -> None:
    made = make("llama")
    changes = {"attention_multiplier": 0.5, "clip_qkv": 3.0, "rope_scaling": {"rope_type": "brand new"}}
    notes = " ".join(read(Made({**made.config, **changes}, made.tensors, "llama"), tmp_path / "a").notes)
    assert "config.json has attention_multiplier, clip_qkv, which llama does not use" in notes
    assert "without what 'brand new' may multiply them by" in notes
    bert = make("bert")
    relative = Made({**bert.config, "position_embedding_type": "relative_key"}, bert.tensors, "bert")
    assert "Relative positions add to the scores" in " ".join(read(relative, tmp_path / "bert").notes)
    # the library caps unless it is told not to
    for omitted, capped in (({}, True), ({"attn_logit_softcapping": None}, False)):
        config = {
            name: value for name, value in make("gemma2").config.items() if name != "attn_logit_softcapping"
        } | omitted
        assert (
            "capped"
            in " ".join(read(Made(config, make("gemma2").tensors, "gemma2"), tmp_path / str(capped)).notes)
        ) == capped
    gone = dict.fromkeys(changes)  # null in config.json
    assert (
        read(Made({**made.config, **gone}, made.tensors, "llama"), tmp_path / "b").notes
        == read(made, tmp_path / "c").notes
    )


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


def test_progress_counts_every_head_once(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    found = read(make("gpt2"), tmp_path, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(i + 1, len(found.heads)) for i in range(len(found.heads))]


# --- unknown architectures

MINE = """
models = ["mine"]
layer = "block.{layer}."
query = "att.q"
key = "att.k"
value = "att.v"
output = "att.o"
norm = "before.gain"
sizes = {heads = "how_many", key_value_heads = 2}
"""


def renamed() -> Made:
    made = make("llama")
    words = {
        "self_attn.q_proj.weight": "att.q",
        "self_attn.k_proj.weight": "att.k",
        "self_attn.v_proj.weight": "att.v",
    }
    words |= {
        "self_attn.o_proj.weight": "att.o",
        "input_layernorm.weight": "before.gain",
        "model.layers": "block",
    }
    T = {}
    for name, tensor in made.tensors.items():
        for old, new in words.items():
            name = name.replace(old, new)
        T[name] = tensor
    return Made({"model_type": "mine", "how_many": 4}, T, "llama")


def test_an_unknown_architecture_is_told_with_what_was_found_and_how_to_describe_it(tmp_path: Path) -> None:
    with pytest.raises(InputError) as told:
        read(renamed(), tmp_path)
    for words in (
        "'mine'",
        "block.#.att.q",
        "--mapping model.toml",
        'query = "self_attn.q_proj.weight"',
        "albert, bert, gemma",
    ):
        assert words in str(told.value)
    example = str(told.value).partition("model.toml:\n")[2]
    assert len(example.strip().splitlines()) <= 10


def test_a_mapping_of_ten_lines_describes_a_new_architecture(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(MINE)
    mine = read(renamed(), tmp_path / "mine", mapping=tmp_path / "mine.toml")
    llama = read(make("llama"), tmp_path / "llama")
    assert mine.architecture == "mine.toml"
    assert all(
        np.array_equal(a.eigenvalues, b.eigenvalues) and a.beta == b.beta
        for a, b in zip(mine.heads, llama.heads, strict=True)
    )


def test_the_example_in_the_error_is_a_mapping(tmp_path: Path) -> None:
    from nucleate.models.mapping import EXAMPLE, built_in, read_mapping

    (tmp_path / "a.toml").write_text(EXAMPLE)
    example, llama = read_mapping(tmp_path / "a.toml"), built_in()["llama"]
    assert all(
        getattr(example, key) == getattr(llama, key)
        for key in ("layer", "query", "key", "value", "output", "norm", "centred", "front")
    )


def test_an_unknown_type_with_known_names_can_be_read_as_a_known_one(tmp_path: Path) -> None:
    made = make("llama")
    odd = Made({**made.config, "model_type": "yet_another"}, made.tensors, "llama")
    with pytest.raises(InputError) as told:  # its names are those of both
        read(odd, tmp_path / "odd")
    plain = "--mapping llama (RMSNorm, gain w, scores divided by the root of d_head)"
    other = "--mapping gemma (RMSNorm, gain 1+w, scores divided by the root of query_pre_attn_scalar)"
    assert f"those of llama and gemma: if the model works like that, add {plain} or {other}.\n" in str(
        told.value
    )
    assert read(odd, tmp_path / "odd", mapping="llama").regions == read(made, tmp_path / "plain").regions


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("self_attn.o_proj.", "self_attn.out_proj."),  # as OPT
        ("input_layernorm.", "self_attn_layer_norm."),
        ("self_attn.k_proj.", "self_attn.key."),
        # a LayerNorm, as in StarCoder2: RMSNorm has no bias
        ("post_attention_layernorm.weight", "input_layernorm.bias"),
    ],
)
def test_no_known_architecture_is_proposed_where_its_tensors_are_not_there(
    old: str, new: str, tmp_path: Path
) -> None:
    made = make("llama")
    odd = Made(
        {**made.config, "model_type": "yet_another"},
        {name.replace(old, new): tensor for name, tensor in made.tensors.items()},
        "llama",
    )
    with pytest.raises(InputError, match="unknown type 'yet_another'") as told:
        read(odd, tmp_path)
    assert "The names are those of" not in str(told.value)


def test_the_one_architecture_with_these_names_is_proposed(tmp_path: Path) -> None:
    made = make("bert")
    with pytest.raises(
        InputError,
        match="those of bert: if the model works like that, add --mapping bert \\(LayerNorm\\)\\.\n",
    ):
        read(Made({**made.config, "model_type": "yet_another"}, made.tensors, "bert"), tmp_path)


def test_two_parts_that_both_fit_are_not_chosen_between(tmp_path: Path) -> None:
    made = make("llama")
    twice = made.tensors | {f"other.{name}": tensor for name, tensor in made.tensors.items()}
    with pytest.raises(InputError, match=r"2 prefixes: 'model\.', 'other\.model\.'"):
        read(Made(made.config, twice, "llama"), tmp_path)


def test_heads_that_gemma3_leaves_out_of_its_configuration_are_its_usual_ones(tmp_path: Path) -> None:
    """The published 4B model says neither how many heads it has nor what its scores are divided by."""
    rng = np.random.default_rng(0)
    T: dict[str, NDArray[Any]] = {}
    for i in range(2):
        p = f"language_model.model.layers.{i}."
        T |= {
            f"{p}self_attn.{name}_proj.weight": rng.standard_normal(shape)
            for name, shape in {"q": (24, 6), "k": (12, 6), "v": (12, 6), "o": (6, 24)}.items()
        }
        T |= {f"{p}input_layernorm.weight": rng.standard_normal(6)}
    short = {"hidden_size": 6, "num_hidden_layers": 2, "model_type": "gemma3_text"}
    whole = {
        **short,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 3,
        "query_pre_attn_scalar": 256,
    }
    one, two = (
        read(Made({"model_type": "gemma3", "text_config": text}, T, "gemma3"), tmp_path / str(len(text)))
        for text in (short, whole)
    )
    assert (one.heads_per_layer, one.key_value_heads, one.head_dim) == (8, 4, 3)
    assert [head.beta for head in one.heads] == [head.beta for head in two.heads]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("models = [", "not TOML"),
        ('models = ["a"]', "lacks layer and output"),
        (MINE.replace("query", "qwery"), "Is it 'query'"),
        (MINE.replace("{layer}", "0"), "must hold {layer}"),
        (MINE.replace('norm = "before.gain"', "norm = 3"), "must be a text"),
        (MINE + "centred = 1\n", "unknown key|true or false|not TOML"),
        (MINE.replace("2}", "true}"), "sizes.key_value_heads"),
        (MINE.replace("how_many", "nowhere"), "config.json does not have"),
        ('gain = "2w"' + MINE, "must be one of w, 1"),
        (MINE + "defaults = {mine = 3}\n", "must be a table of tables"),
        (MINE.replace('query = "att.q"', ""), "query, key and value, or fused"),
        ('fused = "x"' + MINE, "no order"),
        (MINE.replace("att.q", "att.nothing"), "no tensor named"),
        (MINE.replace("att.o", "att.nothing"), "is missing"),
        (MINE.replace("key_value_heads = 2", "key_value_heads = 3"), "must divide"),
        (MINE.replace("key_value_heads = 2", "key_value_heads = 1"), "must have shape"),
        (MINE.replace("key_value_heads = 2", "key_value_heads = 2, head_dim = 5"), "do not make"),
        (MINE.replace("key_value_heads = 2", "key_value_heads = 2, layers = 3"), "Are all files"),
        (MINE.replace("key_value_heads = 2", "key_value_heads = 0"), "at least 1"),
    ],
)
def test_a_wrong_mapping_is_told_with_what_is_wrong(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(InputError, match=words):
        read(renamed(), tmp_path / "mine", mapping=tmp_path / "mine.toml")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"num_attention_heads": 5}, "must divide"),
        ({"num_attention_heads": 8}, "do not make"),
        ({"num_attention_heads": 0}, "at least 1"),
        ({"num_attention_heads": -1}, "at least 1"),
        ({"num_attention_heads": "4"}, "whole number"),
        ({"num_attention_heads": 10**30}, "2\\^62"),
        ({"num_attention_heads": 10**9}, "at most 65536"),
        ({"num_attention_heads": [4]}, "whole number"),
        ({"num_attention_heads": None}, "nowhere"),
        ({"num_hidden_layers": 3}, "holds? 2"),
        ({"head_dim": 1}, "do not make"),
        ({"initializer_range": float("nan")}, "std must be finite"),
        ({"initializer_range": -1}, "greater than 0"),
        ({"rope_scaling": {"rope_type": "yarn"}}, "max_position_embeddings must be a number"),
        ({"rope_scaling": {"rope_type": "yarn", "factor": "much"}}, "factor must be a number"),
        (
            {"rope_scaling": {"rope_type": "longrope", "factor": 2.0, "original_max_position_embeddings": 1}},
            "greater than 1",
        ),
        ({"partial_rotary_factor": -1}, "greater than 0"),
        ({"model_type": None}, "without a config.json"),
        ({"model_type": ["llama"]}, "unknown type"),
        ({"text_config": {"num_attention_heads": 7}}, "do not make|must divide"),
    ],
)
def test_a_configuration_that_does_not_fit_is_told(
    change: dict[str, Any], words: str, tmp_path: Path
) -> None:
    made = make("llama")
    with pytest.raises(InputError, match=words):
        read(Made({**made.config, **change}, made.tensors, "llama"), tmp_path)


# --- words and files


def test_the_summary_and_the_tables_say_what_was_found(tmp_path: Path) -> None:
    found = read(make("llama"), tmp_path)
    text = str(found)
    assert "2 layers of 4 heads over 2 key-value heads, d = 12, d_head = 3, stored as F64" in text
    assert sum(found.regions.values()) == len(found.heads) == 8
    assert all(region_words(region) in text for region in found.regions)
    assert len(head_table(found.heads).splitlines()) == 9
    assert len(layer_table(found).splitlines()) == 3
    assert [head.head for head in found.layer(1)] == [0, 1, 2, 3]
    assert {(head.layer, head.head) for head in found.negative} == {
        (h.layer, h.head) for h in found.heads if h.lambda_max < 0
    }
    assert all(f"{head.layer}.{head.head}" in text for head in found.negative)
    with pytest.raises(InputError, match="0 to 1"):
        found.layer(2)


@pytest.mark.parametrize(
    ("part", "whole", "words"),
    [
        (0, 270, "0%"),
        (1, 270, "<1%"),
        (1, 200, "<1%"),
        (2, 270, "1%"),
        (135, 270, "50%"),
        (268, 270, "99%"),
        (269, 270, ">99%"),
        (270, 270, "100%"),
    ],
)
def test_few_are_not_none_and_nearly_all_are_not_all(part: int, whole: int, words: str) -> None:
    assert share_words(part, whole) == words


def test_one_head_of_many_is_less_than_a_per_cent_in_the_summary_and_on_the_page(tmp_path: Path) -> None:
    from nucleate.plot.heads_page import _rows

    found = read(make("llama"), tmp_path)
    heads = (
        replace(found.heads[0], region="zero"),
        *(replace(found.heads[0], region="3") for _ in range(269)),
    )
    many = replace(found, heads=heads)
    assert " 1 (<1%)" in str(many)
    assert "269 (>99%)" in str(many)
    assert "<td>1<td>&lt;1%<td>" in _rows(many)


def test_json_and_csv_hold_every_number(tmp_path: Path) -> None:
    found = read(make("gemma"), tmp_path)
    found.save(tmp_path / "a.json")
    found.save(tmp_path / "a.csv")
    plain = json.loads((tmp_path / "a.json").read_text())
    assert plain["d"] == 12
    assert plain["initial"]["draws"] == 1
    rows = list(csv.DictReader((tmp_path / "a.csv").read_text().splitlines()))
    assert len(rows) == len(plain["heads"]) == len(found.heads)
    for head, one, row in zip(found.heads, plain["heads"], rows, strict=True):
        np.testing.assert_array_equal([complex(*pair) for pair in one["eigenvalues"]], head.eigenvalues)
        assert tuple(row) == COLUMNS
        for name in COLUMNS:
            value = getattr(head, name)
            assert one[name] == value
            assert row[name] == ("" if value is None else str(value))
    with pytest.raises(InputError, match=r"\.json or \.csv"):
        found.save(tmp_path / "a.txt")


def test_the_note_on_positions_tells_what_changes_beta_and_what_may() -> None:
    shrunk = {
        "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "mscale": 0.5, "mscale_all_dim": 1.0},
        "no_rope_layers": [1, 0],
    }
    assert stretches(shrunk, 2)[0] < 1.0 == stretches(shrunk, 2)[1]
    assert "with what yarn multiplies them by" in rope_note(shrunk, 2)
    # and nothing says which layers these are
    by_kind = {"rope_parameters": {"full_attention": {"rope_type": "yarn", "factor": 4.0}}}
    assert "without what 'settings of no layer' may multiply them by" in rope_note(by_kind, 2)
    assert rope_note({"rope_parameters": {"rope_type": "default"}}, 2).endswith("beta is taken at offset 0.")
