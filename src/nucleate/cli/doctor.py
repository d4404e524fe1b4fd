"""`nucleate doctor`: parse, look, print. Heavy imports wait until they are needed."""

import importlib.metadata
import importlib.util
import platform
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from nucleate.cli.errors import friendly_errors
from nucleate.cli.printing import echo

__all__ = ["doctor"]

CORE = ("numpy", "scipy", "numba", "llvmlite", "xarray", "zarr", "matplotlib", "typer", "rich")
WIDE = 14  # letters of the first column
DOUBLES = {"eight": 8, "four": 4, "two": 2}  # in a vector, by the word for it


class Extra(NamedTuple):
    """Packages that something needs, and where they come from."""

    what: str
    packages: tuple[str, ...]  # as they are imported
    extra: str


EXTRAS = (
    Extra("explore", ("starlette", "uvicorn", "websockets"), "explorer"),
    Extra("spectra, trace, simulate --model", ("safetensors", "ml_dtypes", "gguf", "tokenizers"), "models"),
    Extra("convert, nucleate.torch", ("torch",), "torch"),
    Extra("models of transformers", ("transformers",), "torch"),
    Extra("nucleate.jax", ("jax",), "jax"),
    Extra("ensemble --cluster", ("dask", "distributed"), "cluster"),
    Extra("ensemble --cluster, on SLURM", ("dask_jobqueue",), "slurm"),
    Extra(".mp4", ("imageio_ffmpeg",), "video"),
    Extra("--device gpu", ("numba_cuda",), "gpu"),
    Extra("bench beside JAX and diffrax", ("jax", "diffrax"), "bench"),
)


def doctor(
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only what is missing.")] = False,
) -> None:
    """Say what is installed and what is missing for which command, and what this machine has.

    Exit code 0: done, whatever is missing.
    """
    with friendly_errors():
        lines = _missing()
        if not quiet:
            lines = [*_versions(), *_machine(), *_compiled_code(), "", *_present(), *lines]
        for line in lines:
            echo(line)


def _row(name: str, words: str) -> str:
    return f"{name:<{WIDE}}  {words}"


def _versions() -> list[str]:
    from nucleate import __version__

    packages = ", ".join(f"{name} {_version(name)}" for name in CORE)
    where = Path(importlib.util.find_spec("nucleate").origin or "").parent  # type: ignore[union-attr]  # we are it
    return [
        _row("nucleate", f"{__version__}, in {where}"),
        _row("Python", f"{platform.python_version()}, {sys.executable}"),
        _row("packages", packages),
    ]


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "(no version)"


def _machine() -> list[str]:
    """The system, cores and memory that this process may use, vector instructions, and the card."""
    import os

    from nucleate.resources import cores, free_memory, memory, processor

    every = os.cpu_count() or 1
    some = f"{cores()} of {every} cores" if cores() < every else f"{every} cores"
    room = f"{memory() / 2**30:.1f} GiB of memory, {free_memory() / 2**30:.1f} free"
    return [
        _row("machine", f"{platform.system()} {platform.release()}, {platform.machine()}; {some}; {room}"),
        _row("processor", _in_numbers(*processor())),
        _row("card", _card()),
    ]


def _in_numbers(name: str, vectors: str) -> str:
    """A processor and its vectors, such as "znver4; AVX2, 4 doubles at once"."""
    kind, _, many = vectors.partition(", ")
    lanes = DOUBLES.get(many.partition(" ")[0])
    return f"{name}; {vectors}" if lanes is None else f"{name}; {kind}, {lanes} doubles at once"


def _card() -> str:
    """Whether there is an NVIDIA card, and whether it can be used."""
    if shutil.which("nvidia-smi") is None:
        return "no NVIDIA card found (none is needed)"
    if importlib.util.find_spec("numba_cuda") is None:
        return "NVIDIA, not used: the extra gpu is not installed"
    return "NVIDIA, for --device gpu"


def _compiled_code() -> list[str]:
    """Where compiled code is kept, and how much of it there is."""
    from nucleate.kernels.code_cache import cache_folder

    folder = cache_folder()
    if folder is None:
        return [_row("compiled code", "not kept: name a folder of your own in NUCLEATE_CACHE")]
    sizes = []
    for file in folder.rglob("*.nbc"):
        with suppress(FileNotFoundError):  # another process replaces it
            sizes.append(file.stat().st_size)
    many = (
        f"{len(sizes)} functions, {sum(sizes) / 2**20:.1f} MiB"
        if sizes
        else "none yet: the first simulation compiles"
    )
    return [_row("compiled code", f"{many}, in {folder}")]


def _present() -> list[str]:
    ready = ["simulate, life, ensemble, reproduce, export, bench"]
    return [_row("ready", ", ".join([*ready, *(one.what for one in EXTRAS if not _lacking(one))]))]


def _missing() -> list[str]:
    """A line for everything that cannot be used yet, with what installs it."""
    wanting = [(one, _lacking(one)) for one in EXTRAS]
    return [
        _row("missing", f"{one.what}: {', '.join(lacking)} (python -m pip install 'nucleate[{one.extra}]')")
        for one, lacking in wanting
        if lacking
    ]


def _lacking(one: Extra) -> list[str]:
    return [name for name in one.packages if not _is_there(name)]


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):  # a package that is half there
        return False
