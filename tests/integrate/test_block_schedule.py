"""Blocks and layers through `simulate`: pieces, steps, frames, discrete layers, batches, refusals."""

from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

import nucleate as nc
from nucleate.attention import Attention, drift
from nucleate.block import Block, block_drift
from nucleate.checks import Array, InputError
from nucleate.layers import Layers, RandomLayers, layer_step
from nucleate.norms import NORMS, Norm
from nucleate.positions import ALiBi
from nucleate.sphere import retract


def options(norm: str) -> dict[str, Any]:
    return {"tau": 1.5} if norm == "mix" else {}


def halves(beta: float, d: int, **more: Any) -> Block:
    """Two heads of which each is half of one with V = I."""
    return Block([Attention(beta, V=0.5 * np.eye(d), **more)] * 2)


# Blocks


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("rtol", [1e-8, 1e-5], ids=["order 8", "order 5"])
def test_two_halves_of_a_head_move_tokens_like_the_head(d: int, rtol: float) -> None:
    x0 = nc.uniform(9, d, seed=0)
    one = nc.simulate(Attention(4.0), x0, 10.0, save=21, rtol=1e-12)
    two = nc.simulate(halves(4.0, d), x0, 10.0, save=21, rtol=rtol)
    assert two.norms is None
    assert np.abs(one.x - two.x).max() <= 5.0 * rtol
    assert np.abs(np.linalg.norm(two.x, axis=-1) - 1.0).max() <= 1e-15


def test_a_block_of_nothing_but_a_head_is_that_head_to_the_last_bit() -> None:
    x0 = nc.uniform(9, 2, seed=0)
    head = Attention(4.0)
    run = nc.simulate(Block(head), x0, 10.0)
    assert run.model is head
    assert np.array_equal(run.x, nc.simulate(head, x0, 10.0).x)


def test_exponential_weights_and_positions_are_not_taken_for_softmax() -> None:
    x0 = nc.uniform(6, 2, seed=0)
    plain = nc.simulate(Attention(2.0), x0, 2.0, save=2)
    for head in (Attention(2.0, weights="exponential"), Attention(2.0, position=ALiBi(1.0))):
        run = nc.simulate(head, x0, 2.0, save=2)
        assert run.model is head
        assert np.abs(run.x - plain.x).max() > 1e-3
        # one Euler step in NumPy
        step = nc.simulate(head, x0, 0.01, method="euler", dt=0.01, save=2)
        assert np.abs(step.x[-1] - retract(x0 + 0.01 * drift(head, x0))).max() <= 1e-14


@pytest.mark.parametrize("norm", NORMS)
def test_a_run_does_not_depend_on_its_company_or_on_threads(norm: Norm) -> None:
    x0 = np.stack([nc.uniform(5, 3, seed=seed) for seed in range(5)])
    beta = np.array([0.5, 1.0, 2.0, 4.0, 8.0])
    heads = [Attention(beta), Attention(1.0, mask="full")]
    together = nc.simulate(Block(heads, norm=norm, **options(norm)), x0, 3.0, save=4, threads=2)
    assert together.done
    assert together.x.shape == (5, 4, 5, 3)
    assert (together.norms is not None) == (norm in ("pre", "peri", "mix"))
    for run in (0, 3):
        alone = Block([Attention(beta[run]), heads[1]], norm=norm, **options(norm))
        one = nc.simulate(alone, x0[run], 3.0, save=4, threads=1)
        assert np.array_equal(one.x, together.x[run])
        if together.norms is not None and one.norms is not None:
            assert np.array_equal(one.norms, together.norms[run])


# Layers, continuous


