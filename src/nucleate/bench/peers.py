"""The peers: what people use today, each written as its users would, in float64, Q = K = V = I and causal."""

from collections.abc import Callable
from typing import Any

import numpy as np

from nucleate.checks import Array

__all__ = [
    "Missing",
    "diffrax_angles",
    "diffrax_attention",
    "diffrax_runs",
    "jax_drift",
    "jax_softmax_drift",
    "load_jax",
    "lsoda_steps",
    "numpy_drift",
    "plain_velocity",
    "scipy_attention",
    "scipy_run",
    "scipy_sphere",
    "tuned_velocity",
]

Velocity = Callable[[float, Array], Array]  # of the angles (n,), as solve_ivp wants it

MAX_DIFFRAX_STEPS = 1_000_000


class Missing(Exception):
    """A peer that is not installed; says how to get it."""

    def __init__(self, command: str = "pip install 'nucleate[bench]'") -> None:
        super().__init__(f"not installed: {command}")


# Drift


def numpy_drift(x: Array, beta: float) -> Array:
    """The script everyone writes: x (..., n, d), all weights in an array (..., n, n)."""
    w = np.tril(np.exp(beta * (x @ x.mT - 1.0)))  # (..., n, n)
    m = (w @ x) / w.sum(-1, keepdims=True)  # (..., n, d)
    return m - (x * m).sum(-1, keepdims=True) * x


def jax_drift(x: Array, beta: float) -> Callable[[], Array]:
    """The same under jax.jit, a run axis by jax.vmap."""
    _, jnp = load_jax()

    def one(x: Any) -> Any:
        w = jnp.tril(jnp.exp(beta * (x @ x.T - 1.0)))  # (n, n)
        return _project(x, (w @ x) / w.sum(-1, keepdims=True))

    return _jitted(one, x)


def jax_softmax_drift(x: Array, beta: float) -> Callable[[], Array]:
    """As attention is written for training: jax.nn.softmax, which finds and subtracts the largest score of
    each row."""
    jax, jnp = load_jax()

    def one(x: Any) -> Any:
        sees = jnp.tril(jnp.ones((x.shape[0], x.shape[0]), dtype=bool))  # (n, n)
        w = jax.nn.softmax(jnp.where(sees, beta * (x @ x.T), -jnp.inf), axis=-1)  # (n, n)
        return _project(x, w @ x)

    return _jitted(one, x)


def _project(x: Any, m: Any) -> Any:
    return m - (x * m).sum(-1, keepdims=True) * x


def _jitted(one: Callable[[Any], Any], x: Array) -> Callable[[], Array]:
    """`one` compiled for x, which is handed over beforehand; the call waits for the result."""
    jax, jnp = load_jax()
    compiled = jax.jit(jax.vmap(one) if x.ndim == 3 else one)
    there = jnp.asarray(x)
    return lambda: np.asarray(compiled(there).block_until_ready())


# Whole runs


def plain_velocity(beta: float) -> Velocity:
    """The angles' velocity as it stands on paper, all differences in an array (n, n)."""

    def velocity(_: float, theta: Array) -> Array:
        gap = theta[None, :] - theta[:, None]  # (n, n)
        w = np.tril(np.exp(beta * (np.cos(gap) - 1.0)))  # (n, n)
        return np.asarray((w * np.sin(gap)).sum(1) / w.sum(1))

    return velocity


def tuned_velocity(beta: float, n: int) -> Velocity:
    """The same by someone who measures: n sines instead of n^2, sums through BLAS, nothing allocated that is
    large."""
    w = np.empty((n, n))
    sees = np.tril(np.ones((n, n)))

    def velocity(_: float, theta: Array) -> Array:
        c, s = np.cos(theta), np.sin(theta)  # (n,)
        x = np.stack([c, s, np.ones(n)], axis=1)  # (n, 3)
        np.matmul(beta * x[:, :2], x[:, :2].T, out=w)
        np.subtract(w, beta, out=w)
        np.exp(w, out=w)
        np.multiply(w, sees, out=w)
        C, S, Z = (w @ x).T  # (n,) three times
        return np.asarray((c * S - s * C) / Z)

    return velocity


def scipy_run(velocity: Velocity, y: Array, times: Array, method: str, rtol: float, atol: float) -> Array:
    """solve_ivp: y (n,) at time 0 -> (m, n) at `times`; NaN from where the solver gave up."""
    from scipy.integrate import solve_ivp

    result = solve_ivp(
        velocity, (0.0, float(times[-1])), y, method=method, t_eval=times, rtol=rtol, atol=atol
    )  # type: ignore[call-overload]  # the stubs want a literal method name
    frames = np.full((len(times), len(y)), np.nan)
    frames[: result.y.shape[1]] = result.y.T
    return frames


