"""Against the transformers library itself: needs torch, and is skipped without it."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from support.library_models import library_model
from support.made_checkpoints import Made, slow_heads
from support.pickles import Harm

from nucleate.checks import InputError
from nucleate.models.convert import convert
from nucleate.models.mapping import built_in
from nucleate.models.spectra import spectra

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

SIZES = {
    "hidden_size": 12,
    "num_attention_heads": 3,
    "num_hidden_layers": 2,
    "intermediate_size": 16,
    "vocab_size": 11,
    "max_position_embeddings": 8,
}
WIDE = {"n_embd": 12, "n_head": 3, "n_layer": 2, "vocab_size": 11, "n_positions": 8}
GROUPED = {**SIZES, "hidden_size": 16, "num_attention_heads": 4, "num_key_value_heads": 2}
# every group is passed more than once
LOOPED = {**SIZES, "num_hidden_layers": 8, "embedding_size": 6, "num_hidden_groups": 2, "inner_group_num": 2}
EXPERTS = {"num_experts": 2, "num_experts_per_tok": 1, "moe_intermediate_size": 8}
YARN = {"rope_type": "yarn", "factor": 4.0, "rope_theta": 10_000.0, "original_max_position_embeddings": 8}
LONG = {
    "rope_type": "longrope",
    "rope_theta": 10_000.0,
    "original_max_position_embeddings": 4,
    "long_factor": [2.0, 2.0],
    "short_factor": [1.0, 1.0],
}
VISION = {
    "hidden_size": 8,
    "intermediate_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 28,
    "patch_size": 14,
}
TIED, LOOSE = {"tie_word_embeddings": True}, {"tie_word_embeddings": False}
MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "albert": ("AlbertConfig", "AlbertForMaskedLM", LOOPED),
    "albert, each group passed once": (
        "AlbertConfig",
        "AlbertForMaskedLM",
        {**LOOPED, "num_hidden_layers": 2},
    ),
    "albert, one group passed once": (
        "AlbertConfig",
        "AlbertForMaskedLM",
        {**LOOPED, "num_hidden_layers": 3},
    ),
    "bert": ("BertConfig", "BertForMaskedLM", SIZES),
    "bert, not tied": ("BertConfig", "BertForMaskedLM", {**SIZES, **LOOSE}),
    "minilm": ("BertConfig", "BertModel", SIZES),
    "roberta": ("RobertaConfig", "RobertaForMaskedLM", SIZES),
    "xlm-roberta": ("XLMRobertaConfig", "XLMRobertaForMaskedLM", SIZES),
    "camembert": ("CamembertConfig", "CamembertForMaskedLM", SIZES),
    "electra": ("ElectraConfig", "ElectraForMaskedLM", {**SIZES, "embedding_size": 12}),
    "electra, small embeddings": ("ElectraConfig", "ElectraForMaskedLM", {**SIZES, "embedding_size": 6}),
    "gpt2": ("GPT2Config", "GPT2LMHeadModel", WIDE),
    "gpt2, by layer": ("GPT2Config", "GPT2LMHeadModel", {**WIDE, "scale_attn_by_inverse_layer_idx": True}),
    "gpt2, not scaled": ("GPT2Config", "GPT2LMHeadModel", {**WIDE, "scale_attn_weights": False}),
    "gpt_neox": ("GPTNeoXConfig", "GPTNeoXForCausalLM", SIZES),
    "gpt_neox, tied": ("GPTNeoXConfig", "GPTNeoXForCausalLM", {**SIZES, **TIED}),
    "gpt_neox, half of YaRN": (
        "GPTNeoXConfig",
        "GPTNeoXForCausalLM",
        {**SIZES, "rope_parameters": {**YARN, "partial_rotary_factor": 0.5}},
    ),
    "llama": ("LlamaConfig", "LlamaForCausalLM", {**GROUPED, **LOOSE}),
    "llama, biased": ("LlamaConfig", "LlamaForCausalLM", {**GROUPED, "attention_bias": True}),
    "llama, YaRN": ("LlamaConfig", "LlamaForCausalLM", {**GROUPED, "rope_parameters": YARN}),
    "llama, YaRN with mscale": (
        "LlamaConfig",
        "LlamaForCausalLM",
        {**GROUPED, "rope_parameters": {**YARN, "mscale": 0.7, "mscale_all_dim": 1.3}},
    ),
    "llama, YaRN with its factor": (
        "LlamaConfig",
        "LlamaForCausalLM",
        {**GROUPED, "rope_parameters": {**YARN, "attention_factor": 1.5}},
    ),
    "smollm": (
        "LlamaConfig",
        "LlamaForCausalLM",
        {**GROUPED, **TIED, "hidden_size": 36, "num_attention_heads": 9, "num_key_value_heads": 3},
    ),
    "smollm3": ("SmolLM3Config", "SmolLM3ForCausalLM", {**GROUPED, **TIED}),
    "smollm3, YaRN in one layer": (
        "SmolLM3Config",
        "SmolLM3ForCausalLM",
        {**GROUPED, "no_rope_layers": [1, 0], "rope_parameters": YARN},
    ),
    "mistral": ("MistralConfig", "MistralForCausalLM", {**GROUPED, "head_dim": 6}),
    "ministral": ("MinistralConfig", "MinistralForCausalLM", {**GROUPED, "head_dim": 4}),
    "mixtral": (
        "MixtralConfig",
        "MixtralForCausalLM",
        {**GROUPED, "num_local_experts": 2, "num_experts_per_tok": 1},
    ),
    "qwen2": ("Qwen2Config", "Qwen2ForCausalLM", GROUPED),
    "qwen2, tied": ("Qwen2Config", "Qwen2ForCausalLM", {**GROUPED, **TIED, "num_key_value_heads": 1}),
    "qwen2, LongRoPE": ("Qwen2Config", "Qwen2ForCausalLM", {**GROUPED, "rope_parameters": LONG}),
    "qwen2_moe": (
        "Qwen2MoeConfig",
        "Qwen2MoeForCausalLM",
        {**GROUPED, **EXPERTS, "shared_expert_intermediate_size": 8},
    ),
    "qwen3": ("Qwen3Config", "Qwen3ForCausalLM", {**GROUPED, "head_dim": 4}),
    "qwen3, biased": ("Qwen3Config", "Qwen3ForCausalLM", {**GROUPED, "head_dim": 6, "attention_bias": True}),
    "qwen3_moe": ("Qwen3MoeConfig", "Qwen3MoeForCausalLM", {**GROUPED, **EXPERTS, "head_dim": 4}),
    "gemma": (
        "GemmaConfig",
        "GemmaForCausalLM",
        {**GROUPED, **TIED, "num_key_value_heads": 1, "head_dim": 6},
    ),
    "gemma2": ("Gemma2Config", "Gemma2ForCausalLM", {**GROUPED, "head_dim": 4, "query_pre_attn_scalar": 7}),
    "gemma2, biased": (
        "Gemma2Config",
        "Gemma2ForCausalLM",
        {**GROUPED, "head_dim": 4, "attention_bias": True},
    ),
    "gemma3": ("Gemma3TextConfig", "Gemma3ForCausalLM", {**GROUPED, "head_dim": 4}),
    "gemma3, YaRN where all is seen": (
        "Gemma3TextConfig",
        "Gemma3ForCausalLM",
        {
            **GROUPED,
            "head_dim": 4,
            "layer_types": ["sliding_attention", "full_attention"],
            "rope_parameters": {
                "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
                "full_attention": YARN,
            },
        },
    ),
    "gemma3 that sees": (
        "Gemma3Config",
        "Gemma3ForConditionalGeneration",
        {"text_config": {**GROUPED, "head_dim": 4, "query_pre_attn_scalar": 7}, "vision_config": VISION},
    ),
}
# what the projection to values is called, and then from the attention
VALUES = ("query_key_value", "c_attn", "v_proj", "value")
OUTPUTS = ("output.dense", "dense", "c_proj", "o_proj")
MAKERS = ("query_key_value", "c_attn", "q_proj", "k_proj", "query", "key")
CLOSE = 1e-9  # of the largest eigenvalue
SINGLE = 1e-6  # models keep the cosines of RoPE, and what stretches them, in single precision


def build(kind: str) -> Any:
    return library_model(MODELS[kind], image_token=10).double().eval()


def shaken(model: Any) -> Any:
    """Every parameter made general: gains and biases too.  Gains are multiples of 1/256: RMSNorm works in
    single precision, which then is exact."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
            if "norm" in name:
                parameter.copy_((256 * parameter).round() / 256)
    return model