def test_one_token_goes_through_layers_as_through_their_exponentials() -> None:
    rng, dt = np.random.default_rng(0), 0.8
    V = rng.standard_normal((4, 3, 3))
    x0 = nc.uniform(1, 3, seed=0)
    times = np.array([0.0, 0.3, 0.8, 1.1, 2.4, 3.0])
    run = nc.simulate(Layers([Attention(1.0, V=one) for one in V], dt=dt), x0, 3.0, save=times)

    def exact(t: float) -> Array:
        y = x0[0]
        for layer in range(4):
            y = expm(min(max(t - layer * dt, 0.0), dt) * V[layer]) @ y
        return retract(y)

    assert np.abs(run.x[:, 0] - np.stack([exact(float(t)) for t in times])).max() <= 1e-7


@pytest.mark.parametrize("norm", NORMS)
def test_layers_that_are_all_alike_are_one_block(norm: Norm) -> None:
    block = Block([Attention(2.0), Attention(1.0, mask="full")], norm=norm, **options(norm))
    x0, times = nc.uniform(6, 3, seed=0), np.array([0.0, 0.7, 1.0, 2.9, 4.0])
    one = nc.simulate(block, x0, 4.0, save=times, rtol=1e-10)
    many = nc.simulate(Layers([block] * 8, dt=0.5), x0, 4.0, save=times, rtol=1e-10)
    assert np.array_equal(many.t, times)
    assert np.abs(one.x - many.x).max() <= 1e-9
    if one.norms is not None and many.norms is not None:
        assert np.abs(one.norms / many.norms - 1.0).max() <= 1e-9


def test_steps_end_at_the_ends_of_layers_and_do_not_begin_cautiously_again() -> None:
    layers = RandomLayers(12, 4, beta=1.0, heads=2, seed=0)
    x0 = nc.uniform(8, 4, seed=0)
    run = nc.simulate(layers, x0, 12.0, save="steps")
    assert set(np.arange(13.0)) <= set(run.t.tolist())
    assert len(run.t) == run.steps + 1
    first = np.diff(run.t)[0]
    for layer in range(1, 12):
        begin = run.t.tolist().index(float(layer))
        # at the start of the run the step is a hundredth of what it becomes
        assert run.t[begin + 1] - run.t[begin] > 5.0 * first


def test_every_step_is_kept_beyond_the_first_room() -> None:
    layers = Layers([halves(1.0, 3)] * 3, dt=0.5)
    run = nc.simulate(layers, nc.uniform(3, 3, seed=0), 1.5, save="steps", method="euler", dt=0.002)
    assert len(run.t) == 751
    assert np.diff(run.t) == pytest.approx(0.002, rel=1e-9)
    pre = Layers([Block(Attention(1.0), norm="pre")] * 3, dt=0.5)
    run = nc.simulate(pre, nc.uniform(1, 3, seed=0), 1.5, save="steps", method="euler", dt=0.002)
    assert run.norms is not None
    assert run.norms[:, 0] == pytest.approx(1.0 + run.t, rel=1e-13)


@pytest.mark.parametrize("dt", [0.25, 0.3, 2.0])
def test_fixed_steps_end_at_the_ends_of_layers(dt: float) -> None:
    layers, x = RandomLayers(3, 3, seed=1, heads=2), nc.uniform(4, 3, seed=0)
    run = nc.simulate(layers, x, 3.0, save="steps", method="euler", dt=dt)
    expected = [0.0]
    for layer, block in enumerate(layers.blocks):
        while (left := layer + 1.0 - expected[-1]) > 1e-9:
            h = min(dt, left)
            x = retract(x + h * block_drift(block, x))
            expected.append(layer + 1.0 if h == left else expected[-1] + h)
    assert run.t == pytest.approx(expected, rel=1e-14)
    assert np.abs(run.x[-1] - x).max() <= 1e-13
    assert run.steps == len(expected) - 1


def test_lengths_are_carried_from_layer_to_layer() -> None:
    layers = Layers([Block(Attention(1.0, V=c * np.eye(3)), norm="pre", radius=2.0) for c in (1.0, 3.0, 0.5)])
    run = nc.simulate(layers, nc.uniform(1, 3, seed=0), 3.0, save=[0.5, 1.0, 1.5, 2.0, 3.0])
    assert run.norms is not None
    assert run.norms[:, 0] == pytest.approx([2.5, 3.0, 4.5, 6.0, 6.5], rel=1e-14)


