"""The atlas of V: where all tokens end, by the dominant eigenvalues of V, those with the largest real part
(paper, Lemma 3.1, Table 1, Conjectures 1 and 2)."""

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nucleate.checks import Array, InputError, check_tokens, finite_array, finite_number, shortened
from nucleate.conveniences import convenience
from nucleate.theory.spectrum import Group, Schur, dominant_groups, isolate, schur_form
from nucleate.theory.table import Status, hypotheses, rate, row_of

__all__ = ["Atlas", "atlas", "limit_point"]

# a million times rounding: room for V = S D S^-1 with |S| |S^-1| up to a thousand or so
DEFAULT_TOLERANCE = 1e-10
LARGEST_ENTRY = 1e300
# from this d on one thread of BLAS is faster: the many small steps of the Schur form make threads wait for
# each other
ONE_THREAD_FROM_D = 128


Kind = Literal["real", "complex", "defective", "complex defective"]


@dataclass(frozen=True, eq=False, repr=False)
class Atlas:
    """What is known of the tokens' final configuration from V alone.  `print` it to read it."""

    V: Array  # (d, d)
    tol: float  # V is taken as known up to tol |V|
    eigenvalues: NDArray[np.complex128]  # (d,) the largest real part first
    lambda_max: float  # the largest real part
    # the eigenvalues that have it, each once, those with negative imaginary part left out
    dominant: tuple[complex, ...]
    kind: Kind  # of these
    algebraic: int  # their multiplicity: dim L'
    geometric: int  # their eigenvectors
    block: int  # nu, the size of the largest Jordan block there
    basis: Array  # (d, dim L) orthonormal, of L
    basis_prime: Array  # (d, dim L') orthonormal, of L'
    # (d, dim L'): basis_prime @ dual.T is the spectral projection onto L', along the rest of the spectrum
    dual: Array
    gap: float  # from lambda_max to the next real part; inf if there is none
    row: int | None  # of Table 1
    final: str  # that row in words, or why there is none
    status: Status  # of that row
    within_conjecture: bool  # whether V meets what the theorem or conjecture asks for
    why: str  # in words
    rate: str  # how the first token gets there (Lemma 3.1)

    def __str__(self) -> str:
        d, k = self.basis.shape
        dominant = ", ".join(
            f"{z.real:.6g}" if z.imag == 0.0 else f"{z.real:.6g} ± {z.imag:.6g}i" for z in self.dominant
        )
        known = f"row {self.row} of Table 1 ({self.status}): " if self.row else ""
        return "\n".join(
            [
                f"V, {d} x {d}, taken as known to {self.tol:g} |V|",
                (
                    f"dominant eigenvalue  {dominant}; {self.kind}; multiplicity {self.algebraic} algebraic,"
                    f" {self.geometric} geometric"
                ),
                f"L                    dimension {k} of {d}"
                + (f", spanned by {_vector(self.basis[:, 0])}" if k == 1 and d <= 8 else ""),
                f"final configuration  {known}{self.final}",
                f"hypotheses           {self.why}",
                f"first token          {self.rate}",
            ]
        )

    def _repr_html_(self) -> str:
        return convenience("Atlas, in a notebook")(self)

    def __repr__(self) -> str:
        return (
            f"Atlas(lambda_max={self.lambda_max:g}, {self.kind}, multiplicity"
            f" {self.algebraic}/{self.geometric}, {self.status}, row={self.row})"
        )


