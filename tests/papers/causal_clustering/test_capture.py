"""Capture: the steps of the proof, growth of modes, and other data that change the verdicts."""

import math
from typing import Any

import numpy as np
import pytest
import xarray
from scipy.special import iv, ive
from support.small_items import Made, made

import nucleate as nc
from nucleate.checks import Array
from nucleate.papers.causal_clustering.capture.bound import (
    displacement_bound,
    grid,
    lipschitz_constant,
    unevenness,
    weight_over_mean,
)
from nucleate.papers.causal_clustering.capture.data import contrast, dataset_name, held_by_centers
from nucleate.papers.causal_clustering.capture.item import systems
from nucleate.papers.causal_clustering.capture.linear import (
    growth_rates,
    harmonics,
    linear_sums,
    mode_sums,
    seen_weights,
    top_degree,
)
from nucleate.papers.causal_clustering.capture.measures import crowding_times, slopes
from nucleate.papers.core.item import Verdict
from nucleate.theory.interaction import interaction_slope

# Verdicts flip


def with_dataset(found: Made, name: str, **variables: Any) -> list[str]:
    return found.words({**found.data, name: found.data[name].assign(variables)})


def in_every_system(found: Made, change: Any) -> list[str]:
    """The verdicts with the data of every d and beta changed."""
    names = [dataset_name(*one) for one in systems(found.p)]
    return found.words({**found.data, **{name: change(found.data[name]) for name in names}})


def growing(found: xarray.Dataset, slope: float | xarray.DataArray) -> xarray.DataArray:
    """A contrast that reaches 0.1 at the time 0.25 + slope ln(n/1000), and is smaller before."""
    when = 0.25 + slope * np.log(found["tokens"] / 1000.0)
    planted = 0.0 * found["contrast"] + 0.1 * np.exp(found["time"] - when)
    return planted.transpose(*found["contrast"].dims)


def test_a_share_that_does_not_fall_to_chance_contradicts_the_theorem() -> None:
    found = made("capture")
    name = dataset_name(2, 64.0)
    one = found.data[name]
    constant = (0.0 * one["held"] + 0.1 * one["tokens"]).transpose(*one["held"].dims)
    noise = 1.0 + 1e-3 * xarray.DataArray(
        np.random.default_rng(0).normal(size=one["held"].shape), dims=one["held"].dims
    )
    assert with_dataset(found, name, held=constant * noise)[0] == "contradicted"


def test_a_share_that_is_chance_at_every_n_agrees_with_the_theorem() -> None:
    found = made("capture")
    name = dataset_name(2, 64.0)
    one = found.data[name]
    share = 64.0**-0.5 / np.pi
    noise = 1.0 + 1e-3 * np.random.default_rng(1).normal(size=one.sizes["run"])
    chance = (0.0 * one["held"] + share * one["tokens"]).transpose(*one["held"].dims)
    level = chance * xarray.DataArray(noise - noise.mean() + 1.0, dims="run")
    assert with_dataset(found, name, held=level)[0] == "proved"


def test_displacements_beyond_the_bound_contradict_the_theorem() -> None:
    found = made("capture")
    for d in found.p["bound_n"]:
        ratio = 10.0 * found.data[f"bound-d{d}"]["ratio"]
        assert with_dataset(found, f"bound-d{d}", ratio=ratio)[0] == "contradicted"


def test_quotients_that_exceed_1_and_slopes_of_one_over_four_lambda_are_told() -> None:
    found = made("capture")

    def judged(factor: float, over_linear: float) -> Verdict:
        data = dict(found.data)
        for d, beta in systems(found.p):
            one = data[dataset_name(d, beta)]
            limit = 1.0 / (4.0 * growth_rates(beta, d, np.arange(1, 60)).max())
            # runs that differ a little, so that there are intervals
            spread = xarray.DataArray(np.linspace(0.98, 1.02, one.sizes["run"]), dims="run")
            linear = growing(one, factor / over_linear * limit + 0.0 * spread)
            data[dataset_name(d, beta)] = one.assign(
                contrast=growing(one, factor * limit * spread), linear=linear
            )
        return found.item.verdicts(found.item.measure(data, found.p), found.p)[1]

    every = len(systems(found.p))
    same = judged(1.0, 1.0)
    assert same.word == "observed"
    assert "the intervals of 0 exclude it." in same.why
    assert f"of the measured slope at {every} of {every}" in same.why
    larger = judged(1.5, 1.1)
    assert larger.word == "observed"
    assert f"{every} of {every} quotients exceed 1, and the intervals of {every} exclude it" in larger.why
    assert f"of the measured slope at 0 of {every}" in larger.why
    assert judged(1.5, 1.3).word == "not observed"


