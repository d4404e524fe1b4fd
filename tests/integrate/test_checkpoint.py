"""The name and sizes of a transformer: checked, and in words."""

from typing import Any

import pytest

from nucleate.checks import InputError
from nucleate.integrate.checkpoint import Checkpoint


def test_a_checkpoint_says_what_it_is() -> None:
    known = Checkpoint("tiny.gguf", "llama", 3, 4, heads=2, causal=True)
    assert str(known) == "tiny.gguf (llama, 3 layers of 2 heads, causal)"
    assert str(Checkpoint("x", "bert", 1, 4, causal=False)) == "x (bert, 1 layers, every token sees all)"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", 3),
        ("name", "x" * 2000),
        ("layers", -1),
        ("d", 0),
        ("heads", 1.5),
        ("causal", 1),
        ("positions", []),
    ],
)
def test_what_is_no_size_is_refused(name: str, value: Any) -> None:
    right: dict[str, Any] = {"name": "x", "architecture": "bert", "layers": 0, "d": 2}
    assert Checkpoint(**right).heads is None
    with pytest.raises(InputError, match=f"^{name} must be"):
        Checkpoint(**(right | {name: value}))
