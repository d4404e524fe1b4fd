"""The arrays that the causal solver needs from dimension VECTORS_FROM on, beside those it always has.

Places and increments of slots lie in blocks of BLOCK slots, coordinate after coordinate, so that a block that
was looked at for its weights is still near when it is summed.  Vectors are padded by zeros to whole ones of
eight lanes.
"""

from typing import NamedTuple

import numpy as np

from nucleate.checks import Array
from nucleate.integrate.blocked_lu import matrix_shape
from nucleate.kernels.pairwise import Pairwise
from nucleate.kernels.panels import GROUP, VECTORS, panel_width, panels_of
from nucleate.kernels.simd import LANES

__all__ = ["BLOCK", "PANEL", "VectorArrays", "new_vector_arrays", "vector_memory"]

BLOCK = 2 * LANES  # slots that are looked at together
PANEL = VECTORS * LANES  # coordinates in a panel of a product
VECTOR_NAMES = ("x", "mirror", "score", "mean", "y", "y_score", "drift", "moment")
CHART_NAMES = ("v", "u", "force", "force_at_origin")
MATRIX_NAMES = ("transpose", "factors", "inverse")


class VectorArrays(NamedTuple):
    """What this layout needs beside the rest of `CausalState`.  D is d padded to whole vectors, d' and S' are
    d and S padded to whole groups of rows; matrices of d - 1 rows are padded as `matrix_shape` says."""

    # of the slots
    blocks: Array  # (width / BLOCK, d BLOCK) places
    panels: Array  # (width D,) places, slot after slot, in panels of coordinates
    # of the model
    A_columns: Array  # (d, D) A^T; A z is a sum of its rows
    V_columns: Array  # (d, D)
    A_panels: Array  # (d D,) of A
    V_rows: Array  # (d', d) V
    V_panels: Array  # (d D,) of V^T
    # of the token at work, towards the slots
    offset_rows: Array  # (d', width) w_kj (x_j - x_k)
    offset_panels: Array  # (width D,) x_j - x_k, later x_j - x_k - D
    turned: Array  # (S', width) p_kj <A x_k, U_j>, for every substep
    # of the token at work
    images: Array  # (S', D) sum_j p_kj ((x_j - x_k - D) <A x_k, U_j> + U_j)
    from_others: Array  # (S', D) sum_j J_kj u_j in the chart
    sums: Array  # (d, 8) scratch
    in_chart: Array  # (D,), like all that follow unless said: 1 in the first d - 1 places, else 0
    x: Array  # x_k
    mirror: Array  # the reflection is 1 - mirror x^T
    score: Array  # A x_k
    mean: Array  # D_k
    y: Array  # the place in a substep
    y_score: Array  # A y
    drift: Array  # f_k there
    moment: Array  # scratch
    v: Array  # (D + 8,) the place in the chart
    u: Array  # (D + 8,) the increment
    force: Array  # (D + 8,)
    force_at_origin: Array  # (D + 8,)
    covariance: Array  # (d', D)
    product: Array  # (d' D,) scratch, in panels
    matrix: Array  # (d', D) scratch
    transpose: Array  # J_kk^T, a padded matrix
    factors: Array  # a padded matrix
    inverse: Array  # a padded matrix, scratch
    panel: Array  # (8 PANEL,) scratch
    V_norm: float  # Frobenius'


def new_vector_arrays(system: Pairwise, substeps: int, places: Array) -> VectorArrays:
    """Room for one run with the slots at places (d, width)."""
    d, width = places.shape
    D, rows, sums = panel_width(d), -(-d // GROUP) * GROUP, -(-substeps // GROUP) * GROUP
    with np.errstate(over="ignore"):  # told by the status of the run
        V_norm = abs(system.scale) if system.scalar else float(np.linalg.norm(system.V))
    A, V, V_rows = system.A, system.V, np.zeros((rows, d))
    V_rows[:d] = V
    vectors = {name: np.zeros(D) for name in VECTOR_NAMES}
    padded = {name: np.zeros(D + LANES) for name in CHART_NAMES}
    matrices = {name: np.zeros(matrix_shape(d - 1)) for name in MATRIX_NAMES}
    return VectorArrays(
        blocks=places.reshape(d, -1, BLOCK).transpose(1, 0, 2).reshape(-1, d * BLOCK).copy(),
        panels=panels_of(places.T),
        A_columns=_padded(A.T, D),
        V_columns=_padded(V.T, D),
        A_panels=panels_of(A),
        V_rows=V_rows,
        V_panels=panels_of(V.T),
        offset_rows=np.zeros((rows, width)),
        offset_panels=np.zeros(width * D),
        turned=np.zeros((sums, width)),
        images=np.zeros((sums, D)),
        from_others=np.zeros((sums, D)),
        sums=np.zeros((d, LANES)),
        covariance=np.zeros((rows, D)),
        product=np.zeros(rows * D),
        matrix=np.zeros((rows, D)),
        panel=np.zeros(LANES * PANEL),
        V_norm=V_norm,
        in_chart=(np.arange(D) < d - 1).astype(float),
        **vectors,
        **padded,
        **matrices,
    )


def _padded(matrix: Array, columns: int) -> Array:
    """The matrix with columns of zeros behind it."""
    wide = np.zeros((len(matrix), columns))
    wide[:, : matrix.shape[1]] = matrix
    return wide


def vector_memory(d: int, substeps: int, width: int) -> float:
    """Numbers that `new_vector_arrays` holds at most."""
    D, sums = d + LANES, substeps + GROUP
    return width * (4.0 * D + sums) + 2.0 * sums * D + 12.0 * (D + BLOCK) ** 2
