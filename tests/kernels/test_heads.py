"""The velocities of a block over pairs: they equal the equation, head by head and all together."""

import numpy as np
import pytest
from support.block_models import block_bound, blocks, heads_of_kinds
from support.kernel_models import GO, Mask, velocities_of

import nucleate as nc
from nucleate.attention import Attention, Window
from nucleate.block import Block, block_drift, block_output
from nucleate.checks import EPS, Array
from nucleate.kernels.block_shape import block_shape
from nucleate.kernels.compile import compiled
from nucleate.kernels.heads import heads_system
from nucleate.kernels.simd import LANES
from nucleate.kernels.systems import drift_into
from nucleate.norms import Norm
from nucleate.positions import ALiBi, RoPE

MASKS: list[Mask] = ["causal", "full", Window(1), Window(5)]


@compiled
def compiled_drift(system, y, velocity, stop):  # type: ignore[no-untyped-def]  # compiled by Numba
    drift_into(system, y, velocity, stop)


def state_velocity(block: Block, y: Array) -> Array:
    """y' of the state y (n, d), by compiled code."""
    n, d = y.shape
    state, velocity = np.concatenate([y.reshape(-1), np.zeros(LANES)]), np.zeros(n * d + LANES)
    compiled_drift(heads_system(block_shape(block, n, d)), state, velocity, GO)
    return velocity[: n * d].reshape(n, d)


@pytest.mark.parametrize("n", [1, 2, 7, 64, 200])
@pytest.mark.parametrize("mask", MASKS, ids=str)
@pytest.mark.parametrize("d", [2, 3, 4, 5, 16])
def test_every_block_equals_the_equation(d: int, mask: Mask, n: int) -> None:
    x = nc.uniform(n, d, seed=n)
    for name, block in blocks(d, mask).items():
        if n == 200 and mask in ("full", Window(1)) and name != "all heads":
            continue
        error = np.abs(nc.drift(block, x, kernel="pairwise") - block_drift(block, x)).max()
        assert error <= block_bound(block, x), (name, error)


@pytest.mark.parametrize("d", [64, 520])
def test_every_block_equals_the_equation_in_many_dimensions(d: int) -> None:
    x = nc.uniform(20, d, seed=1)
    for name, block in blocks(d, "causal").items():
        velocity = velocities_of(heads_system(block_shape(block, 20, d, norm="post")), x)
        post = Block(block.heads, block.mlp, exclude_self=block.exclude_self)
        assert np.abs(velocity - block_drift(post, x)).max() <= block_bound(post, x), name


def test_more_pairs_than_a_strip_holds() -> None:
    x = nc.uniform(1100, 4, seed=3)
    heads = list(heads_of_kinds(4, "full").values())
    for head in heads:
        block = Block(head)
        assert np.abs(nc.drift(head, x) - block_drift(block, x)).max() <= block_bound(block, x), head


@pytest.mark.parametrize("norm", ["pre", "peri"])
@pytest.mark.parametrize("d", [2, 3, 5])
def test_where_the_norm_has_a_radius_the_state_follows_A_or_its_direction(d: int, norm: Norm) -> None:
    x = nc.uniform(40, d, seed=2)
    r = np.linspace(0.5, 3.0, 40)[:, None]
    block = Block(list(heads_of_kinds(d, "causal").values()), norm=norm)
    A = block_output(block, x)
    length = np.linalg.norm(A, axis=1, keepdims=True)
    expected = A if norm == "pre" else A / length
    bound = block_bound(Block(block.heads), x) / (1.0 if norm == "pre" else length.min())
    assert np.abs(state_velocity(block, r * x) - expected).max() <= bound


def test_compiled_code_gives_the_bits_of_drift() -> None:
    x = nc.uniform(30, 3, seed=2)
    block = Block(list(heads_of_kinds(3, "causal").values()))
    on_sphere = x / np.sqrt((x * x).sum(1, keepdims=True))
    assert np.abs(state_velocity(block, x) - nc.drift(block, on_sphere)).max() <= block_bound(block, x)


@pytest.mark.parametrize("d", [2, 3, 6])
def test_first_tokens_never_feel_the_others(d: int) -> None:
    x = nc.uniform(61, d, seed=4)
    for mask in ("causal", Window(7)):
        for name, block in blocks(d, mask).items():
            if name in ("own term", "all heads"):
                continue
            whole = nc.drift(block, x, kernel="pairwise")
            for k in (1, 8, 33):
                assert np.array_equal(nc.drift(block, x[:k], kernel="pairwise"), whole[:k]), (name, k)


@pytest.mark.parametrize("mask", MASKS, ids=str)
def test_rotated_tokens_have_rotated_velocities(mask: Mask) -> None:
    d = 4
    x, rotation = nc.uniform(50, d, seed=5), np.linalg.qr(np.random.default_rng(6).standard_normal((d, d)))[0]
    heads = [
        head
        for name, head in heads_of_kinds(d, mask).items()
        if head.Q is None and head.K is None and head.V is None and head.frozen is None and "RoPE" not in name
    ]
    assert len(heads) == 5
    for norm in ("post", "pre", "peri", "ngpt"):
        block = Block(heads, norm=norm)
        turned = nc.drift(block, x @ rotation.T)
        assert np.abs(turned - nc.drift(block, x) @ rotation.T).max() <= 8 * block_bound(block, x)


