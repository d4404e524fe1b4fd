"""The velocity in JAX, of the same model records: to differentiate, to compile, to integrate with diffrax.

    import jax
    import nucleate as nc
    from nucleate.jax import drift

    model = nc.Attention(beta=9.0)
    gradient = jax.grad(lambda V: (drift(model, x, {"V": V}) ** 2).sum())(V)

The model is fixed while JAX traces: close over it, or make it a static argument.  Needs the extra `jax`.
"""

from typing import Any

from nucleate.attention import Attention
from nucleate.block import Block
from nucleate.checks import MissingPackageError
from nucleate.gradients import Library, Parameters, velocity

__all__ = ["drift"]


def drift(model: Attention | Block, x: Any, parameters: Parameters | None = None, t: Any = 0.0) -> Any:
    """The velocity of every token: x (..., n, d) on the sphere -> (..., n, d), in the precision of x; whole
    numbers are taken in JAX's own.

    parameters   arrays that stand in for those of the record, and may be traced: {"V": V}, any of beta, Q, K
                 and V; of a Block {"heads": [{"V": V}, {}], "mlp": {"W": W, "a": a, "b": b}}
    t            the time, which counts under the norms "sqrt" and "mix"; lengths are those of the start
    """
    try:
        import jax.numpy
        from jax.scipy.special import erf
    except ImportError:
        raise MissingPackageError(
            "nucleate.jax needs JAX, which is not installed. Install it: pip install 'nucleate[jax]'."
        ) from None
    library = Library(jax.numpy, put=lambda value, x: jax.numpy.asarray(value, dtype=x.dtype), erf=erf)
    x = jax.numpy.asarray(x)
    if jax.numpy.issubdtype(x.dtype, jax.numpy.integer):
        x = x.astype(float)
    return velocity(library, model, x, parameters, t)
