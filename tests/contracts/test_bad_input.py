"""Hostile and hopeless input: a clear error, a fact with name and value and then help, or a defined answer;
in any case within a second."""

import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from functools import partial
from threading import Timer
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.soak import SOAK
from support.time_limits import within_cpu_seconds

import nucleate as nc
from nucleate.attention import Attention, Frozen, Window
from nucleate.checks import InputError, refuse_masked
from nucleate.integrate.explicit import integrate_runs
from nucleate.integrate.status import STATUS

MODEL = Attention(1.0)
X = nc.uniform(5, 2, seed=0)


@pytest.fixture(scope="module", autouse=True)
def compiled_already() -> None:
    for d in (2, 3):
        nc.simulate(MODEL, nc.uniform(5, d, seed=0), 0.1)
        nc.simulate(MODEL, nc.uniform(5, d, seed=0), 1e4, save=2)
        nc.simulate(MODEL, nc.uniform(5, d, seed=0)[None], 0.1)
        nc.simulate(MODEL, nc.uniform(5, d, seed=0), 0.1, method="rk4", dt=0.1)
        for model in (MODEL, Attention(1.0, V=np.ones((d, d)))):
            nc.drift(model, nc.uniform(5, d, seed=0), kernel="pairwise")
            nc.drift(model, nc.uniform(5, d, seed=0))
            nc.drift(model, nc.uniform(5, d, seed=0, runs=2))
    nc.drift(MODEL, X, kernel="circle")
    nc.drift(Attention(1e4), X, kernel="circle")  # on a grid
    nc.simulate(Attention(0.0), X, 0.1)  # so few modes that five tokens are enough for the circle kernel


@pytest.fixture(autouse=True)
def within_a_second(compiled_already: None, request: pytest.FixtureRequest) -> Iterator[None]:
    # a hundred examples; a new process, timed inside
    many = hasattr(request.function, "hypothesis") or "untimed" in request.keywords
    with nullcontext() if many else within_cpu_seconds(1.0):
        yield


def refuse(call: Callable[[], object], words: str) -> None:
    """The call is refused with one sentence of fact and one of help."""
    with pytest.raises(InputError, match=words) as caught:
        call()
    text = str(caught.value)
    assert text.endswith("."), text
    assert len(text) < 400, text


# Tokens

NOT_TOKENS: list[tuple[str, Any, str]] = [
    ("NaN", [[math.nan, 0.0]], r"x must be finite, but x\[0, 0\] is nan"),
    ("infinity", [[1.0, 0.0], [math.inf, 0.0]], r"x must be finite, but x\[1, 0\] is inf"),
    ("zero vector", [[1.0, 0.0], [0.0, 0.0]], r"row \[1\] has length 0"),
    ("not unit", [[1.0, 0.0], [3.0, 4.0]], r"row \[1\] has length 5"),
    ("too large to square", [[1e200, 0.0]], "length"),
    ("too small to square", [[1e-200, 0.0]], "length"),
    ("n = 0", np.zeros((0, 2)), r"at least one token, but has shape \(0, 2\)"),
    ("b = 0", np.zeros((0, 5, 2)), "at least one token"),
    ("d = 0", np.zeros((5, 0)), "at least one token"),
    ("d = 1", np.ones((5, 1)), r"dimension at least 2, but has shape \(5, 1\)"),
    ("a scalar", 1.0, "must have shape"),
    ("a vector", [1.0, 0.0], r"must have shape \(n, d\) or \(b, n, d\), but has shape \(2,\)"),
    ("four axes", np.broadcast_to([1.0, 0.0], (2, 2, 3, 2)), "must have shape"),
    ("complex", X + 0j, "must be real, but is complex"),
    ("words", [["north", "south"]], "must be an array of numbers"),
    ("None", None, "x must be an array of numbers, but is None"),
    ("ragged", [[1.0], [1.0, 0.0]], "must be an array of numbers"),
    ("objects", np.array([[object(), 1.0]], dtype=object), "must be an array of numbers"),
    ("a huge integer", [[10**400, 0]], "x must be"),
    ("a dict", {"x": 1.0}, "must be an array of numbers"),
    ("a function", lambda: X, "must be an array of numbers"),
    (
        "masked",
        np.ma.masked_array(X, np.eye(5, 2, dtype=bool)),
        "x must have all its entries, but 2 of 10 are masked",
    ),
    ("numbers as texts", [["1", "0"]], "must be an array of numbers"),
    ("spans of time", np.array([[1, 0]], dtype="timedelta64[s]"), "must be an array of numbers"),
    ("dates", np.array([["2024-01-01", "2024-01-02"]], dtype="datetime64[D]"), "x must"),
]