def test_growth_at_another_rate_than_planted_is_not_observed() -> None:
    found = made("capture")

    def change(one: xarray.Dataset) -> xarray.Dataset:
        return one.assign(contrast=growing(one, 0.35), linear=growing(one, 0.7))

    assert in_every_system(found, change)[1] == "not observed"


def test_tokens_that_do_not_interact_are_never_crowded() -> None:
    found = made("capture")

    def change(one: xarray.Dataset) -> xarray.Dataset:
        still = one["contrast"].isel(time=0) + 0.0 * one["contrast"]
        return one.assign(contrast=still.transpose(*one["contrast"].dims))

    for one in systems(found.p):
        planted = change(found.data[dataset_name(*one)])
        large = planted["tokens"].values >= 1000
        assert np.isnan(crowding_times(planted)[:, large]).all()
        assert np.isnan(slopes(planted)).all()
    assert in_every_system(found, change)[1] == "not observed"


def test_modes_far_from_the_linear_solution_are_not_observed_to_grow_by_it() -> None:
    found = made("capture")
    name = dataset_name(*systems(found.p)[-1])
    assert with_dataset(found, name, apart=0.5 + 0.0 * found.data[name]["apart"])[2] == "not observed"


# The proof, step by step


def field(mu: Array, x: Array, beta: float, A: Array, V: Array) -> Array:
    """F[mu](x) of the law with equal masses at the rows of mu."""
    w = np.exp(beta * mu @ A @ x)  # (n,)
    m = V @ (w @ mu) / w.sum()
    return np.asarray(m - (x @ m) * x)


def unit(rng: np.random.Generator, *shape: int) -> Array:
    x = rng.normal(size=shape)
    return np.asarray(x / np.linalg.norm(x, axis=-1, keepdims=True))


@pytest.mark.parametrize("d", [2, 3])
def test_the_field_of_the_uniform_law_is_that_of_lemma_1(d: int) -> None:
    rng = np.random.default_rng(d)
    uniform = grid(d, 400 if d == 2 else 100_000)
    for _ in range(5):
        A, V, x, beta = rng.normal(size=(d, d)), rng.normal(size=(d, d)), unit(rng, d), 2.0
        length = float(np.linalg.norm(A @ x))
        pull = V @ A @ x
        expected = iv(d / 2, beta * length) / iv(d / 2 - 1, beta * length) / length * (pull - (x @ pull) * x)
        # on the circle the sum converges faster than any power; on the sphere the spiral is good to 1e-4
        np.testing.assert_allclose(field(uniform, x, beta, A, V), expected, atol=1e-10 if d == 2 else 1e-3)


def test_uniform_tokens_rest_if_v_kt_q_is_a_multiple_of_the_identity_and_else_not() -> None:
    A = np.array([[2.0, 1.0], [-0.5, 1.0]])
    x = grid(2, 200)
    for V, rests in ((np.linalg.inv(A), True), (-3.0 * np.linalg.inv(A), True), (np.eye(2), False)):
        model = nc.Attention(2.0, Q=A, K=np.eye(2), V=V, mask="full")
        assert (np.abs(nc.drift(model, x)).max() < 1e-12) == rests
    assert np.abs(nc.drift(nc.Attention(2.0, mask="full"), x)).max() < 1e-12


