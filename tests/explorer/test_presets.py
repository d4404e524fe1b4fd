"""Presets: every figure of the paper is among them, and each shows what its text says."""

import numpy as np
import pytest
from support.preset_runs import PresetRun, angle, preset_run

import nucleate as nc
from nucleate.explorer import limits
from nucleate.explorer.presets import FIGURE_2_SEED, presets


def test_presets_have_names_of_their_own_and_words_for_everything() -> None:
    names = [preset.name for preset in presets()]
    assert len(set(names)) == len(names)
    for preset in presets():
        assert preset.title
        assert preset.explain.endswith(".")


def test_there_is_a_preset_for_every_figure_of_the_paper_and_the_life() -> None:
    from nucleate.papers.causal_clustering.figure1.data import PANELS as FIRST
    from nucleate.papers.causal_clustering.figure6.data import PANELS as SIXTH

    named = {preset.name: preset.scene for preset in presets()}
    for key, panels in (("figure1", FIRST), ("figure6", SIXTH)):
        for panel in panels:
            scene = named[f"{key}-{panel.name}"]
            assert isinstance(scene.model, nc.Attention)
            V = scene.model.V
            assert (scene.n, scene.d, scene.beta, scene.t) == (32, 3, 9.0, 5000.0)
            assert np.array_equal(np.eye(3) if V is None else V, panel.matrix)
    for key in ("figure2", "figure3"):
        assert (named[key].n, named[key].d, named[key].beta, named[key].t, named[key].c) == (
            200,
            2,
            64.0,
            150.0,
            4.0,
        )
    assert {75.0, 150.0} <= set(named["figure2"].times.tolist())
    assert named["figure4"].beta == 10.0
    assert named["figure5"].V == {"preset": "head", "seed": 0}
    assert (named["life"].n, named["life"].beta, named["life"].t) == (200, 64.0, 1e60)


def test_figure_2_starts_from_the_seed_that_the_reproduction_finds() -> None:
    from nucleate.papers.causal_clustering.figure2.data import chosen_seed

    assert chosen_seed() == FIGURE_2_SEED


# --- every text against its run; those of the family are in test_family_presets.py, and those of two that
# take seconds to compute in tests/browser/test_trust.py


def lost(run: PresetRun, since: float, until: float) -> dict[int, int]:
    """Leaders of clusters at time `since` that follow an earlier token at time `until`, and whom."""
    before, after = run.leaders(since), run.leaders(until)
    return {int(k): int(after[k]) for k in np.unique(before) if after[k] != k}


def test_every_preset_is_measured_or_claims_nothing_of_its_run() -> None:
    """A new preset needs a test of its text: here, with those of the family, or with the long ones."""
    measured = {
        *("figure2", "life", "figure3", "figure4", "figure5", "fireworks", "democracy", "gossip", "snow"),
        *("archipelago", "counterexample", "storm", "planet", "sixteen"),
    }
    silent = {"ten-thousand"}  # says only that it is large and takes long
    others = {preset.name for preset in presets()} - measured - silent
    assert all(name.startswith(("family-", "figure1-", "figure6-")) for name in others), others
    large = preset_run("ten-thousand", compute=False).scene
    assert large.n == limits.MAX_TOKENS


def test_in_figure_2_strong_centers_stay_and_one_other_is_lost_between_75_and_150() -> None:
    run = preset_run("figure2")
    strong = run.facts["centers"]["strong"]
    assert angle(run.at(0.0)[strong], run.at(150.0)[strong]).max() < 1e-3
    renyi = set(run.facts["centers"]["renyi"])
    ((center, to),) = [(k, to) for k, to in lost(run, 75.0, 150.0).items() if k in renyi]
    assert center not in strong
    assert to < center


def test_the_life_is_that_of_figure_2_and_ends_with_all_tokens_at_the_first() -> None:
    run, figure = preset_run("life"), preset_run("figure2", compute=False)
    assert np.array_equal(run.scene.x0, figure.scene.x0)
    assert run.head.beta == figure.head.beta
    assert angle(run.x[-1], run.x[0, 0]).max() < 1e-6
    assert run.clusters(1.0) > 100
    counts = run.measured.clusters[run.t > 1e3]
    waits = np.diff(np.log10(run.t[run.t > 1e3][np.flatnonzero(np.diff(counts))]))
    assert (np.diff(counts) >= -1).all(), "one by one"
    assert waits.max() > 10.0, "tens of decades"


def test_in_figure_3_renyi_centers_take_nearly_all_and_strong_ones_fewer() -> None:
    run = preset_run("figure3")
    assert run.measured.consumed_renyi is not None
    assert run.measured.consumed_strong is not None
    assert run.measured.consumed_renyi[-1] > 0.95 > run.measured.consumed_strong[-1]


