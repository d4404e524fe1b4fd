"""Where velocities are computed, on the CPU or on a card, and in which precision."""

from typing import Literal

from nucleate.checks import InputError, shortened

__all__ = ["Device", "Precision", "check_device"]

Device = Literal["cpu", "gpu"]
Precision = Literal["double", "single", "mixed"]


def check_device(device: str, precision: str) -> bool:
    """Whether the card is asked for; names that mean nothing are refused."""
    if not isinstance(device, str) or device not in ("cpu", "gpu"):
        raise InputError(f'device must be "cpu" or "gpu", but is {shortened(device)}.')
    if not isinstance(precision, str) or precision not in ("double", "single", "mixed"):
        raise InputError(f'precision must be "double", "single" or "mixed", but is {shortened(precision)}.')
    if precision == "single" and device == "gpu":
        raise InputError('precision="single" is for device="cpu", but device is "gpu". Use "mixed" there.')
    if precision == "mixed" and device == "cpu":
        raise InputError('precision="mixed" is for device="gpu", but device is "cpu". Use "single" there.')
    return device == "gpu"
