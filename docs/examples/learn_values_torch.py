"""Learn V from where the tokens end: PyTorch differentiates through the whole run.

python docs/examples/learn_values_torch.py
"""

import numpy as np
import torch

import nucleate as nc
from nucleate.torch import drift

T, STEPS = 3.0, 60
model = nc.Attention(beta=4.0)
x0 = nc.uniform(n=24, d=3, seed=0)  # (n, d)
V_true = np.array([[1.0, 0.3, 0.0], [-0.3, 0.8, 0.2], [0.0, 0.1, -0.5]])
seen = torch.tensor(nc.simulate(nc.Attention(beta=4.0, V=V_true), x0, t=T, save=[T]).x[-1])  # (n, d)


def final(V: torch.Tensor) -> torch.Tensor:
    """The tokens at time T, (n, d): Runge–Kutta steps, each ended on the sphere."""
    x, h = torch.tensor(x0), T / STEPS
    for _ in range(STEPS):
        k1 = drift(model, x, {"V": V})
        k2 = drift(model, x + h / 2 * k1, {"V": V})
        k3 = drift(model, x + h / 2 * k2, {"V": V})
        k4 = drift(model, x + h * k3, {"V": V})
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        x = x / x.norm(dim=-1, keepdim=True)
    return x


V = torch.eye(3, dtype=torch.float64, requires_grad=True)
optimiser = torch.optim.LBFGS([V], max_iter=100, line_search_fn="strong_wolfe", tolerance_change=1e-14)


def loss() -> torch.Tensor:
    """The sum of squared distances between where the tokens end and where they were seen, with gradient."""
    optimiser.zero_grad()
    value = ((final(V) - seen) ** 2).sum()
    value.backward()
    return value


print(f"loss {loss().item():.2f} with V = I", end=", ")
optimiser.step(loss)
print(f"{loss().item():.1e} after L-BFGS")
print(f"V is found to {(V.detach() - torch.tensor(V_true)).abs().max():.1e}:")
print(V.detach().numpy().round(4))
