"""nucleate.spectra against the matrices it never makes: every architecture, every head."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from support.made_checkpoints import MAKERS, Made, make, slow_fronts, slow_heads, spectra_of

from nucleate.models.spectra import spectra
from nucleate.sphere import uniform

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


@pytest.mark.parametrize("kind", KINDS)
def test_the_root_mean_square_score_is_that_of_the_explicit_score_matrix(kind: str, tmp_path: Path) -> None:
    made = make(kind, seed=1)
    for head, (_, _, A, _) in zip(spectra_of(made, tmp_path).heads, slow_heads(made), strict=True):
        if head.rms_score is not None:
            assert head.rms_score == pytest.approx(np.linalg.norm(A) / len(A), rel=1e-12)
    assert (head.rms_score is None) == (kind.startswith(("qwen3", "gemma3 that")))


def test_the_root_mean_square_score_is_that_of_random_unit_tokens(tmp_path: Path) -> None:
    """E <x, A y>^2 = |A|_F^2 / d^2 for independent uniform x and y."""
    made = make("bert")
    _, _, A, _ = next(iter(slow_heads(made)))
    x, y = uniform(100_000, len(A), seed=0, runs=2)
    scores = np.einsum("nd,dc,nc->n", x, A, y)  # (n,)
    found = spectra_of(made, tmp_path).heads[0].rms_score
    # 100,000 squares, whose spread is about twice their mean: the root is known to 0.3 %
    assert found == pytest.approx(np.sqrt(np.mean(scores**2)), rel=0.015)


@pytest.mark.parametrize("kind", KINDS)
def test_post_norm_heads_have_the_spectrum_of_what_a_layer_adds_to_the_state_it_keeps(
    kind: str, tmp_path: Path
) -> None:
    """A layer keeps G x for a unit vector x (of mean 0), and takes on C(G x + W_O W_V G y).  In coordinates
    of C G x its value matrix is T N^-1 with T = W_O W_V G and N = G, both between vectors of mean 0."""
    made = make(kind)
    found, fronts = spectra_of(made, tmp_path), list(slow_fronts(made))
    if "bert" not in kind and kind.split(",")[0] not in ("minilm", "electra", "roberta"):
        assert not any(head.stored for head in found.heads)
        return
    for head, (i, _, _, V) in zip(found.heads, slow_heads(made), strict=True):
        G, d = fronts[i], len(V)  # (d, d) diag(gamma) C
        centred = np.abs(G @ np.ones(d)).max() < 1e-12
        B = np.linalg.qr(np.eye(d) - 1.0 / d)[0][:, : d - 1] if centred else np.eye(d)  # (d, d - 1)
        exact = np.linalg.eigvals(np.linalg.solve((B.T @ G @ B).T, (B.T @ V @ B).T))  # (d - 1,)
        assert head.stored is not None
        values = head.stored.eigenvalues
        ours = np.concatenate([values, np.zeros(len(exact) - len(values))])
        # some gains are near 0, which magnifies rounding
        assert apart(ours, exact) <= 1e-7 * np.abs(exact).max()


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
    assert first.shares.left.mean == pytest.approx(0.5, abs=0.05)  # 1280 eigenvalues: three standard errors
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