@pytest.mark.parametrize(
    ("value", "words"), [case[1:] for case in NOT_TOKENS], ids=[case[0] for case in NOT_TOKENS]
)
def test_what_is_not_tokens_is_refused_everywhere(value: Any, words: str) -> None:
    refuse(lambda: nc.drift(MODEL, value), words)
    refuse(lambda: nc.simulate(MODEL, value, 1.0), words)


def test_a_matrix_of_another_dimension_is_refused() -> None:
    refuse(
        lambda: nc.drift(Attention(1.0, V=np.eye(3)), X), r"V acts on dimension 3, but x has shape \(5, 2\)"
    )
    refuse(lambda: nc.simulate(Attention(1.0, Q=np.eye(3)), X, 1.0), "Q acts on dimension 3")
    refuse(
        lambda: nc.drift(Attention(1.0, frozen=Frozen([[1.0, 0.0, 0.0]])), X), "frozen.x acts on dimension 3"
    )


def test_another_number_of_runs_is_refused() -> None:
    refuse(
        lambda: nc.drift(Attention([1.0, 2.0]), np.stack([X] * 3)),
        "x holds 3 runs, but the model's parameters 2",
    )
    refuse(lambda: nc.simulate(Attention([1.0, 2.0]), X[None], 1.0), "x holds 1 runs")


# Sizes


@pytest.mark.parametrize(
    "call",
    [
        lambda: nc.uniform(10**9, 2),
        lambda: nc.uniform(10**9, 3),
        lambda: nc.uniform(2, 10**10),
        lambda: nc.uniform(10**18, 2),
        lambda: nc.uniform(10**400, 2),
        lambda: nc.simulate(MODEL, X, 1.0, save=10**9),
        lambda: nc.simulate(MODEL, X, 1.0, save=10**400),
        lambda: nc.simulate(MODEL, np.broadcast_to(X[0], (10**6, 2)), 1.0, save=10**5),
        lambda: nc.drift(MODEL, np.broadcast_to(X[0], (10**5, 2)), kernel="reference"),
    ],
    ids=[
        "n=1e9",
        "n=1e9 d=3",
        "d=1e10",
        "n=1e18",
        "n=1e400",
        "save=1e9",
        "save=1e400",
        "frames x tokens",
        "reference weights",
    ],
)
def test_what_does_not_fit_into_memory_is_refused_before_asking_for_it(call: Callable[[], object]) -> None:
    refuse(call, r"needs .* GiB|below 2\^62")


HOPELESS = """
import resource, time
resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))  # so many modes must not take the machine down
import numpy as np, nucleate as nc
x = nc.uniform(5, 2, seed=0)
nc.drift(nc.Attention(1.0), x, kernel="circle")
for beta in (1e9, 1e12, 1e16, 1e300):
    start = time.process_time()
    try:
        model = nc.Attention(beta)
        far = np.abs(nc.drift(model, x, kernel="circle") - nc.drift(model, x, kernel="pairwise")).max()
        word = "right" if far <= 1e-7 else "wrong"
    except nc.InputError:
        word = "refused"
    print(beta, word if time.process_time() - start < 2.0 else "slow", flush=True)
"""