def atlas(V: ArrayLike, tol: float = DEFAULT_TOLERANCE) -> Atlas:
    """What V says about where the tokens end: its dominant eigenvalues, the spaces L and L', the row of Table
    1, theorem or conjecture.

    tol   V is taken as known up to tol |V| (Frobenius norm).  Eigenvalues, real parts and ranks that such a
          change could make equal count as equal; an eigenvalue of multiplicity k then needs a distance of
          about tol^(1/k) |V| from others to be told from them.
    """
    V, tol = _checked(V), finite_number("tol", tol, least=0.0, help="It is a relative size, such as 1e-10.")
    if tol > 0.01:
        raise InputError(
            f"tol must be at most 0.01, but is {tol:g}. With more, hardly any two eigenvalues would be"
            " different."
        )
    import scipy.linalg  # noqa: F401  # brings a BLAS of its own, which must be there before it can be held to one thread
    from threadpoolctl import threadpool_limits

    # a power of two: scaling by it changes no digit
    unit = 2.0 ** np.ceil(np.log2(np.abs(V).max())) if V.any() else 1.0
    with threadpool_limits(1, user_api="blas") if len(V) >= ONE_THREAD_FROM_D else nullcontext():
        schur = schur_form(V / unit, tol)
        dominant = dominant_groups(schur)
        spaces = _spaces(schur, dominant)
        return _named(V, unit, tol, schur, dominant, spaces)


def limit_point(atlas: Atlas, x1: ArrayLike) -> Array:
    """Where the first token ends if it starts at x1 (d,): the normalised spectral projection onto L' and, if
    that is defective, on to L.

    In rows 1 and 2 of Table 1 every token ends there.  Lemma 3.1: e^{tV} x grows like t^{nu-1} e^{lambda t}
    (V - lambda)^{nu-1} P x, nu the size of the largest Jordan block, P the spectral projection onto L'.
    """
    if not isinstance(atlas, Atlas):
        raise InputError(
            f"atlas must be what nucleate.atlas gives, but is {shortened(atlas)}. Make one:"
            " nucleate.atlas(V)."
        )
    x = check_tokens("x1", np.atleast_2d(finite_array("x1", x1)))
    d = len(atlas.V)
    if x.shape != (1, d):
        raise InputError(
            f"x1 must have shape ({d},), as V is {d} x {d}, but has shape {np.shape(x1)}. It is one token."
        )
    if "complex" in atlas.kind:
        raise InputError(
            f"limit_point needs a real dominant eigenvalue, but that of V is {atlas.kind}. Follow the token:"
            " nucleate.theory.flows.one_token."
        )
    y = atlas.basis_prime @ (atlas.dual.T @ x[0])  # (d,)
    unit = max(float(np.abs(atlas.V).max()), np.finfo(float).tiny)
    for _ in range(atlas.block - 1):
        y = (atlas.V / unit) @ y - atlas.lambda_max / unit * y
    length = float(np.linalg.norm(y))
    if length <= atlas.tol * np.linalg.norm(atlas.dual):
        raise InputError(
            f"x1 must have a part in L, but its projection has length {length:.3g}. From there the first"
            " token ends elsewhere."
        )
    return np.asarray(y / length)


def _checked(V: ArrayLike) -> Array:
    V = finite_array("V", V).copy()
    if V.ndim != 2 or V.shape[0] != V.shape[1]:
        raise InputError(
            f"V must be a square matrix (d, d), but has shape {V.shape}. For several, call atlas once for"
            " each."
        )
    if len(V) < 2:
        raise InputError(
            f"V must be at least 2 x 2, but has shape {V.shape}. Tokens on two points cannot move."
        )
    if np.abs(V).max() > LARGEST_ENTRY:
        raise InputError(
            f"V must have entries below {LARGEST_ENTRY:g}, but one is {np.abs(V).max():g}. Scale it down:"
            " only the speed changes."
        )
    V.flags.writeable = False
    return V


