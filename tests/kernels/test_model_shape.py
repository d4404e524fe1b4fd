"""What kind of model a run has: one record decides, and every kernel and solver reads it."""

import re
from pathlib import Path

import numpy as np
import pytest

import nucleate
from nucleate.attention import Attention, Frozen, Window
from nucleate.block import Block
from nucleate.checks import InputError
from nucleate.kernels.circle import circle_system
from nucleate.kernels.circle_batch import circle_batch_accuracy, circle_batch_system
from nucleate.kernels.dispatch import choose_batch_kernel, choose_kernel, make_system
from nucleate.kernels.model_shape import (
    CAUSAL,
    EXPONENTIAL,
    FULL,
    HARDMAX,
    SOFTMAX,
    WINDOW,
    check_ordinary,
    mean_seen,
    model_shape,
)
from nucleate.kernels.pairwise import pairwise_system, pairwise_velocities
from nucleate.kernels.pairwise_batch import pairwise_batch_velocities
from nucleate.kernels.tiles import tiles_system
from nucleate.positions import ALiBi, RoPE

I3 = np.eye(3)
TURN = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])


@pytest.mark.parametrize(
    ("model", "gaussian", "scalar", "scale"),
    [
        (Attention(2.0), True, True, 1.0),
        (Attention(2.0, Q=I3, K=I3, V=I3), True, True, 1.0),
        (Attention(2.0, V=-2.0 * I3), True, True, -2.0),
        (Attention(2.0, V=np.zeros((3, 3))), True, True, 0.0),
        (Attention(2.0, V=np.diag([1.0, 1.0, 2.0])), True, False, 1.0),
        (Attention(2.0, Q=TURN, K=TURN), True, True, 1.0),  # K^T Q = I although neither is
        (Attention(2.0, Q=2.0 * I3, K=0.5 * I3), True, True, 1.0),
        (Attention(2.0, Q=2.0 * I3), False, True, 1.0),
        (Attention(2.0, K=TURN), False, True, 1.0),
        (Attention(2.0, Q=TURN, V=TURN), False, False, 0.0),
    ],
)
def test_gaussian_weights_and_scalar_V_are_recognised(
    model: Attention, gaussian: bool, scalar: bool, scale: float
) -> None:
    shape = model_shape(model, 7, 3)
    assert (shape.gaussian, shape.scalar, shape.scale) == (gaussian, scalar, scale)
    assert shape.plain == (gaussian and scalar)
    _, Q, K, _ = model.parameters(3)
    assert shape.z == pytest.approx(2.0 * np.linalg.norm(K.T @ Q, 2), rel=1e-15)


def test_every_run_has_its_own_shape() -> None:
    frozen = Frozen(np.stack([I3[:2], I3[1:]]), [[1.0, 2.0], [3.0, 4.0]])
    model = Attention([1.0, 5.0], V=np.stack([3.0 * I3, TURN]), frozen=frozen)
    first, second = (model_shape(model, 7, 3, run) for run in range(2))
    assert (first.beta, first.scalar, second.beta, second.scalar) == (1.0, True, 5.0, False)
    assert np.array_equal(second.frozen, I3[1:])
    assert second.frozen_weight.tolist() == [3.0, 4.0]
    assert len(model_shape(Attention(1.0), 7, 3).frozen) == 0


def test_masks_and_their_windows() -> None:
    assert (model_shape(Attention(1.0), 7, 3).mask, model_shape(Attention(1.0), 7, 3).w) == (CAUSAL, 7)
    assert model_shape(Attention(1.0, mask="full"), 7, 3).mask == FULL
    for w, clipped in ((5, 5), (100, 7)):
        shape = model_shape(Attention(1.0, mask=Window(w)), 7, 3)
        assert (shape.mask, shape.w) == (WINDOW, clipped)


def test_a_token_sees_half_of_the_others_only_if_the_mask_is_causal() -> None:
    assert mean_seen(CAUSAL, 100, 100) == 50.0
    assert mean_seen(FULL, 100, 100) == 100.0
    assert mean_seen(WINDOW, 100, 20) == 20.0


