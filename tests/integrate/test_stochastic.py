"""Runs with noise: the compiled steps are those of `nucleate.noise`, a run is its own whatever its company,
and the laws are those of heat and drift on the sphere."""

import signal
import threading
from typing import Any

import numpy as np
import pytest
from scipy.special import ive

import nucleate as nc
from nucleate.attention import Attention, Frozen
from nucleate.block import Block, block_drift
from nucleate.checks import Array, InputError
from nucleate.integrate.brownian import new_path
from nucleate.integrate.noise_runs import noise_grid, noise_system, run_keys
from nucleate.integrate.run_buffers import new_run_buffers
from nucleate.integrate.status import INTERRUPTED, STATUS
from nucleate.integrate.stochastic import integrate_stochastic, new_stochastic_state
from nucleate.kernels.circle import Circle
from nucleate.layers import Layers
from nucleate.mlp import MLP
from nucleate.noise import increment, noisy_step

STILL = np.zeros((8, 8))  # V = 0: noise alone


def noise_alone(d: int, kappa: float) -> Block:
    return Block(Attention(0.0, V=STILL[:d, :d]), noise=kappa)


def in_field(d: int, kappa: float, eta: float) -> Block:
    """One token, drift eta P_x e_1: a frozen token of weight a at e_1, beta = 0, eta = a / (1 + a)."""
    return Block(Attention(0.0, frozen=Frozen(np.eye(d)[:1], weight=eta / (1.0 - eta))), noise=kappa)


def by_the_equation(
    model: Block | Layers, x: Array, steps: int, dt: float, seed: int, run: int, path_dt: float
) -> Array:
    """The tokens (n, d) after some steps of `noisy_step`."""
    n, d = x.shape
    for i in range(steps):
        block = model if isinstance(model, Block) else model.blocks[int((i + 0.5) * dt / model.dt)]
        w = tuple(increment(seed, run, path_dt, dt / 2.0, 2 * i + half, n, d) for half in (0, 1))
        assert block.noise is not None
        x = noisy_step(lambda y, block=block: block_drift(block, y), x, (w[0], w[1]), block.noise, dt)  # type: ignore[misc]  # mypy cannot infer a lambda's default
    return x


# Twins


@pytest.mark.parametrize("path_dt", [0.05, 0.01, 0.2])
@pytest.mark.parametrize("mask", ["causal", "full"])
@pytest.mark.parametrize("d", [2, 3, 8])
def test_compiled_steps_are_those_of_the_equation(d: int, mask: Any, path_dt: float) -> None:
    rng = np.random.default_rng(d)
    Q, K, V = rng.standard_normal((3, d, d)) / np.sqrt(d)
    model, x0 = Block(Attention(2.0, Q, K, V, mask=mask), noise=4.0), nc.uniform(7, d, seed=1)
    run = nc.simulate(model, x0, 1.0, dt=0.1, seed=5, path_dt=path_dt, save=[0.0, 0.3, 1.0])
    assert run.status == "done"
    assert run.steps == 10
    for frame, steps in zip(run.x, (0, 3, 10), strict=True):
        # rounding of ten steps, a little amplified by the drift
        np.testing.assert_allclose(frame, by_the_equation(model, x0, steps, 0.1, 5, 0, path_dt), atol=1e-13)


def test_many_tokens_on_the_circle_are_summed_over_modes_and_move_as_in_the_equation() -> None:
    model, x0 = Block(Attention(1.0, mask="full"), noise=20.0), nc.uniform(400, 2, seed=1)
    assert isinstance(noise_system(model, 400, 2, 0), Circle)
    run = nc.simulate(model, x0, 0.5, dt=0.1, seed=5, save=2)
    # the modes are good to 1e-11
    np.testing.assert_allclose(run.x[-1], by_the_equation(model, x0, 5, 0.1, 5, 0, 0.05), atol=1e-10)