@pytest.mark.parametrize(("d", "beta"), [(2, 0.3), (2, 8.0), (3, 1.0), (3, 20.0), (5, 4.0)])
def test_steps_1_and_2_hold_for_random_and_for_crowded_laws(d: int, beta: float) -> None:
    rng, identity = np.random.default_rng(7), np.eye(d)
    over, constant = weight_over_mean(beta, d), lipschitz_constant(beta, d)

    def unevenness_at(mu: Array, x: Array) -> float:
        near = mu @ x
        w = np.exp(beta * (near - 1.0)) * over
        pull = (w[:, None] * (mu - near[:, None] * x)).mean(0)
        return float(np.linalg.norm(pull) + abs(w.mean() - 1.0))

    for spread in (10.0, 1.0, 0.1, 0.01):
        for _ in range(50):
            x, middle = unit(rng, d), unit(rng, d)
            mu = nc.retract(middle + spread * rng.normal(size=(6, d)))
            moved = nc.retract(mu + 0.1 * spread * rng.normal(size=(6, d)))
            assert np.linalg.norm(field(mu, x, beta, identity, identity)) <= unevenness_at(mu, x) + 1e-12
            step = float(nc.distance(mu, moved).mean())
            change = abs(unevenness_at(mu, x) - unevenness_at(moved, x))
            assert change <= constant * step * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("beta", [0.0, 0.2, 1.0, 5.0, 64.0, 1000.0])
def test_the_slope_of_h_is_never_beyond_one(beta: float) -> None:
    x = np.linspace(0.0, np.pi, 20_001)
    assert np.abs(interaction_slope(x, beta)).max() <= 1.0 + 1e-12


def test_the_general_constants_bound_the_field_for_any_q_k_v() -> None:
    rng = np.random.default_rng(3)
    for _ in range(300):
        d, beta = int(rng.integers(2, 5)), float(rng.uniform(0.0, 3.0))
        A, V = rng.normal(size=(2, d, d))
        alpha, v = beta * np.linalg.norm(A, 2), np.linalg.norm(V, 2)
        mu, x, y = unit(rng, 4, d), unit(rng, d), unit(rng, d)
        moved = nc.retract(mu + rng.uniform(1e-3, 1.0) * rng.normal(size=mu.shape))
        step = np.linalg.norm(mu - moved, axis=1).mean()  # at least W1
        gap = np.linalg.norm(field(mu, x, beta, A, V) - field(moved, x, beta, A, V))
        assert gap <= v * (1.0 + 2.0 * alpha) * np.exp(2.0 * alpha) * step * (1 + 1e-9)
        gap = np.linalg.norm(field(mu, x, beta, A, V) - field(mu, y, beta, A, V))
        assert gap <= v * (2.0 + alpha) * np.linalg.norm(x - y) * (1 + 1e-9)


def test_the_bound_solves_its_equation_and_is_below_that_of_theorem_2() -> None:
    n, constant, t, gamma = 500, 2.0, 0.7, 0.4
    k = np.arange(1.0, n + 1.0)
    eta = 0.3 * k**-gamma
    speed = (displacement_bound(eta, constant, t + 1e-5) - displacement_bound(eta, constant, t - 1e-5)) / 2e-5
    mean = np.cumsum(displacement_bound(eta, constant, t)) / k
    np.testing.assert_allclose(speed, eta + constant * mean, rtol=1e-7)  # a difference quotient
    power = 0.3 * (1 - gamma) / constant * (np.exp(constant * t / (1 - gamma)) - 1.0) * k**-gamma
    assert (displacement_bound(eta, constant, t) <= power).all()


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("crowded", [False, True])
def test_no_token_goes_beyond_the_bound_from_any_start(d: int, crowded: bool) -> None:
    start = nc.uniform(400, d, seed=5)
    if crowded:  # the inequality needs no randomness
        start = nc.retract(start + np.eye(d)[0])
    beta, times = 1.0, np.array([0.1, 0.3, 0.6])
    x = nc.simulate(nc.Attention(beta), start, 0.6, save=times, rtol=1e-9, atol=1e-11).x
    eta = unevenness(start, beta, grid(d, 300))
    for frame, t in enumerate(times):
        assert (nc.distance(x[frame], start) <= displacement_bound(eta, lipschitz_constant(beta, d), t)).all()


