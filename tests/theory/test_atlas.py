"""The atlas of V: matrices made from known spectra, thousands of them, and what is read off them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.linalg import block_diag, expm, orth

import nucleate as nc
from nucleate.checks import Array, InputError
from nucleate.sphere import distance, uniform
from nucleate.theory.atlas import Atlas, atlas, limit_point
from nucleate.theory.flows import one_token
from nucleate.theory.table import other_model

MATRICES = 1000  # of each class
Block = tuple[complex, int]  # an eigenvalue (of a conjugate pair, one) and the size of its Jordan block


def jordan(value: complex, size: int) -> Array:
    """The real Jordan block: (size, size), or (2 size, 2 size) for a pair."""
    if value.imag == 0.0:
        return value.real * np.eye(size) + np.eye(size, k=1)
    turn = np.array([[value.real, -value.imag], [value.imag, value.real]])
    return np.kron(np.eye(size), turn) + np.kron(np.eye(size, k=1), np.eye(2))


def width(block: Block) -> int:
    return block[1] * (2 if block[0].imag else 1)


@dataclass(frozen=True)
class Made:
    """A matrix with known Jordan blocks: V = S J S^-1; the dominant blocks come first."""

    V: Array
    S: Array
    blocks: Sequence[Block]
    count: int  # how many of the blocks are dominant

    @property
    def wide(self) -> Array:
        """Columns that span L'."""
        return self.S[:, : sum(width(block) for block in self.blocks[: self.count])]

    @property
    def narrow(self) -> Array:
        """Columns that span L: the first vector, or pair, of every dominant block of the largest size."""
        longest = max(size for _, size in self.blocks[: self.count])
        start, columns = 0, []
        for value, size in self.blocks[: self.count]:
            if size == longest:
                columns += [start, start + 1] if value.imag else [start]
            start += width((value, size))
        return self.S[:, columns]


def similarity(rng: np.random.Generator, d: int) -> Array:
    """Orthogonal, or one with condition up to 30."""
    left, right = (np.linalg.qr(rng.standard_normal((d, d)))[0] for _ in range(2))
    return (
        left if rng.random() < 0.3 else left @ np.diag(np.geomspace(1.0, rng.uniform(1.0, 30.0), d)) @ right
    )


def make(rng: np.random.Generator, dominant: Sequence[Block], d: int) -> Made:
    """V with these dominant blocks, and random ones whose real parts are less by 0.1 at least."""
    lambda_max, blocks = max(value.real for value, _ in dominant), list(dominant)
    while (left := d - sum(width(block) for block in blocks)) > 0:
        value = complex(
            lambda_max - rng.uniform(0.1, 3.0),
            rng.uniform(0.2, 3.0) if left > 1 and rng.random() < 0.4 else 0.0,
        )
        size = 2 if rng.random() < 0.2 and left >= width((value, 2)) else 1
        blocks.append((value, size))
    S = similarity(rng, d)
    return Made(
        S @ block_diag(*(jordan(*block) for block in blocks)) @ np.linalg.inv(S), S, blocks, len(dominant)
    )


def positive(rng: np.random.Generator) -> float:
    return float(rng.uniform(0.1, 3.0))


def real_simple(rng: np.random.Generator) -> Made:
    return make(rng, [(positive(rng) + 0j, 1)], int(rng.integers(2, 9)))


def real_multiple(rng: np.random.Generator) -> Made:
    d = int(rng.integers(2, 9))
    return make(rng, [(complex(positive(rng)), 1)] * int(rng.integers(2, d + 1)), d)