def made_of(kind: str, model: Any, folder: Path) -> Made:
    """The saved checkpoint, for the slow way."""
    from safetensors.numpy import load_file

    model.save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    tensors = load_file(folder / "model.safetensors")
    return Made(config, tensors, kind)


def apart(ours: NDArray[Any], V: NDArray[Any]) -> float:
    """How far the eigenvalues of V (d, d) are from ours and zeros, in the best pairing and relative to the
    largest."""
    exact = np.linalg.eigvals(V)
    distance = np.abs(np.concatenate([ours, np.zeros(len(V) - len(ours))])[:, None] - exact[None, :])
    return float(distance[linear_sum_assignment(distance)].max() / np.abs(exact).max())


# --- V from the model's own forward pass


def attention_parts(model: Any) -> list[tuple[Any, Any]]:
    """For every attention that is stored, in the order of their names: the modules that make values, and that
    bring the heads back."""
    names = dict(model.named_modules())
    found = []
    for name, module in names.items():
        if name.rsplit(".", 1)[-1] in VALUES and hasattr(module, "weight") and "vision" not in name:
            place = name.rsplit(".", 1)[0]
            outer = place.removesuffix(".self")  # BERT keeps the way back beside, not inside
            found.append(
                (module, next(names[f"{outer}.{way}"] for way in OUTPUTS if f"{outer}.{way}" in names))
            )
    return found


