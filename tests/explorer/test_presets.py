"""Presets: every figure of the paper is among them, and each shows what its text says."""

import numpy as np
import pytest

import nucleate as nc
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


def test_the_counterexample_ends_off_the_eigenvector() -> None:
    scene = next(preset.scene for preset in presets() if preset.name == "counterexample")
    run = nc.simulate(scene.model, scene.x0, scene.t, save=scene.times)
    assert abs(run.x[-1, 1, 0]) == pytest.approx(0.47081, abs=1e-5)  # as printed, five digits
