"""Q, K and V of a study: the same for every run, or drawn for each.

A matrix is a number c (c times the identity), a text ("identity", "-identity", "0.5*identity"), a list (a
diagonal), a list of rows, or a table {random = ...}, drawn anew for every run from a stream of its own:

    gaussian     independent entries of standard deviation scale / sqrt(d)
    orthogonal   scale times a uniformly random orthogonal matrix
    real         real eigenvalues, the largest `top` of the given multiplicity (0: all d of them), the others
                 uniform on [top - gap - spread, top - gap], eigenvectors uniformly random: orthogonal, or
                 with oblique = true not
"""

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from nucleate.checks import Array, InputError, finite_array, finite_number, whole_number
from nucleate.studies.validate import a_table, a_text, a_truth, known_keys, number, one_of, refuse

__all__ = ["Spec", "drawn", "is_random", "label", "matrix", "size"]

Spec = float | list[Any] | dict[str, Any]  # plain data, as it is stored
Draw = Callable[[np.random.Generator, int, dict[str, Any]], Array]

LEAN = 0.5  # how far oblique eigenvectors lean: I + LEAN G / sqrt(d) for a Gaussian G


def matrix(where: str, value: Any) -> Spec:
    """`value` in its plain form."""
    if isinstance(value, str):
        if not (found := re.fullmatch(r"\s*(-|[^*]*\*)?\s*identity\s*", value)):
            refuse(
                where,
                '"identity", "-identity", "0.5*identity", a number, a list, a list of rows or {random = ...}',
                value,
            )
        factor = (found[1] or "1").rstrip("*").strip()
        return finite_number(where, "-1" if factor == "-" else factor)
    if isinstance(value, dict):
        return _random(where, value)
    if isinstance(value, bool):
        refuse(where, "a matrix", value)
    array = finite_array(where, value)
    if array.ndim == 0:
        return float(array)
    if array.size == 0 or array.ndim > 2 or (array.ndim == 2 and array.shape[0] != array.shape[1]):
        raise InputError(
            f"{where} must be a diagonal (a list) or square (a list of rows), but has shape {array.shape}."
        )
    return array.tolist()


def is_random(spec: Spec) -> bool:
    """Whether every run has its own."""
    return isinstance(spec, dict)


def size(spec: Spec) -> int | None:
    """The dimension a matrix asks for; None where any will do."""
    return len(spec) if isinstance(spec, list) else None


def label(spec: Spec) -> str:
    """A matrix in a few words."""
    if isinstance(spec, float):
        return {1.0: "identity", -1.0: "-identity"}.get(spec, f"{spec:g}*identity")
    if isinstance(spec, list):
        return (
            f"diag({', '.join(f'{entry:g}' for entry in spec)})"
            if not isinstance(spec[0], list)
            else str(spec)
        )
    words = ", ".join(f"{key} = {value}" for key, value in spec.items() if key not in ("name", "random"))
    return str(spec.get("name") or f"random {spec['random']}, {words}")


def drawn(spec: Spec, d: int, streams: list[np.random.SeedSequence]) -> Array | None:
    """The matrix (d, d), or one per stream (b, d, d) if it is random; None for the identity."""
    if isinstance(spec, dict):
        _, draw = RANDOM[spec["random"]]
        return np.stack([draw(np.random.default_rng(stream), d, spec) for stream in streams])  # (b, d, d)
    if isinstance(spec, float):
        return None if spec == 1.0 else spec * np.eye(d)
    array = np.asarray(spec)
    return np.diag(array) if array.ndim == 1 else array


def _random(where: str, table: dict[str, Any]) -> dict[str, Any]:
    kind = one_of(f"{where}.random", a_table(where, table).get("random"), RANDOM)
    parameters, _ = RANDOM[kind]
    known_keys(table, ["random", "name", *parameters], where)
    plain: dict[str, Any] = {"random": kind}
    for key, (check, default) in parameters.items():
        plain[key] = check(f"{where}.{key}", table.get(key, default))
    return plain | ({"name": a_text(f"{where}.name", table["name"])} if "name" in table else {})


def _gaussian(rng: np.random.Generator, d: int, spec: dict[str, Any]) -> Array:
    return np.asarray(spec["scale"] * rng.standard_normal((d, d)) / np.sqrt(d))


def _orthogonal(rng: np.random.Generator, d: int, spec: dict[str, Any]) -> Array:
    return np.asarray(spec["scale"] * _rotation(rng, d))


def _real(rng: np.random.Generator, d: int, spec: dict[str, Any]) -> Array:
    many = min(spec["multiplicity"] or d, d)
    values = np.full(d, spec["top"])  # (d,)
    values[many:] -= spec["gap"] + spec["spread"] * rng.random(d - many)
    U = _rotation(rng, d)  # (d, d)
    if not spec["oblique"]:
        return np.asarray((U * values) @ U.T)
    B = U @ (np.eye(d) + LEAN * rng.standard_normal((d, d)) / np.sqrt(d))  # (d, d) eigenvectors as columns
    return np.asarray(np.linalg.solve(B.T, (B * values).T).T)  # B diag(values) B^-1


def _rotation(rng: np.random.Generator, d: int) -> Array:
    """A uniformly random orthogonal matrix: QR of a Gaussian one, signs so that R has a positive diagonal."""
    Q, R = np.linalg.qr(rng.standard_normal((d, d)))
    return np.asarray(Q * np.where(np.diagonal(R) < 0, -1.0, 1.0))


def _positive(where: str, value: Any) -> float:
    return number(where, value, least=0.0)


def _count(where: str, value: Any) -> int:
    return whole_number(where, value, least=0)


RANDOM: dict[str, tuple[dict[str, tuple[Callable[[str, Any], Any], Any]], Draw]] = {
    "gaussian": ({"scale": (number, 1.0)}, _gaussian),
    "orthogonal": ({"scale": (number, 1.0)}, _orthogonal),
    "real": (
        {
            "top": (number, 1.0),
            "multiplicity": (_count, 1),
            "gap": (_positive, 0.2),
            "spread": (_positive, 1.0),
            "oblique": (a_truth, False),
        },
        _real,
    ),
}
