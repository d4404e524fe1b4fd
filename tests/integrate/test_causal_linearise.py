"""The rows of the Jacobian that the causal solver makes are the derivatives of the equation."""

import mpmath as mp
import numpy as np
import pytest
from support.places import on_circle

import nucleate as nc
from nucleate.attention import Attention, Frozen, Window, drift
from nucleate.checks import Array
from nucleate.integrate.causal_circle import linearise_on_circle
from nucleate.integrate.causal_groups import form_groups, join_group
from nucleate.integrate.causal_linearise import linearise
from nucleate.integrate.causal_state import CausalState, new_causal_state
from nucleate.integrate.causal_vectors import add_increments, join_group_of_vectors, linearise_vectors
from nucleate.integrate.vector_arrays import BLOCK, VectorArrays
from nucleate.kernels.model_shape import model_shape
from nucleate.kernels.pairwise import pairwise_system


def rows_of(model: Attention, x: Array) -> tuple[Array, Array]:
    """The blocks J_kj in ambient coordinates B_k J B_j^T, (n, n, d, d), and the bases (n, d, d - 1), as the
    solver makes them."""
    n, d = x.shape
    system = pairwise_system(model_shape(model, n, d))
    s = new_causal_state(system, 1e-8)._replace(group_radius=0.0)
    m, frozen = system.m, s.frozen_slots
    system.x[:, m : m + n] = x.T
    form_groups(s)
    blocks, bases = np.zeros((n, n, d, d)), np.zeros((n, d, d - 1))
    for k in range(n):
        first = max(0, k - model.mask.w + 1) if isinstance(model.mask, Window) else 0
        if s.on_circle:
            s.places[:, frozen + k] = x[k]
            bases[k] = [[-x[k, 1]], [x[k, 0]]]
            _, slope = linearise_on_circle(s, *x[k], frozen + first, frozen + k)
            own = np.array([[slope]])
        elif s.vectors is not None:
            linearise_vectors(s, k, frozen + k)
            a = s.vectors
            bases[k] = (np.eye(d) - np.outer(a.mirror[:d], a.x[:d]))[:, : d - 1]
            own = a.transpose[: d - 1, : d - 1].T
            join_group_of_vectors(s, k, frozen + k)
        else:
            linearise(s, k, frozen + k)
            bases[k], own = s.basis, s.block
            join_group(s, k, frozen + k)
        for j in range(first, k):
            if s.vectors is not None:
                block = _block_by_increments(s, s.vectors, bases[j], frozen + first, frozen + j, frozen + k)
            else:
                block = s.row[:, :, frozen + j]
            blocks[k, j] = bases[k] @ block @ bases[j].T
        blocks[k, k] = bases[k] @ own @ bases[k].T
    return blocks, bases


def _block_by_increments(
    s: CausalState, vectors: VectorArrays, basis: Array, low: int, at: int, used: int
) -> Array:
    """J_kj (d - 1, d - 1) of the slot `at`, from what the token at work makes of each unit increment of that
    slot alone."""
    s.increments[:] = 0.0
    for i, e in enumerate(basis.T):  # one in each substep
        s.increments[i, at // BLOCK, at % BLOCK :: BLOCK] = e
    add_increments(s, low, used)
    free = basis.shape[1]
    return vectors.from_others[:free, :free].T.copy()


def differences(model: Attention, x: Array) -> Array:
    """(n, n, d, d) of the equation: P_{x_k} (d f_k / d x_j) P_{x_j} along great circles, to fourth order."""
    n, d = x.shape
    blocks, h = np.zeros((n, n, d, d)), 1e-3
    for j in range(n):
        frame = np.linalg.svd(x[j : j + 1])[2][1:]  # (d - 1, d)
        for u in frame:
            change = np.zeros((n, d))
            for step, share in ((1, 8 / 12), (-1, -8 / 12), (2, -1 / 12), (-2, 1 / 12)):
                y = x.copy()
                y[j] = np.cos(step * h) * x[j] + np.sin(step * h) * u
                change += share / h * drift(model, y)
            change -= (change * x).sum(-1, keepdims=True) * x
            blocks[:, j] += change[:, :, None] * u
    return blocks


@pytest.mark.parametrize("d", [2, 3, 5, 17])
@pytest.mark.parametrize("kind", ["I", "-I", "V", "QK", "QKV"])
@pytest.mark.parametrize("around", ["plain", "window", "frozen", "both"])
def test_the_rows_of_the_jacobian_are_the_derivatives_of_the_equation(d: int, kind: str, around: str) -> None:
    Q, K, V = np.random.default_rng(d).standard_normal((3, d, d)) / np.sqrt(d)
    model = Attention(
        3.0,
        Q=Q if "Q" in kind else None,
        K=K if "K" in kind else None,
        V=V if "V" in kind else -np.eye(d) if kind == "-I" else None,
        mask=Window(3) if around in ("window", "both") else "causal",
        frozen=Frozen(nc.uniform(3, d, seed=9), [0.5, 1.0, 2.0]) if around in ("frozen", "both") else None,
    )
    x = nc.uniform(11, d, seed=d)  # more than one vector of eight lanes
    blocks, bases = rows_of(model, x)
    assert np.abs(np.einsum("kcd,kce->kde", bases, bases) - np.eye(d - 1)).max() < 1e-15
    assert np.abs(np.einsum("kcd,kc->kd", bases, x)).max() < 1e-15
    # h^4 times fifth derivatives of size beta^5: 1e-12 * 243, and rounding 1e-16 / h
    assert np.abs(blocks - differences(model, x)).max() < 1e-8


def test_entries_of_the_jacobian_far_below_rounding_keep_their_digits() -> None:
    angles, beta = np.array([0.3, 1.9, 4.2]), 64.0
    x = on_circle(angles)
    blocks, bases = rows_of(Attention(beta), x)
    with mp.workdps(60):
        points = [[mp.mpf(float(c)) for c in row] for row in x]
        theta = [mp.atan2(y, c) for c, y in points]
        for k in (1, 2):
            w = [mp.exp(beta * (mp.cos(theta[j] - theta[k]) - 1)) for j in range(k)]
            Z = 1 + mp.fsum(w)
            f = mp.fsum(w[j] * mp.sin(theta[j] - theta[k]) for j in range(k)) / Z
            exact = []
            for j in range(k):
                gap = theta[j] - theta[k]
                exact.append(
                    (w[j] * (mp.cos(gap) - beta * mp.sin(gap) ** 2) + beta * f * w[j] * mp.sin(gap)) / Z
                )
            found = [float(bases[k][:, 0] @ blocks[k, j] @ bases[j][:, 0]) for j in (*range(k), k)]
            # exponents near -100 carry their rounding, 1e-14, into the weight; entries are 1e-15 to 1e-55
            assert found == pytest.approx(
                [float(e) for e in (*exact, -mp.fsum(exact))], rel=1e-11, abs=0.0
            ), k
