"""Learn V from where the tokens end: JAX differentiates through the whole run.

python docs/examples/learn_values_jax.py
"""

import jax
import numpy as np
from jax import numpy as jnp
from scipy.optimize import minimize

import nucleate as nc
from nucleate.jax import drift

jax.config.update("jax_enable_x64", True)

T, STEPS = 3.0, 60
model = nc.Attention(beta=4.0)
x0 = nc.uniform(n=24, d=3, seed=0)  # (n, d)
V_true = np.array([[1.0, 0.3, 0.0], [-0.3, 0.8, 0.2], [0.0, 0.1, -0.5]])
seen = nc.simulate(nc.Attention(beta=4.0, V=V_true), x0, t=T, save=[T]).x[-1]  # (n, d) all that is known


def final(V: jax.Array) -> jax.Array:
    """The tokens at time T, (n, d): Runge–Kutta steps, each ended on the sphere."""
    h = T / STEPS

    def step(x: jax.Array, _: None) -> tuple[jax.Array, None]:
        k1 = drift(model, x, {"V": V})
        k2 = drift(model, x + h / 2 * k1, {"V": V})
        k3 = drift(model, x + h / 2 * k2, {"V": V})
        k4 = drift(model, x + h * k3, {"V": V})
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return x / jnp.linalg.norm(x, axis=-1, keepdims=True), None

    return jax.lax.scan(step, jnp.asarray(x0), length=STEPS)[0]


@jax.jit
@jax.value_and_grad
def loss(entries: jax.Array) -> jax.Array:
    """The sum of squared distances between where the tokens end and where they were seen."""
    return ((final(entries.reshape(3, 3)) - seen) ** 2).sum()


found = minimize(lambda entries: tuple(map(np.asarray, loss(entries))), np.eye(3).ravel(), jac=True)
V = found.x.reshape(3, 3)
print(f"loss {loss(np.eye(3).ravel())[0]:.2f} with V = I, {found.fun:.1e} after {found.nit} steps of BFGS")
print(f"V is found to {np.abs(V - V_true).max():.1e}:")
print(V.round(4))
