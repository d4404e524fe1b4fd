"""Exact laws of the family that cross rooms: prefixes, rotations, the first token, energies, the MLP's
potential, XSA, thin layers, consensus.  What has a formula is in tests/theory.

Each ingredient is a block; tests of motions take an engine (support/reference_flow.py).
"""

from typing import Any

import numpy as np
import pytest
from scipy.stats import special_ortho_group
from support.reference_flow import ENGINES, flow

from nucleate.attention import Attention, Window, attend, drift
from nucleate.block import Block, block_drift, block_output, block_rates
from nucleate.checks import Array
from nucleate.layers import layer_step
from nucleate.mlp import MLP, Potential
from nucleate.norms import NORMS, Norm
from nucleate.positions import ALiBi, RoPE
from nucleate.sphere import tangent, uniform

N, D = 9, 4
ALL_NORMS: tuple[Norm, ...] = ("post", "pre", "mix", "peri", "ngpt", "sqrt")
RNG = np.random.default_rng(0)
Q, K, V, V2 = RNG.standard_normal((4, D, D)) / np.sqrt(D)
W, A, B = RNG.standard_normal((D, 6)), RNG.standard_normal((6, D)), RNG.standard_normal(6)
OMEGA = RNG.standard_normal(6)


def pulled_up(x: Array, out: Array) -> None:
    """A term of one's own: towards the first axis."""
    out[:, 0] += 0.3 * x[:, 1] ** 2


def norm_block(norm: Norm, heads: Attention | list[Attention]) -> Block:
    """A block with this norm and whatever that needs."""
    return Block(
        heads,
        norm=norm,
        tau=0.5 if norm == "mix" else None,
        alpha=0.7,
        radius={"pre": 1.3, "peri": 0.9}.get(norm, 1.0),
    )


def ingredients(mask: Any) -> dict[str, Block]:
    """One block for every ingredient, with matrices in general position."""
    head = Attention(2.0, Q, K, V, mask)
    return {
        "softmax": Block(head),
        "exponential": Block(Attention(2.0, Q, K, V, mask, weights="exponential")),
        "hardmax": Block(Attention(2.0, Q, K, V, mask, weights="hardmax")),
        "alibi": Block(Attention(2.0, Q, K, V, mask, position=ALiBi(0.4))),
        "alibi and exponential": Block(
            Attention(2.0, Q, K, V, mask, weights="exponential", position=ALiBi(0.4))
        ),
        "rope": Block(Attention(2.0, Q, K, V, mask, position=RoPE(100.0))),
        "heads": Block([head, Attention(0.5, K, Q, V2, mask), Attention(1.0, mask=mask)]),
        "mlp": Block(head, MLP(W, A, "gelu", B)),
        "potential": Block(head, Potential(OMEGA, A, "tanh")),
        "a term of one's own": Block(head, pulled_up),
        "xsa": Block(head, exclude_self=True),
        **{f"norm {norm}": norm_block(norm, head) for norm in ALL_NORMS},
    }


CAUSAL = ingredients("causal")

# Prefixes


@pytest.mark.parametrize("name", CAUSAL)
@pytest.mark.parametrize("mask", ["causal", Window(3)])
def test_velocities_of_the_first_tokens_do_not_depend_on_later_ones(name: str, mask: Any) -> None:
    block, x = ingredients(mask)[name], uniform(N, D, seed=1)
    r = np.linspace(0.5, 2.0, N) if block.has_radius else np.ones(N)
    for t in (0.2, 0.8):
        whole = block_rates(block, x, r, t)
        for m in (1, 4):
            part = block_rates(block, x[:m], r[:m], t)
            for long, short in zip(whole, part, strict=True):
                # the order in which BLAS sums
                assert np.abs(long[:m] - short).max() < 1e-13


@pytest.mark.parametrize("name", CAUSAL)
def test_later_tokens_do_count_under_the_full_mask(name: str) -> None:
    block, x = ingredients("full")[name], uniform(N, D, seed=1)
    assert np.abs(block_drift(block, x)[:4] - block_drift(block, x[:4])).max() > 1e-3


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", [name for name in CAUSAL if name != "hardmax"])
def test_the_first_tokens_of_a_motion_are_the_shorter_motion(name: str, engine: str) -> None:
    x0, times = uniform(6, D, seed=2), np.array([0.0, 0.7, 1.5])
    together, alone = (flow(engine, CAUSAL[name], x, times) for x in (x0, x0[:3]))
    assert (
        np.abs(together.x[:, :3] - alone.x).max() < 1e-7
    )  # other steps: the tolerance, 1e-10, times e^{|V|t}


