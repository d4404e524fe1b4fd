"""What RoPE multiplies queries and keys by, and what is said of it."""

from nucleate.models.rope import rope_factors, rope_note


def test_the_note_on_positions_tells_what_changes_beta_and_what_may() -> None:
    shrunk = {
        "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "mscale": 0.5, "mscale_all_dim": 1.0},
        "no_rope_layers": [1, 0],
    }
    assert rope_factors(shrunk, 2)[0] < 1.0 == rope_factors(shrunk, 2)[1]
    assert "with what yarn multiplies them by" in rope_note(shrunk, 2)
    # and nothing says which layers these are
    by_kind = {"rope_parameters": {"full_attention": {"rope_type": "yarn", "factor": 4.0}}}
    assert "without what 'settings of no layer' may multiply them by" in rope_note(by_kind, 2)
    assert rope_note({"rope_parameters": {"rope_type": "default"}}, 2).endswith("those at offset 0.")
