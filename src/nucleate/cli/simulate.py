"""`nucleate simulate`: parse, call one function, print. Heavy imports wait until they are needed."""

import re
import sys
import time as clock
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nucleate.cli.cost import (
    ALL_PAIRS,
    BY_MODES,
    MANY_ON_CIRCLE,
    ROUGH_SECONDS,
    announce,
    linear_from,
    rough_seconds,
    tried_seconds,
)
from nucleate.cli.errors import friendly_errors
from nucleate.cli.options import (
    Alibi,
    Alpha,
    Discrete,
    DryRun,
    ExcludeSelf,
    Heads,
    LayerDt,
    Layers,
    Noise,
    Norm,
    Quiet,
    Radius,
    Redraw,
    Rope,
    Tau,
    Threads,
    Weights,
)
from nucleate.cli.printing import echo
from nucleate.cli.progress import ProgressBar
from nucleate.cli.results import check_targets, finish, write_all
from nucleate.cli.simulation_setup import (
    DEFAULT_FRAMES,
    StartOptions,
    model_from_options,
    refuse_given,
    setup_from_model,
    setup_from_options,
)

if TYPE_CHECKING:
    from nucleate.checks import Array
    from nucleate.cli.cost import Part
    from nucleate.integrate.run import Run

__all__ = ["simulate"]

