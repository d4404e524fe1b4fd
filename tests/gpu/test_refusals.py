"""What the card does not do is refused in words, without a card too."""

from typing import Any

import pytest
from support.gpu_cases import has_card

import nucleate as nc
from nucleate.block import Block
from nucleate.checks import InputError, MissingPackageError
from nucleate.layers import Layers, Model

MODEL, X = nc.Attention(beta=4.0), nc.uniform(4, 2, seed=0)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"device": "tpu"}, 'device must be "cpu" or "gpu", but is \'tpu\''),
        ({"device": 1}, 'device must be "cpu" or "gpu", but is 1'),
        ({"device": "gpu", "precision": "half"}, 'precision must be "double", "single" or "mixed"'),
        ({"precision": "mixed"}, 'precision="mixed" is for device="gpu"'),
        ({"device": "gpu", "method": "causal"}, 'method "causal" runs on the CPU'),
        ({"device": "gpu", "save": "steps"}, 'save="steps" is for the CPU'),
        ({"device": "gpu", "precision": "mixed"}, "is good to 1e-06, but rtol"),
    ],
)
def test_what_the_card_does_not_do_is_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        nc.simulate(MODEL, X, 1.0, **settings)


STUDY: dict[str, Any] = {
    "runs": 2,
    "model": {"beta": 4.0},
    "start": {"n": 4, "d": 2},
    "times": {"t": 1.0, "device": "gpu"},
    "observables": {"clusters": {"kind": "clusters", "radius": 0.1}},
}


@pytest.mark.parametrize(
    ("changed", "settings", "words"),
    [
        ({"device": "tpu"}, {}, "times.device is tpu"),
        ({"method": "causal"}, {}, 'method "causal" runs on the CPU'),
        ({"precision": "mixed"}, {}, "is good to 1e-06, but rtol"),
        ({"device": "cpu", "precision": "mixed"}, {}, 'precision="mixed" is for device="gpu"'),
        ({}, {"device": "tpu"}, "device is tpu"),
        ({}, {"cluster": "local"}, 'device "gpu" computes on the card of this machine, but cluster is'),
    ],
)
def test_studies_are_refused_what_the_card_does_not_do(
    changed: dict[str, Any], settings: dict[str, Any], words: str
) -> None:
    study = {**STUDY, "times": {**STUDY["times"], **changed}}
    with pytest.raises(InputError, match=words):
        nc.ensemble(study, **settings)


def test_other_kernels_are_refused() -> None:
    with pytest.raises(InputError, match='device="gpu" sums over pairs, but kernel is "circle"'):
        nc.drift(MODEL, X, kernel="circle", device="gpu")


def test_without_a_card_or_the_package_it_is_said() -> None:
    if has_card():
        assert nc.drift(MODEL, X, device="gpu").shape == X.shape
        return
    with pytest.raises(InputError, match=r"numba-cuda|NVIDIA card") as error:
        nc.simulate(MODEL, X, 1.0, device="gpu")
    assert isinstance(error.value, MissingPackageError) == ("numba-cuda" in str(error.value))
    with pytest.raises(InputError, match=r"numba-cuda|NVIDIA card"):
        nc.drift(MODEL, X, device="gpu")
    with pytest.raises(InputError, match=r"numba-cuda|NVIDIA card"):
        nc.ensemble(STUDY)


@pytest.mark.parametrize(
    ("model", "fault"),
    [
        (nc.Attention(4.0, weights="hardmax"), 'weights is "hardmax"'),
        (Block(nc.Attention(4.0), norm="pre"), "the model is a Block"),
        (Layers([Block(nc.Attention(4.0), norm="pre")]), "the model is a Block"),
    ],
)
def test_models_that_the_card_does_not_know_are_refused(model: Model, fault: str) -> None:
    with pytest.raises(InputError, match=f'device="gpu" needs one Attention.*but {fault}'):
        nc.drift(model, X, device="gpu")