# Rotations


def rotated(block: Block, R: Array) -> Block:
    """The block in coordinates that R turns; positions and terms of one's own stay."""

    def turn(M: Array | None) -> Array | None:
        return None if M is None else R @ M @ R.T

    heads = [
        Attention(h.beta, turn(h.Q), turn(h.K), turn(h.V), h.mask, None, h.weights, h.position)
        for h in block.heads
    ]
    mlp = block.mlp
    if isinstance(mlp, MLP):
        mlp = MLP(R @ mlp.W, mlp.a @ R.T, mlp.activation, mlp.b)
    if isinstance(mlp, Potential):
        mlp = Potential(mlp.omega, mlp.a @ R.T, mlp.activation)
    return Block(
        heads,
        mlp,
        block.norm,
        None,
        block.exclude_self,
        tau=block.tau if block.norm == "mix" else None,
        alpha=block.alpha,
        radius=block.radius,
    )


TURNED = [name for name in CAUSAL if name not in ("rope", "a term of one's own")]


@pytest.mark.parametrize("name", TURNED)
def test_a_block_turned_with_its_matrices_moves_turned_tokens_alike(name: str) -> None:
    R, x = special_ortho_group.rvs(D, random_state=3), uniform(N, D, seed=3)
    for mask in ("causal", "full"):
        block = ingredients(mask)[name]
        assert np.abs(block_drift(rotated(block, R), x @ R.T) - block_drift(block, x) @ R.T).max() < 1e-12


@pytest.mark.parametrize("name", ["rope", "a term of one's own"])
def test_what_knows_its_axes_does_not_turn(name: str) -> None:
    R, x = special_ortho_group.rvs(D, random_state=3), uniform(N, D, seed=3)
    block = CAUSAL[name]
    assert np.abs(block_drift(rotated(block, R), x @ R.T) - block_drift(block, x) @ R.T).max() > 1e-2


@pytest.mark.parametrize("name", ["mlp", "potential"])
def test_an_mlp_turns_only_if_its_weights_do(name: str) -> None:
    R, x = special_ortho_group.rvs(D, random_state=3), uniform(N, D, seed=3)
    block = CAUSAL[name]
    half = Block(rotated(block, R).heads, block.mlp)
    assert np.abs(block_drift(half, x @ R.T) - block_drift(block, x) @ R.T).max() > 1e-2


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("norm", ALL_NORMS)
def test_motions_with_identity_matrices_turn_with_their_tokens(norm: Norm, engine: str) -> None:
    R, x0, times = special_ortho_group.rvs(D, random_state=4), uniform(5, D, seed=4), np.array([0.0, 1.0])
    heads = [Attention(3.0), Attention(1.0, V=0.5 * np.eye(D), position=ALiBi(0.3))]
    plain, turned = (flow(engine, norm_block(norm, heads), x, times).x for x in (x0, x0 @ R.T))
    assert np.abs(turned - plain @ R.T).max() < 1e-8  # some times the tolerance


# The first token, and consensus at it


def scalar_values() -> dict[str, Block]:
    """Blocks with V_h = c_h I, c_h > 0."""
    head = Attention(1.0, Q, K)
    return {
        "softmax": Block(head),
        "exponential": Block(Attention(1.0, Q, K, weights="exponential")),
        "hardmax": Block(Attention(1.0, weights="hardmax")),
        "alibi": Block(Attention(1.0, Q, K, position=ALiBi(0.4))),
        "rope": Block(Attention(1.0, Q, K, position=RoPE(100.0))),
        "window": Block(Attention(1.0, Q, K, mask=Window(2))),
        "heads": Block([head, Attention(2.0, K, Q, 0.5 * np.eye(D)), Attention(0.0, V=2.0 * np.eye(D))]),
        "xsa": Block(head, exclude_self=True),
        **{f"norm {norm}": norm_block(norm, head) for norm in ALL_NORMS},
    }