def test_late_tokens_follow_one_flow_for_other_q_k_v() -> None:
    # Theorem 3: two independent starts that share nothing but their last tokens move these alike
    n, model = 4000, nc.Attention(2.0, Q=[[1.0, 1.0], [0.0, 1.0]], V=[[1.0, 0.5], [0.0, 0.3]])
    probe = grid(2, 50)
    ends = []
    for size in (n // 40, n):
        some = [
            nc.simulate(model, np.vstack([nc.uniform(size, 2, seed), probe]), 1.0, rtol=1e-7).x[-1, size:]
            for seed in (1, 2, 3, 4)
        ]
        ends.append(np.std(some, axis=0).max())
    assert ends[1] < 0.4 * ends[0]  # chance goes like n^(-1/2), to 0.16 of it
    assert nc.distance(some[0], probe).max() > 0.1  # and they do move


# The linear solution


def expected_contrast(beta: float, d: int, n: Array, t: Array) -> Array:
    """The mean contrast of the first n tokens at the times t by the linear solution, (n, t), the sum over j
    made an integral: sum over degrees of their number, the square of what is seen, e^{2 lambda t} I_0(2
    lambda t) / n."""
    degree = np.arange(1, top_degree(beta, d) + 1)
    many = np.full(len(degree), 2.0) if d == 2 else 2.0 * degree + 1.0  # (degrees,)
    power = 2.0 * growth_rates(beta, d, degree)[:, None] * t  # (degrees, t)
    total = (many * seen_weights(beta, d, degree) ** 2) @ (ive(0, power) * np.exp(2.0 * power))  # (t,)
    return np.asarray(total / np.asarray(n, dtype=np.float64)[:, None])


@pytest.mark.parametrize("d", [2, 3])
def test_harmonics_are_orthonormal_and_obey_the_addition_theorem(d: int) -> None:
    x, top = grid(d, 20_000), 6
    found = list(harmonics(x, top))
    values = np.array([v for _, _, v in found])
    np.testing.assert_allclose(values @ values.conj().T / len(x), np.eye(len(found)), atol=2e-3)  # the grid
    for degree in range(1, top + 1):
        total = sum(w * np.abs(v) ** 2 for m, w, v in found if m == degree)
        np.testing.assert_allclose(total, 2.0 if d == 2 else 2.0 * degree + 1.0, rtol=1e-10)


@pytest.mark.parametrize("d", [2, 3])
def test_the_contrast_is_the_unevenness_of_the_sum_of_weights(d: int) -> None:
    beta, x = 6.0, nc.uniform(50, d, seed=8)
    sizes = np.array([20, 50])
    degree, many, sums = mode_sums(x, sizes, 30)
    found = contrast(np.cumsum(sums, axis=1)[None], many * seen_weights(beta, d, degree) ** 2, sizes)[0]
    for i, size in enumerate(sizes):
        z = np.exp(beta * grid(d, 20_000) @ x[:size].T).mean(1)  # (points,)
        assert found[i] == pytest.approx(z.var() / z.mean() ** 2, rel=1e-3)  # the spiral on the sphere


@pytest.mark.parametrize(
    ("beta", "d", "m"), [(64.0, 2, 11), (9.0, 2, 4), (1.0, 2, 1), (9.0, 3, 3), (2.0, 3, 1)]
)
def test_small_modes_grow_at_the_rate_of_the_formula_if_all_see_all(beta: float, d: int, m: int) -> None:
    # tokens moved from an even grid along the gradient of a harmonic: the field is lambda / (m(m+d-2)) of it
    small, x = 1e-6, grid(d, 1000 if d == 2 else 4000)
    if d == 2:
        phi = np.arctan2(x[:, 1], x[:, 0])
        gradient = -m * np.sin(m * phi)[:, None] * np.stack([-x[:, 1], x[:, 0]], axis=1)
        mode = np.cos(m * phi)
    else:
        u = x[:, 2]
        legendre = np.polynomial.legendre.Legendre.basis(m)
        gradient = legendre.deriv()(u)[:, None] * (np.array([0.0, 0.0, 1.0]) - u[:, None] * x)
        mode = legendre(u)
    model = nc.Attention(beta, mask="full")
    y = nc.retract(x + small * gradient)
    v = (nc.drift(model, y, kernel="pairwise") - nc.drift(model, x, kernel="pairwise")) / small
    change = (gradient * v).sum(-1).mean() / ((gradient**2).sum(-1).mean())
    assert mode.mean() == pytest.approx(0.0, abs=1e-3)
    # second order in `small`, rounding of 1e-16 / small, and on the sphere a grid that is even to 1e-3
    assert change == pytest.approx(growth_rates(beta, d, np.array([m]))[0], rel=1e-4 if d == 2 else 1e-2)


@pytest.mark.parametrize("d", [2, 3, 4])
def test_the_fastest_mode_tends_to_two_over_e(d: int) -> None:
    # the next term is of order 1/beta
    assert growth_rates(4000.0, d, np.arange(1, 300)).max() == pytest.approx(2.0 / math.e, rel=1e-3)


@pytest.mark.parametrize("d", [2, 3])
def test_the_linear_solution_starts_as_it_is_and_grows_by_the_crowd_before(d: int) -> None:
    start, sizes = nc.uniform(4000, d, seed=0), np.array([1000, 4000])
    beta = 16.0
    degree, _, found = linear_sums(start, beta, sizes, np.array([0.0, 1e-5]))
    _, _, direct = mode_sums(start, sizes, top_degree(beta, d))
    np.testing.assert_allclose(found[0], np.cumsum(direct, axis=1), atol=1e-9)
    change = (found[1] - found[0])[:, -1] / 1e-5 / 4000  # (h,)
    prefix = np.cumsum([v for _, _, v in harmonics(start, top_degree(beta, d))], axis=1) / np.arange(1, 4001)
    expected = growth_rates(beta, d, degree) * prefix.mean(1)  # (h,)
    # bins and an integral stand for a sum over k; the modes are of size 4000^(-1/2) = 0.016
    np.testing.assert_allclose(change, expected, atol=2e-3)


@pytest.mark.parametrize("d", [2, 3])
def test_the_mean_contrast_of_the_linear_solution_is_the_closed_form(d: int) -> None:
    beta, sizes, times = 9.0, np.array([3000]), np.array([0.0, 0.5, 1.0])
    some = []
    for seed in range(60):
        degree, many, sums = linear_sums(nc.uniform(3000, d, seed), beta, sizes, times)
        some.append(contrast(sums, many * seen_weights(beta, d, degree) ** 2, sizes)[:, 0])
    expected = expected_contrast(beta, d, sizes, times)[0]
    error = np.std(some, axis=0) / np.sqrt(60.0)
    # 4 standard errors, and the first tokens, for which an integral is no sum: they lack e^{4 lambda t}/n
    assert (np.abs(np.mean(some, axis=0) - expected) < 4.0 * error + 0.05 * expected).all()


def test_the_slope_of_the_linear_solution_tends_to_one_over_four_lambda() -> None:
    t = np.linspace(0.1, 60.0, 4000)
    limit = 1.0 / (4.0 * growth_rates(64.0, 2, np.arange(1, 40)).max())
    local = []
    for n in (1e3, 1e6, 1e12, 1e24):
        level = np.log(expected_contrast(64.0, 2, np.array([n, 2.0 * n]), t))
        when = [np.interp(math.log(0.1), one, t) for one in level]
        local.append((when[1] - when[0]) / math.log(2.0))
    assert local == sorted(local, reverse=True)
    assert local[-1] == pytest.approx(limit, rel=0.03)
    assert local[0] > 1.15 * limit


def test_crowding_times_are_where_the_contrast_reaches_the_level() -> None:
    t, n = np.arange(0.0, 6.0, 0.5), np.array([1000, 10_000])
    planted = 0.1 * np.exp(t[None, :, None] - 2.0 - 0.4 * np.log(n / 1000.0))  # (run, time, tokens)
    found = xarray.Dataset({"contrast": (("run", "time", "tokens"), planted)}, {"time": t, "tokens": n})
    np.testing.assert_allclose(crowding_times(found), [[2.0, 2.0 + 0.4 * math.log(10.0)]], rtol=1e-12)


def test_counts_near_centers_are_those_of_a_plain_loop() -> None:
    x = nc.uniform(300, 2, 4)
    centers, sizes, radius = nc.renyi_centers(x, 0.5), np.array([10, 50, 300]), 0.3
    found = held_by_centers(x, centers, sizes, radius)
    for s, n in enumerate(sizes):
        for i, center in enumerate(centers):
            near = [float(nc.distance(x[k], x[center])) <= radius for k in range(n)]
            assert found["held"][s, i] == sum(near) if center < n else np.isnan(found["held"][s, i])
        assert found["histogram"][s].sum() == n