@pytest.mark.untimed
def test_the_circle_kernel_with_hopelessly_many_modes_is_refused_or_right() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOPELESS], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        watchdog = Timer(120.0, process.kill)
        watchdog.start()
        words = [line.split()[1] for line in process.stdout or []]
        watchdog.cancel()
    assert len(words) == 4, words  # killed, or out of memory
    assert set(words) <= {"right", "refused"}, words


# Options


@pytest.mark.parametrize(
    "t", [0.0, -1.0, math.nan, math.inf, "soon", None, 1j, [1.0, 2.0], np.array([5.0, 6.0])]
)
def test_a_time_that_is_none_is_refused(t: Any) -> None:
    refuse(lambda: nc.simulate(MODEL, X, t), "t must be")


@pytest.mark.parametrize(
    "save",
    [
        0,
        1,
        -3,
        2.5,
        True,
        "all",
        "",
        [],
        [[0.0, 1.0]],
        [1.0, 0.5],
        [0.0, 0.5, 0.5],
        [-0.1, 1.0],
        [0.0, 1.1],
        [0.0, math.nan],
        ["a"],
        [[1.0], [1.0, 2.0]],
        {},
        1j,
        [1j],
    ],
    ids=str,
)
def test_save_times_that_make_no_sense_are_refused(save: Any) -> None:
    refuse(lambda: nc.simulate(MODEL, X, 1.0, save=save), "save")


def test_every_step_of_several_runs_is_refused() -> None:
    refuse(lambda: nc.simulate(MODEL, np.stack([X, X]), 1.0, save="steps"), "steps")


@pytest.mark.parametrize("value", [-1e-3, math.nan, math.inf, "small", None, 1j, [1e-3, 1e-4]])
@pytest.mark.parametrize("name", ["rtol", "atol"])
def test_tolerances_that_make_no_sense_are_refused(name: str, value: Any) -> None:
    refuse(lambda: nc.simulate(MODEL, X, 1.0, **{name: value}), name)


@pytest.mark.parametrize(
    ("rtol", "atol"), [(0.0, 0.0), (1e-20, 0.0), (0.0, 1e-300), (2.0, 0.0), (1e300, 0.0)]
)
def test_tolerances_that_doubles_cannot_honour_are_refused(rtol: float, atol: float) -> None:
    refuse(lambda: nc.simulate(MODEL, X, 1.0, rtol=rtol, atol=atol), "rtol")


@pytest.mark.parametrize("dt", [0.0, -0.1, math.nan, math.inf, "short", 1j, [0.1]])
def test_steps_that_make_no_sense_are_refused(dt: Any) -> None:
    refuse(lambda: nc.simulate(MODEL, X, 1.0, method="rk4", dt=dt), "dt must be")


def test_a_method_and_its_step_must_fit() -> None:
    refuse(lambda: nc.simulate(MODEL, X, 1.0, method="rk4"), "dt is missing")
    refuse(lambda: nc.simulate(MODEL, X, 1.0, dt=0.1), "chooses its own steps")


@pytest.mark.parametrize("method", ["rk5", "", None, 4, ["rk4"], b"rk4", np.array(["rk4", "rk4"])], ids=str)
def test_unknown_methods_are_refused(method: Any) -> None:
    refuse(lambda: nc.simulate(MODEL, X, 1.0, method=method, dt=0.1), "method")


@pytest.mark.parametrize("kernel", ["fast", "", None, 2, ["auto"]])
def test_unknown_kernels_are_refused(kernel: Any) -> None:
    refuse(lambda: nc.drift(MODEL, X, kernel=kernel), "kernel must be")


def test_the_circle_kernel_off_the_circle_is_refused() -> None:
    refuse(lambda: nc.drift(MODEL, nc.uniform(5, 3, seed=0), kernel="circle"), "needs d = 2, but x has d = 3")


@pytest.mark.parametrize("value", [0, -1, 1.5, "2", math.nan, True, 1j])
@pytest.mark.parametrize("name", ["max_steps", "threads"])
def test_counts_that_make_no_sense_are_refused(name: str, value: Any) -> None:
    refuse(lambda: nc.simulate(MODEL, X, 1.0, **{name: value}), name)