@pytest.mark.parametrize("name", scalar_values())
def test_the_first_token_never_moves_where_values_are_multiples_of_the_identity(name: str) -> None:
    velocity = block_drift(scalar_values()[name], uniform(N, D, seed=5))
    assert np.abs(velocity[0]).max() < 1e-15


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", [name for name in scalar_values() if name != "hardmax"])
def test_positive_heads_of_every_kind_bring_all_tokens_to_the_first(name: str, engine: str) -> None:
    x0 = uniform(5, D, seed=6)
    t = {"norm pre": 1e4, "norm peri": 1e4, "norm mix": 1e4, "norm sqrt": 400.0}.get(name, 40.0)
    found = flow(engine, scalar_values()[name], x0, [0.0, t / 4.0, t], rtol=1e-8).x
    off = np.linalg.norm(found - x0[0], axis=-1)  # (3, n)
    if t < 1e4:
        assert off[2].max() < 1e-4
        return
    # Where lengths grow like t, the rate -(k - 1)/k of token k over r becomes the power t^{-(k-1)/k}; each
    # token also follows the second, the slowest, so that all end like t^{-1/2}.
    assert off[2, 1:].max() < 0.1
    assert off[2, 1] / off[1, 1] == pytest.approx(0.5, abs=0.01)


# Energy


def energy(beta: float, x: Array) -> Array:
    """(1/n^2) sum e^{beta (<x_i, x_j> - 1)} of tokens (..., n, d)."""
    return np.exp(beta * (x @ x.mT - 1.0)).mean((-1, -2))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("norm", ALL_NORMS)
@pytest.mark.parametrize("weights", ["softmax", "exponential"])
def test_the_energy_never_falls_under_the_full_mask_whatever_the_norm(
    norm: Norm, weights: Any, engine: str
) -> None:
    block = norm_block(norm, Attention(2.0, mask="full", weights=weights))
    found = flow(engine, block, uniform(8, 3, seed=7), np.linspace(0.0, 3.0, 31))
    rises = np.diff(energy(2.0, found.x))
    assert rises.min() > -1e-9  # the tolerance
    assert rises.max() > 1e-3


def test_the_energy_may_fall_under_the_causal_mask() -> None:
    # the second token leaves thirty that it does not see, for the first
    angle = np.radians([0.0, 40.0, *np.full(30, 80.0)])
    x = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    step = 1e-6 * drift(Attention(2.0), x)
    assert energy(2.0, x + step) < energy(2.0, x - step)
    step = 1e-6 * drift(Attention(2.0, mask="full"), x)
    assert energy(2.0, x + step) > energy(2.0, x - step)


# The MLP


@pytest.mark.parametrize("activation", ["relu", "gelu", "tanh", "identity"])
def test_a_potential_moves_tokens_by_its_gradient_on_the_sphere(activation: Any) -> None:
    mlp = Potential(OMEGA, A, activation)
    x = uniform(N, D, seed=8)
    gradient = np.stack(
        [(mlp.value(x + step) - mlp.value(x - step)) / 2e-6 for step in 1e-6 * np.eye(D)], axis=1
    )  # (n, d)
    # differences: rounding over 1e-6; relu has a kink, on which no token of this draw lies
    assert np.abs(block_drift(Block(mlp=mlp), x) - tangent(x, gradient)).max() < 1e-7


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("activation", ["relu", "gelu", "tanh"])
@pytest.mark.parametrize("values", [None, 0.0])
def test_an_mlp_alone_climbs_its_potential_to_a_top(
    activation: Any, values: float | None, engine: str
) -> None:
    """Without heads, or with a head whose V is 0."""
    mlp = Potential(OMEGA, A, activation)
    heads = [] if values is None else [Attention(1.0, V=np.zeros((D, D)))]
    block = Block(heads, mlp)
    found = flow(engine, block, uniform(N, D, seed=9), np.linspace(0.0, 30.0, 31))
    height = mlp.value(found.x)  # (31, n)
    assert np.diff(height, axis=0).min() > -1e-8  # the tolerance
    assert (height[-1] - height[0]).min() > 1e-3
    assert np.abs(block_drift(block, found.x[-1])).max() < 1e-2 * np.abs(block_drift(block, found.x[0])).max()


