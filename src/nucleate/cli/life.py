"""`nucleate life`: parse, call one function, print. Heavy imports wait until they are needed."""

import time as clock
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nucleate.cli.cost import announce, seconds_of_fewer
from nucleate.cli.errors import friendly_errors
from nucleate.cli.options import DryRun, Quiet
from nucleate.cli.printing import echo
from nucleate.cli.progress import ProgressBar
from nucleate.cli.results import check_targets, finish, write_all

if TYPE_CHECKING:
    from nucleate.observe.life import Life

__all__ = ["life"]

# from so many on it may take longer than ten seconds, on the circle and on other spheres
MANY_TOKENS, FEW_TOKENS = 3000, 200


def life(
    beta: Annotated[
        float, typer.Option(help="Inverse temperature, at least 0: how sharply tokens attend.")
    ] = 64.0,
    tokens: Annotated[int, typer.Option("--tokens", "-n", help="Number of tokens.")] = 200,
    dimension: Annotated[
        int,
        typer.Option("--dimension", "-d", help="Dimension of the space around the sphere; 2 is the circle."),
    ] = 2,
    seed: Annotated[int, typer.Option(help="Seed of the uniformly random start, at least 0.")] = 0,
    radius: Annotated[
        float | None,
        typer.Option(
            help="Distance at which a cluster has merged with another, in radians.",
            show_default="0.1 / sqrt(beta)",
        ),
    ] = None,
    rtol: Annotated[float, typer.Option(help="Relative tolerance.")] = 1e-8,
    atol: Annotated[float, typer.Option(help="Absolute tolerance, in radians.")] = 1e-10,
    time_limit: Annotated[
        float | None, typer.Option(help="Stop after this many seconds.", show_default="none")
    ] = None,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            help=(
                "Write here: data (.zarr, .npz), the picture (.png, .pdf, .svg) or an animation (.gif, .mp4)."
                " May be repeated."
            ),
            show_default="life.npz and life.png",
        ),
    ] = None,
    dry_run: DryRun = False,
    quiet: Quiet = False,
) -> None:
    """Follow the clusters of tokens until one is left; print when which merged, write a picture and the data.

    Exit code 0: one cluster is left. 1: more. 2: bad input. 130: interrupted. What was computed is written.
    """
    with friendly_errors():
        from nucleate.checks import whole_number

        targets = check_targets(out or [Path("life.npz"), Path("life.png")])
        whole_number("n", tokens, least=1, help="It is the number of tokens.")

        def lived(n: int, progress: Callable[[float, float], object], time_limit: float | None) -> "Life":
            from nucleate.observe.life import life

            return life(
                beta,
                n,
                dimension,
                seed,
                radius=radius,
                rtol=rtol,
                atol=atol,
                time_limit=time_limit,
                progress=progress,
            )

        if dry_run or (not quiet and tokens >= (MANY_TOKENS if dimension == 2 else FEW_TOKENS)):
            words = f"a life of {tokens} tokens, d = {dimension}, beta = {beta:g}"
            with ProgressBar("trying with fewer tokens how long it takes", quiet):
                seconds, at_least = seconds_of_fewer(lived, tokens)
            if time_limit is not None and time_limit <= seconds:
                seconds, at_least = time_limit, False
            announce(seconds, words, dry_run, quiet, at_least=at_least)
        if dry_run:
            return
        began = clock.perf_counter()
        with ProgressBar("simulating", quiet, before="compiling, once") as progress:
            found = lived(tokens, progress, time_limit)
        took = clock.perf_counter() - began
        troubles = write_all(found.save, targets)
        if not quiet:
            echo(f"{found}\n")
            where = ", ".join(str(path) for path in targets if path not in troubles)
            echo(f"took {took:.2f} s" + (f"; wrote {where}" if where else ""))
        ending = found.ending if found.run.done else found.run.ending
        finish(found.run, "" if found.whole else ending, targets, troubles)
