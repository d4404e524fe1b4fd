"""Against the transformers library itself: needs torch, and is skipped without it."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_models import Made, slow_heads
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from nucleate.checks import InputError
from nucleate.models.convert import convert
from nucleate.models.spectra import spectra

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

SIZES = {"hidden_size": 12, "num_attention_heads": 3, "num_hidden_layers": 2, "intermediate_size": 16, "vocab_size": 11, "max_position_embeddings": 8}
GROUPED = {**SIZES, "hidden_size": 16, "num_attention_heads": 4, "num_key_value_heads": 2}
LOOPED = {**SIZES, "num_hidden_layers": 8, "embedding_size": 6, "num_hidden_groups": 2, "inner_group_num": 2}  # every group is passed more than once
EXPERTS = {"num_experts": 2, "num_experts_per_tok": 1, "moe_intermediate_size": 8}
TIED, LOOSE = {"tie_word_embeddings": True}, {"tie_word_embeddings": False}
MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "albert": ("AlbertConfig", "AlbertForMaskedLM", LOOPED),
    "bert": ("BertConfig", "BertForMaskedLM", SIZES),
    "bert, not tied": ("BertConfig", "BertForMaskedLM", {**SIZES, **LOOSE}),
    "minilm": ("BertConfig", "BertModel", SIZES),
    "roberta": ("RobertaConfig", "RobertaForMaskedLM", SIZES),
    "xlm-roberta": ("XLMRobertaConfig", "XLMRobertaForMaskedLM", SIZES),
    "camembert": ("CamembertConfig", "CamembertForMaskedLM", SIZES),
    "electra": ("ElectraConfig", "ElectraForMaskedLM", {**SIZES, "embedding_size": 12}),
    "gpt2": ("GPT2Config", "GPT2LMHeadModel", {"n_embd": 12, "n_head": 3, "n_layer": 2, "vocab_size": 11, "n_positions": 8}),
    "gpt_neox": ("GPTNeoXConfig", "GPTNeoXForCausalLM", SIZES),
    "gpt_neox, tied": ("GPTNeoXConfig", "GPTNeoXForCausalLM", {**SIZES, **TIED}),
    "llama": ("LlamaConfig", "LlamaForCausalLM", {**GROUPED, **LOOSE}),
    "llama, biased": ("LlamaConfig", "LlamaForCausalLM", {**GROUPED, "attention_bias": True}),
    "smollm": ("LlamaConfig", "LlamaForCausalLM", {**GROUPED, **TIED, "hidden_size": 36, "num_attention_heads": 9, "num_key_value_heads": 3}),
    "smollm3": ("SmolLM3Config", "SmolLM3ForCausalLM", {**GROUPED, **TIED}),
    "mistral": ("MistralConfig", "MistralForCausalLM", {**GROUPED, "head_dim": 6}),
    "ministral": ("MinistralConfig", "MinistralForCausalLM", {**GROUPED, "head_dim": 4}),
    "mixtral": ("MixtralConfig", "MixtralForCausalLM", {**GROUPED, "num_local_experts": 2, "num_experts_per_tok": 1}),
    "qwen2": ("Qwen2Config", "Qwen2ForCausalLM", GROUPED),
    "qwen2, tied": ("Qwen2Config", "Qwen2ForCausalLM", {**GROUPED, **TIED, "num_key_value_heads": 1}),
    "qwen2_moe": ("Qwen2MoeConfig", "Qwen2MoeForCausalLM", {**GROUPED, **EXPERTS, "shared_expert_intermediate_size": 8}),
    "qwen3": ("Qwen3Config", "Qwen3ForCausalLM", {**GROUPED, "head_dim": 4}),
    "qwen3, biased": ("Qwen3Config", "Qwen3ForCausalLM", {**GROUPED, "head_dim": 6, "attention_bias": True}),
    "qwen3_moe": ("Qwen3MoeConfig", "Qwen3MoeForCausalLM", {**GROUPED, **EXPERTS, "head_dim": 4}),
    "gemma": ("GemmaConfig", "GemmaForCausalLM", {**GROUPED, **TIED, "num_key_value_heads": 1, "head_dim": 6}),
    "gemma2": ("Gemma2Config", "Gemma2ForCausalLM", {**GROUPED, "head_dim": 4, "query_pre_attn_scalar": 7}),
    "gemma2, biased": ("Gemma2Config", "Gemma2ForCausalLM", {**GROUPED, "head_dim": 4, "attention_bias": True}),
    "gemma3": ("Gemma3TextConfig", "Gemma3ForCausalLM", {**GROUPED, "head_dim": 4}),
}
VALUES = ("query_key_value", "c_attn", "v_proj", "value")  # what the projection to values is called, and then from the attention
OUTPUTS = ("output.dense", "dense", "c_proj", "o_proj")
CLOSE = 1e-9  # of the largest eigenvalue


def build(kind: str) -> Any:
    config, model, sizes = MODELS[kind]
    torch.manual_seed(0)
    tokens = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    config = getattr(transformers, config)(**sizes, **tokens)
    config._experts_implementation = "eager"  # the other way is for single precision only
    return getattr(transformers, model)(config).double().eval()


def shaken(model: Any) -> Any:
    """Every parameter made general: gains and biases too.  Gains are multiples of 1/256: RMSNorm works in single precision, which then is exact."""
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
    return Made(config, tensors, kind.split(",")[0])


def apart(ours: NDArray[Any], V: NDArray[Any]) -> float:
    """How far the eigenvalues of V (d, d) are from ours and zeros, in the best pairing and relative to the largest."""
    exact = np.linalg.eigvals(V)
    distance = np.abs(np.concatenate([ours, np.zeros(len(V) - len(ours))])[:, None] - exact[None, :])
    return float(distance[linear_sum_assignment(distance)].max() / np.abs(exact).max())


# --- V from the model's own forward pass


def attention_parts(model: Any) -> list[tuple[Any, Any]]:
    """For every attention that is stored, in the order of their names: the modules that make values, and that bring the heads back."""
    names = dict(model.named_modules())
    found = []
    for name, module in names.items():
        if name.rsplit(".", 1)[-1] in VALUES and hasattr(module, "weight"):
            place = name.rsplit(".", 1)[0]
            outer = place.removesuffix(".self")  # BERT keeps the way back beside, not inside
            found.append((module, next(names[f"{outer}.{way}"] for way in OUTPUTS if f"{outer}.{way}" in names)))
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
    hooks.append(values.register_forward_hook(lambda m, i, o: seen.append(next((norm for norm, out in reversed(answers) if out is i[0]), None))))
    with torch.no_grad():
        model(torch.tensor([[3]]))
    for hook in hooks:
        hook.remove()
    return seen[-1]


def linear_part(norm: Any, d: int) -> Any:
    """diag(g) C as the module itself does it to basis vectors (d, d), a row each: its division is undone, its bias taken away."""
    eye = torch.eye(d, dtype=torch.float64)
    for name in ("eps", "variance_epsilon"):
        if hasattr(norm, name):
            setattr(norm, name, 0.0)
    with torch.no_grad():
        if isinstance(norm, torch.nn.LayerNorm):
            return (norm(eye) - norm.bias) * (1 / d - 1 / d**2) ** 0.5  # the standard deviation of a basis vector
        return norm(eye * d**0.5) * d**-0.5  # a root mean square of 1, also in single precision if d is a square


def head_by_forward_pass(model: Any, parts: tuple[Any, Any], rows: Any, head: int, heads: int) -> NDArray[Any]:
    """V (d, d) of one head: rows (d, d) and 0 are put in where values are made, each as a text of one token, and the other heads are silenced."""
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
def test_every_head_has_the_eigenvalues_of_what_the_model_itself_does_to_a_token(kind: str, tmp_path: Path) -> None:
    """The d x d matrix is pushed through the model's own modules: normalisation, values, sharing among heads, merging, the way back."""
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


