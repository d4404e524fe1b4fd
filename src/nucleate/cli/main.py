"""The command line: parse, call one function, print. Heavy imports wait until a command needs them."""

import json
import re
import sys
import threading
import time as clock
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nucleate.cli.bench import bench
from nucleate.cli.ensemble import ensemble
from nucleate.cli.explore import explore, export
from nucleate.cli.reproduce import reproduce
from nucleate.cli.spectra import convert, spectra_command
from nucleate.shell import BAD_INPUT, INTERRUPTED, UNFINISHED, polite

if TYPE_CHECKING:
    from nucleate.checks import Array
    from nucleate.integrate.run import Run
    from nucleate.models.head_simulation import HeadSystem
    from nucleate.models.spectra import Spectra

__all__ = ["app", "main"]

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.add_typer(bench, name="bench")
app.command()(ensemble)
app.command()(reproduce)
app.command()(convert)
app.command()(explore)
app.command()(export)


@app.command()
@spectra_command  # which reads and prints; drawing belongs to a later room, and is handed to it here
def spectra(found: "Spectra", path: Path, progress: Callable[[int, int], object]) -> None:
    from nucleate.plot.heads_page import write_heads

    write_heads(found, path, progress)


PATIENCE = 2.0  # seconds before a progress bar appears
FRAMES = 512  # saved by default, enough for smooth lines
DEFAULT_SIZE = 2e7  # numbers saved by default at most; large systems get fewer frames
MATRIX = 'M.npy, identity, -identity, 0.5*identity, "diag(1,1,-2)" or "[[1,2],[3,4]]"'


def main() -> None:
    """The command `nucleate`."""
    app()


def _version(asked: bool) -> None:
    if asked:
        from nucleate import __version__

        typer.echo(f"nucleate {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=_version)
    ] = False,
) -> None:
    """Self-attention as particles on a sphere: simulate it, measure it, draw it."""


