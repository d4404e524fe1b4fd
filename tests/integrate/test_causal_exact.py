"""The causal solver against exact solutions: two tokens up to times of 1e51, and one token, e^{tV}.

Errors are distances |x - x'| of the worst token at the worst of all saved frames, in units of rtol unless
said otherwise.
"""

from typing import Any

import mpmath as mp
import numpy as np
import pytest
from support.exact_systems import Exact, one_token, solvable, two_tokens
from support.places import apart

import nucleate as nc
from nucleate.attention import Attention, Frozen
from nucleate.checks import Array


def random_orthogonal(d: int, seed: int) -> Array:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0]


def exact_time(start: Array, x: Array, beta: float) -> mp.mpf:
    """The exact two-token time (ours, for V = I) from the doubles as they are: in s = artanh u, and 1 -+ u
    from |x_2 -+ x_1|^2 / 2, which loses no digits."""

    def clock(pair: Array) -> mp.mpf:
        one, two = ([mp.mpf(float(c)) for c in token] for token in pair)
        lengths = [mp.sqrt(mp.fdot(token, token)) for token in (one, two)]
        one, two = ([c / length for c in token] for token, length in zip((one, two), lengths, strict=True))
        below, above = (
            mp.fsum((b + sign * a) ** 2 for a, b in zip(one, two, strict=True)) / 2 for sign in (-1, 1)
        )
        return mp.log(above / below) / 2 - (mp.ei(beta * below) + mp.exp(2 * beta) * mp.e1(beta * above)) / 2

    with mp.workdps(90):
        return clock(x) - clock(start)


@pytest.mark.parametrize("method", ["causal", "auto"])
@pytest.mark.parametrize(
    ("beta", "u0", "power"),
    [
        (9.0, 0.7, 1),
        (9.0, 0.0, 2),
        (9.0, -0.9, 6),
        (20.0, 0.8, 1),
        (20.0, 0.0, 7),
        (20.0, -0.9, 15),
        (64.0, 0.9, 2),
        (64.0, 0.0, 26),
        (64.0, -0.9, 51),
    ],
)
def test_two_tokens_meet_when_the_formula_says(beta: float, u0: float, power: int, method: Any) -> None:
    for d in (2, 3):
        x0 = np.zeros((2, d))
        x0[:, 0], x0[1, 1] = [1.0, u0], np.sqrt(1.0 - u0 * u0)
        x0 = x0 @ random_orthogonal(d, seed=d).T
        x0 /= np.linalg.norm(x0, axis=1, keepdims=True)
        run = nc.simulate(Attention(beta), x0, 10.0 ** (power + 2), save="steps", method=method)
        assert run.status == "done"
        assert np.array_equal(run.x[:, 0], np.broadcast_to(run.x[0, 0], run.x[:, 0].shape))
        gap = np.linalg.norm(run.x[:, 1] - run.x[:, 0], axis=-1)
        # Half of the way, near the end of the wait, and close together: there many steps share one
        # floating-point time.
        for share in (0.98, 0.5, 0.1):
            i = int(np.argmax(gap < share * gap[0]))
            t = exact_time(x0, run.x[i], beta)
            assert abs(run.t[i] / float(t) - 1.0) <= 1e-6, (d, share)
        assert 10.0 ** (power - 1) < run.t[int(np.argmax(gap < 0.1 * gap[0]))] < 10.0 ** (power + 1)
        assert gap[-1] < 1e-9


def test_two_tokens_run_backwards_to_opposite_places() -> None:
    system = two_tokens(1.0, 0.9, 30.0, 3, scale=-1.0)
    run = nc.simulate(system.model, system.x0, 30.0, save=10, method="causal")
    assert apart(run.x, system.frames(run.t)) < 1e-7


@pytest.mark.parametrize("weight", [0.5, 700.0])
def test_a_frozen_token_attracts_by_the_same_clock(weight: float) -> None:
    # t = artanh u + F / a: at beta = 20 the wait is 1e7 / a.
    start = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    model = Attention(20.0, frozen=Frozen(start[:1], weight))
    run = nc.simulate(model, start[1:], 1e9, save="steps", method="causal")
    gap = np.linalg.norm(run.x[:, 0] - start[0], axis=-1)
    i = int(np.argmax(gap < 0.9))
    u = 1.0 - 0.5 * gap[i] ** 2
    with mp.workdps(60):
        clock = [
            mp.atanh(s) - (mp.ei(20 * (1 - s)) + mp.exp(40) * mp.e1(20 * (1 + s))) / (2 * mp.mpf(weight))
            for s in (mp.mpf(0), mp.mpf(float(u)))
        ]
        t = float(clock[1] - clock[0])
    assert run.t[i] == pytest.approx(t, rel=1e-6)


