"""Table 1 of the paper in words: which row a matrix belongs to, whether that row is a theorem, and how fast
the first token gets there.

Only the first row is a theorem.  lambda_max is the largest real part; multiplicity means a real and
semisimple one.
"""

from typing import Literal

import numpy as np

from nucleate.attention import Attention, Window
from nucleate.checks import Array
from nucleate.theory.spectrum import Schur, all_real_and_distinct

__all__ = ["OTHER_MODEL", "TABLE_1", "Status", "hypotheses", "other_model", "rate", "row_of"]

Status = Literal["theorem", "conjecture", "outside the table"]

TABLE_1 = {
    1: "lambda_max > 0, multiplicity d: every token ends at the first one, x_1(0)",
    2: "lambda_max > 0, multiplicity 2 or more: every token ends at one point of L",
    3: "lambda_max > 0, multiplicity 1: the tokens end at two points, xi and -xi",
    4: "lambda_max < 0, multiplicity 2 or more: the tokens end as a cloud around L",
    5: "lambda_max < 0, multiplicity 1: the tokens end as two clouds, around xi and -xi",
}
OTHER_MODEL = "outside the table: Table 1 is about causal attention without frozen tokens"


def other_model(model: Attention, n: int) -> str | None:
    """What n tokens under this model have that Table 1 does not speak of, in words; None if nothing."""
    if model.weights != "softmax":
        return f"here the weights are {model.weights}"
    if model.position is not None:
        return "here places in the sequence count"
    if model.mask == "full":
        return "here every token sees all others"
    if isinstance(model.mask, Window) and model.mask.w < n:  # a window of n is the causal mask
        return (
            "here a token sees"
            f" {'only itself' if model.mask.w == 1 else f'only the last {model.mask.w}, itself counted'}"
        )
    return None if model.frozen is None else "here frozen tokens are seen by all"


def row_of(d: int, kind: str, sign: int, multiplicity: int) -> tuple[int | None, str, Status]:
    """The row of Table 1, its words, and whether it is a theorem or a conjecture."""
    reasons = (["lambda_max is 0"] if sign == 0 else []) + (
        [] if kind == "real" else [f"the dominant eigenvalue is {kind}"]
    )
    if reasons:
        return None, f"outside the table: {' and '.join(reasons)}", "outside the table"
    several = multiplicity > 1
    row = (1 if multiplicity == d else 2 if several else 3) if sign > 0 else (4 if several else 5)
    return row, TABLE_1[row], "theorem" if row == 1 else "conjecture"


def hypotheses(row: int | None, V: Array, schur: Schur, lambda_max: float, basis: Array) -> tuple[bool, str]:
    """Whether V meets what the theorem or conjecture behind its row asks for, and in words."""
    if row == 1:
        return (
            True,
            "V = lambda I, as Theorem 4.1 asks: any Q and K, almost every start (lambda only sets the speed)",
        )
    if row == 2:
        return _conjecture_2(V, schur.reach, lambda_max, basis)
    if row == 3:
        return _conjecture_1(schur)
    return (
        False,
        (
            "neither conjecture speaks of such V"
            if row is None
            else "Table 1 only; neither conjecture speaks of lambda_max < 0"
        ),
    )


def _conjecture_1(schur: Schur) -> tuple[bool, str]:
    """V diagonalisable with d distinct positive real eigenvalues."""
    if (schur.eigenvalues.real <= schur.reach).any():
        return False, "not within Conjecture 1, which asks for positive eigenvalues: some are not"
    if not all_real_and_distinct(schur):
        return (
            False,
            "not within Conjecture 1, which asks for distinct real eigenvalues: some are equal or complex",
        )
    return (
        True,
        (
            "within Conjecture 1: distinct positive real eigenvalues (true for symmetric V and Q = K = I,"
            " else not always)"
        ),
    )


def _conjecture_2(V: Array, reach: float, lambda_max: float, basis: Array) -> tuple[bool, str]:
    """V keeps the orthogonal complement of L, and <V z, z> < lambda_max |z|^2 there."""
    k = basis.shape[1]
    other = np.linalg.qr(basis, mode="complete")[0][:, k:]  # (d, d - k)
    if np.linalg.norm(basis.T @ V @ other) > reach:
        return (
            False,
            "not within Conjecture 2, which asks that V keep the orthogonal complement of L: it does not",
        )
    C = other.T @ V @ other  # (d - k, d - k)
    if np.linalg.eigvalsh((C + C.T) / 2.0)[-1] >= lambda_max - reach:
        return (
            False,
            (
                "not within Conjecture 2, which asks for <Vz, z> < lambda_max |z|^2 on the orthogonal"
                " complement of L: some z has more"
            ),
        )
    return (
        True,
        "within Conjecture 2: V keeps the orthogonal complement of L, and <Vz, z> < lambda_max |z|^2 there",
    )


def rate(gap: float, block: int, turning: list[float]) -> str:
    """What Lemma 3.1 says of the first token, for almost every start; `turning`: imaginary parts of the
    eigenvalues that L belongs to."""
    whole, speeds = not np.isfinite(gap), [f"{speed:.4g}" for speed in turning if speed > 0.0]
    if whole and block == 1 and not speeds:
        return "stays where it starts: V is a multiple of the identity"
    wide = "L' is the whole space" if whole else f"comes near L' like e^(-{gap:.4g} t)"
    if block > 1:
        near = f"{wide}; comes near L like 1/t" if whole else f"{wide}, and near L like 1/t"
    else:
        near = f"{wide}, and so is L" if whole else f"{wide}, and L' is L"
    end = (
        f"turns there for ever, at angular speed {', '.join(speeds)}, and converges to no point"
        if speeds
        else "converges to a point"
    )
    return f"{near}; {end}"
