"""Two networks of their own on this machine, joined by a cable: a process in one can reach the other by its
address, and nothing else."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


class Network:
    """A network namespace with one address."""

    def __init__(self, name: str, address: str) -> None:
        self.name, self.address = name, address

    @property
    def enter(self) -> list[str]:
        """The words before a command that is to run in it."""
        return ["ip", "netns", "exec", self.name]

    def cut(self) -> None:
        """Pull the cable out."""
        _ip("-n", self.name, "link", "set", "cable", "down")


@contextmanager
def two_networks() -> Iterator[tuple[Network, Network]]:
    """Both of them, until the block is left; skipped where they cannot be had."""
    if shutil.which("ip") is None or os.geteuid() != 0:
        pytest.skip("networks of its own need the command ip, of iproute2, and root")
    ends = [Network(f"nucleate-{os.getpid()}-{i}", f"10.77.0.{i}") for i in (1, 2)]
    made = []
    try:
        for end in ends:
            try:
                _ip("netns", "add", end.name)
            except subprocess.CalledProcessError as error:
                pytest.skip(f"this system makes no network: {error.stderr.strip()}")
            made.append(end)
        first, second = ends
        _ip("-n", first.name, "link", "add", "cable", "type", "veth", "peer", "cable", "netns", second.name)
        for end in ends:
            _ip("-n", end.name, "address", "add", f"{end.address}/24", "dev", "cable")
            for device in ("lo", "cable"):
                _ip("-n", end.name, "link", "set", device, "up")
        yield first, second
    finally:
        for end in made:
            _ip("netns", "delete", end.name)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True, timeout=30)
