"""What only compiled code calls is linked into its callers, and has no machine code of its own."""

import subprocess
import sys

import numba
import numpy as np
import pytest

from nucleate.checks import Array
from nucleate.kernels import compile as compile_module
from nucleate.kernels.compile import compiled, inlined, inner, uncounted
from nucleate.kernels.linked_code import LinkedLibrary


def length(x: Array, k: int) -> float:
    return float(np.sqrt(x[k, 0] * x[k, 0] + x[k, 1] * x[k, 1] / 3.0))


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_module, "cache_folder", lambda: None)


@pytest.mark.parametrize("decorator", [inner, inlined, compiled, uncounted])
def test_a_caller_has_the_bits_of_numbas_own_pipeline(decorator: object) -> None:
    assert callable(decorator)
    called, plain = decorator(length), numba.njit(error_model="numpy")(length)

    def total(x: Array) -> float:
        s = 0.0
        for k in range(len(x)):
            s += called(x, k) / (1.0 + k)
        return s

    def plain_total(x: Array) -> float:
        s = 0.0
        for k in range(len(x)):
            s += plain(x, k) / (1.0 + k)
        return s

    x = np.random.default_rng(0).standard_normal((100, 2))
    assert compiled(total)(x) == numba.njit(error_model="numpy")(plain_total)(x)


def test_machine_code_is_made_only_of_what_python_calls() -> None:
    low, middle = inner(length), compiled(lambda x, k: 2.0 * low(x, k))
    top = compiled(lambda x: middle(x, 0) + middle(x, 1))
    x = np.array([[1.0, 0.0], [3.0, 6.0]])
    assert top(x) == 2.0 * length(x, 0) + 2.0 * length(x, 1)
    assert isinstance(next(iter(low.overloads.values())).library, LinkedLibrary)
    assert middle.signatures == []
    assert middle(x, 0) == 2.0  # now Python does
    assert len(middle.signatures) == 1
    assert not isinstance(next(iter(middle.overloads.values())).library, LinkedLibrary)


# a Numba without what `linked_code` takes; no cache, which belongs to the usual one
OTHERWISE = """
import numba.core.compiler as inside
taken = inside._LowerResult
del inside._LowerResult
import numpy as np
from nucleate.kernels import compile
from nucleate.kernels.inner_pipeline import InnerPipeline
assert InnerPipeline is inside.Compiler
inside._LowerResult = taken  # Numba needs it, too
compile.cache_folder = lambda: None
one = compile.inlined(lambda x: 2.0 * x)
print(compile.compiled(lambda x: one(x) + 1.0)(3.0))
"""


def test_a_numba_that_is_made_otherwise_inside_compiles_by_itself() -> None:
    done = subprocess.run([sys.executable, "-c", OTHERWISE], capture_output=True, text=True, check=True)
    assert done.stdout == "7.0\n"