def test_max_steps_counts_all_layers_together() -> None:
    layers, x0 = RandomLayers(6, 3, seed=0, heads=2), nc.uniform(5, 3, seed=0)
    whole = nc.simulate(layers, x0, 6.0)
    assert isinstance(whole.steps, int)
    for limit in (1, whole.steps // 2):
        run = nc.simulate(layers, x0, 6.0, max_steps=limit)
        assert run.status == "max steps"
        assert isinstance(run.steps, int)
        assert run.steps <= limit
    euler = nc.simulate(
        Layers([halves(1.0, 3)] * 4), x0, 4.0, method="euler", dt=0.5, max_steps=2, save="steps"
    )
    assert euler.status == "max steps"
    assert euler.t.tolist() == [0.0, 0.5, 1.0]


# Layers, discrete


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("norm", NORMS)
def test_discrete_layers_are_the_steps_of_a_transformer(norm: Norm, d: int) -> None:
    layers = RandomLayers(7, d, heads=2, norm=norm, seed=0, dt=0.5, discrete=True, **options(norm))
    x0 = np.stack([nc.uniform(5, d, seed=seed) for seed in range(3)])
    run = nc.simulate(layers, x0, 3.5)
    assert run.done
    assert run.t.tolist() == [0.5 * layer for layer in range(8)]
    assert np.array_equal(run.steps, [7, 7, 7])
    x, r = x0, np.ones((3, 5))
    for layer, block in enumerate(layers.blocks):
        x, r = layer_step(block, x, r, 0.5, 0.5 * layer)
        assert np.abs(run.x[:, layer + 1] - x).max() <= 1e-13  # seven steps of rounding
        if run.norms is not None:
            assert np.abs(run.norms[:, layer + 1] - r).max() <= 1e-12
    alone = nc.simulate(layers, x0[1], 3.5, threads=1)
    assert np.array_equal(alone.x, run.x[1])


def test_discrete_layers_have_frames_at_their_ends_only() -> None:
    layers, x0 = RandomLayers(10, 3, dt=0.1, discrete=True, seed=0), nc.uniform(4, 3, seed=0)
    every = nc.simulate(layers, x0, 1.0)
    assert every.t == pytest.approx(np.linspace(0.0, 1.0, 11))
    some = nc.simulate(layers, x0, 1.0, save=[0.3, 0.7, 1.0])
    assert np.array_equal(some.x, every.x[[3, 7, 10]])
    assert np.array_equal(nc.simulate(layers, x0, 1.0, save=6).x, every.x[::2])
    assert np.array_equal(nc.simulate(layers, x0, 1.0, save="steps").x, every.x)
    assert np.array_equal(nc.simulate(layers, x0, 0.6).x, every.x[:7])
    for save in ([0.25, 1.0], 64):
        with pytest.raises(InputError, match=r"at multiples of dt = 0.1 only, but save has"):
            nc.simulate(layers, x0, 1.0, save=save)
    with pytest.raises(InputError, match=r"but t has 0.55"):
        nc.simulate(layers, x0, 0.55)
    with pytest.raises(InputError, match="Leave it out"):
        nc.simulate(layers, x0, 1.0, method="euler", dt=0.1)


def test_discrete_layers_obey_max_steps_and_say_where_they_overflow() -> None:
    layers = RandomLayers(10, 3, discrete=True, seed=0)
    run = nc.simulate(layers, nc.uniform(4, 3, seed=0), 10.0, max_steps=4)
    assert run.status == "max steps"
    assert run.steps == 4
    assert run.t.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    gone = Layers([Attention(1.0, V=-np.eye(3))] * 2, discrete=True)  # theta + V theta = 0 has no direction
    run = nc.simulate(gone, np.eye(3)[:1], 2.0)
    assert run.status == "non-finite"
    assert run.t.tolist() == [0.0]


# Callbacks and limits

SLOW = Layers([halves(4.0, 3)] * 400, dt=50.0)


@pytest.mark.parametrize("discrete", [False, True])
def test_progress_frames_and_cancelling(discrete: bool) -> None:
    layers = RandomLayers(4000, 3, dt=1.0, discrete=discrete, seed=0)
    seen: list[Array] = []

    def on_frames(t: Array, x: Array) -> bool:
        assert x.shape == (len(t), 24, 3)
        seen.append(t)
        return len(seen) < 3

    run = nc.simulate(layers, nc.uniform(24, 3, seed=0), 4000.0, on_frames=on_frames, time_limit=60.0)
    assert run.status == "cancelled"
    told = np.concatenate(seen)
    assert np.array_equal(told, run.t[: len(told)])


MANY = Layers([halves(4.0, 3)] * 10_000, discrete=True)


@pytest.mark.parametrize("model", [SLOW, MANY], ids=["pieces", "discrete"])
def test_the_time_limit_ends_a_run_and_keeps_what_there_is(model: Layers) -> None:
    x0, save = nc.uniform(600, 3, seed=0), [0.0, 1.0, 10_000.0]
    run = nc.simulate(model, x0, 10_000.0, save=save, rtol=1e-12, time_limit=0.5)
    assert run.status == "time limit"
    assert run.t[0] == 0.0
    assert len(run.t) < 3


def test_the_time_of_the_root_is_told_as_the_models_time() -> None:
    seen: list[tuple[float, float]] = []
    block = Block([Attention(2.0)] * 2, norm="sqrt")
    run = nc.simulate(
        block, nc.uniform(6, 3, seed=0), 24.0, save="steps", progress=lambda a, b: seen.append((a, b))
    )
    assert seen
    assert seen[-1] == (24.0, 24.0)
    assert run.t[-1] == 24.0


# Refusals


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"method": "causal"}, r'one softmax head .* but the model is a Block. Use "explicit"'),
        ({"device": "gpu"}, r'device="gpu" moves one softmax head .* but the model is a Block'),
        ({"seed": 1}, "seed is for noise, but the model has none"),
        ({"method": "auto", "dt": 0.1}, "chooses its own steps"),
    ],
)
def test_what_blocks_cannot_do_is_refused(change: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        nc.simulate(halves(1.0, 3), nc.uniform(4, 3, seed=0), 1.0, **change)


def test_other_refusals() -> None:
    x0 = nc.uniform(4, 3, seed=0)
    with pytest.raises(InputError, match=r"an Attention with hardmax weights"):
        nc.simulate(Attention(1.0, weights="hardmax"), x0, 1.0, method="causal")
    with pytest.raises(InputError, match=r"an Attention with ALiBi"):
        nc.simulate(Attention(1.0, position=ALiBi(1.0)), x0, 1.0, device="gpu")
    with pytest.raises(InputError, match=r"2 layers of dt = 0.5 end at time 1, but t is 1.5"):
        nc.simulate(Layers([halves(1.0, 3)] * 2, dt=0.5), x0, 1.5)
    with pytest.raises(InputError, match=r'norm "sqrt" is integrated in the time'):
        nc.simulate(Block(Attention(1.0), norm="sqrt"), x0, 1.0, method="rk4", dt=0.1)
    noisy = Block(Attention(1.0), noise=4.0)
    with pytest.raises(InputError, match="noise needs a seed"):
        nc.simulate(noisy, x0, 1.0)
    with pytest.raises(InputError, match="noise takes fixed steps, but dt is missing"):
        nc.simulate(noisy, x0, 1.0, seed=0)
    with pytest.raises(InputError, match="model must be an Attention, a Block or Layers"):
        nc.simulate("a head", x0, 1.0)  # type: ignore[arg-type]  # that is the slip
