"""Tokens at the start and once clusters have formed."""

from nucleate.checks import Array

__all__ = ["LATEST", "formed_tokens"]

LATEST = 100.0  # by which the tokens have gathered; t_f is seldom above 30


def formed_tokens(beta: float, n: int, d: int, seed: int) -> tuple[Array, float, Array]:
    """The uniform start `seed` (n, d), t_f, and the tokens then (n, d), with Q = K = V = I."""
    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.observe.merges import formed
    from nucleate.papers.core.interruption import uninterrupted
    from nucleate.sphere import uniform

    x0 = uniform(n, d, seed)
    run = uninterrupted(simulate(Attention(beta), x0, LATEST, save="steps", threads=1))
    found = formed(run)
    assert found is not None, f"beta = {beta}, n = {n}, d = {d}, seed {seed}: no clusters by t = {LATEST}"
    return x0, found[0], found[1]
