"""Lemma 3.1, Theorem 4.1 and the two conjectures: what they rest on is true, and their verdicts follow the
data."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from support.small_items import made

from nucleate.attention import Attention, Window, drift
from nucleate.checks import Array, InputError
from nucleate.papers import families, recipes, replay, search
from nucleate.papers.causal_clustering.conjectures.defective_top import (
    STARTS,
    ahead,
    exact_end,
    simulated_end,
)
from nucleate.papers.causal_clustering.conjectures.equilibria import Plane, level, plane_of, resting
from nucleate.papers.causal_clustering.lemma31.data import TOPS, value
from nucleate.papers.causal_clustering.shared.linearisation import (
    diagonal,
    differences,
    equilibrium,
    frames,
    jacobian,
)
from nucleate.sphere import uniform
from nucleate.theory.atlas import atlas


def changed(dataset: xarray.Dataset, **arrays: Any) -> xarray.Dataset:
    """`dataset` with other values in some variables."""
    return dataset.assign({name: (dataset[name].dims, np.asarray(values)) for name, values in arrays.items()})


def words(key: str, **data: Any) -> list[str]:
    """The verdicts with some data planted."""
    found = made(key)
    return found.words({**found.data, **{name.replace("__", "-"): value for name, value in data.items()}})


def random_model(seed: int, d: int, mask: Any = "causal") -> Attention:
    rng = np.random.default_rng(seed)
    Q, K, V = rng.standard_normal((3, d, d))
    return Attention(rng.uniform(0.1, 3.0), Q=Q, K=K, V=V, mask=mask)


def real_spectrum(rng: np.random.Generator, d: int, lean: float) -> Array:
    """V with distinct positive eigenvalues, the largest 1."""
    B = np.linalg.qr(rng.standard_normal((d, d)))[0] @ (np.eye(d) + lean * rng.standard_normal((d, d)))
    return np.asarray(B @ np.diag([1.0, *rng.uniform(0.1, 0.9, d - 1)]) @ np.linalg.inv(B))


# --- linearisation


@pytest.mark.parametrize("mask", ["causal", "full", Window(3)])
@pytest.mark.parametrize("d", [2, 3, 5])
def test_the_jacobian_is_what_differences_of_the_velocity_give(d: int, mask: Any) -> None:
    model, x = random_model(d, d, mask), uniform(6, d, 1)
    J = jacobian(model, x)
    # h^2 times third derivatives
    assert np.abs(J - differences(model, x)).max() < 1e-7 * max(1.0, np.abs(J).max())


def test_the_blocks_on_the_diagonal_have_all_eigenvalues_of_a_causal_jacobian() -> None:
    J = jacobian(random_model(3, 3), uniform(5, 3, 2))
    blocks, whole = (
        np.sort_complex(diagonal(J).reshape(-1)),
        np.sort_complex(np.linalg.eigvals(J.reshape(10, 10))),
    )
    assert np.abs(blocks - whole).max() < 1e-9


def test_frames_are_orthonormal_and_tangent() -> None:
    x = uniform(7, 4, 0)
    B = frames(x)
    assert np.abs(B.mT @ B - np.eye(3)).max() < 1e-14
    assert np.abs(np.einsum("kax,ka->kx", B, x)).max() < 1e-14


def test_newton_finds_an_equilibrium_to_rounding() -> None:
    model = Attention(10.0, K=np.diag([-1.0, 1.0]), V=np.diag([1.0, 0.1]))
    found = equilibrium(model, np.array([[1.0, 0.0], [-0.47, np.sqrt(1.0 - 0.47**2)]]))
    assert found.speed < 1e-15
    assert found.x[1, 0] == pytest.approx(-0.470810, abs=1e-6)
    assert np.sort(found.rates.real.reshape(-1)) == pytest.approx([-6.18695, -0.9], abs=1e-5)


# --- the criterion of docs/conjectures.md


@pytest.mark.parametrize("seed", range(8))
def test_the_equation_in_the_plane_is_the_drift_of_a_token_after_m_at_xi(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d, m, beta = int(rng.integers(2, 6)), int(rng.integers(1, 5)), rng.uniform(0.0, 4.0)
    V, (Q, K) = real_spectrum(rng, d, 0.2), rng.standard_normal((2, d, d))
    plane, model = plane_of(V, K, Q, beta), Attention(beta, Q=Q, K=K, V=V)
    for alpha in rng.uniform(-np.pi, np.pi, 5):
        f = drift(model, np.stack([plane.basis[:, 0]] * m + [plane.point(alpha)]))[-1]  # (d,)
        along = plane.basis @ [-np.sin(alpha), np.cos(alpha)]
        assert f == pytest.approx(plane.velocity(alpha, m) * along, abs=1e-12)
        h = 1e-6
        assert plane.slope(alpha, m) == pytest.approx(
            (plane.H(alpha + h, m) - plane.H(alpha - h, m)) / (2 * h), rel=1e-5, abs=1e-4
        )


@pytest.mark.parametrize("seed", range(6))
def test_rests_of_the_criterion_are_equilibria_with_their_rates_and_attract_where_F_rises(seed: int) -> None:
    rng = np.random.default_rng(seed)
    V, (Q, K) = real_spectrum(rng, 3, 0.2), rng.standard_normal((2, 3, 3))
    plane, model = plane_of(V, K, Q, 2.0), Attention(2.0, Q=Q, K=K, V=V)
    for rest in resting(plane):
        found = equilibrium(model, np.stack([plane.basis[:, 0], plane.point(rest.alpha)]))
        assert found.moved < 1e-10
        assert np.abs(found.rates[1] - rest.rate).min() < 1e-8 * max(1.0, abs(rest.rate))
        assert (found.growth < 0.0) == (rest.rate < 0.0)
        phi = (rest.alpha + 2.0 * np.pi) % (2.0 * np.pi) - np.pi
        rise = np.sign(phi) * (level(plane, phi + 1e-6) - level(plane, phi - 1e-6))
        assert (rise > 0.0) == (rest.rate < 0.0)


def test_symmetric_V_with_the_identity_has_no_attracting_rest_off_the_poles() -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        V = np.diag([1.0, rng.uniform(0.01, 0.999), 0.005])
        rates = [
            rest.rate
            for rest in resting(plane_of(V, None, None, rng.uniform(0.01, 8.0)), float(rng.integers(1, 50)))
        ]
        assert all(rate > 0.0 for rate in rates)


@pytest.mark.parametrize("delta", [0.3, 0.03, 0.003])
@pytest.mark.parametrize("beta", [0.1, 1.0, 5.0])
def test_a_tilt_of_the_scores_however_small_makes_an_attracting_rest_at_every_beta(
    beta: float, delta: float
) -> None:
    A = np.array([[1.0, delta], [delta, 1.0]])
    phi = 0.5 * 3.0 * beta * delta / (1.0 + beta)  # half way to the top of F
    ratio = float(np.exp(level(Plane(1.0, 0.0, 1.0, A, beta, np.eye(2)), phi)))
    assert any(
        rest.rate < 0.0 for rest in resting(plane_of(np.diag([1.0, 1.0 - 1.0 / ratio]), A.T, None, beta))
    )


@pytest.mark.parametrize("beta", [0.0, 1.0, 5.0])
def test_any_lean_of_V_makes_an_attracting_rest_at_every_beta(beta: float) -> None:
    lean = 0.2
    ratio = float(np.exp(level(Plane(1.0, lean, 1.0, np.eye(2), beta, np.eye(2)), 0.5 * lean / (1.0 + beta))))
    gap = 1.0 / ratio
    assert any(
        rest.rate < 0.0
        for rest in resting(plane_of(np.array([[1.0, lean * gap], [0.0, 1.0 - gap]]), None, None, beta))
    )


def test_complex_eigenvalues_have_no_such_plane() -> None:
    with pytest.raises(InputError, match="real eigenvalues"):
        plane_of(np.array([[1.0, -1.0], [1.0, 1.0]]), None, None, 1.0)


# --- the search


def test_the_searchs_last_token_is_the_last_token_of_the_equation() -> None:
    rng = np.random.default_rng(4)
    A, V = rng.standard_normal((2, 3, 3))
    seen, x = uniform(2, 3, 1), uniform(4, 3, 2)
    f, J, B = search._linear(search.Setting(V, A, 0.7, seen, np.array([1.0, 2.0]), seen), x)
    for i in range(4):
        tokens = np.concatenate([seen[:1], seen[1:], seen[1:], x[i : i + 1]])
        model = Attention(0.7, Q=A, V=V)
        assert B[i] @ f[i] == pytest.approx(drift(model, tokens)[-1], abs=1e-13)
        assert np.sort_complex(np.linalg.eigvals(J[i])) == pytest.approx(
            np.sort_complex(diagonal(jacobian(model, tokens))[-1]), abs=1e-11
        )


def test_the_search_finds_the_counter_example_that_is_known_and_repeats_itself() -> None:
    reported = search.Setting(
        np.diag([1.0, 0.1]),
        np.diag([-1.0, 1.0]),
        10.0,
        np.eye(2)[:1],
        np.ones(1),
        np.array([[1.0, 0.0], [-1.0, 0.0]]),
    )
    x, growth, speed = search.rests(reported, uniform(40, 2, 0))
    assert growth.min() == pytest.approx(-6.18695, abs=1e-4)
    assert np.abs(x[growth.argmin(), 0]) == pytest.approx(0.47081, abs=1e-5)
    assert speed.max() < 1e-12
    leaning = next(regime for regime in search.REGIMES if regime.name == "leaning")
    one, two = (search.searched(leaning, 3, 1) for _ in range(2))
    assert one.growth == two.growth
    assert np.array_equal(one.x, two.x)


def test_every_model_of_the_last_regime_is_within_conjecture_2() -> None:
    several = next(regime for regime in search.REGIMES if regime.conjecture == 2)
    for u in np.random.default_rng(0).random((20, several.size)):
        assert atlas(several.make(u).V).within_conjecture


@pytest.mark.parametrize("kind", [*families.CONJECTURE1, *families.CONJECTURE2], ids=lambda kind: kind.words)
def test_every_family_but_the_one_beyond_is_within_its_conjecture(kind: families.Kind) -> None:
    row = 3 if kind in families.CONJECTURE1 else 2
    for run in range(5):
        found = atlas(families.matrices(kind, 7, range(run, run + 1))[0][0])
        assert found.row == row
        assert found.within_conjecture == (kind is not families.CONJECTURE2[-1])


# --- counter-examples that are kept


@pytest.mark.parametrize("example", replay.examples(), ids=lambda example: example.name)
def test_every_counter_example_holds_and_is_within_conjecture_1(example: replay.Example) -> None:
    found = replay.replay(example)
    assert found.holds, found
    assert example.model.V is not None
    assert atlas(example.model.V).within_conjecture


def test_what_is_no_counter_example_does_not_hold() -> None:
    kept = {example.name: example for example in replay.examples()}["leaning"]
    tame = replay.Example("tame", "", "rest", Attention(0.1, V=np.diag([1.0, 0.5])), kept.x0, 2000.0)
    assert not replay.replay(tame).holds
    hurried = replay.Example("hurried", "", "rest", kept.model, kept.x0, 25.0)  # near its rest, but not there
    assert not replay.replay(hurried).holds
    with pytest.raises(InputError, match="must come round"):
        replay.replay(replay.Example("resting", "", "round", kept.model, kept.x0, 2000.0))


def test_files_keep_every_bit_and_bad_ones_are_refused(tmp_path: Path) -> None:
    for example in replay.examples():
        again = replay.load_example(replay.write_example(example, tmp_path))
        assert np.array_equal(again.x0, example.x0)
        assert all(
            np.array_equal(getattr(again.model, name), getattr(example.model, name))
            for name in "QKV"
            if getattr(example.model, name) is not None
        )
        assert (again.t, again.kind, again.words, float(again.model.beta)) == (
            example.t,
            example.kind,
            example.words,
            float(example.model.beta),
        )
        assert (tmp_path / f"{example.name}.toml").read_bytes() == (
            replay.FOLDER / f"{example.name}.toml"
        ).read_bytes()
    (tmp_path / "bad.toml").write_text('words = "no start"\nkind = "rest"\nbeta = 1.0\n')
    with pytest.raises(InputError, match="not a counter-example"):
        replay.load_example(tmp_path / "bad.toml")
    with pytest.raises(InputError, match="cannot be read"):
        replay.load_example(tmp_path / "missing.toml")


def test_the_recipes_make_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipes, "SEEDS", 12)
    kept = {example.name: example for example in replay.examples()}
    V, K = np.diag([1.0, 0.1]), np.diag([-1.0, 1.0])
    assert np.array_equal(recipes._rest("reported", "", 10.0, V, K).x0, kept["reported"].x0)
    made_round = recipes._round("never-rests", "", 9, 712, 8)
    assert np.array_equal(made_round.x0, kept["never-rests"].x0)
    assert made_round.model.V is not None
    # its products of matrices may round elsewhere
    assert made_round.model.V == pytest.approx(kept["never-rests"].model.V, abs=1e-14)


def test_one_command_replays_and_tells(capsys: pytest.CaptureFixture[str]) -> None:
    assert replay.main(["reported"]) == 0
    assert "holds: a token is 1.0287" in capsys.readouterr().out
    assert replay.main(["nonsense"]) == 2
    assert "Kept are: definite" in capsys.readouterr().err


# --- defective tops, tops


def test_beside_a_defective_top_the_second_token_rests_e_to_minus_two_beta_from_the_pole() -> None:
    for beta in (3.0, 6.0, 9.0, 12.0):
        assert exact_end(beta) * np.exp(2.0 * beta) == pytest.approx(1.0, abs=0.01)
    assert simulated_end(4.0, 1e-10, np.array(STARTS[:1]))[0] == pytest.approx(exact_end(4.0), rel=1e-5)


def test_a_second_token_far_enough_ahead_slips_through_the_opposite_of_a_defective_top() -> None:
    assert ahead(*STARTS[0]) < 2.0 < ahead(*STARTS[1])
    late = 1000.0 * np.exp(8.0)
    # at xi, where it comes like 1/t
    assert exact_end(4.0, STARTS[1]) == pytest.approx(-np.pi + 1.0 / late, abs=0.1 / late)
    rests, slips = simulated_end(4.0, 1e-10, np.array([STARTS[0], STARTS[1]]))
    assert abs(rests) < 1e-3
    assert np.pi - abs(slips) < 1e-6
    for q in (0.55, 0.43):  # on either side of D = 2 from a = 2
        D = float(ahead(2.0, q))
        assert (abs(exact_end(5.0, (2.0, q))) > 3.0) == (D > 2.0)


@pytest.mark.parametrize("kappa", [0.3, 1.0, 2.5])
def test_how_far_a_token_is_ahead_changes_as_the_documented_equation_says(kappa: float) -> None:
    beta, (a, q) = 1.3, np.random.default_rng(2).uniform(0.2, 2.9, 2)
    angles = np.array([a, np.pi + q])
    x = np.stack([np.cos(angles), np.sin(angles)], axis=1)  # (2, 2)
    v = drift(Attention(beta, V=[[1.0, kappa], [0.0, 1.0]]), x)  # (2, 2)
    turn = x[:, 0] * v[:, 1] - x[:, 1] * v[:, 0]  # (2,) a' and q'
    p, D = 1.0 / (1.0 + np.exp(beta * (1.0 + np.cos(q - a)))), 1.0 / np.tan(q) - 1.0 / np.tan(a)
    assert turn[0] == pytest.approx(-kappa * np.sin(a) ** 2)
    assert -turn[1] / np.sin(q) ** 2 + turn[0] / np.sin(a) ** 2 == pytest.approx(
        -p * kappa - p * np.sin(a) / np.sin(q) * (kappa - D)
    )


def test_ends_against_the_rule_of_defective_tops_are_counted() -> None:
    found = made("conjecture1")
    data = found.data["rule"]
    assert found.numbers["rule_wrong"].value == 0.0
    D = ahead(*data["angles"].values.T)
    end = data["end"].values.copy()
    # one rests that ought to slip, one slips that ought to rest
    end[np.argmax(D)], end[np.argmin(np.abs(D))] = 1e-4, np.pi
    assert (
        found.item.measure({**found.data, "rule": changed(data, end=end)}, found.p)["rule_wrong"].value == 2.0
    )


@pytest.mark.parametrize("top", TOPS, ids=lambda top: top.name)
def test_the_atlas_takes_every_top_for_what_it_is(top: Any) -> None:
    V, gap, speed = value(top, np.random.default_rng(5))
    found = atlas(V)
    assert (found.algebraic, found.basis.shape[1], found.block) == (top.size, top.inside, top.block)
    assert found.gap == pytest.approx(gap, abs=1e-6)
    assert found.dominant[0].imag == pytest.approx(speed, abs=1e-6)
    assert np.abs(found.basis[top.inside :]).max() < 1e-8  # L is spanned by the first unit vectors


# --- verdicts


def test_the_small_items_come_out_as_the_large_ones_do() -> None:
    assert words("lemma3.1") == ["agrees"] * 3
    assert words("theorem4.1") == ["agrees", "agrees", "evidence for"]
    assert words("conjecture1") == ["evidence for", "disagrees", "disagrees", "not testable here"]
    assert words("conjecture2") == ["evidence for"] * 3
    for key in ("lemma3.1", "theorem4.1", "conjecture1", "conjecture2"):
        verdicts = made(key).item.verdicts(made(key).numbers, made(key).p)
        assert all(verdict.why and verdict.part for verdict in verdicts)


def test_lemma_31_with_other_rates_powers_or_speeds_disagrees() -> None:
    data = made("lemma3.1").data
    simple, defective, turning = data["simple"], data["defective"], data["complex"]
    slower = simple["long"].values.copy()
    slower[0, :, 1:] *= np.exp(0.05 * np.linspace(200.0, 600.0, slower.shape[1]))[:, None]
    assert words("lemma3.1", simple=changed(simple, long=slower))[0] == "disagrees"
    assert words("lemma3.1", simple=changed(simple, wrong=np.full(3, 1e-6)))[0] == "disagrees"
    late = defective["late"].values.copy()
    late[1, :, 1:] *= np.geomspace(1.0, 3.0, late.shape[1])[:, None]
    assert words("lemma3.1", defective=changed(defective, late=late))[1] == "disagrees"
    assert words("lemma3.1", complex=changed(turning, speed=1.01 * turning["speed"].values))[2] == "disagrees"
    assert (
        words("lemma3.1", simple=changed(simple, V=np.broadcast_to(np.eye(6), simple["V"].shape)))[0]
        == "disagrees"
    )


def test_theorem_41_with_a_token_elsewhere_or_other_rates_disagrees() -> None:
    data = made("theorem4.1").data
    case, decay, spectrum = data["d3_beta9"], data["decay3"], data["spectrum2"]
    apart = case["apart"].values.copy()
    apart[1, -1] = 1e-3
    assert words("theorem4.1", d3_beta9=changed(case, apart=apart))[0] == "disagrees"
    assert words("theorem4.1", d3_beta9=changed(case, done=np.zeros(2, dtype=np.int8)))[0] == "disagrees"
    rate = decay["rate"].values.copy()
    rate[4] += 0.01
    assert words("theorem4.1", decay3=changed(decay, rate=rate))[1] == "disagrees"
    assert (
        words("theorem4.1", decay3=changed(decay, widest=np.exp(-0.55 * decay["time"].values)))[1]
        == "disagrees"
    )
    assert (
        words(
            "theorem4.1", spectrum2=changed(spectrum, formula_rates=1.01 * spectrum["formula_rates"].values)
        )[1]
        == "disagrees"
    )
    assert words("theorem4.1", spectrum2=changed(spectrum, differences_later=1e-3))[1] == "disagrees"


def test_theorem_41_beyond_its_statement_follows_the_data() -> None:
    data = made("theorem4.1").data
    window, pieces, decay = data["window2"], data["changing"], data["decay_window"]
    apart = window["apart"].values.copy()
    apart[0, -1] = 0.1
    assert words("theorem4.1", window2=changed(window, apart=apart))[2] == "evidence against"
    assert (
        words("theorem4.1", changing=changed(pieces, apart=pieces["apart"].values + 1e-3))[2]
        == "evidence against"
    )
    assert (
        words("theorem4.1", decay_window=changed(decay, rate=decay["rate"].values * 1.01))[2]
        == "evidence against"
    )


@pytest.mark.parametrize("fate", [families.ATTRACTING, families.SLOW, families.MOVING])
def test_one_run_elsewhere_is_evidence_against_conjecture_1_with_the_identity(fate: int) -> None:
    family = made("conjecture1").data["identity-edge"]
    fates = family["fate"].values.copy()
    fates[3] = fate
    assert words("conjecture1", identity__edge=changed(family, fate=fates))[0] == "evidence against"


def test_conjecture_1_with_the_identity_is_judged_by_places_starts_and_search() -> None:
    data = made("conjecture1").data
    off = data["identity"]["off"].values.copy()
    off[2, 5] = 0.4
    assert words("conjecture1", identity=changed(data["identity"], off=off))[0] == "evidence against"
    end = data["adversary"]["end"].values.copy()
    end[0] = 0.2
    assert words("conjecture1", adversary=changed(data["adversary"], end=end))[0] == "evidence against"
    assert (
        words("conjecture1", search__identity=changed(data["search-identity"], growth=-0.1))[0]
        == "evidence against"
    )


def test_conjecture_1_is_refuted_only_by_counter_examples_that_hold() -> None:
    found = made("conjecture1")
    data = found.data["replays"]
    nothing = changed(data, holds=0.0 * data["holds"].values)
    assert words("conjecture1", replays=nothing) == [
        "evidence for",
        "evidence for",
        "evidence for",
        "not testable here",
    ]
    numbers = found.item.measure({**found.data, "replays": nothing}, found.p)
    assert found.item.slips(numbers) == ()
    slips = found.item.slips(found.numbers)
    assert len(slips) == 1
    assert "can fail" in slips[0].right


def test_shares_of_conjecture_1_are_told_with_their_intervals() -> None:
    found = made("conjecture1")
    why = found.item.verdicts(found.numbers, found.p)[2].why
    for name in ("definite_off", "gaussian_off", "reported_share"):
        share = found.numbers[name]
        assert f"{share.value:.1%} [{share.low:.1%}, {share.high:.1%}]" in why


def test_second_tokens_off_the_poles_are_where_the_criterion_says() -> None:
    found = made("conjecture1")
    assert found.numbers["second_unforeseen"].value == 0.0
    name, i = next(
        (kind.name, int(i))
        for kind in families.CONJECTURE1
        for i in np.nonzero(
            (found.data[kind.name]["fate"].values == 1) & (found.data[kind.name]["off"].values[:, 1] > 1e-3)
        )[0]
    )
    family = found.data[name]
    second = family["second"].values.copy()
    second[i] = -second[i]
    numbers = found.item.measure({**found.data, name: changed(family, second=second)}, found.p)
    assert numbers["second_unforeseen"].value == 1.0


@pytest.mark.parametrize(("name", "part"), [("identity__close", 0), ("gaussian", 1), ("leaning", 2)])
def test_one_run_elsewhere_is_evidence_against_its_part_of_conjecture_2(name: str, part: int) -> None:
    family = made("conjecture2").data[name.replace("__", "-")]
    fates = family["fate"].values.copy()
    fates[1] = families.ATTRACTING
    assert words("conjecture2", **{name: changed(family, fate=fates)})[part] == "evidence against"
    off = family["off"].values.copy()
    off[0, 1] = 1.0
    assert words("conjecture2", **{name: changed(family, off=off)})[part] == "evidence against"


def test_conjecture_2_is_left_open_by_late_runs_and_hurt_by_rests_that_attract() -> None:
    data: Any = made("conjecture2").data
    fates = data["gaussian"]["fate"].values.copy()
    fates[1] = families.SLOW
    growth = np.full(len(fates), np.nan)
    assert (
        words("conjecture2", gaussian=changed(data["gaussian"], fate=fates, growth=growth))[1]
        == "not testable here"
    )
    fates[1], growth[1] = 0, np.nan
    assert (
        words("conjecture2", gaussian=changed(data["gaussian"], fate=fates, growth=growth))[1]
        == "evidence for"
    )
    many: Any = xarray.concat([data["gaussian"]] * 20, "run")
    late = many["fate"].values.copy(), many["growth"].values.copy()
    late[0][1], late[1][1] = families.SLOW, 1e-9  # one of two hundred and more, at a rest that repels
    assert words("conjecture2", gaussian=changed(many, fate=late[0], growth=late[1]))[1] == "evidence for"
    assert words("conjecture2", search=changed(data["search"], growth=-0.01))[1] == "evidence against"
    growth = data["leaving"]["growth"].values.copy()
    growth[0] = -0.2
    assert words("conjecture2", leaving=changed(data["leaving"], growth=growth))[1] == "evidence against"
    assert (
        words("conjecture2", leaving=changed(data["leaving"], growth=0.5 * data["leaving"]["bound"].values))[
            1
        ]
        == "evidence against"
    )


def test_a_family_gives_the_same_bits_in_blocks_of_any_size() -> None:
    kind = families.CONJECTURE1[9]
    whole, part = families._block(kind, 0, range(6)), families._block(kind, 0, range(2, 4))
    assert np.array_equal(whole["off"].values[2:4], part["off"].values)