def test_counts_beyond_all_bounds_are_refused_or_mean_without_bound() -> None:
    for call in (
        lambda: nc.simulate(MODEL, X, 1.0, max_steps=10**400),
        lambda: nc.simulate(MODEL, X, 1.0, threads=10**6),
        lambda: nc.drift(Attention(1.0, mask=Window(10**30)), X, kernel="reference"),
        lambda: nc.drift(Attention(1.0, mask=Window(10**30)), X, kernel="pairwise"),
        lambda: nc.drift(Attention(1.0, mask=Window(10**30)), X, kernel="circle"),
    ):
        with suppress(InputError):
            assert call() is not None


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, "long", 1j, True])
def test_time_limits_that_make_no_sense_are_refused(value: Any) -> None:
    refuse(lambda: nc.simulate(MODEL, X, 1.0, time_limit=value), "time_limit")


@pytest.mark.parametrize("name", ["progress", "on_frames"])
@pytest.mark.parametrize("callback", [5, "yes", True])
def test_a_callback_that_cannot_be_called_is_refused(name: str, callback: Any) -> None:
    refuse(lambda: nc.simulate(MODEL, X, 1.0, **{name: callback}), name)


@pytest.mark.parametrize("model", [None, "causal", 9.0, {"beta": 9.0}])
def test_a_model_that_is_none_is_refused(model: Any) -> None:
    for call in (lambda: nc.drift(model, X), lambda: nc.simulate(model, X, 1.0)):
        refuse(call, "model must be")


@pytest.mark.parametrize(
    "call", [nc.simulate, nc.drift, nc.uniform, Attention, Frozen, Window], ids=lambda call: call.__name__
)
def test_unknown_keywords_are_type_errors(call: Any) -> None:
    with pytest.raises(TypeError, match="unexpected keyword"):
        call(*([MODEL, X, 1.0] if call is nc.simulate else [MODEL, X]), tolerence=1e-3)


@pytest.mark.parametrize(
    ("n", "d"),
    [(0, 2), (-1, 2), (2, 1), (2, 0), (1.5, 2), ("2", 2), (2, None), (True, 2), (math.nan, 2), (math.inf, 2)],
)
def test_numbers_of_tokens_that_make_no_sense_are_refused(n: Any, d: Any) -> None:
    refuse(lambda: nc.uniform(n, d), "must be a whole number")


@pytest.mark.parametrize("seed", [-1, 1.5, "lucky", None, object()])
def test_seeds_that_do_not_repeat_are_refused(seed: Any) -> None:
    # None is NumPy's word for "from the operating system": a run nobody can repeat.
    refuse(lambda: nc.uniform(3, 2, seed), "seed must be")


@pytest.mark.parametrize(
    "x", [[], [[]], np.zeros((2, 2)), [[math.nan, 1.0]], [[1j, 0.0]], "a", None], ids=str
)
def test_what_has_no_direction_is_not_retracted(x: Any) -> None:
    refuse(lambda: nc.retract(x), "x must")


def test_retract_takes_what_squares_cannot() -> None:
    for scale in (1e308, 1e200, 1.0, 1e-200, 1e-308, 5e-324):
        assert np.allclose(
            nc.retract([[scale, -scale]]), math.sqrt(0.5) * np.array([[1.0, -1.0]]), rtol=1e-15
        )


def test_distances_between_things_of_different_shape_are_refused() -> None:
    refuse(lambda: nc.distance(nc.uniform(3, 2), nc.uniform(4, 2)), "shape")
    refuse(lambda: nc.distance(nc.uniform(3, 2), nc.uniform(3, 3)), "shape")
    refuse(lambda: nc.distance([[math.nan, 0.0]], [[1.0, 0.0]]), "x must be finite")


# Strange but lawful: a defined answer