MAX_STEPS = 1_000_000
NO_MODEL = "no --model. Add --model PATH, a checkpoint."
MODEL_FIXES = "--model already fixes the system. Leave out one of the two."
MATRIX_HELP = (
    '2.0 or 2.0*identity, -identity, "diag(1,1,-2)", "[[1,2],[3,4]]", M.npy, or a name: row2, row3, row4,'
    ' row5, complex, defective, marginal, mirror, "gaussian(SEED)", "head(SEED)"; drawn anew for every run:'
    " \"{random = 'gaussian'}\""
)


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
            show_default="150; with --layers to the last; with --model by the head's own rates",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Seed of the random start, of random matrices and of noise, at least 0.", show_default="0"
        ),
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(
            help="Start from these tokens instead: a .npy file, (n, d) or (runs, n, d), rows of length 1.",
            readable=False,
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
        str | None, typer.Option(help=f"Query matrix Q: {MATRIX_HELP}.", show_default="identity")
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
                " .gguf file; or the whole model from the table \\[model] of a .toml file."
            ),
            readable=False,
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
        str | None,
        typer.Option(
            help=(
                "Whom a token sees: causal (itself and all before), full (all), window:W (itself and the W-1"
                " before)."
            ),
            show_default="causal",
        ),
    ] = None,
    weights: Weights = None,
    alibi: Alibi = None,
    rope: Rope = None,
    heads: Heads = None,
    norm: Norm = None,
    tau: Tau = None,
    alpha: Alpha = None,
    radius: Radius = None,
    noise: Noise = None,
    exclude_self: ExcludeSelf = False,
    layers: Layers = None,
    layer_dt: LayerDt = None,
    discrete: Discrete = False,
    redraw: Redraw = None,
    save: Annotated[
        str | None,
        typer.Option(
            help='What to keep: a number of frames, "steps" (every step), or times such as 0,1,10,150.',
            show_default=f"{DEFAULT_FRAMES}, fewer for large systems",
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
    max_steps: Annotated[int, typer.Option(help="Stop after this many steps.")] = MAX_STEPS,
    time_limit: Annotated[
        float | None, typer.Option(help="Stop after this many seconds.", show_default="none")
    ] = None,
    threads: Threads = None,
    device: Annotated[
        str, typer.Option(help="cpu; gpu (an NVIDIA card: explicit and fixed steps, the extra gpu).")
    ] = "cpu",
    precision: Annotated[
        str,
        typer.Option(
            help="double; single (pairs in single precision, for --rtol 1e-6 and -d 16 or more); mixed (the"
            " same with --device gpu)."
        ),
    ] = "double",
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
    dry_run: DryRun = False,
    quiet: Quiet = False,
) -> None:
    """Let tokens move under attention; write data, a picture or an animation.

    Exit code 0: done. 1: not finished. 2: bad input. 130: interrupted. What was computed is written.
    """
    with friendly_errors(one_line=model is None):
        from nucleate.parse.mask import parse_mask

        targets = check_targets(out or [])
        sees = parse_mask("--mask", "causal" if mask is None else mask)
        matrices = {"--query": query, "--key": key, "--value": value}
        family = {
            "--weights": weights,
            "--alibi": alibi,
            "--rope": rope,
            "--heads": heads,
            "--norm": norm,
            "--tau": tau,
            "--alpha": alpha,
            "--radius": radius,
            "--noise": noise,
            "--exclude-self": exclude_self or None,
            "--layers": layers,
            "--layer-dt": layer_dt,
            "--discrete": discrete or None,
            "--redraw": redraw,
        }
        begin = StartOptions(start, tokens, dimension, runs, seed, _saved(save))
        if model is None or model.suffix.lower() == ".toml":
            refuse_given({"--layer": layer, "--head": head, "--mapping": mapping}, NO_MODEL)
            table = model_from_options(model, {"--beta": beta, **matrices, "--mask": mask, **family})
            setup = setup_from_options(table, begin, time)
        else:
            fixed = {"--beta": beta, **matrices, "--dimension": dimension, "--runs": runs}
            refuse_given({**fixed, **family}, MODEL_FIXES)
            setup = setup_from_model(model, layer, head, mapping, sees, begin)
        if setup.noise_seed is not None and dt is None:
            from nucleate.checks import InputError

            raise InputError("--noise takes fixed steps, but --dt is missing. Add --dt 0.01, say.")
        noisy: dict[str, Any] = {} if setup.noise_seed is None else {"seed": setup.noise_seed}
        last = setup.span if time is None else time

        def moved(
            x0: "Array", *, progress: Any, max_steps: int | None = max_steps, time_limit: float | None
        ) -> "Run":
            from nucleate.integrate.simulate import simulate

            return simulate(
                setup.model,
                x0,
                last,
                save=setup.frames,
                rtol=rtol,
                atol=atol,
                method=setup.method if method == "auto" else method,  # type: ignore[arg-type]  # simulate knows the names
                dt=dt,
                progress=progress,
                max_steps=MAX_STEPS if max_steps is None else max_steps,
                time_limit=time_limit,
                threads=threads,
                device=device,  # type: ignore[arg-type]  # simulate knows the names
                precision=precision,  # type: ignore[arg-type]  # the same
                **noisy,
            )

        plain = not (mask or "").startswith("window") and model is None
        beside = [name for name, one in family.items() if one is not None]
        # on the sphere a head with ALiBi goes as one without
        one_head = (
            plain and device == "cpu" and (not beside or (beside == ["--alibi"] and setup.x0.shape[-1] == 3))
        )
        alone = (setup.model, rtol + atol) if one_head else None
        tried = _announce(moved, setup.x0, last, plain, alone, dry_run, quiet, time_limit)
        if dry_run:
            return
        began = clock.perf_counter()
        before = "the first steps" if tried else "compiling, once"
        with ProgressBar("simulating", quiet, before=before) as progress:
            run = moved(setup.x0, progress=progress, time_limit=time_limit)
        took = clock.perf_counter() - began
        run, verdict = setup.interpret(run)
        run = replace(run, notes=setup.notes)
        troubles = write_all(lambda path: _write(run, path, quiet), targets)
        if not quiet:
            _tell(run, took, targets, [path for path in targets if path not in troubles], verdict)
        if check:
            with ProgressBar("checking", quiet):
                agreement = run.check()
            echo(str(agreement))
        finish(run, "" if run.done else run.ending, targets, troubles)


def _announce(
    moved: "Part",
    x0: "Array",
    t: float,
    plain: bool,
    one_head: tuple[Any, float] | None,
    dry_run: bool,
    quiet: bool,
    time_limit: float | None,
) -> bool:
    """Say what the run will cost if that is much, or all that was asked for; whether it had to be tried.

    plain      whether tokens see all others before them
    one_head   the model, where it is one head on top of that, and the tolerance
    """
    from nucleate.checks import finite_number

    runs, (n, d) = len(x0) if x0.ndim == 3 else 1, x0.shape[-2:]
    t = finite_number("t", t, above=0.0, help="It is the time to stop at.")
    linear, power = None, ALL_PAIRS if d > 2 and plain else None
    if one_head is not None:
        linear = MANY_ON_CIRCLE // 2 if d == 2 else linear_from(*one_head, n, d, t)
        if linear is not None and n > 2 * linear:
            power = BY_MODES
    seconds = rough_seconds(runs, n, d, t, linear)
    tried = dry_run or (seconds >= ROUGH_SECONDS and not quiet)
    if tried:
        with ProgressBar("trying with fewer tokens how long it takes", quiet):
            seconds = tried_seconds(moved, x0, t, power, linear if power == BY_MODES else None)
    seconds = min(seconds, time_limit or seconds)
    many = f"{runs} runs of " if x0.ndim == 3 else ""
    announce(seconds if tried else 0.0, f"{many}{n} tokens, d = {d}, to t = {t:g}", dry_run, quiet)
    return tried


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


def _write(run: "Run", path: Path, quiet: bool) -> None:
    """One file; to draw an animation takes long enough to be watched."""
    if path.suffix.lower() in (".gif", ".mp4"):
        from nucleate.plot import animate

        with ProgressBar(f"drawing {path.name}", quiet, unit="frames") as progress:
            animate(run, path, progress=progress)
    else:
        run.save(path)


def _tell(run: "Run", took: float, asked: list[Path], written: list[Path], verdict: str) -> None:
    """The run in a few lines; on the circle also where its tokens are, before and after; of a head of a model
    what Table 1 says and what happened."""
    import numpy as np

    from nucleate.plot import text_histogram

    echo(run.summary)
    x = run.x if run.x.ndim == 3 else run.x[0]  # (m, n, d)
    x = x[np.isfinite(x).all((1, 2))]  # frames that were reached
    if x.shape[-1] == 2 and len(x) > 1 and (sys.stdout.encoding or "").lower().startswith("utf"):
        echo(f"first frame  {text_histogram(x[0])}\nlast frame   {text_histogram(x[-1])}")
    if verdict:
        echo(verdict)
    hint = "" if asked else ": add --out run.png for a picture, --out run.zarr for the data"
    echo(
        f"took {took:.2f} s; "
        + (f"wrote {', '.join(map(str, written))}" if written else f"nothing written{hint}")
    )
