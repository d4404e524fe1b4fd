"""`nucleate spectra`: parse, call one function, print. Heavy imports wait until they are needed."""

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nucleate.cli.cost import announce
from nucleate.cli.errors import friendly_errors
from nucleate.cli.options import CheckpointPath, DryRun, Quiet
from nucleate.cli.printing import echo
from nucleate.cli.progress import ProgressBar

if TYPE_CHECKING:
    from nucleate.models.checkpoint import Source
    from nucleate.models.plan import Plan
    from nucleate.models.spectra import Spectra

__all__ = ["spectra"]

TRIED_SPECTRA = 3
MAX_LISTED_HEADS = 100  # where there are more, a line per layer is printed


def spectra(
    path: CheckpointPath,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            help=(
                "Write here: all numbers (.json), one line per head (.csv), a page (.html), the map of"
                " all heads (.png, .pdf, .svg), "
                "or a folder with all of these and a picture per layer (no ending). May be repeated."
            ),
            show_default="nothing",
        ),
    ] = None,
    mapping: Annotated[
        str | None,
        typer.Option(
            help=(
                "For an unknown architecture: a .toml file that names its tensors, or a known one it is like."
            ),
            show_default="recognised",
        ),
    ] = None,
    draws: Annotated[int, typer.Option(help="Heads drawn at random initialisation, to compare with.")] = 256,
    partners: Annotated[
        int,
        typer.Option(
            help=(
                "Heads of other groups of its layer whose W_O each W_V is paired with, at most, to compare"
                " with; 0: none."
            )
        ),
    ] = 12,
    seed: Annotated[
        int,
        typer.Option(
            help="Seed of the draws, of the partners, and of the start of --simulate-heads; at least 0."
        ),
    ] = 0,
    simulate_heads: Annotated[
        bool,
        typer.Option(
            "--simulate-heads",
            help="Also simulate every head alone, and say what happened beside what Table 1 says.",
        ),
    ] = False,
    tokens: Annotated[
        int | None,
        typer.Option("--tokens", "-n", help="Number of tokens of --simulate-heads.", show_default="64"),
    ] = None,
    heads: Annotated[
        bool,
        typer.Option("--heads", help=f"List every head, also where there are more than {MAX_LISTED_HEADS}."),
    ] = False,
    dry_run: DryRun = False,
    quiet: Quiet = False,
) -> None:
    """Put every head of a model into the atlas of Table 1: spectrum of its value matrix, size of its scores.

    Beside them two null models: each trained W_V with the W_O of other heads, and random weights.

    Eigenvalues are rates, for unit tokens. A normalised token has length √d: that changes the unit of time.

    For models that normalise behind each layer also the spectrum of the stored state, without the gain.

    Exit code 0: done. 2: bad input, such as a file that cannot be trusted. 130: interrupted.
    """
    with friendly_errors("Close other programs.", one_line=False):
        from nucleate.checks import InputError
        from nucleate.models.all_heads import DEFAULT_TOKENS
        from nucleate.models.spectra import spectra as read
        from nucleate.models.table import check_out

        if tokens is not None and not simulate_heads:
            raise InputError(
                "--tokens is given, but without --simulate-heads nothing is simulated. Add --simulate-heads."
            )
        targets = [check_out(one) for one in out or []]
        many = DEFAULT_TOKENS if tokens is None else tokens
        _announce(path, mapping, draws, partners, many if simulate_heads else 0, dry_run, quiet)
        if dry_run:
            return
        began = time.perf_counter()
        with ProgressBar("reading", quiet, unit="heads") as progress:
            found = read(path, mapping, draws=draws, seed=seed, partners=partners, progress=progress)
        if simulate_heads:
            from nucleate.models.all_heads import simulate_all_heads

            with ProgressBar("simulating", quiet, unit="heads") as progress:
                outcomes = simulate_all_heads(path, many, None, seed, mapping, progress)
            found = replace(found, outcomes=outcomes)
        for target in targets:
            from nucleate.plot.heads_page import write_heads

            with ProgressBar(f"writing {target.name}", quiet, unit="pictures") as progress:
                write_heads(found, target, progress)
        if not quiet:
            _tell(found, heads)
            wrote = f"; wrote {', '.join(map(str, targets))}" if targets else ""
            echo(f"\ntook {time.perf_counter() - began:.1f} s{wrote}")


def _announce(
    path: Path, mapping: str | None, draws: int, partners: int, tokens: int, dry_run: bool, quiet: bool
) -> None:
    """What will be read, and simulated with so many tokens, and how long that takes, where it is long or all
    that was asked for."""
    if quiet and not dry_run:
        return
    from nucleate.models.checkpoint import open_source
    from nucleate.models.mapping import find_mapping
    from nucleate.models.plan import make_plan

    source = open_source(path)
    plan = make_plan(source.weights, source.config, None if mapping is None else find_mapping(mapping))
    heads = len(plan.layers) * plan.heads
    swaps = 0 if plan.key_value_heads < 2 else min(max(partners, 0), plan.heads - 1)
    spectra = (1 + swaps) * (1 + plan.post_norm) * heads + max(draws, 0)
    seconds = spectra * _seconds_of_one(plan.d, plan.head_dim)
    words = f"{source.name}: {len(plan.layers)} layers of {plan.heads} heads, d = {plan.d}"
    words = f"{words}, {spectra} spectra with those to compare with"
    if tokens > 0:
        words = f"{words}, and every head simulated with {tokens} tokens"
        with ProgressBar("trying with one head how long it takes", quiet):
            seconds += heads * _seconds_of_one_head(source, plan, tokens)
    announce(seconds, words, dry_run, quiet)


def _seconds_of_one_head(source: "Source", plan: "Plan", tokens: int) -> float:
    """The time that the simulation of one head takes here: that of one in the middle, tried."""
    from nucleate.models.head_simulation import simulate_system, system_of
    from nucleate.sphere import uniform

    system = system_of(source, plan, len(plan.layers) // 2, 0)
    x0 = uniform(tokens, plan.d, 0)
    simulate_system(system, x0, 1e-3, save=2)  # compiles
    began = time.perf_counter()
    simulate_system(system, x0, None, save=2)
    return time.perf_counter() - began


def _seconds_of_one(d: int, head_dim: int) -> float:
    """The time that one spectrum takes here, tried."""
    import numpy as np

    some = np.random.default_rng(0).standard_normal((d, head_dim))
    began = time.perf_counter()
    for _ in range(TRIED_SPECTRA):
        np.linalg.eig(some.T @ some[::-1])
    return (time.perf_counter() - began) / TRIED_SPECTRA


def _tell(found: "Spectra", every: bool) -> None:
    from nucleate.models.table import head_table, layer_table

    echo(f"{found}\n")
    listed = every or len(found.heads) <= MAX_LISTED_HEADS
    echo(head_table(found.heads, found.outcomes) if listed else layer_table(found))
    if found.outcomes:
        echo(f"\n{found.outcomes}")