def complex_pair(rng: np.random.Generator) -> Made:
    """One pair; or several with the same real part, a real one perhaps among them; or the same pair twice."""
    d, a = int(rng.integers(2, 9)), rng.uniform(-3.0, 3.0)
    pairs = int(rng.integers(1, d // 2 + 1))
    turns = rng.uniform(0.2, 3.0) + 0.3 * rng.integers(0, 3, size=pairs)  # equal ones now and then
    lone = [(complex(a), 1)] if d > 2 * pairs and rng.random() < 0.3 else []
    return make(rng, [*((complex(a, turn), 1) for turn in turns), *lone], d)


def defective(rng: np.random.Generator) -> Made:
    """Blocks of several sizes at one real value, or at one pair."""
    d = int(rng.integers(2, 9))
    value = complex(rng.uniform(-3.0, 3.0), rng.uniform(0.5, 3.0) if d >= 4 and rng.random() < 0.3 else 0.0)
    unit = 2 if value.imag else 1
    sizes = [int(rng.integers(2, d // unit + 1))]
    while (left := d // unit - sum(sizes)) > 0 and rng.random() < 0.5:
        sizes.append(int(rng.integers(1, left + 1)))
    return make(rng, [(value, size) for size in sizes], d)


def mixed(rng: np.random.Generator) -> Made:
    """A real value and pairs with the same real part, with Jordan blocks of sizes of their own."""
    d, a = int(rng.integers(3, 9)), rng.uniform(-3.0, 3.0)
    dominant: list[Block] = [(complex(a), int(rng.integers(1, d - 1)))]
    turn = 0.0
    while (left := (d - sum(width(block) for block in dominant)) // 2) > 0 and (
        len(dominant) == 1 or rng.random() < 0.5
    ):
        turn += rng.uniform(0.5, 2.0)
        dominant.append((complex(a, turn), int(rng.integers(1, left + 1))))
    return make(rng, dominant, d)


def negative(rng: np.random.Generator) -> Made:
    d = int(rng.integers(2, 9))
    return make(rng, [(complex(-positive(rng)), 1)] * int(rng.integers(1, d + 1)), d)


def zero(rng: np.random.Generator) -> Made:
    d = int(rng.integers(2, 9))
    return make(rng, [(0j, 1)] * int(rng.integers(1, d + 1)), d)


CLASSES: list[Callable[[np.random.Generator], Made]] = [
    real_simple,
    real_multiple,
    complex_pair,
    defective,
    mixed,
    negative,
    zero,
]


def same_span(columns: Array, others: Array, atol: float) -> bool:
    """Whether two sets of columns span the same space: equal orthogonal projections."""
    a, b = orth(columns), orth(others)
    return a.shape == b.shape and bool(np.linalg.norm(a @ a.T - b @ b.T, 2) < atol)


def row_by_hand(value: float, multiplicity: int, d: int, kind: str) -> int | None:
    """Table 1, line by line."""
    if kind != "real" or value == 0.0:
        return None
    if value > 0.0 and multiplicity == d:
        return 1
    if value > 0.0:
        return 2 if multiplicity >= 2 else 3
    return 4 if multiplicity >= 2 else 5


def check(found: Atlas, made: Made) -> None:
    """Everything in the record that the blocks tell."""
    dominant, d = made.blocks[: made.count], len(made.V)
    value = dominant[0][0].real
    turns, longest = any(z.imag for z, _ in dominant), max(size for _, size in dominant)
    # V is known to eps |V| cond(S), below 1e-15 * 30 * 30 * 30; means of eigenvalues move by no more than
    # cond(S) times that.
    assert found.lambda_max == pytest.approx(value, abs=1e-9)
    assert found.kind == {(False, False): "real", (True, False): "complex", (False, True): "defective"}.get(
        (turns, longest > 1), "complex defective"
    )
    assert found.algebraic == made.wide.shape[1] == found.basis_prime.shape[1] == found.dual.shape[1]
    assert found.geometric == sum(2 if z.imag else 1 for z, _ in dominant)
    assert found.block == longest
    assert same_span(found.basis_prime, made.wide, 1e-8)
    # one more division by the couplings in a chain of up to 8
    assert same_span(found.basis, made.narrow, 1e-6)
    assert np.allclose(found.basis.T @ found.basis, np.eye(found.basis.shape[1]), atol=1e-12)
    assert found.row == row_by_hand(value, len(dominant), d, found.kind)
    assert found.status == (
        "outside the table" if found.row is None else "theorem" if found.row == 1 else "conjecture"
    )
    assert ("outside the table" in found.final) == (found.row is None)
    assert ("1/t" in found.rate) == (longest > 1)
    assert ("no point" in found.rate) == any(z.imag for z, size in dominant if size == longest)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_the_atlas_reads_the_spectrum_that_a_matrix_was_made_from(
    kind: Callable[[np.random.Generator], Made],
) -> None:
    rng = np.random.default_rng(4)
    for _ in range(MATRICES):
        made = kind(rng)
        check(atlas(made.V), made)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_what_is_below_the_tolerance_changes_nothing(kind: Callable[[np.random.Generator], Made]) -> None:
    """V is changed by up to 1e-13 |V|.  tol is 1e-10: a factor of 1000 is left for the condition of S, 30 at
    most, squared."""
    rng = np.random.default_rng(5)
    for _ in range(300):
        made = kind(rng)
        noise = rng.standard_normal(made.V.shape)
        found = atlas(
            made.V
            + 10.0 ** rng.uniform(-16.0, -13.0) * np.linalg.norm(made.V) * noise / np.linalg.norm(noise)
        )
        dominant = made.blocks[: made.count]
        assert (found.algebraic, found.geometric) == (
            made.wide.shape[1],
            sum(2 if z.imag else 1 for z, _ in dominant),
        )
        assert found.block == max(size for _, size in dominant)
        assert same_span(found.basis_prime, made.wide, 1e-6)


def split(rng: np.random.Generator, apart: float, how: str) -> tuple[Array, int]:
    """V with two dominant eigenvalues that are `apart`: as orthogonal eigenvectors, as a pair, or as a
    Jordan block that fell apart; and d."""
    d, a = int(rng.integers(2, 9)), positive(rng)
    dominant = {
        "normal": [[a, 0.0], [0.0, a - apart]],
        "pair": [[a, apart], [-apart, a]],
        "block": [[a, 1.0], [apart * apart, a]],  # eigenvalues a +- apart
    }[how]
    J = block_diag(np.array(dominant), np.diag(a - rng.uniform(0.5, 3.0, size=d - 2)))
    S = np.linalg.qr(rng.standard_normal((d, d)))[0] @ np.diag(rng.uniform(1.0, 3.0, size=d))
    return S @ J @ np.linalg.inv(S), d


# tol = 1e-8.  Two eigenvalues of a normal block are one if a change of 1e-8 |V| can join them: if they are
# about 1e-8 |V| apart.  Those of a Jordan block move by the root of the change: they are one up to about
# 1e-4.  |V| is between 0.1 and 30 here; 30 on either side is left out.
@pytest.mark.parametrize(
    ("how", "below", "above", "alike", "different"),
    [
        ("normal", (1e-15, 3e-11), (1e-5, 1e-1), ("real", 2, 2), ("real", 1, 1)),
        ("pair", (1e-15, 3e-11), (1e-5, 1e-1), ("real", 2, 2), ("complex", 2, 2)),
        ("block", (1e-12, 3e-6), (1e-2, 1e-1), ("defective", 2, 1), ("real", 1, 1)),
    ],
)
def test_nearly_equal_eigenvalues_are_one_below_the_tolerance_and_two_above(
    how: str,
    below: tuple[float, float],
    above: tuple[float, float],
    alike: tuple[str, int, int],
    different: tuple[str, int, int],
) -> None:
    rng = np.random.default_rng(6)
    for _ in range(MATRICES // 2):
        for (low, high), expected in ((below, alike), (above, different)):
            V, _ = split(rng, float(np.exp(rng.uniform(np.log(low), np.log(high)))), how)
            found = atlas(V, tol=1e-8)
            assert (found.kind, found.algebraic, found.geometric) == expected


def test_the_tolerance_decides_what_counts_as_zero() -> None:
    V = np.diag([1e-7, -1.0, -2.0])
    assert atlas(V).row == 3
    assert atlas(V, tol=1e-6).row is None
    assert "lambda_max is 0" in atlas(V, tol=1e-6).final
    assert atlas(-V[:2, :2] * [[1.0, 0.0], [0.0, -1.0]]).row == 5  # diag(-1e-7, -1)


def test_scaling_and_turning_v_scale_and_turn_the_atlas() -> None:
    rng = np.random.default_rng(7)
    for kind in CLASSES:
        for _ in range(20):
            made = kind(rng)
            d, found = len(made.V), atlas(made.V)
            for factor in (1e-250, 1e-3, 1e250):
                scaled = atlas(made.V * factor)
                assert scaled.lambda_max == pytest.approx(
                    found.lambda_max * factor, rel=1e-9, abs=1e-9 * factor
                )
                assert (scaled.kind, scaled.row, scaled.algebraic, scaled.block) == (
                    found.kind,
                    found.row,
                    found.algebraic,
                    found.block,
                )
            turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
            turned = atlas(turn @ made.V @ turn.T)
            assert (turned.row, turned.final, turned.within_conjecture) == (
                found.row,
                found.final,
                found.within_conjecture,
            )
            assert same_span(turned.basis, turn @ found.basis, 1e-6)


# Larger matrices


def test_equal_real_parts_with_different_rotations_are_all_at_the_top() -> None:
    rng = np.random.default_rng(8)
    A = rng.standard_normal((40, 40))
    found = atlas(A - A.T)  # skew: twenty rotations, all real parts 0
    assert (found.kind, found.algebraic, found.geometric, found.basis.shape, len(found.dominant)) == (
        "complex",
        40,
        40,
        (40, 40),
        20,
    )
    assert found.final == "outside the table: lambda_max is 0 and the dominant eigenvalue is complex"
    # its eigenvalues, the 32nd roots of unity, have the moments of a nilpotent matrix
    shift = np.roll(np.eye(32), 1, axis=0)
    assert (atlas(shift).kind, atlas(shift).algebraic, atlas(shift).row) == ("real", 1, 3)
    ring = block_diag(np.roll(np.eye(5), 1, axis=0), np.zeros((1, 1)))  # and with 0 among them a kernel, too
    assert (atlas(ring).kind, atlas(ring).algebraic, atlas(ring).row) == ("real", 1, 3)
    assert atlas(shift).gap == pytest.approx(1.0 - np.cos(2.0 * np.pi / 32), abs=1e-12)


def test_a_matrix_of_low_rank_with_all_else_negative_has_a_zero_top_of_high_multiplicity() -> None:
    rng = np.random.default_rng(9)
    W = np.linalg.qr(rng.standard_normal((300, 20)))[0]
    found = atlas(-W @ (np.diag(rng.uniform(0.5, 2.0, size=20)) + np.eye(20, k=1)) @ W.T)
    assert (found.kind, found.algebraic, found.geometric, found.basis.shape) == ("real", 280, 280, (300, 280))
    assert found.row is None
    assert np.abs(W.T @ found.basis).max() < 1e-12  # L is what W does not reach


def test_a_large_random_matrix_is_read_like_its_eigenvalues() -> None:
    rng = np.random.default_rng(10)
    V = rng.standard_normal((256, 256)) / 16.0
    found, w = atlas(V), np.linalg.eigvals(V)
    assert found.lambda_max == pytest.approx(w.real.max(), abs=1e-12)
    assert found.kind == ("real" if w[w.real.argmax()].imag == 0.0 else "complex")
    assert found.algebraic == (1 if found.kind == "real" else 2)
    residue = V @ found.basis - found.basis @ (found.basis.T @ V @ found.basis)  # L is kept by V
    assert np.abs(residue).max() < 1e-12
    # conditions up to a thousand or so
    assert np.allclose(np.sort_complex(found.eigenvalues), np.sort_complex(w), atol=1e-9)


# The hypotheses of the conjectures


def test_conjecture_1_asks_for_distinct_positive_real_eigenvalues() -> None:
    rng = np.random.default_rng(11)
    S = similarity(rng, 4)
    spectra = {
        (4.0, 3.0, 2.0, 1.0): "within Conjecture 1: distinct positive real",
        (4.0, 3.0, 2.0, -1.0): "positive eigenvalues: some are not",
        (4.0, 3.0, 2.0, 0.0): "positive eigenvalues: some are not",
        (4.0, 2.0, 2.0, 1.0): "distinct real eigenvalues: some are equal or complex",
    }
    for spectrum, words in spectra.items():
        found = atlas(S @ np.diag(spectrum) @ np.linalg.inv(S))
        assert found.row == 3
        assert found.within_conjecture == (words.startswith("within"))
        assert words in found.why
    turning = atlas(S @ block_diag(np.diag([4.0, 3.0]), jordan(1.0 + 1.0j, 1)) @ np.linalg.inv(S))
    assert not turning.within_conjecture
    assert "distinct real eigenvalues: some are equal or complex" in turning.why
    # split by rounding, and yet equal
    chained = atlas(S @ block_diag(np.diag([4.0, 3.0]), jordan(2.0 + 0.0j, 2)) @ np.linalg.inv(S))
    assert not chained.within_conjecture
    assert "distinct real eigenvalues: some are equal or complex" in chained.why


def test_conjecture_2_asks_for_an_orthogonal_complement_that_v_keeps_and_stretches_less() -> None:
    turn = np.linalg.qr(np.random.default_rng(12).standard_normal((4, 4)))[0]
    kept, crossed, stretched = (
        np.diag([1.0, 1.0, 0.5, -1.0]),
        np.diag([1.0, 1.0, 0.5, -1.0]),
        np.diag([1.0, 1.0, 0.5, 0.5]),
    )
    crossed[0, 3] = 0.3  # the complement leaks into L
    stretched[2, 3] = 5.0  # <Vz, z> is up to 3 on the complement, though its eigenvalues are 0.5
    for V, words in (
        (kept, "within Conjecture 2"),
        (crossed, "keep the orthogonal complement of L: it does not"),
        (stretched, "some z has more"),
    ):
        found = atlas(turn @ V @ turn.T)
        assert found.row == 2
        assert found.within_conjecture == (words == "within Conjecture 2")
        assert words in found.why


def test_rows_of_negative_lambda_rest_on_the_table_alone() -> None:
    for V in (-np.eye(3), np.diag([-1.0, -2.0, -3.0])):
        assert (atlas(V).status, atlas(V).within_conjecture) == ("conjecture", False)
    assert atlas(2.0 * np.eye(3)).within_conjecture
    assert "Theorem 4.1" in atlas(2.0 * np.eye(3)).why


# Where the first token ends


def test_the_limit_point_is_where_the_exact_flow_ends() -> None:
    rng = np.random.default_rng(13)
    for kind in (real_simple, real_multiple, negative, zero):
        for _ in range(100):
            made = kind(rng)
            x1 = uniform(1, len(made.V), rng)[0]
            V = made.V - np.eye(len(made.V)) * made.blocks[0][0].real  # only the speed of e^{tV} changes
            end = expm(400.0 * V) @ x1  # the gap is 0.1 at least, the rest e^-40 times conditions up to 1e3
            # The expm squares 12 times and V is known to 1e-15 * 30 * 30: 400 times that and the condition of
            # S.
            assert distance(limit_point(atlas(made.V), x1), end / np.linalg.norm(end)) < 1e-7


def test_the_limit_point_of_a_defective_top_is_reached_like_one_over_t() -> None:
    rng = np.random.default_rng(14)
    for _ in range(100):
        made = defective(rng)
        if made.blocks[0][0].imag:
            continue
        x1 = uniform(1, len(made.V), rng)[0]
        end = limit_point(atlas(made.V), x1)
        inside = orth(made.narrow)
        assert np.linalg.norm(end - inside @ (inside.T @ end)) < 1e-6
        # In the coordinates of S the matrix is J exactly, and its flow may be followed for long.
        J, y = (
            block_diag(*(jordan(value - made.blocks[0][0].real, size) for value, size in made.blocks)),
            np.linalg.solve(made.S, x1),
        )
        apart = [
            distance((z := made.S @ one_token(J, y / np.linalg.norm(y), t)) / np.linalg.norm(z), end)
            for t in (1e4, 1e5)
        ]
        assert apart[1] < 0.1
        # the next order in 1/t; rounding in S
        assert apart[1] == pytest.approx(apart[0] / 10.0, rel=0.05, abs=1e-6)


def test_a_limit_point_is_refused_where_there_is_none() -> None:
    turning = atlas([[1.0, -1.0], [1.0, 1.0]])
    with pytest.raises(InputError, match="needs a real dominant eigenvalue, but that of V is complex"):
        limit_point(turning, [1.0, 0.0])
    plain = atlas(np.diag([2.0, 1.0]))
    assert limit_point(plain, [-0.6, 0.8]).tolist() == [-1.0, 0.0]
    with pytest.raises(InputError, match="x1 must have a part in L"):
        limit_point(plain, [0.0, 1.0])
    with pytest.raises(InputError, match=r"x1 must have shape \(2,\)"):
        limit_point(plain, [0.0, 1.0, 0.0])


# Words and input


def test_the_text_of_an_atlas_names_what_was_found() -> None:
    text = str(atlas(np.diag([2.0, 1.0, 0.5])))
    for words in (
        "3 x 3",
        "dominant eigenvalue  2; real; multiplicity 1 algebraic, 1 geometric",
        "spanned by (1, 0, 0)",
    ):
        assert words in text
    assert "row 3 of Table 1 (conjecture)" in text
    assert "within Conjecture 1" in text
    assert "e^(-1 t)" in text
    assert "0.5 ± 3i; complex defective" in str(atlas(jordan(0.5 + 3.0j, 2)))
    assert repr(atlas(np.eye(2))) == "Atlas(lambda_max=1, real, multiplicity 2/2, theorem, row=1)"
    assert "multiple of the identity" in str(atlas(np.zeros((2, 2))))


def test_an_atlas_keeps_its_own_copy_of_v() -> None:
    V = np.eye(2)
    found = atlas(V)
    V[0, 0] = 5.0
    assert np.array_equal(found.V, np.eye(2))
    with pytest.raises(ValueError, match="read-only"):
        found.V[0, 0] = 1.0


@pytest.mark.parametrize(
    ("V", "words"),
    [
        (np.ones((2, 3)), r"V must be a square matrix \(d, d\), but has shape \(2, 3\)"),
        (np.ones(4), r"V must be a square matrix \(d, d\), but has shape \(4,\)"),
        (np.ones((2, 2, 2)), r"V must be a square matrix \(d, d\), but has shape \(2, 2, 2\)"),
        (np.ones((0, 0)), r"V must be at least 2 x 2, but has shape \(0, 0\)"),
        ([], r"V must be a square matrix"),
        ([[1.0]], r"V must be at least 2 x 2"),
        ([[1.0, np.nan], [0.0, 1.0]], r"V must be finite, but V\[0, 1\] is nan"),
        ([[1.0, np.inf], [0.0, 1.0]], r"V must be finite, but V\[0, 1\] is inf"),
        ([[1j, 0.0], [0.0, 1.0]], "V must be real"),
        ("V", "V must be an array of numbers"),
        (1e301 * np.eye(2), r"V must have entries below 1e\+300"),
    ],
)
def test_a_v_that_cannot_be_read_is_refused(V: Array, words: str) -> None:
    with pytest.raises(InputError, match=words):
        atlas(V)


@pytest.mark.parametrize("tol", [-1e-3, np.nan, 0.5, "fine"])
def test_a_tolerance_that_makes_no_sense_is_refused(tol: float) -> None:
    with pytest.raises(InputError, match="tol must be"):
        atlas(np.eye(2), tol=tol)


def test_exact_matrices_are_read_with_no_tolerance_at_all() -> None:
    assert atlas(np.eye(3), tol=0.0).row == 1
    assert atlas(np.diag([1.0, 1.0 - 1e-15]), tol=0.0).row == 3


def test_table_1_speaks_of_causal_softmax_attention_alone() -> None:
    assert other_model(nc.Attention(1.0), 4) is None
    assert other_model(nc.Attention(1.0, mask="full"), 4) == "here every token sees all others"
    assert other_model(nc.Attention(1.0, weights="hardmax"), 4) == "here the weights are hardmax"
    assert other_model(nc.Attention(1.0, position=nc.ALiBi(0.1)), 4) == "here places in the sequence count"
