"""Value matrices of ALBERT-xlarge, head by head: as they are drawn at initialisation, and trained, from a
file the user has.

A head's value matrix is W_O W_V (d x d, rank d_head); its non-zero eigenvalues are those of the small W_V W_O
(d_head x d_head).
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from nucleate.checks import Array, InputError

if TYPE_CHECKING:
    from xarray import Dataset

    from nucleate.papers.core.cache import ItemWorkspace
    from nucleate.papers.core.item import Data

__all__ = [
    "VARIABLE",
    "drawn_heads",
    "eigenvalues",
    "run",
    "trained_eigenvalues",
    "trained_file",
    "trained_path",
]

VARIABLE = "NUCLEATE_ALBERT"  # of the environment: where the trained model is
HELP = f"Set {VARIABLE} to model.safetensors of albert-xlarge-v2 or to its folder, or unset it."


def drawn_heads(d: int, heads: int, std: float, seed: int) -> Array:
    """The small products W_V W_O (heads, d_head, d_head) with independent Gaussian entries, one head at a
    time."""
    d_head = d // heads
    small = np.empty((heads, d_head, d_head))
    with threadpool_limits(1, user_api="blas"):  # else the last bits depend on the machine's cores
        for h in range(heads):
            rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(h,)))
            small[h] = std**2 * rng.standard_normal((d_head, d)) @ rng.standard_normal((d, d_head))
    return small


def eigenvalues(small: Array) -> NDArray[np.complex128]:
    """The eigenvalues of each head (heads, d_head), the largest real part first."""
    with threadpool_limits(1, user_api="blas"):
        values = np.linalg.eigvals(small).astype(np.complex128)  # (heads, d_head)
    order = np.lexsort((-values.imag, -values.real), axis=-1)
    return np.take_along_axis(values, order, axis=-1)


def trained_path() -> Path | None:
    """The path in the environment, if there is one."""
    text = os.environ.get(VARIABLE, "").strip()
    return Path(text) if text else None


def trained_file() -> str:
    """What identifies the trained model's file: its name, size and time of change."""
    path = trained_path()
    file = path and (path / "model.safetensors" if path.is_dir() else path)
    return (
        f"{file.name} {file.stat().st_size} {file.stat().st_mtime_ns}"
        if file and file.is_file()
        else str(path)
    )


def trained_eigenvalues(path: Path, heads: int) -> NDArray[np.complex128]:
    """The same of a trained model's first layer, (heads, d_head), with the gain of the normalisation in front
    folded in."""
    from nucleate.models.spectra import spectra

    found = spectra(path, draws=1)
    if found.heads_per_layer != heads:
        raise InputError(
            f"{VARIABLE} is {path}, a model with {found.heads_per_layer} heads in a layer, but Figure 5 is"
            f" about {heads}. {HELP}"
        )
    return np.stack([head.eigenvalues for head in found.layer(0)])


def run(workspace: "ItemWorkspace") -> "Data":
    """The eigenvalues at initialisation, and those of the trained model if the environment names one."""
    p = workspace.parameters

    def drawn() -> "Dataset":
        return _spectra(eigenvalues(drawn_heads(p["d"], p["heads"], p["std"], p["seed"])))

    data = {"drawn": workspace.dataset("drawn", drawn)}
    if (path := trained_path()) is not None:
        # never from the disk: the file may have changed
        data["trained"] = _spectra(trained_eigenvalues(path, p["heads"]))
    return data


def _spectra(values: NDArray[np.complex128]) -> "Dataset":
    """Eigenvalues (heads, d_head) as a dataset."""
    import xarray

    return xarray.Dataset(
        {"real": (("head", "eigenvalue"), values.real), "imaginary": (("head", "eigenvalue"), values.imag)}
    )