@app.command()
def simulate(
    tokens: Annotated[
        int | None,
        typer.Option("--tokens", "-n", help="Number of tokens.", show_default="200; with --model 256"),
    ] = None,
    dimension: Annotated[
        int | None,
        typer.Option(
            "--dimension",
            "-d",
            help="Dimension of the space around the sphere; 2 is the circle.",
            show_default="that of the matrices, else 2",
        ),
    ] = None,
    beta: Annotated[
        float | None,
        typer.Option(
            help="Inverse temperature, at least 0: how sharply tokens attend.",
            show_default="64; with --model the head's own",
        ),
    ] = None,
    time: Annotated[
        float | None,
        typer.Option(
            "--time",
            "-t",
            help="How long to run; time is depth, without a unit.",
            show_default="150; with --model until it should be seen where tokens go",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the uniformly random start, at least 0.", show_default="0")
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(
            help="Start from these tokens instead: a .npy file, (n, d) or (runs, n, d), rows of length 1."
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            help="Run this many systems side by side, each from a start of its own.",
            show_default="one system",
        ),
    ] = None,
    query: Annotated[
        str | None, typer.Option(help=f"Query matrix Q: {MATRIX}.", show_default="identity")
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="Key matrix K, written like Q.", show_default="identity")
    ] = None,
    value: Annotated[
        str | None, typer.Option(help="Value matrix V, written like Q.", show_default="identity")
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help=(
                "Take Q, K, V and beta from one head of this checkpoint: its folder, or its .safetensors or"
                " .gguf file."
            )
        ),
    ] = None,
    layer: Annotated[int | None, typer.Option(help="The head's layer, counted from 0; with --model.")] = None,
    head: Annotated[
        int | None, typer.Option(help="The head in its layer, counted from 0; with --model.")
    ] = None,
    mapping: Annotated[
        str | None, typer.Option(help="How an unknown --model names its tensors; see spectra.")
    ] = None,
    mask: Annotated[
        str,
        typer.Option(
            help=(
                "Whom a token sees: causal (itself and all before), full (all), window:W (itself and the W-1"
                " before)."
            )
        ),
    ] = "causal",
    save: Annotated[
        str | None,
        typer.Option(
            help='What to keep: a number of frames, "steps" (every step), or times such as 0,1,10,150.',
            show_default=f"{FRAMES}, fewer for large systems",
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help=(
                "auto; explicit (adaptive steps); causal (implicit, for times up to 1e300); euler, heun or"
                " rk4 (fixed steps, with --dt)."
            )
        ),
    ] = "auto",
    dt: Annotated[
        float | None, typer.Option(help="Step of the fixed-step methods, in units of time.")
    ] = None,
    rtol: Annotated[float, typer.Option(help="Relative tolerance of the adaptive method.")] = 1e-8,
    atol: Annotated[
        float, typer.Option(help="Absolute tolerance of the adaptive method, in radians.")
    ] = 1e-10,
    max_steps: Annotated[int, typer.Option(help="Stop after this many steps.")] = 1_000_000,
    time_limit: Annotated[
        float | None, typer.Option(help="Stop after this many seconds.", show_default="none")
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Number of threads.", show_default="all cores")] = None,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            help=(
                "Write here: data (.zarr, .npz), a picture (.png, .pdf, .svg) or an animation (.gif, .mp4)."
                " May be repeated."
            )
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Run again with tighter tolerances and say how many digits agree.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Let tokens move under attention; write data, a picture or an animation.

    Exit code 0: done. 1: it did not finish; what there is was written. 2: bad input. 130: interrupted; what
    there is was written.
    """
    with polite(one_line=model is None):
        from nucleate.attention import Attention
        from nucleate.integrate.storage import DATA, check_target

        targets = sorted(
            (check_target(path) for path in out or []), key=lambda path: path.suffix.lower() not in DATA
        )  # data first: they cost most to lose
        fixed = {
            "--beta": beta,
            "--query": query,
            "--key": key,
            "--value": value,
            "--dimension": dimension,
            "--runs": runs,
        }
        real = _real_head(model, layer, head, mapping, fixed)
        texts = {"query": query, "key": key, "value": value}
        matrices = {
            name: _matrix(f"--{name}", "identity" if text is None else text) for name, text in texts.items()
        }
        frames = _saved(save)
        if real is not None:
            dimension, tokens, method = (
                real.d,
                256 if tokens is None and start is None else tokens,
                "explicit" if method == "auto" else method,
            )
        x0, notes = (
            _from_file(start, tokens, None if real else dimension, seed, runs)
            if start
            else _drawn(tokens, _dimension(matrices) if dimension is None else dimension, seed, runs, frames)
        )
        reduced = None if real is None else real.reduced(x0, _mask(mask))
        Q, K, V = (_written_out(M, x0.shape[-1]) for M in matrices.values())
        system = (
            Attention(64.0 if beta is None else beta, Q, K, V, _mask(mask))
            if reduced is None
            else reduced.model
        )
        span = time if time is not None else 150.0 if real is None else real.span
        began = clock.perf_counter()
        with _bar("simulating", quiet, before="compiling, once") as at:
            from nucleate.integrate.simulate import simulate

            frames = frames if frames is not None else int(min(max(DEFAULT_SIZE // x0.size, 16), FRAMES))
            run = simulate(
                system,
                x0 if reduced is None else reduced.x0,
                span,
                save=frames,
                rtol=rtol,
                atol=atol,
                method=method,  # type: ignore[arg-type]  # simulate knows the names
                dt=dt,
                progress=lambda done, total: at(done / total),
                max_steps=max_steps,
                time_limit=time_limit,
                threads=threads,
            )
        took = clock.perf_counter() - began
        verdict = ""
        if real is not None and reduced is not None and model is not None:
            from nucleate.models.head_simulation import head_outcome

            verdict = str(head_outcome(real, reduced, run))
            run, notes = (
                reduced.in_all_dimensions(run, real.attention(_mask(mask))),
                {**notes, "model": model.name, "layer": real.layer, "head": real.head},
            )
        run = replace(run, notes=notes)
        troubles = _write(run, targets, quiet)
        if not quiet:
            _tell(run, took, targets, [path for path in targets if path not in troubles], verdict)
        if check:
            with _bar("checking", quiet):
                agreement = run.check()
            typer.echo(str(agreement))
        _end(run, list(troubles.values()))


@app.command()
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
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Follow the clusters of tokens until one is left; print when which merged, write a picture and the data.

    Exit code 0: one cluster is left. 1: it did not come to that; what there is was written. 2: bad input.
    130: interrupted; what there is was written.
    """
    with polite():
        from nucleate.checks import InputError
        from nucleate.integrate.storage import DATA, check_target

        targets = [check_target(path) for path in out or [Path("life.npz"), Path("life.png")]]
        targets.sort(key=lambda path: path.suffix.lower() not in DATA)  # data first: they cost most to lose
        began = clock.perf_counter()
        with _bar("living", quiet, before="compiling, once") as at:
            from nucleate.observe.life import life

            found = life(
                beta,
                tokens,
                dimension,
                seed,
                radius=radius,
                rtol=rtol,
                atol=atol,
                time_limit=time_limit,
                progress=lambda done, total: at(done / total),
            )
        took = clock.perf_counter() - began
        troubles = {}
        for path in targets:
            try:
                found.save(path)
            except InputError as error:
                troubles[path] = str(error)
        if not quiet:
            typer.echo(f"{found}\n")
            where = ", ".join(str(path) for path in targets if path not in troubles)
            typer.echo(f"took {took:.2f} s" + (f"; wrote {where}" if where else ""))
        if found.run.done and not found.whole:
            typer.echo(f"Not finished: {found.ending}. What was computed is kept.", err=True)
        _end(found.run, list(troubles.values()))
        if not found.whole:
            raise typer.Exit(UNFINISHED)


