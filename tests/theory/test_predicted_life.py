"""Predicted merges: exact for two places, equal to a slow twin, and refused where no law is known."""

import numpy as np
import pytest

import nucleate as nc
from nucleate.checks import InputError
from nucleate.observe.merges import cluster_width, usual_radius
from nucleate.theory.approach_time import log_approach_time
from nucleate.theory.predicted_life import tokens_seen

EXACT = 3e-6  # of the time: the solver's tolerance, and a meeting found along straight lines


@pytest.mark.parametrize(
    ("beta", "angle", "m", "scale"), [(4.0, 2.5, 1, 1.0), (36.0, 1.2, 1, 0.5), (16.0, 2.0, 5, 2.0)]
)
def test_m_tokens_at_one_place_and_one_more_are_predicted_exactly(
    beta: float, angle: float, m: int, scale: float
) -> None:
    model = nc.Attention(beta, V=scale * np.eye(3))
    x0 = np.array([[1.0, 0.0, 0.0]] * m + [[np.cos(angle), 0.0, np.sin(angle)]])
    life, found = nc.life(model, x0), nc.predict_merges(model, x0)
    assert [(one.lost, one.into, one.left) for one in found] == [(m, 0, 1)]
    assert (life.t_f, found.t_f, found.radius) == (0.0, 0.0, life.radius)
    assert life.merges.leaders.tolist() == found.leaders.tolist() == [0, m]
    assert found.events[0].time == pytest.approx(life.merges.events[0].time, rel=EXACT)
    assert found.log_times[0] == pytest.approx(np.log(found.events[0].time), rel=1e-14)


@pytest.mark.parametrize("d", [2, 3])
def test_two_places_are_predicted_exactly_for_any_q_and_k(d: int) -> None:
    rng = np.random.default_rng(d)
    for _ in range(3):
        Q, K = np.eye(d) + 0.4 * rng.standard_normal((2, d, d))
        model = nc.Attention(6.0, Q=Q, K=K)
        first, other = nc.uniform(2, d, rng)
        last = nc.retract(nc.tangent(first, other) - 0.3 * first)  # about 1.8 apart
        x0 = np.stack([first, first, last])
        life, found = nc.life(model, x0), nc.predict_merges(model, x0)
        assert [one.lost for one in found] == [one.lost for one in life.merges] == [2]
        assert found.events[0].time == pytest.approx(life.merges.events[0].time, rel=EXACT)


def test_predictions_are_those_of_a_slow_twin() -> None:
    for seed, beta, n, d in ((0, 30.0, 60, 2), (1, 9.0, 80, 3), (2, 200.0, 40, 2)):
        x = nc.uniform(n, d, seed)
        found = nc.predict_merges(nc.Attention(beta), x, t=3.0)
        twin = _slowly(beta, x)
        assert [(one.lost, one.into) for one in found] == [one[1:] for one in twin]
        expected = [np.log(3.0 + np.exp(one[0])) if one[0] < 600.0 else one[0] for one in twin]
        assert found.log_times.tolist() == pytest.approx(expected, rel=1e-9)
        assert found.leaders.tolist() == nc.renyi_centers(x, cluster_width(beta), strong=True).tolist()


def _slowly(beta: float, x: np.ndarray) -> list[tuple[float, int, int]]:
    """(log of the time since, lost, into), one leader and one cluster at a time."""
    leaders = nc.renyi_centers(x, cluster_width(beta), strong=True).tolist()
    members: dict[int, list[int]] = {k: [] for k in leaders}
    for token in range(len(x)):
        members[
            min((k for k in leaders if k <= token), key=lambda k: float(nc.distance(x[k], x[token])))
        ].append(token)
    used, aims, events, now = dict.fromkeys(leaders, 0.0), dict.fromkeys(leaders, -1), [], -np.inf
    while len(members) > 1:
        left = {}
        for k in list(members)[1:]:
            angle = {i: float(nc.distance(x[i], x[k])) for i in members if i < k}
            m = {i: max(sum(token < k for token in members[i]), 1) for i in angle}
            best = max(angle, key=lambda i: beta * np.cos(angle[i]) + np.log(m[i] * np.sin(angle[i])))
            used[k] = used[k] if best == aims[k] else 0.0
            aims[k] = best
            log_way = log_approach_time(beta, angle[best], usual_radius(beta), m[best])
            left[k] = (log_way + np.log(1.0 - used[k]), log_way)
        lost = min(left, key=lambda k: left[k][0])
        for k, (_, log_way) in left.items():
            used[k] += np.exp(left[lost][0] - log_way)
        now = np.logaddexp(now, left[lost][0])
        members[aims[lost]] += members.pop(lost)
        events.append((float(now), lost, aims[lost]))
    return events


def test_a_cluster_counts_only_the_tokens_that_come_before() -> None:
    x = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.01], [-1.0, 0.0], [1.0, -0.01], [0.01, 1.0]])
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    assert tokens_seen(x, np.array([0, 1, 3])).tolist() == [[0.0, 1.0, 2.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]


def test_a_leader_that_is_lost_attracts_no_more() -> None:
    """0 and 1 stand 1.0 apart, 2 a little nearer to 1: when 1 has gone to 0, the time of 2 begins anew."""
    beta, angles = 100.0, np.array([0.0, 1.0, 2.1])
    found = nc.predict_merges(nc.Attention(beta), np.column_stack([np.cos(angles), np.sin(angles)]))
    radius = usual_radius(beta)
    first, second = log_approach_time(beta, 1.0, radius), log_approach_time(beta, 2.1, radius, 2.0)
    assert [(one.lost, one.into) for one in found] == [(1, 0), (2, 0)]
    assert found.log_times.tolist() == pytest.approx([first, np.logaddexp(first, second)], rel=1e-12)


def test_times_beyond_doubles_are_known_by_their_logarithms() -> None:
    angles = np.array([0.0, 1.5, 2.9])
    found = nc.predict_merges(nc.Attention(1e4), np.column_stack([np.cos(angles), np.sin(angles)]))
    assert [one.time for one in found] == [np.inf, np.inf]
    assert (np.diff(found.log_times) > 0.0).all()
    assert found.log_times[-1] > 8000.0
    assert found.left == 1


def test_exactly_opposite_tokens_stay() -> None:
    found = nc.predict_merges(nc.Attention(4.0), np.array([[1.0, 0.0], [-1.0, 0.0]]))
    assert (len(found), found.left) == (0, 2)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (nc.Attention(4.0, mask="full"), "mask is 'full'"),
        (nc.Attention(4.0, V=-np.eye(2)), "V is not c I"),
        (nc.Attention(4.0, V=np.diag([1.0, 2.0])), "V is not c I"),
        (nc.Attention(4.0, frozen=nc.Frozen(np.array([[1.0, 0.0]]))), "frozen"),
        (nc.Attention(4.0, weights="hardmax"), "softmax"),
    ],
)
def test_other_models_are_refused_in_words(model: nc.Attention, words: str) -> None:
    with pytest.raises(InputError, match=words):
        nc.predict_merges(model, nc.uniform(5, 2, 0))
