"""The name and the sizes of a real transformer, for a run that holds its hidden states."""

from dataclasses import dataclass, fields

from nucleate.checks import InputError, shortened, whole_number

__all__ = ["Checkpoint"]

MAX_NAME_LETTERS = 1000


@dataclass(frozen=True)
class Checkpoint:
    """The transformer whose tokens a run follows over depth: its name and sizes, not its weights. None:
    not known."""

    name: str
    architecture: str
    layers: int
    d: int
    heads: int | None = None
    key_value_heads: int | None = None
    head_dim: int | None = None
    mlp_dim: int | None = None
    vocabulary: int | None = None
    causal: bool | None = None
    norm_place: str | None = None  # of the normalisation of a block: pre, post or both
    positions: str | None = None  # such as rope or learned

    def __post_init__(self) -> None:
        for one in fields(self):
            value, least = getattr(self, one.name), 0 if one.name == "layers" else 1
            if value is None and one.default is None:
                continue
            if "int" in str(one.type):
                whole_number(one.name, value, least=least, help="It is a size of a model.")
            elif "bool" in str(one.type):
                if not isinstance(value, bool):
                    raise InputError(f"{one.name} must be True, False or None, but is {shortened(value)}.")
            elif not isinstance(value, str) or len(value) > MAX_NAME_LETTERS:
                raise InputError(f"{one.name} must be a short text, but is {shortened(value)}.")

    def __str__(self) -> str:
        sees = {True: ", causal", False: ", every token sees all", None: ""}[self.causal]
        heads = f" of {self.heads} heads" if self.heads else ""
        return f"{self.name} ({self.architecture}, {self.layers} layers{heads}{sees})"