def in_front(model: Any, values: Any) -> Any:
    """The normalisation whose answer the values are made of, as the last pass has it."""
    answers: list[tuple[Any, Any]] = []
    seen: list[Any] = []
    hooks = [
        module.register_forward_hook(lambda m, i, o: answers.append((m, o)))
        for name, module in model.named_modules()
        if "Norm" in type(module).__name__
    ]
    hooks.append(
        values.register_forward_hook(
            lambda m, i, o: seen.append(next((norm for norm, out in reversed(answers) if out is i[0]), None))
        )
    )
    with torch.no_grad():
        model(torch.tensor([[3]]))
    for hook in hooks:
        hook.remove()
    return seen[-1]


def linear_part(norm: Any, d: int) -> Any:
    """diag(gamma) C as the module itself does it to basis vectors (d, d), a row each: its division is undone,
    its bias taken away."""
    eye = torch.eye(d, dtype=torch.float64)
    if norm is None:  # nothing is normalised in front
        return eye
    for name in ("eps", "variance_epsilon"):
        if hasattr(norm, name):
            setattr(norm, name, 0.0)
    with torch.no_grad():
        if isinstance(norm, torch.nn.LayerNorm):
            # the standard deviation of a basis vector
            return (norm(eye) - norm.bias) * (1 / d - 1 / d**2) ** 0.5
        # a root mean square of 1, also in single precision if d is a square
        return norm(eye * d**0.5) * d**-0.5


