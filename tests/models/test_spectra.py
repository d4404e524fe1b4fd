"""nucleate.spectra against the matrices it never makes: every architecture, every head."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from support.made_checkpoints import MAKERS, Made, make, slow_heads, spectra_of

from nucleate.models.spectra import spectra

KINDS = list(MAKERS)
CLOSE = 1e-9  # of the largest eigenvalue: those of Gaussian matrices this small move by about 1e-13


def apart(one: NDArray[Any], other: NDArray[Any]) -> float:
    """The largest distance in the best pairing of two sets of numbers."""
    distance = np.abs(one[:, None] - other[None, :])
    return float(distance[linear_sum_assignment(distance)].max())


@pytest.mark.parametrize("kind", KINDS)
def test_every_head_has_the_eigenvalues_of_the_explicit_product(kind: str, tmp_path: Path) -> None:
    made = make(kind)
    found = spectra_of(made, tmp_path)
    slow = list(slow_heads(made))
    assert [(head.layer, head.head) for head in found.heads] == [(layer, head) for layer, head, _, _ in slow]
    for head, (_, _, _, V) in zip(found.heads, slow, strict=True):
        exact = np.linalg.eigvals(V)  # (d,)
        ours = np.concatenate([head.eigenvalues, np.zeros(len(V) - len(head.eigenvalues))])
        assert apart(ours, exact) <= CLOSE * np.abs(exact).max()
        assert head.full_lambda_max == pytest.approx(exact.real.max(), abs=CLOSE * np.abs(exact).max())


@pytest.mark.parametrize("kind", KINDS)
def test_beta_is_the_norm_of_the_explicit_score_matrix(kind: str, tmp_path: Path) -> None:
    made = make(kind, seed=1)
    for head, (_, _, A, _) in zip(spectra_of(made, tmp_path).heads, slow_heads(made), strict=True):
        # a product of well-conditioned factors: some rounding
        assert head.beta == pytest.approx(np.linalg.norm(A, 2), rel=1e-12)


def test_at_random_the_largest_real_part_follows_the_circular_law(tmp_path: Path) -> None:
    """std^2 sqrt(d d_head) is the radius of the disc; on the left lie half of the eigenvalues, and no head is
    negative."""
    made = make("llama")
    g = np.random.default_rng(0)
    d, heads = 256, 8
    T = {f"model.layers.0.self_attn.{name}_proj.weight": g.standard_normal((d, d)) for name in "qkvo"}
    T["model.layers.0.input_layernorm.weight"] = np.ones(d)
    config = {
        **made.config,
        "num_attention_heads": heads,
        "num_key_value_heads": heads,
        "num_hidden_layers": 1,
    }
    first = spectra(Made(config, T, "llama").write(tmp_path), draws=40).initial
    # the largest of 32 lies within the disc by about n^(-1/2)
    assert first.lambda_max == pytest.approx(0.02**2 * np.sqrt(d * d / heads), rel=0.15)
    assert first.left == pytest.approx(0.5, abs=0.05)  # 1280 eigenvalues: three standard errors
    assert not any(region.endswith("-") or region in "45" for region in first.regions)
    assert sum(first.regions.values()) == first.draws == 40
    assert first.low < first.lambda_max < first.high


def test_gpt2_starts_with_an_output_that_is_smaller_by_the_root_of_twice_its_layers(tmp_path: Path) -> None:
    first = spectra_of(make("gpt2"), tmp_path).initial
    assert first.std == 0.02
    assert first.output_std == pytest.approx(0.01)


def test_the_same_seed_gives_the_same_bits_and_another_one_others(tmp_path: Path) -> None:
    path = make("gpt_neox").write(tmp_path)
    one, two, other = (spectra(path, draws=3, seed=seed) for seed in (5, 5, 6))
    assert one.initial == two.initial
    assert one.initial.lambda_max != other.initial.lambda_max
    assert all(
        np.array_equal(a.eigenvalues, b.eigenvalues) for a, b in zip(one.heads, two.heads, strict=True)
    )


def test_progress_counts_every_head_once(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    found = spectra_of(make("gpt2"), tmp_path, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(i + 1, len(found.heads)) for i in range(len(found.heads))]


def test_an_answer_of_false_stops_as_ctrl_c_does(tmp_path: Path) -> None:
    seen: list[int] = []

    def progress(done: int, total: int) -> bool:
        seen.append(done)
        return done < 3

    with pytest.raises(KeyboardInterrupt):
        spectra_of(make("gpt2"), tmp_path, progress=progress)
    assert seen == [1, 2, 3]