def test_nobody_else_decides_and_no_mask_is_a_number() -> None:
    rooms = [Path(nucleate.__file__).parent / room for room in ("kernels", "integrate")]
    sources = {path.name: path.read_text() for room in rooms for path in room.glob("*.py")}
    assert [name for name, text in sources.items() if re.search(r"==.*np\.eye\(", text)] == []
    assert [name for name, text in sources.items() if re.search(r"mask\s*[!=]=\s*\d", text)] == []


def test_weights_and_positions_are_told_and_decide_whether_a_model_is_ordinary() -> None:
    for model, weights, slope, base in (
        (Attention(1.0), SOFTMAX, 0.0, 0.0),
        (Attention(1.0, position=ALiBi(0.0)), SOFTMAX, 0.0, 0.0),
        (Attention(1.0, weights="exponential"), EXPONENTIAL, 0.0, 0.0),
        (Attention(1.0, weights="hardmax"), HARDMAX, 0.0, 0.0),
        (Attention(1.0, position=ALiBi(0.5)), SOFTMAX, 0.5, 0.0),
        (Attention(1.0, position=RoPE(7.0)), SOFTMAX, 0.0, 7.0),
    ):
        shape = model_shape(model, 6, 2)
        assert (shape.weights, shape.slope, shape.rope_base) == (weights, slope, base)
        assert shape.ordinary == (weights == SOFTMAX and slope == base == 0.0)


OTHERS = {
    "hardmax": Attention(1.0, weights="hardmax"),
    "exponential": Attention(1.0, weights="exponential"),
    "ALiBi": Attention(1.0, position=ALiBi(0.5)),
    "RoPE": Attention(1.0, position=RoPE()),
}


@pytest.mark.parametrize("name", OTHERS)
def test_no_kernel_for_ordinary_models_takes_another(name: str) -> None:
    shape, x = model_shape(OTHERS[name], 6, 2), nucleate.uniform(12, 2, 1).reshape(2, 6, 2)
    go, tolerance = np.zeros(1, np.uint8), np.array([1e-9])
    assert not circle_batch_accuracy(shape, 1e-3)
    assert choose_kernel(shape, 1e-3) == "pairwise"
    for take in (
        lambda: pairwise_system(shape),
        lambda: tiles_system(shape),
        lambda: circle_system(shape),
        lambda: make_system(shape),
        lambda: make_system(shape, "circle"),
        lambda: choose_batch_kernel(shape, "auto"),
        lambda: circle_batch_system([shape], tolerance, "brief"),
        lambda: pairwise_velocities(shape, x, x.copy(), 1, go),
        lambda: pairwise_batch_velocities(shape, x, x.copy(), True, 1, go),
    ):
        with pytest.raises(InputError, match="softmax weights without positions"):
            take()


def test_who_needs_an_ordinary_model_says_so() -> None:
    model = Attention(1.0, position=ALiBi(0.0))
    assert check_ordinary(model, "it") is model
    for other, fault in (
        (OTHERS["hardmax"], 'weights is "hardmax"'),
        (OTHERS["ALiBi"], r"position is ALiBi\(slope=0.5\)"),
        (Block(Attention(1.0), norm="pre"), "the model is a Block"),
    ):
        with pytest.raises(InputError, match=f'method "causal" needs one Attention.*but {fault}. Use'):
            check_ordinary(other, 'method "causal"')


@pytest.mark.parametrize("d", [10**5, 10**7])
def test_dimensions_whose_matrices_do_not_fit_are_refused_in_words(d: int) -> None:
    with pytest.raises(InputError, match=f"a model in dimension {d} needs"):
        model_shape(Attention(1.0), 4, d)
    if d == 10**5:
        with pytest.raises(InputError, match="a model in dimension"):
            nucleate.simulate(Attention(1.0), nucleate.uniform(4, d, seed=0), 1.0)
