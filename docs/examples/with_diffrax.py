"""The same model under diffrax: its solvers, its saving, its gradients.

python docs/examples/with_diffrax.py
"""

import diffrax
import jax
import numpy as np

import nucleate as nc
from nucleate.jax import drift

jax.config.update("jax_enable_x64", True)

model = nc.Attention(beta=9.0)
x0 = nc.uniform(n=32, d=3, seed=0)  # (n, d)
times = np.linspace(0.0, 10.0, 11)

solution = diffrax.diffeqsolve(
    diffrax.ODETerm(lambda t, x, model: drift(model, x)),
    diffrax.Dopri8(),
    t0=0.0,
    t1=10.0,
    dt0=0.01,
    y0=x0,
    args=model,
    saveat=diffrax.SaveAt(ts=times),
    stepsize_controller=diffrax.PIDController(rtol=1e-9, atol=1e-11),
    max_steps=100_000,
)
ours = nc.simulate(model, x0, t=10.0, save=times, rtol=1e-9, atol=1e-11)
difference = float(np.abs(np.asarray(solution.ys) - ours.x).max())
print(f"largest difference between diffrax and nc.simulate: {difference:.0e}")