def test_in_figure_4_the_second_token_starts_at_1_2_creeps_and_falls_to_the_first() -> None:
    run = preset_run("figure4")
    apart = angle(run.x[:, 0], run.x[:, 1])
    assert apart[0] == pytest.approx(1.2, abs=1e-9)
    assert apart[-1] < 1e-6
    assert run.distance_at(10.0) > 1.1, "it creeps"
    x = np.linspace(0.0, np.pi, 10_001)
    strongest = x[(np.exp(10.0 * (np.cos(x) - 1.0)) * np.sin(x)).argmax()]
    assert strongest == pytest.approx(0.32, abs=0.02)  # as the text says


def test_in_figure_5_the_largest_real_part_is_clearly_positive() -> None:
    V = np.asarray(preset_run("figure5", compute=False).head.V)
    z = np.linalg.eigvals(V)
    assert nc.atlas(V).lambda_max > 0.5
    assert (np.abs(z) < 0.5).mean() == pytest.approx(0.25, abs=0.15)  # a disc of radius about 1: areas


def test_under_repulsion_the_first_token_alone_stays_and_the_others_never_settle() -> None:
    run = preset_run("fireworks")
    moved = angle(run.x[0], run.x[-1])
    assert moved[0] == 0.0
    assert moved[1:].min() > 1e-4
    assert angle(run.x[-2], run.x[-1]).max() > 0.1


def test_under_full_attention_both_of_two_clusters_that_meet_have_moved() -> None:
    run = preset_run("democracy")
    assert angle(run.x[0, 0], run.x[-1, 0]) > 0.05, "the first token, too"
    gone = lost(run, 400.0, 1000.0)
    assert gone
    for k, to in gone.items():
        assert min(angle(run.at(400.0)[one], run.x[-1, one]) for one in (k, to)) > 0.1


def test_under_a_window_tokens_come_to_the_first_one_after_the_other() -> None:
    run = preset_run("gossip")
    apart = angle(run.x, run.x[:, :1])  # (m, n)
    assert apart[-1].max() < 1e-6
    last_away = run.t[(apart > 0.05)[::-1].argmax(0) * -1 - 1]  # (n,)
    ranks = np.argsort(np.argsort(last_away[1:], kind="stable"))
    assert np.corrcoef(ranks, np.arange(len(ranks)))[0, 1] > 0.95


def test_the_cap_of_snow_has_three_clusters_at_50_and_two_at_the_end() -> None:
    run = preset_run("snow")
    assert angle(run.x[0], run.x[0].mean(0) / np.linalg.norm(run.x[0].mean(0))).max() < 0.6
    assert (run.clusters(50.0), run.clusters(1e4)) == (3, 2)


def test_of_twelve_planted_clusters_eight_are_left_and_only_close_ones_are_lost() -> None:
    run = preset_run("archipelago")
    assert (run.clusters(10.0), run.clusters(1e8)) == (12, 8)
    begun = run.at(10.0)
    leaders = np.unique(run.leaders(10.0))
    gone = lost(run, 10.0, 1e8)
    for k in leaders[1:]:
        nearest = angle(begun[k], begun[leaders[leaders < k]]).min()
        assert (int(k) in gone) == (nearest < 0.7)


def test_the_counterexample_ends_off_the_eigenvector_as_about_half_of_all_seeds_do() -> None:
    run = preset_run("counterexample")
    assert abs(run.x[-1, 1, 0]) == pytest.approx(0.47081, abs=1e-5)  # as printed, five digits
    scene = run.scene
    starts = np.stack([nc.uniform(2, 2, seed) for seed in range(100)])  # (runs, n, d)
    ends = nc.simulate(scene.model, starts, scene.t, save=[scene.t]).x[:, -1, 1, 0]
    off = np.abs(ends) < 0.9
    assert off[scene.seed]
    assert 0.35 < off.mean() < 0.65


def test_of_the_counterexample_the_page_does_not_say_that_it_ends_at_two_points() -> None:
    spectrum = preset_run("counterexample", compute=False).facts["spectrum"]
    assert (spectrum["row"], spectrum["status"]) == (3, "conjecture")
    assert "false for some Q, K and V" in spectrum["doubt"]


def test_the_storm_gathers_and_turns_for_ever() -> None:
    run = preset_run("storm")
    dominant = nc.atlas(np.asarray(run.head.V)).dominant
    assert abs(dominant[0].imag) > 0.1
    assert run.clusters(100.0) <= 3
    assert angle(run.x[-2], run.x[-1]).min() > 0.5, "all are under way at the end"


def test_the_first_scene_gathers_within_a_few_units_of_time_and_merges_then() -> None:
    run = preset_run(None)
    assert run.clusters(8.0) < 15 < 100 < run.clusters(0.0)
    assert run.clusters(150.0) < run.clusters(8.0)