@pytest.mark.parametrize("d", [2, 3, 7])
def test_one_token_rests_where_the_value_matrix_is_a_multiple_of_the_identity(d: int) -> None:
    x = nc.uniform(1, d, seed=1)
    run = nc.simulate(MODEL, x, 10.0, save=3)
    assert run.status == "done"
    assert (run.x == x).all()


@pytest.mark.parametrize("d", [2, 3, 7])
@pytest.mark.parametrize("mask", ["causal", "full", Window(2)], ids=str)
def test_coincident_tokens_stay_together_and_at_rest(d: int, mask: Any) -> None:
    x = np.repeat(nc.uniform(1, d, seed=2), 6, axis=0)
    for V in (np.eye(d), -np.eye(d)):
        run = nc.simulate(Attention(50.0, V=V, mask=mask), x, 100.0, save=3)
        assert run.status == "done"
        assert np.abs(run.x - x).max() <= 1e-15


@pytest.mark.parametrize("d", [2, 3, 7])
def test_coincident_tokens_move_as_one_under_any_value_matrix(d: int) -> None:
    x, V = np.repeat(nc.uniform(1, d, seed=2), 6, axis=0), np.random.default_rng(0).standard_normal((d, d))
    many, one = (
        nc.simulate(Attention(5.0, V=V), tokens, 3.0, save=4, rtol=1e-10, atol=1e-12) for tokens in (x, x[:1])
    )
    assert np.abs(many.x - one.x).max() <= 1e-9  # ten tolerances


@pytest.mark.parametrize("d", [2, 3, 7])
@pytest.mark.parametrize("beta", [0.0, 1.0, 1e4])
def test_antipodal_tokens_have_a_finite_drift_and_run(d: int, beta: float) -> None:
    e = nc.uniform(1, d, seed=3)
    x = np.concatenate([e, -e, e, -e])
    for kernel in ("reference", "pairwise", "circle") if d == 2 else ("reference", "pairwise"):
        # the exact drift is zero: unstable, but at rest
        assert np.abs(nc.drift(Attention(beta), x, kernel=kernel)).max() <= 1e-11
    run = nc.simulate(Attention(beta), x, 5.0, save=3)
    assert run.status == "done"
    assert np.isfinite(run.x).all()


def test_tokens_in_single_precision_or_integers_are_taken_as_meant() -> None:
    assert np.abs(nc.drift(MODEL, X.astype(np.float32)) - nc.drift(MODEL, X)).max() <= 1e-6
    assert np.array_equal(nc.drift(MODEL, [[1, 0], [0, 1]]), nc.drift(MODEL, [[1.0, 0.0], [0.0, 1.0]]))
    assert np.array_equal(nc.drift(MODEL, np.asfortranarray(X)), nc.drift(MODEL, X))
    assert np.array_equal(nc.drift(MODEL, np.repeat(X, 2, axis=0)[::2]), nc.drift(MODEL, X))


@pytest.mark.untimed
def test_read_only_input_is_taken_without_compiling_anew() -> None:
    # To Numba a read-only array is another type: the solver must be given one it knows, or the caller
    # waits for seconds.
    known = len(integrate_runs.signatures)
    for x0 in (X.copy(), np.stack([X, X])):
        x0.flags.writeable = False
        nc.drift(MODEL, x0)
        nc.simulate(MODEL, x0, 0.1, save=2)
    assert len(integrate_runs.signatures) == known


def test_the_input_is_never_written_to() -> None:
    x = X.copy()
    nc.drift(MODEL, x)
    run = nc.simulate(MODEL, x, 1.0, save=3)
    run.x[...] = 0.0
    assert np.array_equal(x, X)
    times = np.array([0.0, 0.5, 1.0])
    run = nc.simulate(MODEL, X, 1.0, save=times)
    run.t[...] = 7.0
    assert np.array_equal(times, [0.0, 0.5, 1.0])