@pytest.mark.parametrize("d", [2, 3])
def test_heads_an_mlp_and_noise_go_together(d: int) -> None:
    rng = np.random.default_rng(0)
    W, a = rng.standard_normal((d, 6)), rng.standard_normal((6, d))
    heads = [Attention(2.0), Attention(1.0, V=rng.standard_normal((d, d)), mask="full")]
    model, x0 = Block(heads, MLP(W, a), noise=9.0), nc.uniform(5, d, seed=2)
    run = nc.simulate(model, x0, 1.0, dt=0.1, seed=1, save=[0.3, 1.0])
    for frame, steps in zip(run.x, (3, 10), strict=True):
        np.testing.assert_allclose(frame, by_the_equation(model, x0, steps, 0.1, 1, 0, 0.05), atol=1e-12)
    batch = nc.simulate(model, np.stack([x0] * 3), 1.0, dt=0.1, seed=[1, 2, 1], save=[0.3, 1.0])
    assert batch.x[2].tobytes() == batch.x[0].tobytes() == run.x.tobytes()


def test_layers_take_over_at_their_times() -> None:
    rng = np.random.default_rng(0)
    blocks = [Block(Attention(3.0, V=rng.standard_normal((3, 3))), noise=9.0) for _ in range(4)]
    model, x0 = Layers(blocks, dt=0.3), nc.uniform(5, 3, seed=2)
    run = nc.simulate(model, x0, 1.0, dt=0.1, seed=1, save=[0.1, 0.3, 0.9, 1.0])
    for frame, steps in zip(run.x, (1, 3, 9, 10), strict=True):
        np.testing.assert_allclose(frame, by_the_equation(model, x0, steps, 0.1, 1, 0, 0.05), atol=1e-13)


@pytest.mark.parametrize("d", [2, 3])
def test_a_large_run_on_a_team_of_threads_has_the_bits_of_one_thread(d: int) -> None:
    model, x0 = Block(Attention(9.0, V=np.diag([1.0, 2.0, 3.0][:d])), noise=9.0), nc.uniform(2500, d, seed=2)
    one, two = (nc.simulate(model, x0, 0.02, dt=0.01, seed=1, save=2, threads=k) for k in (1, 2))
    assert one.x.tobytes() == two.x.tobytes()


# A run is its own


@pytest.mark.parametrize("d", [2, 3])
def test_a_run_has_the_same_bits_alone_in_company_and_on_any_threads(d: int) -> None:
    model = Block(Attention(4.0), noise=5.0)
    x0, seeds = nc.uniform(6, d, seed=0, runs=5), [3, 1, 4, 1, 5]
    one, two = (nc.simulate(model, x0, 1.0, dt=0.1, seed=seeds, threads=k) for k in (1, 2))
    assert one.x.tobytes() == two.x.tobytes()
    for i in range(5):
        alone = nc.simulate(model, x0[i], 1.0, dt=0.1, seed=seeds[i])
        assert alone.x.tobytes() == one.x[i].tobytes()


def test_runs_of_one_seed_have_paths_of_their_own_and_the_first_is_that_of_a_single_run() -> None:
    model, x0 = noise_alone(3, 1.0), nc.uniform(1, 3, seed=0)
    run = nc.simulate(model, np.stack([x0] * 3), 1.0, dt=0.1, seed=7, save=2)
    assert run.x[0].tobytes() == nc.simulate(model, x0, 1.0, dt=0.1, seed=7, save=2).x.tobytes()
    assert np.linalg.norm(run.x[0, -1] - run.x[1, -1]) > 0.1
    few = nc.simulate(model, np.stack([x0] * 2), 1.0, dt=0.1, seed=7, save=2)
    assert few.x.tobytes() == run.x[:2].tobytes()


def test_runs_with_parameters_of_their_own_have_the_bits_of_single_ones() -> None:
    beta, x0 = np.array([1.0, 4.0, 16.0]), nc.uniform(6, 3, seed=0, runs=3)
    run = nc.simulate(Block(Attention(beta), noise=5.0), x0, 1.0, dt=0.1, seed=[1, 2, 3])
    for i in range(3):
        alone = nc.simulate(Block(Attention(beta[i]), noise=5.0), x0[i], 1.0, dt=0.1, seed=i + 1)
        assert alone.x.tobytes() == run.x[i].tobytes()