def head_by_forward_pass(
    model: Any, parts: tuple[Any, Any], rows: Any, head: int, heads: int
) -> NDArray[Any]:
    """V (d, d) of one head: rows (d, d) and 0 are put in where values are made, each as a text of one token,
    and the other heads are silenced."""
    values, back = parts
    given = torch.cat([rows, torch.zeros_like(rows[:1])])[:, None]  # (d + 1, 1, d)
    answers: list[Any] = []

    def alone(module: Any, inputs: Any) -> Any:
        (merged,) = inputs  # (d + 1, 1, heads * d_head)
        kept = torch.zeros_like(merged).reshape(*merged.shape[:-1], heads, -1)
        kept[..., head, :] = merged.reshape(kept.shape)[..., head, :]
        return (kept.reshape(merged.shape),)

    hooks = [
        values.register_forward_pre_hook(lambda m, i: (given,)),
        back.register_forward_pre_hook(alone),
        back.register_forward_hook(lambda m, i, o: answers.append(o.detach())),
    ]
    with torch.no_grad():
        model(torch.full((len(given), 1), 3))
    for hook in hooks:
        hook.remove()
    out = answers[-1].reshape(len(given), -1)  # (d + 1, d)
    return (out[:-1] - out[-1]).T.numpy()


@pytest.mark.parametrize("kind", MODELS)
def test_every_head_has_the_eigenvalues_of_what_the_model_itself_does_to_a_token(
    kind: str, tmp_path: Path
) -> None:
    """The d x d matrix is pushed through the model's own modules: normalisation, values, sharing among heads,
    merging, the way back."""
    model = shaken(build(kind))
    model.save_pretrained(tmp_path)
    found = spectra(tmp_path, draws=1)
    parts = attention_parts(model)
    assert len(parts) == found.layers
    for layer, (values, back) in enumerate(parts):
        rows = linear_part(in_front(model, values), found.d)
        for one in found.layer(layer):
            V = head_by_forward_pass(model, (values, back), rows, one.head, found.heads_per_layer)
            assert apart(one.eigenvalues, V) <= CLOSE, (layer, one.head)
            if one.stored is not None:
                assert apart(one.stored.eigenvalues, in_stored_state(V, rows.numpy().T)) <= 1e3 * CLOSE


def in_stored_state(V: NDArray[Any], front: NDArray[Any]) -> NDArray[Any]:
    """V = W_O W_V front as it acts on front x, x of mean 0, up to what a normalisation behind does not see;
    front (d, d) is diag(gamma) C, or I where nothing is normalised."""
    d = len(V)
    if np.abs(front @ np.ones(d)).max() > 1e-12:
        return V
    B = np.linalg.qr(np.eye(d) - 1.0 / d)[0][:, : d - 1]  # (d, d - 1)
    return np.linalg.solve((B.T @ front @ B).T, (B.T @ V @ B).T).T  # (d - 1, d - 1)


def adds_to_what_it_reads(model: Any, parts: tuple[Any, Any]) -> bool:
    """Whether the attention's answer is added to the very tensor that its values are made of, and that sum
    normalised: what makes a model post-norm."""
    values, back = parts
    read: list[Any] = []
    answers: list[Any] = []
    normalised: list[Any] = []
    hooks = [
        values.register_forward_hook(lambda m, i, o: read.append(i[0])),
        back.register_forward_hook(lambda m, i, o: answers.append(o)),
    ]
    hooks += [
        module.register_forward_hook(lambda m, i, o: normalised.append(i[0]))
        for module in model.modules()
        if "Norm" in type(module).__name__
    ]
    with torch.no_grad():
        model(torch.tensor([[3, 4]]))
    for hook in hooks:
        hook.remove()
    y, added = (one.reshape(-1, one.shape[-1]) for one in (read[-1], answers[-1]))
    sums = [one.reshape(-1, one.shape[-1]) for one in normalised if one.shape[-1] == y.shape[-1]]
    return any(one.shape == y.shape and torch.allclose(one, y + added, atol=1e-12) for one in sums)


