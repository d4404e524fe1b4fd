"""Tokens at the start and at t_f are those of a life."""

import nucleate as nc
from nucleate.papers.open_questions.formed_tokens import formed_tokens


def test_formed_tokens_are_those_of_a_life() -> None:
    x0, t_f, x = formed_tokens(16.0, 40, 2, 3)
    life = nc.life(16.0, 40, seed=3)
    assert (x0 == nc.uniform(40, 2, 3)).all()
    assert abs(t_f / life.t_f - 1.0) < 1e-4  # looked for on the same grid of times, but from other steps
    assert nc.renyi_centers(x, 0.25, strong=True).tolist() == life.merges.leaders.tolist()