def test_RoPE_is_felt_by_rotations_and_by_places() -> None:
    x = nc.uniform(10, 4, seed=5)
    with_places, without = Attention(6.0, position=RoPE(7.0)), Attention(6.0)
    assert np.abs(nc.drift(with_places, x) - nc.drift(without, x)).max() > 0.01


@pytest.mark.parametrize("beta", [0.0, 1e-6, 1.0, 100.0, 1e4])
@pytest.mark.parametrize("d", [2, 3, 4])
def test_any_temperature(d: int, beta: float) -> None:
    x = nc.uniform(100, d, seed=7)
    Q = np.random.default_rng(8).standard_normal((d, d)) / d
    for mask in ("causal", "full"):
        for head in (
            Attention(beta, mask=mask, position=ALiBi(0.1)),
            Attention(beta, Q, mask=mask, position=ALiBi(0.1)),
            Attention(min(beta, 100.0), mask=mask, weights="exponential"),
        ):
            exact = block_drift(Block(head), x)
            error = np.abs(nc.drift(head, x, kernel="pairwise") - exact).max()
            assert error <= block_bound(Block(head), x)


def test_equal_scores_share_under_hardmax() -> None:
    x = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    full = nc.drift(Attention(3.0, mask="full", weights="hardmax"), x)
    assert np.array_equal(full, [[0.0, 2 / 3, 1 / 3], [0.0, 0.0, 0.0], [1 / 3, 2 / 3, 0.0], [0.0, 0.0, 0.0]])
    causal = nc.drift(Attention(3.0, weights="hardmax"), x)
    assert np.array_equal(causal, [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 0.0]])
    everyone = nc.drift(Attention(0.0, mask="full", weights="hardmax"), x)  # at beta 0 all are equal
    assert (
        np.abs(everyone - nc.drift(Attention(0.0, mask="full", weights="hardmax"), x, "reference")).max()
        <= EPS
    )


def test_hardmax_tells_apart_what_scores_cannot() -> None:
    angle = np.array([0.0, 3e-9, -1e-9])  # cos of all differences is 1 to the last bit
    x = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    velocity = nc.drift(Attention(1.0, mask="full", weights="hardmax"), x)[:, 1]
    assert velocity == pytest.approx([-1e-9, -3e-9, 1e-9], rel=1e-6)


def test_a_force_far_below_rounding_keeps_its_relative_accuracy() -> None:
    # Two tokens 1e-12 apart: D is 1e-12, which P (x + D) would know to four digits.
    x = np.array([[1.0, 0.0], [np.cos(1e-12), np.sin(1e-12)]])
    heads = [Attention(4.0), Attention(2.0, V=3.0 * np.eye(2), position=ALiBi(1.0))]
    expected = -(1e-12 / 2 + 3e-12 * np.exp(-1.0) / (1.0 + np.exp(-1.0)))
    for norm in ("post", "pre"):
        velocity = nc.drift(Block(heads, norm=norm), x)
        assert velocity[1, 1] == pytest.approx(expected, rel=1e-12)
        assert not velocity[0].any()


def test_runs_of_their_own_parameters() -> None:
    rng = np.random.default_rng(9)
    x = nc.uniform(30, 4, seed=9)
    V = rng.standard_normal((3, 4, 4))
    heads = [Attention([1.0, 4.0, 9.0], V=V), Attention(2.0, weights="exponential")]
    together = nc.drift(Block(heads, norm="pre", radius=2.0), x)
    assert together.shape == (3, 30, 4)
    for run, beta in enumerate((1.0, 4.0, 9.0)):
        alone = nc.drift(Block([Attention(beta, V=V[run]), heads[1]], norm="pre", radius=2.0), x)
        assert np.array_equal(alone, together[run])


@pytest.mark.parametrize(("n", "d"), [(1500, 3), (2500, 2), (30, 3)])
def test_bits_depend_neither_on_threads_nor_on_company(n: int, d: int) -> None:
    x = nc.uniform(3 * n, d, seed=4).reshape(3, n, d)
    block = blocks(d, "causal")["all heads"]
    one = nc.drift(block, x, threads=1)
    assert np.array_equal(one, nc.drift(block, x, threads=2))
    assert np.array_equal(one[1], nc.drift(block, x[1], threads=1))
    assert np.array_equal(one[1], nc.drift(block, x[1], threads=2))


def test_a_stop_ends_the_sums() -> None:
    x = nc.uniform(30, 3, seed=2)
    system = heads_system(block_shape(Block(Attention(1.0), norm="ngpt"), 30, 3))
    velocity = np.full(90 + LANES, 7.0)
    compiled_drift(system, np.concatenate([x.reshape(-1), np.zeros(LANES)]), velocity, np.ones(1, np.uint8))
    assert (velocity == 7.0).all()