def test_a_general_mlp_climbs_nothing() -> None:
    """W that is no transpose of a: the field has a curl, so that no potential has it as gradient."""
    block, x = Block(mlp=MLP(W, A, "identity")), uniform(1, D, seed=10)
    M = W @ A  # u(x) = M x is a gradient only if M is symmetric
    assert np.abs(M - M.T).max() > 0.1
    assert block_output(block, x) == pytest.approx(x @ M.T)


# XSA


@pytest.mark.parametrize("mask", ["causal", "full"])
@pytest.mark.parametrize("weights", ["softmax", "exponential", "hardmax"])
def test_xsa_with_values_of_the_identity_is_the_projection(mask: Any, weights: Any) -> None:
    head, x = Attention(2.0, Q, K, mask=mask, weights=weights), uniform(N, D, seed=11)
    assert np.abs(block_output(Block(head, exclude_self=True), x) - drift(head, x)).max() < 1e-14
    assert np.abs(attend(head, x) - drift(head, x)).max() > 0.1


def test_xsa_takes_the_own_value_away_and_not_the_token() -> None:
    head, x = Attention(2.0, Q, K, V), uniform(N, D, seed=11)
    out, v = block_output(Block(head, exclude_self=True), x), x @ V.T
    assert np.abs((out * v).sum(-1)).max() < 1e-14
    assert np.abs((out * x).sum(-1)).max() > 1e-2


@pytest.mark.parametrize("engine", ENGINES)
def test_under_pre_norm_xsa_keeps_lengths_and_collapses_like_post(engine: str) -> None:
    x0, times, head = uniform(6, D, seed=12), np.linspace(0.0, 16.0, 17), Attention(1.0, mask="full")
    post, pre = Block(head), Block(head, norm="pre")
    xsa = Block(head, norm="pre", exclude_self=True)
    moved = flow(engine, xsa, x0, times)
    assert np.abs(moved.x - flow(engine, post, x0, times).x).max() < 1e-8
    if moved.r is not None:
        assert np.abs(moved.r - 1.0).max() < 1e-9

    def gap(x: Array) -> Array:
        return 1.0 - (x @ x.mT).min((-1, -2))  # (17,) of the two farthest tokens

    late, slow = np.log(gap(moved.x)), np.log(gap(flow(engine, pre, x0, times).x))
    assert (late[12] - late[10]) / 2.0 == pytest.approx(-2.0, abs=1e-2)  # e^{-2t}
    assert (slow[12] - slow[10]) / np.log(13.0 / 11.0) == pytest.approx(-2.0, abs=0.6)  # t^-2, r about 1 + t
    assert slow[12] > late[12] + 10.0


# Layers


@pytest.mark.parametrize("name", CAUSAL)
def test_a_thin_layer_is_a_step_of_the_equation(name: str) -> None:
    block, x, t = CAUSAL[name], uniform(N, D, seed=13), 0.7
    r = np.linspace(0.7, 1.5, N) if block.has_radius else np.ones(N)
    velocity, growth = block_rates(block, x, r, t)
    errors = []
    for dt in (1e-3, 5e-4):
        y, length = layer_step(block, x, r, dt, t)
        errors.append((np.abs((y - x) / dt - velocity).max(), np.abs((length - r) / dt - growth).max()))
    (ahead, longer), (ahead2, longer2) = errors
    assert ahead2 < 0.1
    assert ahead2 == pytest.approx(ahead / 2.0, rel=0.05)  # first order
    assert longer2 == pytest.approx(longer / 2.0, rel=0.05, abs=1e-12)


def test_every_ingredient_and_every_norm_is_here_and_a_block_of_its_own() -> None:
    assert ALL_NORMS == NORMS
    x = uniform(N, D, seed=14)
    r = np.linspace(1.1, 2.0, N)
    velocities = {
        name: block_rates(block, x, r, 0.8)[0]
        for name, block in CAUSAL.items()
        if name not in ("norm post", "norm mix")
    }
    before, after = (block_rates(CAUSAL["norm mix"], x, r, t)[0] for t in (0.2, 0.8))
    assert np.abs(before - velocities["softmax"]).max() < 1e-15
    assert np.abs(after - velocities["norm pre"]).max() < 1e-15
    names = list(velocities)
    alike = [
        (one, other)
        for k, one in enumerate(names)
        for other in names[:k]
        if np.abs(velocities[one] - velocities[other]).max() < 1e-6
    ]
    assert alike == []