@pytest.mark.parametrize("kind", MODELS)
def test_the_models_with_a_stored_state_are_those_that_add_to_what_was_normalised(
    kind: str, tmp_path: Path
) -> None:
    model = shaken(build(kind))
    model.save_pretrained(tmp_path)
    found = spectra(tmp_path, draws=1)
    assert all(adds_to_what_it_reads(model, parts) == found.post_norm for parts in attention_parts(model))


def scores_by_forward_pass(model: Any, values: Any, rows: Any) -> NDArray[Any]:
    """A (heads, d, d) without the factor d: rows (d, d) and 0 are put in where queries and keys are made, and
    the scores are taken from what the model hands to its attention, each text being one token at position 0.
    The normalisation inside heads, which beta leaves out, is taken out."""
    place = next(module for module in model.modules() if values in module.children())
    given = torch.cat([rows, torch.zeros_like(rows[:1])])[:, None]  # (d + 1, 1, d)
    seen: list[Any] = []

    def watched(
        module: Any, query: Any, key: Any, value: Any, mask: Any, scaling: float | None = None, **more: Any
    ) -> Any:
        if module is place:
            # (d + 1, heads, d_head)
            seen.append(
                (query[:, :, 0], key[:, :, 0], query.shape[-1] ** -0.5 if scaling is None else scaling)
            )
        share = query.shape[1] // value.shape[1]
        # a text of one token attends to itself
        return value.repeat_interleave(share, dim=1).transpose(1, 2), None

    transformers.AttentionInterface.register("watched", watched)
    model.set_attn_implementation("watched")
    makers = [module for name, module in place.named_children() if name in MAKERS]
    hooks = [module.register_forward_pre_hook(lambda m, i: (given,)) for module in makers]
    hooks += [
        m.register_forward_hook(lambda m, i, o: i[0])
        for name, m in place.named_children()
        if name in ("q_norm", "k_norm")
    ]
    with torch.no_grad():
        model(torch.full((len(given), 1), 3))
    for hook in hooks:
        hook.remove()
    query, key, scaling = seen[-1]
    # (d, heads, d_head), (d, key-value heads, d_head)
    query, key = (part[:-1] - part[-1] for part in (query, key))
    key = key.repeat_interleave(query.shape[1] // key.shape[1], dim=1)
    return (scaling * torch.einsum("ahc,bhc->hab", query, key)).numpy()


@pytest.mark.parametrize("kind", MODELS)
def test_every_beta_is_the_norm_of_the_scores_that_the_model_itself_makes(kind: str, tmp_path: Path) -> None:
    model = shaken(build(kind))
    model.save_pretrained(tmp_path)
    found = spectra(tmp_path, draws=1)
    for layer, (values, _) in enumerate(attention_parts(model)):
        A = found.d * scores_by_forward_pass(model, values, linear_part(in_front(model, values), found.d))
        for one in found.layer(layer):
            assert one.beta == pytest.approx(np.linalg.norm(A[one.head], 2), rel=SINGLE), (layer, one.head)


@pytest.mark.parametrize("kind", MODELS)
def test_every_head_has_the_eigenvalues_and_the_beta_of_the_products_of_the_stored_weights(
    kind: str, tmp_path: Path
) -> None:
    model = shaken(build(kind))
    made = made_of(kind, model, tmp_path)
    stored, loaded = spectra(tmp_path, draws=1), spectra(model, draws=1)
    slow = list(slow_heads(made))
    assert len(stored.heads) == len(slow)
    for one, two, (_, _, A, V) in zip(stored.heads, loaded.heads, slow, strict=True):
        np.testing.assert_array_equal(one.eigenvalues, two.eigenvalues)
        assert one.beta == two.beta
        assert apart(one.eigenvalues, V) <= CLOSE
        assert one.beta == pytest.approx(np.linalg.norm(A, 2), rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "config"),
    [("gemma2", "Gemma2Config"), ("gemma3_text", "Gemma3TextConfig"), ("gemma3", "Gemma3TextConfig")],
)
def test_what_a_configuration_may_omit_is_what_the_library_takes(kind: str, config: str) -> None:
    ours, theirs = dict(built_in()["gemma"].defaults[kind]), getattr(transformers, config)()
    step = ours.pop("sliding_window_pattern")  # the library writes it out, layer by layer
    layers = range(1, len(theirs.layer_types) + 1)
    assert theirs.layer_types == ["sliding_attention" if i % step else "full_attention" for i in layers]
    bases = [ours.pop(name) for name in ("rope_theta", "rope_local_base_freq") if name in ours]
    if bases:  # the library has them by the kind of the layer
        rope = theirs.rope_parameters
        assert bases == [rope[one]["rope_theta"] for one in ("full_attention", "sliding_attention")]
    assert ours
    assert ours == {name: getattr(theirs, name) for name in ours}
    assert (
        built_in()["gpt_neox"].defaults["gpt_neox"]["rotary_pct"]
        == transformers.GPTNeoXConfig().rope_parameters["partial_rotary_factor"]
    )