@pytest.mark.parametrize("d", [2, 3])
def test_the_first_tokens_do_not_notice_the_others_under_the_causal_mask(d: int) -> None:
    model, x0 = Block(Attention(4.0), noise=5.0), nc.uniform(20, d, seed=0)
    few, all = (nc.simulate(model, x0[:n], 1.0, dt=0.1, seed=2) for n in (7, 20))
    assert few.x.tobytes() == all.x[:, :7].tobytes()


def test_frames_do_not_change_a_run() -> None:
    model, x0 = Block(Attention(4.0), noise=5.0), nc.uniform(6, 3, seed=0)
    every = nc.simulate(model, x0, 2.0, dt=0.1, seed=2, save="steps")
    assert every.t.tolist() == [*(0.1 * np.arange(20)), 2.0]
    some = nc.simulate(model, x0, 2.0, dt=0.1, seed=2, save=[0.5, 1.0, 1.7])
    assert some.x.tobytes() == every.x[[5, 10, 17]].tobytes()
    counted = nc.simulate(model, x0, 2.0, dt=0.1, seed=2, save=8)  # moved to the nearest step
    np.testing.assert_allclose(counted.t, [0.0, 0.3, 0.6, 0.9, 1.1, 1.4, 1.7, 2.0])
    assert counted.x.tobytes() == every.x[[0, 3, 6, 9, 11, 14, 17, 20]].tobytes()
    assert len(nc.simulate(model, x0, 0.3, dt=0.1, seed=2, save=64).t) == 4


def test_the_settings_redo_a_run() -> None:
    model, x0 = Block(Attention(4.0), noise=5.0), nc.uniform(6, 3, seed=0)
    run = nc.simulate(model, x0, 1.0, dt=0.1, seed=2)
    keep = {name: run.settings[name] for name in ("dt", "seed", "path_dt")}
    assert keep == {"dt": 0.1, "seed": 2, "path_dt": 0.05}
    assert nc.simulate(model, x0, run.settings["t"], **keep).x.tobytes() == run.x.tobytes()


def test_a_check_halves_the_step_on_the_same_path() -> None:
    model, x0 = Block(Attention(4.0), noise=50.0), nc.uniform(6, 2, seed=0, runs=3)
    run = nc.simulate(model, x0, 1.0, dt=0.1, seed=2, save=6)
    finer = nc.simulate(model, x0, 1.0, dt=0.05, seed=2, path_dt=0.05, save=6)
    assert "noise 50" in repr(run)
    assert run.check().worst == np.linalg.norm(run.x - finer.x, axis=-1).max()
    other = nc.simulate(model, x0, 1.0, dt=0.05, seed=2, save=6)  # a path drawn in finer steps is another
    assert run.check().worst < 0.1 * np.linalg.norm(run.x - other.x, axis=-1).max()


# Laws


def spread_from_the_pole(d: int, kappa: float, t: float, dt: float, runs: int) -> Array:
    """<x(0), x(t)> of many runs with noise alone."""
    x0 = np.zeros((runs, 1, d))
    x0[..., 0] = 1.0
    run = nc.simulate(noise_alone(d, kappa), x0, t, dt=dt, seed=0, save=[t])
    assert np.abs(np.linalg.norm(run.x, axis=-1) - 1.0).max() < 1e-15
    return run.x[:, 0, 0, 0]


@pytest.mark.parametrize("d", [2, 3, 8])
def test_noise_alone_spreads_tokens_by_the_heat_equation(d: int) -> None:
    kappa, t = 5.0, 1.0
    z = spread_from_the_pole(d, kappa, t, 0.02, 20_000)
    first, second = (
        z,
        (d * z**2 - 1.0) / (d - 1.0),
    )  # the first two harmonics, of rates d - 1 and 2 d over kappa
    for harmonic, rate in ((first, d - 1.0), (second, 2.0 * d)):
        exact = np.exp(-rate * t / kappa)
        # four standard errors; with sqrt(1/kappa) for sqrt(2/kappa) the mean would be off by many more
        assert abs(harmonic.mean() - exact) < 4.0 * harmonic.std() / np.sqrt(z.size)