@pytest.mark.parametrize("t", [5e-324, 1e-300, 1e-30, 1e-8])
def test_very_short_times_end_where_they_began(t: float) -> None:
    for d in (2, 3):
        x = nc.uniform(5, d, seed=0)
        run = nc.simulate(MODEL, x, t, save=3)
        assert run.status == "done"
        assert run.t[-1] == t
        assert np.abs(run.x - x).max() <= 2.0 * t + 1e-15


@pytest.mark.parametrize("dt", [1e300, 5.0, 1.0])
def test_a_step_longer_than_the_time_is_one_step(dt: float) -> None:
    run = nc.simulate(MODEL, X, 1.0, save=2, method="rk4", dt=dt)
    assert (run.status, run.steps) == ("done", 1)


def test_a_step_that_never_gets_there_says_so() -> None:
    run = nc.simulate(MODEL, X, 1.0, save=2, method="euler", dt=1e-300, max_steps=1000)
    assert (run.status, run.steps) == ("max steps", 1000)
    assert np.array_equal(run.t, [0.0])


def test_save_may_hold_one_time_or_none_of_the_ends() -> None:
    run = nc.simulate(MODEL, X, 2.0, save=[0.5])
    assert run.status == "done"
    assert np.array_equal(run.t, [0.5])
    assert run.x.shape == (1, 5, 2)
    long = nc.simulate(MODEL, X, 2.0, save=[0.0, 0.5, 2.0])
    assert np.array_equal(long.x[1], run.x[0])


def test_a_count_of_frames_is_spread_as_promised() -> None:
    assert np.allclose(nc.simulate(MODEL, X, 10.0, save=11).t, np.arange(11.0))
    late = nc.simulate(MODEL, X, 2000.0, save=5).t
    assert late[0] == 0.0
    assert late[-1] == 2000.0
    assert np.allclose(np.diff(np.log(late[1:])), math.log(2e5) / 3)


MASKED = np.ma.masked_array(X, np.eye(5, 2, dtype=bool))
ROWS_MASKED: Any = list(MASKED)
ENTRY_MASKED: Any = [[1.0, 0.0], [np.ma.masked, 1.0]]
TOKENS_MASKED: Any = [[0], np.ma.masked_array([0, 1], [False, True])]


@pytest.mark.parametrize(
    "call",
    [
        lambda: nc.clusters(MASKED, 0.1),
        lambda: nc.count_clusters(MASKED, 0.1),
        lambda: nc.renyi_centers(MASKED, 0.1),
        lambda: nc.consumed(MASKED, [0], 0.1),
        lambda: nc.consumed(X, np.ma.masked_array([0, 1], [False, True]), 0.1),
        lambda: nc.consumption(([0.0], MASKED[None]), [0], 0.1),
        lambda: nc.consumption((np.ma.masked_array([0.0, 1.0], [False, True]), np.stack([X, X])), [0], 0.1),
        lambda: nc.distance(MASKED, X),
        lambda: nc.retract(MASKED),
        lambda: nc.tangent(X, MASKED),
        lambda: nc.token_energies(MODEL, MASKED),
        lambda: nc.interaction_energy(MODEL, MASKED),
        lambda: nc.atlas(np.ma.masked_array(np.eye(2), np.eye(2, dtype=bool))),
        lambda: Attention(1.0, V=np.ma.masked_array(np.eye(2), np.eye(2, dtype=bool))),
        lambda: Attention(np.ma.masked_array([1.0, 2.0], [False, True])),
        lambda: Frozen(MASKED),
        lambda: nc.plot.circle(MASKED),
        lambda: nc.plot.spectrum(np.ma.masked_array(np.eye(2), np.eye(2, dtype=bool))),
        # in lists, of which NumPy makes arrays without masks
        lambda: nc.simulate(MODEL, list(MASKED), 1.0),
        lambda: nc.drift(MODEL, tuple(MASKED)),
        lambda: nc.drift(MODEL, [X, MASKED]),
        lambda: nc.drift(MODEL, ENTRY_MASKED),
        lambda: nc.clusters(list(MASKED), 0.1),
        lambda: nc.consumed(ROWS_MASKED, [0], 0.1),
        lambda: nc.consumed(X, TOKENS_MASKED, 0.1),
        lambda: nc.consumption(([0.0], [list(MASKED)]), [0], 0.1),
        lambda: nc.retract(list(MASKED)),
        lambda: Attention(1.0, V=list(np.ma.masked_array(np.eye(2), np.eye(2, dtype=bool)))),
        lambda: Attention(ENTRY_MASKED[1]),
        lambda: Frozen(list(MASKED)),
        lambda: nc.plot.spectrum(list(np.ma.masked_array(np.eye(2), np.eye(2, dtype=bool)))),
    ],
)
def test_what_a_mask_hides_is_no_number(call: Callable[[], object]) -> None:
    refuse(call, "all its entries, but .* masked")


