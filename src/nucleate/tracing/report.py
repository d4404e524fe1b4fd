"""The report on one model: every item measured or read again, verdicts, pictures, and the words.

    report.json       settings, criteria, verdicts, intervals by layer
    report.md         to read
    *.png             pictures
    items/KEY.npz     what was measured, with a fingerprint of all it depends on

An item that is there and would be made the same way is read again, so that an interrupted report goes on.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import InputError, as_path, whole_number
from nucleate.source_hash import source_hash
from nucleate.tracing.bridge import left_out
from nucleate.tracing.bridge_paths import measure_bridge
from nucleate.tracing.controls import CONTROLS, full_shuffle
from nucleate.tracing.criteria import HYPOTHESES, SETTINGS, Answer, Judged, answer, interval, judge
from nucleate.tracing.measures import (
    Numbers,
    Texts,
    measure_control,
    measure_frames,
    measure_pull,
    measure_shuffles,
    measure_text,
)
from nucleate.tracing.positive_control import measure_positive_control
from nucleate.tracing.sentence import SHOWN, measure_sentence

if TYPE_CHECKING:
    from nucleate.models.forward import TransformerModel
    from nucleate.models.trace import Reading

__all__ = ["TraceReport", "in_minutes", "judged", "report_of", "trace_report"]

REPLACEMENTS = 6  # centers of every text that are replaced
BRIDGE_TEXTS = 1
GOOD_FIT = 0.5
OPTIONAL = ("positive control", "sentence", "bridge", "blocks")  # no verdict rests on them
OWN_MODULES = {
    "bridge": "bridge_paths",
    "positive control": "positive_control",
    "sentence": "sentence",
}  # what measures an item
REPLACING = ("pull", "positive control")  # items that replace centers
SIMULATING = ("bridge", "positive control")  # items that run our own dynamics
FORWARD_PASS = "nucleate.models.forward.model"
NOT_USED = ("nucleate.integrate", "nucleate.kernels", "nucleate.parse", "nucleate.theory")  # by the others


@dataclass(frozen=True, eq=False)
class TraceReport:
    """What was found."""

    folder: Path
    name: str
    texts: tuple[str, ...]
    n: int
    items: Mapping[str, Numbers]
    verdicts: Mapping[str, Judged]
    answer: Answer
    notes: tuple[str, ...]
    settings: Mapping[str, Any]


def trace_report(
    path: Any,
    texts: Sequence[str],
    out: str | Path,
    *,
    name: str | None = None,
    names: Sequence[str] = (),
    tokenizer: Any = None,
    length: int | None = None,
    seed: int = 0,
    replacements: int = REPLACEMENTS,
    without: Sequence[str] = (),
    tell: Callable[[str], object] = lambda words: None,
    progress: Callable[[int, int], object] | None = None,
) -> TraceReport:
    """Measure a checkpoint on several texts with all controls, into the folder `out`.

    texts         8 or more; all are cut to as many tokens as the shortest has, or to `length`
    name, names   of the model and of the texts, for the report
    replacements  centers of every text that are replaced, for pull
    without       items to leave out, of those on which no verdict rests: "positive control", "sentence",
                  "bridge", "blocks"
    tell          called with a line about what comes and how long it takes
    progress      called as progress(done, texts to run)
    """
    from nucleate.models.trace import prepare_trace

    if isinstance(texts, str) or len(texts) < 2:
        raise InputError("A report needs two texts or more, as twins are of another text. Give a list.")
    reading = prepare_trace(path, list(texts), tokenizer, length)
    return report_of(reading, out, name, names, seed, replacements, without, tell, progress)


def report_of(
    reading: "Reading",
    out: str | Path,
    name: str | None = None,
    names: Sequence[str] = (),
    seed: int = 0,
    replacements: int = REPLACEMENTS,
    without: Sequence[str] = (),
    tell: Callable[[str], object] = lambda words: None,
    progress: Callable[[int, int], object] | None = None,
) -> TraceReport:
    """The same of a model and tokens that were prepared."""
    from nucleate.observe.capture import word_numbers
    from nucleate.tracing.words import write_words

    seed = whole_number("seed", seed, least=0)
    replacements = whole_number("replacements", replacements, least=1)
    folder, model, ids = as_path("out", out), reading.model, np.atleast_2d(reading.ids)
    kept = 0 if reading.tokenizer.first_token is None else 1
    some = Texts(ids, word_numbers(reading.tokens), kept)
    T, n = ids.shape
    (folder / "items").mkdir(parents=True, exist_ok=True)
    unknown = [key for key in without if key not in OPTIONAL]
    if unknown:
        raise InputError(f"{unknown[0]!r} cannot be left out. Choose among {', '.join(OPTIONAL)}.")
    plan = _plan(model, some, seed, replacements)
    plan = {key: item for key, item in plan.items() if key not in without}
    total = sum(runs for runs, _ in plan.values())
    words = in_minutes(total * reading.seconds / T)
    tell(f"{name or model.settings.name}: {T} texts of {n} tokens, {total} forward passes, {words} here")
    items: dict[str, Numbers] = {}
    before = 0
    for key, (runs, measure) in plan.items():
        file = folder / "items" / f"{key.replace(' ', '-')}.npz"
        mark = _fingerprint(model, some, key, seed, replacements)
        found = _read(file, mark)
        if found is None:
            tell(f"{key}: {runs} forward passes")
            found = measure(_ticker(before, total, progress))
            _write(file, mark, found)
        before += runs
        items[key] = found
        if progress is not None:
            progress(before, total)
    verdicts = judged(items)
    shown = ("architecture", "layers", "heads", "kv_heads", "d", "causal", "norm_place")
    report = TraceReport(
        folder,
        name or model.settings.name,
        tuple(names) if len(names) == T else tuple(f"text {i}" for i in range(T)),
        n,
        items,
        verdicts,
        answer(verdicts),
        reading.notes,
        {"file": model.settings.name, **{key: getattr(model.settings, key) for key in shown}},
    )
    write_words(report, reading.tokens, left_out(model))
    return report


def _ticker(before: int, total: int, progress: Callable[[int, int], object] | None) -> Callable[[], None]:
    """What an item calls after each text that it has run."""
    done = before

    def tick() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    return tick


def judged(items: Mapping[str, Numbers]) -> dict[str, Judged]:
    """All verdicts, of what was measured."""
    text = items["text"]
    cosine = text["mean_cosine"]  # (T, L + 1)
    fits = (text["drift_r2"] >= GOOD_FIT).mean(1)  # (T,)
    values = {
        "gather": cosine[:, -1] - cosine[:, 0],
        "training": cosine[:, -1] - items["re-drawn weights"]["mean_cosine"][:, -1],
        "shuffle": items["shuffled"]["mean_cosine"][:, -1] - cosine[:, -1],
        "nearness": text["rank"][:, -1],
        "cover": text["cover"][:, -1],
        "sight": text["sight"][:, -1],
        "pull": items["pull"]["pull"][:, -1],
        "attention": (text["attention_share"] - text["mlp_share"]).mean(1),
        "drift": fits,
    }
    assert set(values) == set(HYPOTHESES)
    return {key: judge(key, value) for key, value in values.items()}


def _plan(
    model: "TransformerModel", texts: Texts, seed: int, replacements: int
) -> dict[str, tuple[int, Callable[[Callable[[], None]], Numbers]]]:
    """The items in their order: how many forward passes, and what measures them."""
    T, n = texts.ids.shape
    plan: dict[str, tuple[int, Callable[[Callable[[], None]], Numbers]]] = {
        "text": (T, lambda tick: measure_text(model, texts, seed, tick))
    }
    for key in CONTROLS:
        if key != "text":
            plan[key] = (
                T,
                lambda tick, key=key: measure_control(model, texts, key, seed, tick),  # type: ignore[misc]  # mypy cannot infer a lambda with defaults
            )
    plan["pull"] = (
        T * (1 + replacements),
        lambda tick: measure_pull(model, texts, replacements, seed, tick),
    )
    plan["frames"] = (1, lambda tick: measure_frames(model, texts.ids[0]))
    plan["positive control"] = (
        T * (1 + replacements),
        lambda tick: measure_positive_control(model, texts, replacements, seed, tick),
    )
    plan["sentence"] = (len(SHOWN), lambda tick: measure_sentence(model, texts, seed))
    if model.settings.norm_place != "post":
        plan["bridge"] = (
            BRIDGE_TEXTS,
            lambda tick: measure_bridge(model, texts, BRIDGE_TEXTS, tick),
        )
    plan["blocks"] = (
        T * (full_shuffle(n) - 1),
        lambda tick: measure_shuffles(model, texts, seed, tick),
    )
    return plan


def in_minutes(seconds: float) -> str:
    """About how long: "about 40 s", "about 6 min"."""
    return f"about {max(seconds, 1.0):.0f} s" if seconds < 90.0 else f"about {seconds / 60.0:.0f} min"


def _fingerprint(model: "TransformerModel", texts: Texts, key: str, seed: int, replacements: int) -> str:
    """Of all that an item depends on: the weights of the first and the last layer stand for all."""
    digest = hashlib.sha256()
    for i in (0, model.settings.layers - 1):
        layer = model.layer(i)
        for part in (layer.q, layer.v, layer.o, layer.up):
            digest.update(np.ascontiguousarray(part).tobytes())
    digest.update(np.ascontiguousarray(texts.ids).tobytes() + np.ascontiguousarray(texts.words).tobytes())
    told = [
        asdict(model.settings),
        key,
        seed,
        replacements if key in REPLACING else None,
        texts.kept,
        source_hash(f"nucleate.tracing.{OWN_MODULES.get(key, 'measures')}", FORWARD_PASS, without=NOT_USED),
        source_hash("nucleate.integrate.simulate") if key in SIMULATING else None,
    ]
    digest.update(json.dumps(told, sort_keys=True, default=str).encode())
    return digest.hexdigest()


def _read(file: Path, mark: str) -> Numbers | None:
    """The item if it is there and was made the same way."""
    if not file.is_file():
        return None
    try:
        with np.load(file, allow_pickle=False) as stored:
            if str(stored["fingerprint"]) != mark:
                return None
            return {name: stored[name] for name in stored.files if name != "fingerprint"}
    except (OSError, ValueError, KeyError):  # cut off or no such file
        return None


def _write(file: Path, mark: str, numbers: Numbers) -> None:
    from nucleate.integrate.storage import replacing

    with replacing(file) as part, open(part, "wb") as stream:
        np.savez_compressed(stream, fingerprint=np.array(mark), **numbers)  # type: ignore[arg-type]  # mypy takes any of them for allow_pickle


def plain_interval(values: Any) -> list[float]:
    """Mean, low and high over texts, to four digits."""
    found = interval(values)
    return [float(f"{one:.4g}") for one in (found.mean, found.low, found.high)]


def criteria_plain() -> dict[str, Any]:
    """Criteria as plain data."""
    return {
        "settings": dict(SETTINGS),
        "hypotheses": {key: [one.statement, one.criterion] for key, one in HYPOTHESES.items()},
    }