@pytest.mark.parametrize("d", [2, 3, 8])
def test_a_token_in_a_field_comes_to_the_law_of_von_mises_and_fisher(d: int) -> None:
    # density exp(kappa <h, x>), of mean I_{d/2}(kappa |h|) / I_{d/2 - 1}(kappa |h|) along h
    kappa, eta = 6.0, 0.7
    x0 = nc.uniform(1, d, seed=0, runs=10_000)
    run = nc.simulate(in_field(d, kappa, eta), x0, 12.0, dt=0.1, seed=0, save=[12.0])
    z = run.x[:, 0, 0, 0]  # after eight times the slowest rate of relaxation, about eta
    exact = ive(d / 2, kappa * eta) / ive(d / 2 - 1, kappa * eta)
    assert abs(z.mean() - exact) < 4.0 * z.std() / np.sqrt(z.size)


@pytest.mark.parametrize("d", [2, 3])
def test_the_uniform_law_stays_uniform_under_noise_alone(d: int) -> None:
    x0 = nc.uniform(1, d, seed=0, runs=10_000)
    x = nc.simulate(noise_alone(d, 2.0), x0, 1.0, dt=0.1, seed=0, save=[1.0]).x[:, 0, 0]  # (b, d)
    assert (np.abs(x.mean(0)) < 4.0 * np.sqrt(1.0 / d / len(x))).all()
    square = x[:, 0] ** 2
    assert abs(square.mean() - 1.0 / d) < 4.0 * square.std() / np.sqrt(len(x))


@pytest.mark.parametrize("d", [2, 3])
def test_quiet_noise_tends_to_the_run_without_any(d: int) -> None:
    head, x0 = Attention(4.0), nc.uniform(8, d, seed=0)
    heun = nc.simulate(head, x0, 2.0, method="heun", dt=0.02, save=2).x[-1]
    apart = [
        np.abs(nc.simulate(Block(head, noise=kappa), x0, 2.0, dt=0.02, seed=0, save=2).x[-1] - heun).max()
        for kappa in (1e4, 1e8, 1e12, 1e40)
    ]
    assert 1e-3 < apart[0] < 0.1  # sqrt(2 t / kappa) = 0.02
    # a hundredth of it each time, until on the circle Heun's method in angles is another of the same order
    assert apart[1] < apart[0] / 50.0
    assert apart[3] < (1e-4 if d == 2 else 1e-13)
    if d == 3:
        assert apart[2] < apart[0] / 5000.0


# Orders


def ends_of_one_path(
    model: Block, x0: Array, steps: tuple[float, ...], path_dt: float, t: float
) -> list[Array]:
    return [
        nc.simulate(model, x0, t, dt=dt, seed=0, path_dt=path_dt, save=[t]).x[:, 0] for dt in steps
    ]  # (b, n, d) each


@pytest.mark.parametrize(("d", "order"), [(2, 1.0), (3, 0.5), (8, 0.5)])
def test_halving_dt_on_the_same_path_converges(d: int, order: float) -> None:
    # on the circle the noise is one number per token and nothing is lost when increments are added up;
    # elsewhere their order counts, a sum forgets it, and the error falls like sqrt(dt)
    model, x0 = Block(Attention(2.0, mask="full"), noise=8.0), nc.uniform(4, d, seed=0, runs=200)
    x = ends_of_one_path(model, x0, (0.2, 0.1, 0.05, 0.025, 0.2 / 64), 0.1, 1.0)
    errors = np.array([np.sqrt(((y - x[-1]) ** 2).sum(-1).mean()) for y in x[:-1]])
    slope = np.polyfit(np.log([0.2, 0.1, 0.05, 0.025]), np.log(errors), 1)[0]
    # 200 runs: the slope of errors known to a few per cent
    assert order - 0.1 < slope < order + 0.35
    other = nc.simulate(model, x0, 1.0, dt=0.2, seed=1, save=[1.0]).x[:, 0]
    assert np.sqrt(((other - x[-1]) ** 2).sum(-1).mean()) > 5.0 * errors[0]  # another path is elsewhere


