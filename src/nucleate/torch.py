"""The velocity in PyTorch, of the same model records: to differentiate, to train, to compile.

    import torch
    import nucleate as nc
    from nucleate.torch import drift

    V = torch.eye(3, dtype=torch.float64, requires_grad=True)
    (drift(nc.Attention(beta=9.0), x, {"V": V}) ** 2).sum().backward()

torch.func.vmap, torch.func.grad and devices work as usual.  Needs the extra `torch`.
"""

from typing import Any

from nucleate.attention import Attention
from nucleate.block import Block
from nucleate.checks import MissingPackageError
from nucleate.gradients import Library, Parameters, velocity

__all__ = ["drift"]


def drift(model: Attention | Block, x: Any, parameters: Parameters | None = None, t: Any = 0.0) -> Any:
    """The velocity of every token: x (..., n, d) on the sphere -> (..., n, d), in the precision and on the
    device of x; whole numbers are taken in torch's own precision.

    parameters   tensors that stand in for those of the record, and may need gradients: {"V": V}, any of beta,
                 Q, K and V; of a Block {"heads": [{"V": V}, {}], "mlp": {"W": W, "a": a, "b": b}}
    t            the time, which counts under the norms "sqrt" and "mix"; lengths are those of the start
    """
    try:
        import torch
    except ImportError:
        raise MissingPackageError(
            "nucleate.torch needs PyTorch, which is not installed. Install it: pip install 'nucleate[torch]'."
        ) from None

    def put(value: Any, x: Any) -> Any:
        value = value if isinstance(value, torch.Tensor) else torch.tensor(value)
        return value.to(dtype=x.dtype, device=x.device)

    library = Library(torch, put, torch.erf)
    x = x if isinstance(x, torch.Tensor) else torch.as_tensor(x)
    if not (x.is_floating_point() or x.is_complex()):
        x = x.to(torch.get_default_dtype())
    return velocity(library, model, x, parameters, t)