@pytest.mark.parametrize("kind", MODELS)
def test_every_head_has_the_eigenvalues_and_the_beta_of_the_products_of_the_stored_weights(kind: str, tmp_path: Path) -> None:
    model = shaken(build(kind))
    made = made_of(kind, model, tmp_path)
    stored, loaded = spectra(tmp_path, draws=1), spectra(model, draws=1)
    slow = list(slow_heads(made))
    assert len(stored.heads) == len(slow)
    for one, two, (_, _, A, V) in zip(stored.heads, loaded.heads, slow, strict=True):
        np.testing.assert_array_equal(one.eigenvalues, two.eigenvalues)
        assert apart(one.eigenvalues, V) <= CLOSE
        assert one.beta == pytest.approx(np.linalg.norm(A, 2), rel=1e-12)


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
    assert all(np.array_equal(a.eigenvalues, b.eigenvalues) for a, b in zip(whole.heads, again.heads, strict=True))


class Harm:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


def test_torchs_loader_refuses_pickles_that_do_more_than_hold_weights(tmp_path: Path) -> None:
    mark, source = tmp_path / "harm", tmp_path / "model.bin"
    torch.save({"weight": torch.ones(2), "extra": Harm(mark)}, source)
    for raw in (source.read_bytes(), pickle.dumps(Harm(mark))):
        source.write_bytes(raw)
        with pytest.raises(InputError, match="weights-only loader says"):
            convert(source, tmp_path / "model.safetensors")
    assert not mark.exists()
    assert not (tmp_path / "model.safetensors").exists()
