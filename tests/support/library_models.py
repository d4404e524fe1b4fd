"""Models of the transformers library, made without their weights."""

from typing import Any

__all__ = ["library_model"]


def library_model(entry: tuple[str, str, dict[str, Any]], image_token: int) -> Any:
    """Of the names of its configuration and its class, and its sizes; a model that also sees needs a token
    for images.  Weights are as the library draws them, seed 0."""
    import torch
    import transformers

    config, model, sizes = entry
    torch.manual_seed(0)
    tokens = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    if "text_config" in sizes:
        sizes, tokens = (
            {**sizes, "text_config": {**sizes["text_config"], **tokens}},
            {"mm_tokens_per_image": 1, "image_token_index": image_token},
        )
    made = getattr(transformers, config)(**sizes, **tokens)
    made._experts_implementation = "eager"  # the other way is for single precision only
    return getattr(transformers, model)(made)