@pytest.mark.parametrize("d", [2, 3, 8])
def test_the_weak_order_is_two(d: int) -> None:
    # On one path the means at dt and dt/2 differ by 3/4 C dt^2: four times less at half the dt.
    kappa, eta, runs = 4.0, 0.8, 20_000
    x0 = np.zeros((runs, 1, d))
    x0[..., 1] = 1.0
    x = ends_of_one_path(in_field(d, kappa, eta), x0, (0.8, 0.4, 0.2), 0.4, 1.6)
    z = [y[:, 0, 0] for y in x]  # (b,) along the field
    coarse, fine = z[0] - z[1], z[1] - z[2]
    error = np.hypot(coarse.std(), 4.0 * fine.std()) / np.sqrt(runs)
    # beside four standard errors coarse - 4 fine is of order dt^3, here a fifth of coarse; for order 1 it is
    # all of it
    assert abs(coarse.mean()) > 8.0 * coarse.std() / np.sqrt(runs)  # there is an error to speak of
    assert abs(coarse.mean() - 4.0 * fine.mean()) < 4.0 * error + 0.2 * abs(coarse.mean())


# Endings


def test_every_ending_has_its_status_and_keeps_the_frames_before_it() -> None:
    model, x0 = Block(Attention(4.0), noise=5.0), nc.uniform(6, 3, seed=0)
    whole = nc.simulate(model, x0, 2.0, dt=0.1, seed=2, save="steps")
    short = nc.simulate(model, x0, 2.0, dt=0.1, seed=2, save="steps", max_steps=7)
    assert (short.status, short.steps) == ("max steps", 7)
    assert short.x.tobytes() == whole.x[:8].tobytes()
    V = np.stack([np.eye(3), np.full((3, 3), 1.7e308)])
    wild = nc.simulate(Block(Attention(4.0, V=V), noise=5.0), x0, 2.0, dt=0.1, seed=2, save=3)
    assert wild.status == ("done", "non-finite")
    assert np.isnan(wild.x[1, 1:]).all()
    assert np.isfinite(wild.x[0]).all()


@pytest.mark.parametrize("d", [2, 3])
def test_a_flag_stops_a_run_between_two_steps(d: int) -> None:
    model, x0 = Block(Attention(4.0), noise=5.0), nc.uniform(6, d, seed=0)
    grid = noise_grid(5.0, np.array([0.0, 1.0]), True, False, 1.0, 0.1, None)
    buffers = new_run_buffers(x0[None].copy(), grid.times, False, 1.0, 0.0, 0.1, 100)
    path = new_path(run_keys(0, 1, True), 5.0, grid.path_dt, 0.05, d)
    stop = np.array([INTERRUPTED], dtype=np.uint8)
    integrate_stochastic(
        noise_system(model, 6, d, 0),
        path,
        new_stochastic_state(6, d, False),
        buffers,
        grid.frame_steps,
        10,
        0,
        10,
        stop,
    )
    assert STATUS[buffers.status[0]] == "interrupted"
    assert (buffers.steps[0], buffers.saved[0]) == (0, 1)


def test_ctrl_c_ends_a_run_with_noise_and_the_next_one_works() -> None:
    model, x0 = Block(Attention(4.0), noise=5.0), nc.uniform(6, 3, seed=0)
    nc.simulate(model, x0, 1.0, dt=0.1, seed=0)  # compiled by now
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(1.0, signal.pthread_kill, (main, signal.SIGINT))
    timer.start()
    run = nc.simulate(model, x0, 1e9, dt=0.1, seed=0, save=[0.0, 1.0, 1e9], max_steps=10**12)
    timer.join()
    assert run.status == "interrupted"
    assert run.x[:2].tobytes() == nc.simulate(model, x0, 1.0, dt=0.1, seed=0, save=2).x.tobytes()


