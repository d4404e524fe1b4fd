"""Where velocities are computed: on the CPU, or on a card."""

from typing import Literal

from nucleate.checks import InputError, shortened

__all__ = ["Device", "Precision", "check_device"]

Device = Literal["cpu", "gpu"]
Precision = Literal["double", "mixed"]


def check_device(device: str, precision: str) -> bool:
    """Whether the card is asked for; names that mean nothing are refused."""
    if not isinstance(device, str) or device not in ("cpu", "gpu"):
        raise InputError(f'device must be "cpu" or "gpu", but is {shortened(device)}.')
    if not isinstance(precision, str) or precision not in ("double", "mixed"):
        raise InputError(f'precision must be "double" or "mixed", but is {shortened(precision)}.')
    if precision == "mixed" and device == "cpu":
        raise InputError('precision="mixed" is for device="gpu", but device is "cpu". Leave one of them out.')
    return device == "gpu"