def test_an_array_of_which_nothing_is_masked_is_an_array() -> None:
    assert np.array_equal(nc.drift(MODEL, np.ma.masked_array(X)), nc.drift(MODEL, X))
    assert np.array_equal(nc.drift(MODEL, list(np.ma.masked_array(X))), nc.drift(MODEL, X))


def test_a_list_that_holds_itself_many_times_is_looked_into_once() -> None:
    nested: Any = [1.0]
    for _ in range(200):
        nested = [nested, nested]
    with within_cpu_seconds(1.0):
        refuse_masked("x", nested)
    nested = [1.0]
    nested.append(nested)
    refuse(lambda: nc.drift(MODEL, nested), "must be an array of numbers")


@pytest.mark.parametrize("kernel", ["auto", "reference", "pairwise"])
def test_a_drift_that_overflows_is_refused(kernel: Any) -> None:
    for d in (2, 3):
        x = nc.uniform(5, d, seed=0)
        model = Attention(1.0, V=np.full((d, d), 1.7e308))
        refuse(partial(nc.drift, model, x, kernel=kernel), r"V x must be finite, but overflows: .* 1.7e\+308")
        refuse(partial(nc.drift, model, np.stack([x, x]), kernel=kernel), "V x must be finite")


# Anything at all

JUNK = 3000 if SOAK else 150
MODELS = 2000 if SOAK else 100


@given(
    x=st.lists(
        st.lists(
            st.floats(allow_nan=True, allow_infinity=True) | st.integers(-(10**30), 10**30),
            min_size=0,
            max_size=4,
        ),
        min_size=0,
        max_size=4,
    ),
    beta=st.floats(allow_nan=True, allow_infinity=True),
    t=st.floats(max_value=10.0) | st.sampled_from([math.nan, math.inf]),
)
@pytest.mark.soak(examples=JUNK)
@settings(max_examples=JUNK)
def test_random_junk_is_refused_or_answered_never_a_traceback(
    x: list[list[Any]], beta: float, t: float
) -> None:
    try:
        run = nc.simulate(Attention(beta), x, t, save=2, max_steps=100)
    except InputError:
        return
    assert run.status in STATUS[1:]


@given(
    x=st.lists(st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3), min_size=1, max_size=6),
    beta=st.floats(0.0, 1e300),
    entries=st.lists(st.floats(-1e150, 1e150), min_size=9, max_size=9),
)
@pytest.mark.soak(examples=MODELS)
@settings(max_examples=MODELS)
def test_random_models_are_simulated_to_a_named_end(
    x: list[list[float]], beta: float, entries: list[float]
) -> None:
    tokens = np.array(x)
    tokens[np.abs(tokens).max(1) < 1e-3] = 1.0
    run = nc.simulate(
        Attention(beta, V=np.reshape(entries, (3, 3))), nc.retract(tokens), 1.0, save=2, max_steps=200
    )
    assert run.status in STATUS[1:]
    assert np.isfinite(run.x).all()
    assert np.abs(np.linalg.norm(run.x, axis=-1) - 1.0).max() <= 1e-15