def test_callbacks_are_told_and_can_cancel_and_time_is_limited() -> None:
    model, x0 = Block(Attention(4.0), noise=5.0), nc.uniform(6, 3, seed=0)
    seen: list[Array] = []
    long: dict[str, Any] = {"dt": 0.1, "seed": 0, "max_steps": 10**12, "save": [0.0, 1.0, 1e9]}
    run = nc.simulate(model, x0, 1e9, time_limit=0.5, on_frames=lambda t, x: seen.append(x), **long)
    assert run.status == "time limit"
    assert np.concatenate(seen).tobytes() == run.x.tobytes()
    assert nc.simulate(model, x0, 1e9, progress=lambda done, total: False, **long).status == "cancelled"


# Refusals


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dt": None}, r"takes fixed steps, but dt is missing. Give dt=0.01"),
        ({"seed": None}, r"noise needs a seed, but seed is missing. Give seed=0"),
        ({"dt": 2.0}, r"dt must be at most t, but dt is 2 and t is 1. Give a smaller"),
        ({"dt": 0.3}, r"t must be a whole number of steps, but 1 is 3.33333 steps of dt = 0.3. Give dt=0.25"),
        ({"dt": 0.0}, r"dt must be finite and greater than 0"),
        ({"dt": 1e-300}, r"whole number of steps"),
        ({"dt": 1e-12, "save": "steps"}, r"keeping each of 1000000000000 steps"),
        ({"path_dt": 0.03}, r"path_dt = 0.03 does not fit dt = 0.1.*Give path_dt=0.05"),
        ({"path_dt": -1.0}, r"path_dt must be finite and greater than 0"),
        ({"save": [0.0, 0.55]}, r"save\[1\] = 0.55 is no whole number of steps of dt = 0.1. Give multiples"),
        ({"seed": -1}, r"seed must be a whole number of at least 0"),
        ({"seed": [1, 2]}, r"seed must be a whole number"),
        ({"seed": 0.5}, r"seed must be a whole number"),
        ({"method": "rk4"}, r"Noise has a method of its own, but method is 'rk4'. Leave method out"),
        ({"device": "gpu"}, r"Noise runs on the CPU"),
    ],
)
def test_what_noise_cannot_do_is_refused_in_words(change: dict[str, Any], message: str) -> None:
    arguments = {"dt": 0.1, "seed": 0, **change}
    with pytest.raises(InputError, match=message):
        nc.simulate(Block(Attention(4.0), noise=5.0), nc.uniform(3, 3, seed=0), 1.0, **arguments)


def test_seeds_must_be_as_many_as_runs() -> None:
    x0 = nc.uniform(3, 3, seed=0, runs=2)
    with pytest.raises(InputError, match=r"one per run, but has shape \(3,\) for 2 runs"):
        nc.simulate(Block(Attention(4.0), noise=5.0), x0, 1.0, dt=0.1, seed=[1, 2, 3])
    with pytest.raises(InputError, match=r"seed\[1\] must be a whole number"):
        nc.simulate(Block(Attention(4.0), noise=5.0), x0, 1.0, dt=0.1, seed=[1, -2])


def test_noise_that_leaves_no_direction_within_a_step_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"many times around within a step of dt = 0.1. Give a dt below 1e-06"
    ):
        nc.simulate(Block(Attention(4.0), noise=1e-6), nc.uniform(3, 3, seed=0), 1.0, dt=0.1, seed=0)


@pytest.mark.parametrize("name", ["seed", "path_dt"])
def test_what_belongs_to_noise_is_refused_without_it(name: str) -> None:
    given: dict[str, Any] = {name: 1}
    with pytest.raises(InputError, match=rf"{name} is for noise, but the model has none"):
        nc.simulate(Attention(4.0), nc.uniform(3, 3, seed=0), 1.0, **given)


def test_layers_that_end_within_a_step_are_refused() -> None:
    layers = Layers([Block(Attention(4.0), noise=5.0)] * 4, dt=0.25)
    with pytest.raises(
        InputError, match=r"the dt of Layers must be a whole number of steps, but 0.25 is 2.5"
    ):
        nc.simulate(layers, nc.uniform(3, 3, seed=0), 1.0, dt=0.1, seed=0)
    with pytest.raises(InputError, match=r"end at time 1, but t is 2"):
        nc.simulate(layers, nc.uniform(3, 3, seed=0), 2.0, dt=0.05, seed=0)
