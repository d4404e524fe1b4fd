"""The forward pass of real transformers in NumPy: from token numbers to hidden states after every block."""

from nucleate.models.forward.layer_weights import LayerWeights
from nucleate.models.forward.model import HiddenStates, TransformerModel, open_model

__all__ = ["HiddenStates", "LayerWeights", "TransformerModel", "open_model"]
