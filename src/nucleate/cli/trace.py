"""`nucleate trace`: parse, call one function, print. Heavy imports wait until they are needed."""

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nucleate.cli.cost import LONG_SECONDS, NOTHING_DONE
from nucleate.cli.errors import friendly_errors
from nucleate.cli.options import CheckpointPath, Quiet
from nucleate.cli.printing import echo
from nucleate.cli.progress import ProgressBar
from nucleate.durations import in_words

if TYPE_CHECKING:
    from nucleate.integrate.run import Run
    from nucleate.models.trace import Reading

__all__ = ["trace"]

DATA, PICTURES, PAGES = (".zarr", ".npz"), (".png", ".pdf", ".svg"), (".html", ".htm")
MAX_TEXT_BYTES = 2**24  # of a file
LOOKS_LIKE_A_FILE = re.compile(r"\S+\.(txt|md|text)|[./~]\S*/\S+", re.ASCII)


def trace(
    path: CheckpointPath,
    text: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                "A file, or the text itself. May be repeated: several texts are a batch, all cut to as many"
                " tokens as the shortest has."
            ),
            show_default="the English texts that come with the package",
        ),
    ] = None,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            help=(
                "Write here: data (.zarr, .npz), a picture (.png, .pdf, .svg), or a page (.html) of the first"
                " text with controls. May be repeated."
            ),
            show_default="nothing",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            help=(
                "Measure all there is, with all controls, and judge every hypothesis: report.md, report.json"
                " and pictures into this folder. The same command goes on where it was interrupted."
            ),
            show_default="no report",
        ),
    ] = None,
    length: Annotated[
        int | None,
        typer.Option(help="At most so many tokens of each text.", show_default="all; 256 in a report"),
    ] = None,
    attention_weights: Annotated[
        bool, typer.Option("--attention-weights", help="Keep the attention weights of every head, too.")
    ] = False,
    logits: Annotated[
        bool, typer.Option("--logits", help="Keep the scores of all words of the vocabulary, too.")
    ] = False,
    precision: Annotated[str, typer.Option(help="single (float32) or double (float64).")] = "single",
    tokenizer: Annotated[
        Path | None,
        typer.Option(
            help="Where the tokenizer is: a folder, tokenizer.json, vocab.txt or a .gguf file.",
            show_default="beside the weights",
            readable=False,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done and how long it takes, and stop.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Follow the tokens of a text through the layers of a model: a run whose time is depth.

    Layer 0 is before the first block.

    Numbers of a layer leave out the first token, which in many models all others attend to (a sink).

    nucleate trace model.gguf --text "The cat sat on the mat." --out trace.zarr

    nucleate trace model.gguf --report report/

    Exit code 0: done. 2: bad input, such as a file that cannot be trusted. 130: interrupted.
    """
    with friendly_errors("Use --length for shorter texts."):
        if report is not None:
            if out or attention_weights or logits or precision != "single":
                from nucleate.checks import InputError

                raise InputError(
                    "--report keeps numbers and no states: --out, --attention-weights, --logits and"
                    " --precision do not go with it. Leave them out, or leave out --report."
                )
            return _report(path, text, report, tokenizer, length, dry_run, quiet)
        targets = _targets(out or [])
        texts = [_text(one) for one in text] if text else _shipped()
        began = time.perf_counter()
        from nucleate.checks import InputError
        from nucleate.models.trace import PRECISIONS, prepare_trace, read

        if precision not in PRECISIONS:
            raise InputError(f"--precision must be single or double, but is {precision!r}.")
        with ProgressBar("opening", quiet) as progress:
            progress.say("opening the model and its tokenizer")
            reading = prepare_trace(path, texts[0] if len(texts) == 1 else texts, tokenizer, length)
        reading.check_memory(precision, attention_weights, logits)
        _announce(reading, dry_run, quiet)
        if dry_run:
            return
        with ProgressBar("forward pass", quiet, unit="layers") as progress:
            run = read(reading, attention_weights, logits, precision, progress)
        pages = [target for target in targets if target.suffix.lower() in PAGES]
        if pages:
            run = _write_pages(run, reading, pages, quiet)
        for target in targets:
            if target not in pages:
                run.save(target)
        if not quiet:
            _tell(run)
            wrote = f"; wrote {', '.join(map(str, targets))}" if targets else ""
            echo(f"\ntook {time.perf_counter() - began:.1f} s{wrote}")


def _report(
    path: Path,
    text: list[str] | None,
    folder: Path,
    tokenizer: Path | None,
    length: int | None,
    dry_run: bool,
    quiet: bool,
) -> None:
    """The whole report, its cost said first."""
    from nucleate.tracing.report import LENGTH, announce, prepare_report, report_of, report_passes

    began = time.perf_counter()
    length = LENGTH if length is None else length
    texts = [_text(one) for one in text] if text else None
    names = [Path(one).stem if _is_there(one) else f"text {i + 1}" for i, one in enumerate(text or [])]
    with ProgressBar("opening", quiet) as progress:
        progress.say("opening the model and its tokenizer")
        reading, known = prepare_report(path, texts, names, tokenizer, length)
    if dry_run:
        echo(announce(reading, None, report_passes(reading)))
        for note in reading.notes:
            echo(note)
        echo(NOTHING_DONE)
        return
    said: list[str] = []

    def tell(words: str) -> None:
        """The cost, beforehand; what is being measured, in the bar."""
        if not said and not quiet:
            echo(words, err=True)
        elif said:
            bar.words = words.partition(":")[0]
        said.append(words)

    with ProgressBar("forward passes", quiet, unit="passes") as bar:
        found = report_of(reading, folder, names=known, tell=tell, progress=bar)
    if not quiet:
        echo(str(found))
        echo(f"\ntook {time.perf_counter() - began:.1f} s; wrote {folder / 'report.md'}")


def _targets(paths: list[Path]) -> list[Path]:
    from nucleate.checks import InputError
    from nucleate.integrate.storage import check_target

    known = DATA + PICTURES + PAGES
    for path in paths:
        if path.suffix.lower() not in known:
            raise InputError(
                f"--out {path} has the ending {path.suffix or '(none)'}, but must have one of"
                f" {', '.join(known)}."
            )
    return [(_check_page if path.suffix.lower() in PAGES else check_target)(path) for path in paths]


def _check_page(path: Path) -> Path:
    from nucleate.explorer.export import check_html

    return check_html(path)


def _write_pages(run: "Run", reading: "Reading", pages: list[Path], quiet: bool) -> "Run":
    """Write the pages; the run with the controls that they show, so that stored data have them, too."""
    from nucleate.explorer.export import write_trace
    from nucleate.explorer.trace_controls import with_controls

    with ProgressBar("controls", quiet, unit="passes") as progress:
        run = with_controls(run, reading, progress=progress)
    for page in pages:
        write_trace(run, page, page.stem)
    return run


def _is_there(given: str) -> bool:
    """Whether there is a file of this name."""
    try:
        return Path(given).exists()
    except (OSError, ValueError):  # too long for a name, or with a zero byte
        return False


def _text(given: str) -> str:
    """The text of a file of this name, or, where there is none, these words themselves."""
    from nucleate.checks import InputError, MissingFileError, read_file

    if not _is_there(given):
        if LOOKS_LIKE_A_FILE.fullmatch(given):
            raise MissingFileError(f"--text {given} names a file that does not exist. Check the name.")
        return given
    try:
        return read_file(Path(given), MAX_TEXT_BYTES).decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"--text {given} is not UTF-8. Save it as UTF-8 first.") from None


def _shipped() -> list[str]:
    from nucleate.models.shipped_texts import shipped_texts

    return [one.text for one in shipped_texts()]


def _announce(reading: "Reading", dry_run: bool, quiet: bool) -> None:
    """What will be done, where it takes long or only that was asked for."""
    import numpy as np

    seconds = reading.seconds
    if not dry_run and (quiet or seconds < LONG_SECONDS):
        return
    s, (b, n) = reading.model.settings, np.atleast_2d(reading.ids).shape
    texts = f"{b} texts of " if b > 1 else ""
    echo(
        f"{s.name}: {s.architecture}, {s.layers} layers of {s.heads} heads, d = {s.d}; {texts}{n} tokens;"
        f" {in_words(seconds)}",
        err=not dry_run,
    )
    if dry_run:
        for note in reading.notes:
            echo(note)
        echo(NOTHING_DONE)


def _tell(run: "Run") -> None:
    from nucleate.models.depth_table import depth_table

    echo(f"{run.summary}\n")
    echo(depth_table(run))
    for note in run.notes.get("notes", ()):
        echo(note)