def _spaces(schur: Schur, dominant: list[Group]) -> tuple[Array, Array, Array]:
    """Orthonormal bases of L (d, k) and of L' (d, k'), and the dual basis of L' (d, k').

    With T = (A B; 0 C), A the dominant part, the rows (1 R) U^T are left invariant if A R - R C = B: the
    projection along the rest of the spectrum.
    """
    from scipy.linalg.lapack import dtrsyl

    members = np.concatenate([group.members for group in dominant])
    k = len(members)
    ordered = _first(schur, members)
    wide, other = ordered.U[:, :k], ordered.U[:, k:]  # (d, k'), (d, d - k')
    dual = wide
    if other.size:
        R, scale, _ = dtrsyl(ordered.T[:k, :k], ordered.T[k:, k:], ordered.T[:k, k:], isgn=-1)
        dual = wide + other @ (R / scale).T
    longest = max(len(group.steps) for group in dominant)
    if longest == 1:
        return wide, wide, dual
    reached = [_range(schur, group) for group in dominant if len(group.steps) == longest]
    return np.linalg.qr(np.concatenate(reached, axis=1))[0], wide, dual


def _range(schur: Schur, group: Group) -> Array:
    """Orthonormal columns that span the range of (V - lambda)^{nu-1} on the generalised eigenvectors of one
    group; real and imaginary parts."""
    ordered, m = _first(schur, group.members), len(group.members)
    # (m, m)
    A, r, lam = ordered.T[:m, :m], len(group.steps), group.value if group.twice == 2 else group.value.real
    power = np.linalg.matrix_power(A - lam * np.eye(m), r - 1)  # (m, m)
    if group.twice == 2:  # the same on the conjugate's half is not nilpotent: take that half away
        power = power @ np.linalg.matrix_power((A - np.conj(lam) * np.eye(m)) / (2.0 * group.value.imag), r)
    left = np.linalg.svd(power)[0][:, : group.steps[-1]]  # (m, blocks of full size)
    real = np.concatenate([left.real, left.imag], axis=1) if group.twice == 2 else left
    return np.asarray(ordered.U[:, :m] @ np.linalg.qr(real)[0])


def _first(schur: Schur, members: NDArray[np.int64]) -> Schur:
    ordered = isolate(schur, members)
    if ordered is None:
        raise InputError(
            "V must have dominant eigenvalues that can be told from the others, but rounding mixes them. Give"
            " a larger tol."
        )
    return ordered


def _named(
    V: Array,
    unit: float,
    tol: float,
    schur: Schur,
    dominant: list[Group],
    spaces: tuple[Array, Array, Array],
) -> Atlas:
    """The record, in V's own units."""
    w, lambda_max = schur.eigenvalues, max(group.value.real for group in dominant)  # in units of `unit`
    others = np.ones(len(w), dtype=bool)  # (d,) eigenvalues that are not dominant
    others[np.concatenate([group.members for group in dominant])] = False
    turns, block = any(group.twice == 2 for group in dominant), max(len(group.steps) for group in dominant)
    kind: Kind = (
        ("complex defective" if block > 1 else "complex") if turns else ("defective" if block > 1 else "real")
    )
    gap = float(lambda_max - w[others].real.max()) if others.any() else np.inf
    algebraic = int((~others).sum())
    sign = 0 if abs(lambda_max) <= schur.reach else int(np.sign(lambda_max))
    row, final, status = row_of(len(V), kind, sign, algebraic)
    within, why = hypotheses(row, V / unit, schur, lambda_max, spaces[0])
    return Atlas(
        V=V,
        tol=tol,
        eigenvalues=w[np.lexsort((-w.imag, -w.real))] * unit,
        lambda_max=float(lambda_max * unit),
        dominant=tuple(complex(group.value * unit) for group in dominant),
        kind=kind,
        algebraic=algebraic,
        geometric=sum(group.twice * group.steps[0] for group in dominant),
        block=block,
        basis=spaces[0],
        basis_prime=spaces[1],
        dual=spaces[2],
        gap=gap * unit,
        row=row,
        final=final,
        status=status,
        within_conjecture=within,
        why=why,
        rate=rate(
            gap * unit, block, [group.value.imag * unit for group in dominant if len(group.steps) == block]
        ),
    )


def _vector(v: Array) -> str:
    return "(" + ", ".join(f"{c + 0.0:.4g}" for c in v.round(12)) + ")"