# From words to arrays


def _real_head(
    model: Path | None, layer: int | None, head: int | None, mapping: str | None, fixed: dict[str, Any]
) -> "HeadSystem | None":
    """The head of a checkpoint that is asked for, if one is; `fixed` are the options that it leaves no room
    for."""
    from nucleate.checks import InputError

    if model is None:
        for option, given in (("--layer", layer), ("--head", head), ("--mapping", mapping)):
            if given is not None:
                raise InputError(f"{option} is given, but no --model. Add --model PATH, a checkpoint.")
        return None
    for option, given in fixed.items():
        if given is not None:
            raise InputError(
                f"{option} is given, but --model already fixes the system. Leave out one of the two."
            )
    from nucleate.models.head_simulation import head_system

    return head_system(model, layer, head, mapping)


def _array(option: str, path: Path) -> "Array":
    """The array in a .npy file; pickles inside are never opened, nor is more read than the file holds."""
    import numpy as np

    from nucleate.checks import InputError, file_error, finite_array

    try:
        array = np.lib.format.open_memmap(path, mode="r")
    except OSError as error:
        raise file_error(
            f"{option} {path} cannot be read: {error.strerror or 'it is no file'}. Pass a .npy file.", error
        ) from None
    except Exception:  # a broken file can raise anything
        raise InputError(
            f"{option} {path} is not a plain .npy file of numbers. Write it with numpy.save, without Python"
            " objects."
        ) from None
    return finite_array(f"{option} {path}", np.asarray(array))


def _matrix(option: str, text: str) -> Any:
    """A matrix as an array; c for c times the identity, whose dimension is not known yet; None for the
    identity."""
    import numpy as np

    from nucleate.checks import InputError, check_memory

    text = text.strip()
    try:
        if found := re.fullmatch(r"(-|[^*]*\*)?\s*identity", text):
            factor = (found[1] or "").rstrip("*")
            return {"": None, "-": -1.0}[factor] if factor in ("", "-") else float(factor)
        if found := re.fullmatch(r"diag\((.*)\)", text):
            entries = [float(entry) for entry in found[1].split(",")]
            check_memory(64.0 * len(entries) ** 2, f"{option} with {len(entries)} entries")
            return np.diag(entries)
        if text.startswith("["):
            return np.array(json.loads(text), dtype=float)
        if text.lower().endswith(".npy"):
            return _array(option, Path(text))
    except InputError:
        raise
    except (ValueError, TypeError, RecursionError):  # not numbers, or not in rows of one length
        pass
    raise InputError(f"{option} is {text if len(text) < 80 else text[:77] + '...'!r}, but must be {MATRIX}.")


def _written_out(M: Any, d: int) -> Any:
    import numpy as np

    return M * np.eye(d) if isinstance(M, float) else M


def _dimension(matrices: dict[str, Any]) -> int:
    """The dimension the matrices ask for, or 2."""
    return next((M.shape[-1] for M in matrices.values() if getattr(M, "ndim", 0) > 1), 2)


def _mask(text: str) -> Any:
    from nucleate.attention import Window
    from nucleate.checks import InputError

    if found := re.fullmatch(r"window:(\d+)", text):
        return Window(int(found[1]))
    if text in ("causal", "full"):
        return text
    raise InputError(f"--mask is {text!r}, but must be causal, full or window:W, such as window:8.")


def _saved(text: str | None) -> Any:
    """How many frames, "steps", or which times; None where the choice is left to us."""
    from nucleate.checks import InputError

    if text is None or text == "steps":
        return text
    try:
        return (
            int(text)
            if re.fullmatch(r"\s*[+-]?\d+\s*", text)
            else [float(entry) for entry in text.split(",")]
        )
    except ValueError:
        raise InputError(
            f'--save is {text!r}, but must be a number of frames, "steps", or times such as 0,1,10,150.'
        ) from None


