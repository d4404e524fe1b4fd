"""Parts of the grammar; tests/contracts/test_matrix_grammar.py has what people write."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from nucleate.checks import InputError
from nucleate.parse.matrix import as_array, from_text, name_and_seed, parse_matrix, read_array
from nucleate.parse.named_matrices import NAMED


@pytest.mark.parametrize("name", NAMED)
def test_a_normal_form_stands_for_itself(name: str) -> None:
    normal = parse_matrix("V", name)
    assert parse_matrix("V", normal) == normal
    if isinstance(normal, str):
        assert name_and_seed(normal) == (name, 0)


def test_what_is_no_text_is_left_as_it_is() -> None:
    value = {"random": "gaussian"}
    assert from_text("V", value) is value
    assert from_text("V", '{random = "gaussian", scale = 2}') == {"random": "gaussian", "scale": 2}


def test_arrays_of_python_are_taken_and_may_have_a_run_axis() -> None:
    stack = np.stack([np.eye(2), 2.0 * np.eye(2)])
    assert np.array_equal(as_array(parse_matrix("V", stack), 2), stack)  # type: ignore[arg-type]  # not the identity
    assert parse_matrix("V", np.float32(0.5)) == 0.5
    assert parse_matrix("V", np.array(0.5)) == 0.5
    for wrong in (np.zeros((2, 3)), np.zeros((1, 1, 2, 2)), np.zeros(0), np.eye(2) * 1j, np.complex128(1j)):
        with pytest.raises(InputError, match="V must"):
            parse_matrix("V", wrong)


def test_a_matrix_beyond_memory_is_refused_before_it_is_made() -> None:
    for matrix in (2.0, "row3", np.ones(10**7)):
        with pytest.raises(InputError, match=r"A matrix of dimension 10000000 needs .* GiB"):
            as_array(matrix, 10**7)
    assert as_array(1.0, 10**7) is None


def test_a_word_that_is_nearly_a_name_is_answered_with_it() -> None:
    with pytest.raises(InputError, match=r"V must be a matrix, but is 'idenity'. Did you mean identity\?$"):
        parse_matrix("V", "idenity")
    with pytest.raises(InputError, match=r"Write 2\.0, identity, .* or a name \(identity, row2, .*\)\.$"):
        parse_matrix("V", "twice*identity")


def test_a_file_is_mapped_and_checked(tmp_path: Path) -> None:
    np.save(tmp_path / "M.npy", np.eye(2))
    assert np.array_equal(read_array("V", tmp_path / "M.npy"), np.eye(2))
    np.save(tmp_path / "nan.npy", np.full((2, 2), np.nan))
    with pytest.raises(InputError, match="must be finite"):
        read_array("V", tmp_path / "nan.npy")
    with pytest.raises(InputError, match="it is no file"):
        read_array("V", tmp_path)


def test_a_matrix_that_would_not_fit_into_memory_is_refused_by_its_head(tmp_path: Path) -> None:
    """A file of a terabyte that takes no room on the disk."""
    d = 2**18
    with (tmp_path / "M.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (d, d)})
        file.truncate(file.tell() + 8 * d * d)
    with pytest.raises(InputError, match=r"V .*M\.npy needs 512 GiB, but may have"):
        read_array("V", tmp_path / "M.npy")


def test_a_head_without_end_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "M.npy").open("wb") as file:
        file.write(b"\x93NUMPY\x02\x00" + (2**26).to_bytes(4, "little"))
        file.truncate(2**27)
    tracemalloc.start()
    with pytest.raises(InputError, match=r"V .*M\.npy is not a plain \.npy file"):
        read_array("V", tmp_path / "M.npy")
    assert tracemalloc.get_traced_memory()[1] < 2**23
    tracemalloc.stop()
