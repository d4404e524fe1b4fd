"""Against the transformers library itself: needs torch, and is skipped without it."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_models import Made, slow_heads
from scipy.optimize import linear_sum_assignment

from nucleate.checks import InputError
from nucleate.models.convert import convert
from nucleate.models.heads import read_factors
from nucleate.models.plan import make_plan
from nucleate.models.spectra import spectra
from nucleate.models.weights import LoadedWeights

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

SIZES = {"hidden_size": 12, "num_attention_heads": 3, "num_hidden_layers": 2, "intermediate_size": 16, "vocab_size": 11, "max_position_embeddings": 8}
GROUPED = {**SIZES, "hidden_size": 16, "num_attention_heads": 4, "num_key_value_heads": 2}
MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "albert": ("AlbertConfig", "AlbertForMaskedLM", {**SIZES, "embedding_size": 6, "num_hidden_groups": 2, "inner_group_num": 2}),
    "bert": ("BertConfig", "BertForMaskedLM", SIZES),
    "minilm": ("BertConfig", "BertModel", SIZES),
    "roberta": ("RobertaConfig", "RobertaForMaskedLM", SIZES),
    "gpt2": ("GPT2Config", "GPT2LMHeadModel", {"n_embd": 12, "n_head": 3, "n_layer": 2, "vocab_size": 11, "n_positions": 8}),
    "gpt_neox": ("GPTNeoXConfig", "GPTNeoXForCausalLM", SIZES),
    "llama": ("LlamaConfig", "LlamaForCausalLM", GROUPED),
    "mistral": ("MistralConfig", "MistralForCausalLM", {**GROUPED, "head_dim": 4}),
    "qwen2": ("Qwen2Config", "Qwen2ForCausalLM", GROUPED),
    "qwen3": ("Qwen3Config", "Qwen3ForCausalLM", {**GROUPED, "head_dim": 4}),
    "gemma": ("GemmaConfig", "GemmaForCausalLM", {**GROUPED, "num_key_value_heads": 1, "head_dim": 6}),
    "gemma2": ("Gemma2Config", "Gemma2ForCausalLM", {**GROUPED, "head_dim": 4, "query_pre_attn_scalar": 7}),
    "gemma3": ("Gemma3TextConfig", "Gemma3ForCausalLM", {**GROUPED, "head_dim": 4}),
}
ATTENTION = ("attention", "attn", "self_attn")


def build(kind: str) -> Any:
    config, model, sizes = MODELS[kind]
    torch.manual_seed(0)
    tokens = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    return getattr(transformers, model)(getattr(transformers, config)(**sizes, **tokens)).double().eval()


def shaken(model: Any) -> Any:
    """Every parameter made general: gains and biases too."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def made_of(kind: str, model: Any, folder: Path) -> Made:
    """The saved checkpoint, for the slow way."""
    from safetensors.numpy import load_file

    model.save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    tensors = load_file(folder / "model.safetensors")
    return Made(config, tensors, kind)


@pytest.mark.parametrize("kind", MODELS)
def test_every_head_has_the_eigenvalues_of_the_product_of_the_models_own_weights(kind: str, tmp_path: Path) -> None:
    model = shaken(build(kind))
    made = made_of(kind, model, tmp_path)
    stored, loaded = spectra(tmp_path, draws=1), spectra(model, draws=1)
    slow = list(slow_heads(made))
    assert len(stored.heads) == len(slow)
    for one, two, (_, _, A, V) in zip(stored.heads, loaded.heads, slow, strict=True):
        np.testing.assert_array_equal(one.eigenvalues, two.eigenvalues)
        exact = np.linalg.eigvals(V)
        ours = np.concatenate([one.eigenvalues, np.zeros(len(V) - len(one.eigenvalues))])
        distance = np.abs(ours[:, None] - exact[None, :])
        assert distance[linear_sum_assignment(distance)].max() <= 1e-9 * np.abs(exact).max()
        assert one.beta == pytest.approx(np.linalg.norm(A, 2), rel=1e-12)


@pytest.mark.parametrize("kind", MODELS)
def test_the_heads_of_a_layer_add_up_to_what_the_models_attention_does_to_one_token(kind: str) -> None:
    """A token that sees only itself gets sum_h V_h h + biases from the model's own forward pass, of any two tokens the difference is linear.

    With the gains of a new model (all 1) V acts on a normalised token as it is, and the centring changes nothing on what is centred already.
    """
    model = build(kind)
    weights = LoadedWeights(model)
    plan = make_plan(weights, model.config.to_dict())
    place = plan.prefix + plan.mapping.place(plan.layers[-1])
    name = next(place.rstrip(".") + "." + one for one in ATTENTION if any(part.startswith(place + one) for part in weights.shapes))
    seen: list[tuple[Any, Any]] = []
    module = model.get_submodule(name)
    if kind == "albert":  # its attention adds the input and normalises: look at the projections alone
        seen_in: list[Any] = []
        module.value.register_forward_hook(lambda m, i, o: seen_in.append(i[0].detach()))
        module.dense.register_forward_hook(lambda m, i, o: seen.append((seen_in[-1], o.detach())))
    elif kind in ("bert", "minilm", "roberta"):
        seen_in = []
        module.self.value.register_forward_hook(lambda m, i, o: seen_in.append(i[0].detach()))
        module.output.dense.register_forward_hook(lambda m, i, o: seen.append((seen_in[-1], o.detach())))
    else:
        module.register_forward_hook(lambda m, a, k, o: seen.append(((a[0] if a else k["hidden_states"]).detach(), o[0].detach())), with_kwargs=True)
    with torch.no_grad():
        for token in (3, 5):
            model(torch.tensor([[token]]))
    passes = len(seen) // 2
    (h1, o1), (h2, o2) = seen[passes - 1], seen[-1]
    V = sum((f := read_factors(weights, plan, len(plan.layers) - 1, head)).O @ f.V for head in range(plan.heads))  # (d, d)
    change = np.asarray(V) @ (h1 - h2).reshape(-1).numpy()
    np.testing.assert_allclose(change, (o1 - o2).reshape(-1).numpy(), atol=1e-12 * np.abs(change).max() + 1e-18)


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