def _drawn(
    tokens: int | None, d: int, seed: int | None, runs: int | None, frames: Any
) -> tuple["Array", dict[str, Any]]:
    """A uniformly random start (n, d), or (runs, n, d) with run i drawn from SeedSequence(seed,
    spawn_key=(i,))."""
    import numpy as np

    from nucleate.checks import check_memory, whole_number
    from nucleate.sphere import uniform

    n, seed = 200 if tokens is None else tokens, whole_number("seed", 0 if seed is None else seed, least=0)
    b = 1 if runs is None else whole_number("runs", runs, least=1, help="It is the number of systems.")
    m = frames if isinstance(frames, int) else len(frames) if isinstance(frames, list) else 16
    check_memory(
        8.0 * b * max(n, 1) * max(d, 1) * (m + 4), f"{b} x {n} tokens in dimension {d} with {m} frames"
    )
    if runs is None:
        return uniform(n, d, seed), {"start": "uniform(n, d, seed)", "seed": seed}
    # (b, n, d)
    x0 = np.stack([uniform(n, d, np.random.SeedSequence(seed, spawn_key=(i,))) for i in range(b)])
    return x0, {"start": "uniform(n, d, SeedSequence(seed, spawn_key=(run,)))", "seed": seed}


def _from_file(
    path: Path, tokens: int | None, dimension: int | None, seed: int | None, runs: int | None
) -> tuple["Array", dict[str, Any]]:
    """The start kept in a file (n, d) or (b, n, d)."""
    from nucleate.checks import InputError, check_tokens

    for option, given in (
        ("--tokens", tokens),
        ("--dimension", dimension),
        ("--seed", seed),
        ("--runs", runs),
    ):
        if given is not None:
            raise InputError(
                f"{option} is given, but --start already fixes the start. Leave out one of the two."
            )
    return check_tokens("--start", _array("--start", path)), {"start": path.name}


# What a person sees


@contextmanager
def _bar(words: str, quiet: bool, before: str | None = None) -> Iterator[Callable[[float], None]]:
    """A progress bar on stderr, if stderr is a terminal and the block takes longer than PATIENCE; at(share)
    moves it.

    Until it moves for the first time it says `before`.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )
    task = bar.add_task(before or words, total=1.0)
    timer = threading.Timer(PATIENCE, bar.start)
    timer.daemon = True
    shown = console.is_terminal and not quiet
    if shown:
        timer.start()
    try:
        yield lambda share: bar.update(task, completed=share, description=words)
    finally:
        if shown:
            timer.cancel()
            timer.join()
            if bar.live.is_started:
                bar.stop()


def _write(run: "Run", targets: list[Path], quiet: bool) -> dict[Path, str]:
    """Write `run` everywhere it is wanted; what went wrong, by path: one full disk must not cost the other
    copies."""
    from nucleate.checks import InputError
    from nucleate.plot import animate

    troubles = {}
    for path in targets:
        try:
            if path.suffix.lower() in (".gif", ".mp4"):
                with _bar(f"drawing {path.name}", quiet) as at:
                    animate(run, path, progress=lambda done, total, at=at: at(done / total))  # type: ignore[misc]  # mypy cannot infer a lambda's default
            else:
                run.save(path)
        except InputError as error:
            troubles[path] = str(error)
    return troubles


def _tell(run: "Run", took: float, asked: list[Path], written: list[Path], verdict: str) -> None:
    """The run in a few lines; on the circle also where its tokens are, before and after; of a real head what
    Table 1 says and what happened."""
    import numpy as np

    from nucleate.plot import strip

    typer.echo(run.summary)
    x = run.x if run.x.ndim == 3 else run.x[0]  # (m, n, d)
    x = x[np.isfinite(x).all((1, 2))]  # frames that were reached
    if x.shape[-1] == 2 and len(x) > 1 and (sys.stdout.encoding or "").lower().startswith("utf"):
        typer.echo(f"first frame  {strip(x[0])}\nlast frame   {strip(x[-1])}")
    if verdict:
        typer.echo(verdict)
    hint = "" if asked else ": add --out run.png for a picture, --out run.zarr for the data"
    typer.echo(
        f"took {took:.2f} s; "
        + (f"wrote {', '.join(map(str, written))}" if written else f"nothing written{hint}")
    )


def _end(run: "Run", troubles: list[str]) -> None:
    """The exit code, and on stderr the reason for any but 0."""
    for trouble in troubles:
        typer.echo(f"Error: {trouble}", err=True)
    statuses = (run.status,) if isinstance(run.status, str) else run.status
    if not run.done:
        typer.echo(f"Not finished: {run.ending}. What was computed is kept.", err=True)
        raise typer.Exit(INTERRUPTED if "interrupted" in statuses else UNFINISHED)
    if troubles:
        raise typer.Exit(BAD_INPUT)