def lsoda_steps(theta: Array, beta: float, t: float, rtol: float, atol: float) -> tuple[Array, Array]:
    """LSODA with the analytic Jacobian, from theta (n,) to time t: its own steps, times (m,) and angles (m,
    n), as far as it came.

    With gap = theta_j - theta_k, w = e^{beta (cos gap - 1)} and f the velocity, J_kj = (w (cos gap - beta
    sin^2 gap) + beta f_k w sin gap) / Z_k for j < k, and the rows sum to 0.
    """
    from scipy.integrate import solve_ivp

    def forces(theta: Array) -> tuple[Array, Array, Array, Array]:
        gap = theta[None, :] - theta[:, None]  # (n, n)
        w = np.tril(np.exp(-2.0 * beta * np.sin(0.5 * gap) ** 2))  # (n, n)
        sine, Z = np.sin(gap), w.sum(1)
        return gap, w, Z, (w * sine).sum(1) / Z

    def jacobian(_: float, theta: Array) -> Array:
        gap, w, Z, f = forces(theta)
        sine = np.sin(gap)
        J = (w * (np.cos(gap) - beta * sine**2) + beta * f[:, None] * w * sine) / Z[:, None]  # (n, n)
        np.fill_diagonal(J, 0.0)
        np.fill_diagonal(J, -J.sum(1))
        return J

    result = solve_ivp(
        lambda _, y: forces(y)[3], (0.0, t), theta, method="LSODA", jac=jacobian, rtol=rtol, atol=atol
    )
    return np.asarray(result.t), np.asarray(result.y.T)


def scipy_sphere(
    x: Array, beta: float, V: Array, times: Array, method: str, rtol: float, atol: float
) -> Array:
    """The same in coordinates, any d and V: x (n, d) at time 0 -> (m, n, d) at `times`."""
    return scipy_attention(x, beta * np.eye(x.shape[1]), V, times, method, rtol, atol)


def scipy_attention(
    x: Array, A: Array, V: Array, times: Array, method: str, rtol: float, atol: float
) -> Array:
    """The same with scores <A x_k, x_j>, A = beta K^T Q (d, d)."""
    n, d = x.shape
    sees = np.tril(np.ones((n, n)))
    length = float(np.linalg.norm(A, 2))

    def velocity(_: float, y: Array) -> Array:
        x = y.reshape(n, d)
        # else V = -I drives rounding errors away from the sphere
        x = x / np.linalg.norm(x, axis=1, keepdims=True)
        w = np.exp(x @ A.T @ x.T - length) * sees  # (n, n)
        m = (w @ x) @ V.T / w.sum(1, keepdims=True)  # (n, d)
        return np.asarray((m - (x * m).sum(1, keepdims=True) * x).ravel())

    frames = scipy_run(velocity, x.ravel(), times, method, rtol, atol).reshape(len(times), n, d)
    return np.asarray(frames / np.linalg.norm(frames, axis=-1, keepdims=True))


def diffrax_attention(
    x: Array, A: Array, V: Array, times: Array, rtol: float, atol: float
) -> Callable[[], Array]:
    """Tsit5 in coordinates under jax.vmap: x (b, n, d) at time 0 -> (b, m, n, d) at `times`."""
    _, jnp = load_jax()
    length = float(np.linalg.norm(A, 2))
    A, V = jnp.asarray(A), jnp.asarray(V)

    def velocity(_: Any, y: Any, __: Any) -> Any:
        x = y / jnp.linalg.norm(y, axis=1, keepdims=True)  # (n, d)
        w = jnp.tril(jnp.exp(x @ A.T @ x.T - length))  # (n, n)
        return _project(x, (w @ x) @ V.T / w.sum(-1, keepdims=True))

    call = diffrax_runs(velocity, x, times, rtol, atol)

    def on_sphere() -> Array:
        frames = call()
        return np.asarray(frames / np.linalg.norm(frames, axis=-1, keepdims=True))

    return on_sphere


def diffrax_angles(
    theta: Array, beta: float, times: Array, rtol: float, atol: float, platform: str = "cpu"
) -> Callable[[], Array]:
    """Tsit5 in angles under jax.vmap: theta (b, n) at time 0 -> (b, m, n) at `times`; a run that fails is NaN
    from there on."""
    _, jnp = load_jax(platform)

    def velocity(_: Any, theta: Any, __: Any) -> Any:
        c, s = jnp.cos(theta), jnp.sin(theta)  # (n,)
        x = jnp.stack([c, s, jnp.ones_like(c)], axis=1)  # (n, 3)
        w = jnp.tril(jnp.exp(beta * (x[:, :2] @ x[:, :2].T - 1.0)))  # (n, n)
        C, S, Z = (w @ x).T  # (n,) three times
        return (c * S - s * C) / Z

    return diffrax_runs(velocity, theta, times, rtol, atol, platform)


def diffrax_runs(
    velocity: Callable[[Any, Any, Any], Any],
    y: Array,
    times: Array,
    rtol: float,
    atol: float,
    platform: str = "cpu",
) -> Callable[[], Array]:
    """Tsit5 under jax.vmap for a velocity of (t, y, args): y (b, ...) at time 0 -> (b, m, ...) at `times`; a
    run that fails is NaN from there on."""
    jax, jnp = load_jax(platform)
    try:
        import diffrax
    except ImportError:
        raise Missing from None

    def one(start: Any) -> Any:
        return diffrax.diffeqsolve(
            diffrax.ODETerm(velocity),
            diffrax.Tsit5(),
            t0=0.0,
            t1=float(times[-1]),
            dt0=None,
            y0=start,
            saveat=diffrax.SaveAt(ts=jnp.asarray(times)),
            stepsize_controller=diffrax.PIDController(rtol=rtol, atol=atol),
            max_steps=MAX_DIFFRAX_STEPS,
            throw=False,
        ).ys

    compiled = jax.jit(jax.vmap(one))
    there = jnp.asarray(y)

    def call() -> Array:
        frames = np.asarray(compiled(there).block_until_ready())
        return np.where(np.isfinite(frames), frames, np.nan)

    return call


def load_jax(platform: str = "cpu") -> tuple[Any, Any]:
    """JAX in float64, on the processor or the card, where all others run too."""
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        raise Missing from None
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", platform)
    return jax, jnp