@pytest.mark.parametrize(
    "system", [system for system in solvable() if system.model.mask != "full"], ids=lambda system: system.name
)
def test_on_solvable_systems_the_error_is_a_few_tolerances_and_falls(system: Exact) -> None:
    times = np.linspace(0.0, system.t, 12)
    exact = system.frames(times)
    found = []
    for rtol in (1e-4, 1e-6, 1e-8, 1e-10):
        run = nc.simulate(
            system.model, system.x0, system.t, save=times, rtol=rtol, atol=rtol / 100, method="causal"
        )
        assert run.status == "done"
        found.append(apart(run.x, exact) / rtol)
    assert max(found) <= 10.0, [f"{error:.2g}" for error in found]
    absolute = np.array(found) * [1e-4, 1e-6, 1e-8, 1e-10]
    # Falling, or so far below the tolerance already that only rounding is left.
    assert ((absolute[1:] < absolute[:-1]) | (np.array(found[1:]) < 0.02)).all(), [
        f"{error:.2g}" for error in found
    ]


def test_one_token_of_a_simple_dominant_eigenvalue_reaches_its_line_and_stays() -> None:
    turn = np.array([[1.0, 0.4, -0.2], [0.0, 1.0, 0.3], [0.1, 0.0, 1.0]])
    V = turn @ np.diag([1.0, 0.5, -2.0]) @ np.linalg.inv(turn)
    line = turn[:, 0] / np.linalg.norm(turn[:, 0])
    run = nc.simulate(Attention(3.0, V=V), nc.uniform(1, 3, seed=1), 1e12, method="causal")
    assert run.status == "done"
    late = run.x[run.t > 100.0, 0]  # e^{-50}
    assert len(late) > 20
    assert min(np.linalg.norm(late - sign * line, axis=-1).max() for sign in (-1, 1)) < 1e-12


def test_one_token_of_a_multiple_dominant_eigenvalue_goes_to_its_spectral_projection() -> None:
    turn = np.array([[1.0, 0.4, -0.2], [0.3, 1.0, 0.3], [0.1, 0.5, 1.0]])
    V = turn @ np.diag([0.7, 0.7, -0.3]) @ np.linalg.inv(turn)
    x0 = nc.uniform(1, 3, seed=2)
    limit = turn @ np.diag([1.0, 1.0, 0.0]) @ np.linalg.inv(turn) @ x0[0]
    run = nc.simulate(Attention(3.0, V=V), x0, 1e9, method="causal")
    # Within the dominant eigenspace nothing acts but rounding, some 1e-16 |V| a unit of time: after 1e6 it
    # may have moved by 1e-10, not more.
    assert apart(run.x[(run.t > 100.0) & (run.t < 1e6), 0], limit / np.linalg.norm(limit)) < 1e-7


@pytest.mark.parametrize("size", [2, 3])
def test_one_token_of_a_defective_dominant_eigenvalue_comes_near_as_1_over_t(size: int) -> None:
    V = np.diag(np.full(size, 0.5)) + np.diag(np.ones(size - 1), 1)
    x0 = nc.uniform(1, size, seed=5)
    times = np.geomspace(1.0, 1e6, 25)
    run = nc.simulate(Attention(3.0, V=V), x0, 1e6, save=times, method="causal")
    assert run.status == "done"
    with mp.workdps(40):  # e^{tV} = e^{t/2} sum of (tN)^i / i!
        exact = []
        for t in times:
            y = [
                mp.fsum(
                    mp.mpf(float(t)) ** (j - i) / mp.factorial(j - i) * mp.mpf(float(x0[0, j]))
                    for j in range(i, size)
                )
                for i in range(size)
            ]
            exact.append([float(c / mp.sqrt(mp.fdot(y, y))) for c in y])
    assert apart(run.x[:, 0], np.array(exact)) < 1e-7  # ten tolerances
    distance = np.linalg.norm(run.x[:, 0, 1:], axis=-1)  # from the line of e_1
    late = (times > 100.0) & (times < 1e5)
    # (t^{s-2}/(s-2)!) / (t^{s-1}/(s-1)!) = (s-1)/t
    assert np.allclose(distance[late] * times[late], size - 1, rtol=0.1)


def test_one_token_of_complex_dominant_eigenvalues_turns_at_their_frequency() -> None:
    V = np.array([[0.5, -3.0, 0.0], [3.0, 0.5, 0.0], [0.4, 0.1, -1.0]])
    system = one_token(V, nc.uniform(1, 3, seed=3)[0], 200.0, "spiral")
    times = np.linspace(0.0, 200.0, 21)
    for method in ("causal", "auto"):
        run = nc.simulate(system.model, system.x0, 200.0, save=times, method=method)
        # 95 turns: errors along the orbit add up, step by step, some hundred steps a turn at most.
        assert apart(run.x, system.frames(times)) < 1e-5