def test_a_gemma3_that_sees_is_read_without_the_settings_that_published_ones_omit(tmp_path: Path) -> None:
    text = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "vocab_size": 11}
    torch.manual_seed(0)
    model = transformers.Gemma3ForConditionalGeneration(
        transformers.Gemma3Config(text_config=text, vision_config=VISION, image_token_index=10)
    )
    shaken(model).save_pretrained(tmp_path)
    whole = spectra(tmp_path, draws=1)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(
        json.dumps({**config, "text_config": {**text, "model_type": "gemma3_text"}})
    )
    short = spectra(tmp_path, draws=1)
    assert (short.heads_per_layer, short.key_value_heads, short.head_dim) == (8, 4, 256)
    assert [head.beta for head in short.heads] == [head.beta for head in whole.heads]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "float8_e4m3fn"])
def test_a_loaded_model_with_quantised_weights_is_refused_as_their_numbers_are_codes(dtype: str) -> None:
    model = build("llama")
    projection = model.model.layers[1].self_attn.v_proj
    projection.weight = torch.nn.Parameter(
        (100 * projection.weight).to(getattr(torch, dtype)), requires_grad=False
    )
    with pytest.raises(InputError, match=f"v_proj.weight is loaded as {dtype}"):
        spectra(model, draws=1)


def test_a_model_that_is_not_in_memory_is_refused() -> None:
    with pytest.raises(InputError, match="on the device meta"):
        spectra(build("llama").to("meta"), draws=1)


def test_converted_weights_are_the_same_bits(tmp_path: Path) -> None:
    model = shaken(build("gpt2"))
    model.save_pretrained(tmp_path)
    whole = spectra(tmp_path, draws=1)
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(InputError, match="nucleate convert"):
        spectra(tmp_path)
    assert convert(tmp_path / "pytorch_model.bin", tmp_path / "model.safetensors") == len(model.state_dict())
    again = spectra(tmp_path, draws=1)
    assert all(
        np.array_equal(a.eigenvalues, b.eigenvalues) for a, b in zip(whole.heads, again.heads, strict=True)
    )


def test_torchs_loader_refuses_pickles_that_do_more_than_hold_weights(tmp_path: Path) -> None:
    mark, source = tmp_path / "harm", tmp_path / "model.bin"
    torch.save({"weight": torch.ones(2), "extra": Harm(mark)}, source)
    for raw in (source.read_bytes(), pickle.dumps(Harm(mark))):
        source.write_bytes(raw)
        with pytest.raises(InputError, match="weights-only loader says"):
            convert(source, tmp_path / "model.safetensors")
    assert not mark.exists()
    assert not (tmp_path / "model.safetensors").exists()
