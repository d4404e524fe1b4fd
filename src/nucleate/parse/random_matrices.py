"""Q, K and V of a model that may differ between runs: one matrix, or drawn for each.

They are written in the grammar of `nucleate.parse.matrix`. A table {random = ...} is drawn anew for every
run, head and redrawn layer, from a stream of its own:

    gaussian     independent entries of standard deviation scale / sqrt(d)
    symmetric    scale (G + G^T) / sqrt(2 d) for independent standard Gaussian entries G
    orthogonal   scale times a uniformly random orthogonal matrix
    product      scale G H / d for two such G, H: as K^T Q of Gaussian K and Q
    uniform      independent entries in +- scale sqrt(3 / d)
    real         real eigenvalues, the largest `top` of the given multiplicity (0: all d of them), the others
                 uniform on [top - gap - spread, top - gap], eigenvectors uniformly random: orthogonal, or
                 with oblique = true not
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from nucleate.checks import Array, InputError, check_memory, whole_number
from nucleate.parse.matrix import Matrix, as_array, from_text, name_and_seed, parse_matrix
from nucleate.parse.named_matrices import check_named
from nucleate.parse.validate import a_text, a_truth, known_keys, number, one_of

__all__ = ["RANDOM", "Spec", "check_spec", "drawn", "label", "matrix", "matrix_or_random"]

Spec = float | str | list[Any] | dict[str, Any]  # plain data, as it is stored
Draw = Callable[[np.random.Generator, int, dict[str, Any]], Array]

OBLIQUENESS = 0.5  # oblique eigenvectors are the columns of I + OBLIQUENESS G / sqrt(d) for a Gaussian G
BYTES_PER_LISTED_NUMBER = 40  # in a list of Python


def matrix(where: str, value: Any) -> Spec:
    """`value` in its plain form."""
    found = matrix_or_random(where, value)
    if not isinstance(found, np.ndarray):
        return found
    if found.ndim > 2:
        raise InputError(f"{where} must be one matrix for all runs, but has shape {found.shape}.")
    check_memory(BYTES_PER_LISTED_NUMBER * found.size, f"{where} of shape {found.shape}")
    return found.tolist()


def matrix_or_random(where: str, value: Any) -> Matrix | dict[str, Any]:
    """What `value` stands for: a matrix, or a table {random = ...} with its defaults written out."""
    value = from_text(where, value)
    if isinstance(value, Mapping) and "random" in value:
        return _random(where, value)
    return parse_matrix(where, value)


def check_spec(name: str, spec: Spec, d: int) -> None:
    """Refuse a matrix that has no meaning in dimension d."""
    if isinstance(spec, str):
        check_named(name_and_seed(spec)[0], d)
    elif isinstance(spec, list) and len(spec) != d:
        raise InputError(
            f"{name} acts on dimension {len(spec)}, but d is {d}. Both must be the same at every point of the"
            " grid."
        )


def label(spec: Spec) -> str:
    """A matrix in a few words."""
    if isinstance(spec, str):
        return spec
    if isinstance(spec, float):
        return {1.0: "identity", -1.0: "-identity"}.get(spec, f"{spec:g}*identity")
    if isinstance(spec, list):
        return (
            f"diag({', '.join(f'{entry:g}' for entry in spec)})"
            if not isinstance(spec[0], list)
            else str(spec)
        )
    words = ", ".join(f"{key} = {value}" for key, value in spec.items() if key not in ("name", "random"))
    return str(spec.get("name") or (f"random {spec['random']}, {words}" if "random" in spec else words))


def drawn(spec: Spec | Matrix, d: int, each: Iterable[np.random.SeedSequence]) -> Array | None:
    """The matrix (d, d), or one per stream (b, d, d) if it is random; None for the identity."""
    if isinstance(spec, dict):
        streams = list(each)
        check_memory(16.0 * len(streams) * d * d, f"{len(streams)} random matrices of dimension {d}")
        _, draw = RANDOM[spec["random"]]
        return np.stack([draw(np.random.default_rng(stream), d, spec) for stream in streams])  # (b, d, d)
    return as_array(np.asarray(spec) if isinstance(spec, list) else spec, d)


def _random(where: str, table: Mapping[str, Any]) -> dict[str, Any]:
    kind = one_of(f"{where}.random", table.get("random"), RANDOM)
    parameters, _ = RANDOM[kind]
    known_keys(table, ["random", "name", *parameters], where)
    plain: dict[str, Any] = {"random": kind}
    for key, (check, default) in parameters.items():
        plain[key] = check(f"{where}.{key}", table.get(key, default))
    return plain | ({"name": a_text(f"{where}.name", table["name"])} if "name" in table else {})


def _gaussian(rng: np.random.Generator, d: int, spec: dict[str, Any]) -> Array:
    return np.asarray(spec["scale"] * rng.standard_normal((d, d)) / np.sqrt(d))


def _symmetric(rng: np.random.Generator, d: int, spec: dict[str, Any]) -> Array:
    G = rng.standard_normal((d, d))
    return np.asarray(spec["scale"] * ((G + G.T) / np.sqrt(2.0 * d)))


def _product(rng: np.random.Generator, d: int, spec: dict[str, Any]) -> Array:
    G, H = rng.standard_normal((2, d, d))
    # not G @ H, whose last bits depend on the machine's cores
    return np.asarray(spec["scale"] * (np.einsum("ij,jk->ik", G, H) / d))


def _uniform(rng: np.random.Generator, d: int, spec: dict[str, Any]) -> Array:
    return np.asarray(spec["scale"] * (rng.uniform(-1.0, 1.0, (d, d)) * np.sqrt(3.0 / d)))


def _orthogonal(rng: np.random.Generator, d: int, spec: dict[str, Any]) -> Array:
    return np.asarray(spec["scale"] * _rotation(rng, d))


def _real(rng: np.random.Generator, d: int, spec: dict[str, Any]) -> Array:
    many = min(spec["multiplicity"] or d, d)
    values = np.full(d, spec["top"])  # (d,)
    values[many:] -= spec["gap"] + spec["spread"] * rng.random(d - many)
    U = _rotation(rng, d)  # (d, d)
    if not spec["oblique"]:
        return np.asarray((U * values) @ U.T)
    B = U @ (
        np.eye(d) + OBLIQUENESS * rng.standard_normal((d, d)) / np.sqrt(d)
    )  # (d, d) eigenvectors as columns
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
    "symmetric": ({"scale": (number, 1.0)}, _symmetric),
    "product": ({"scale": (number, 1.0)}, _product),
    "orthogonal": ({"scale": (number, 1.0)}, _orthogonal),
    "uniform": ({"scale": (number, 1.0)}, _uniform),
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
