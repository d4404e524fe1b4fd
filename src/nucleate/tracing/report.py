"""The report on one model: every item measured or read again, verdicts, pictures, and the words.

    report.json       settings, criteria, verdicts, intervals by layer
    report.md         to read
    *.png             pictures
    items/KEY.npz     what was measured, with a fingerprint of all it depends on

An item that is there and would be made the same way is read again, so that an interrupted report goes on.
"""

import hashlib
import json
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import InputError, as_path, function_or_none, shortened, whole_number
from nucleate.durations import in_words
from nucleate.integrate.npz_files import read_npz
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

__all__ = [
    "TraceReport",
    "announce",
    "capture_answer",
    "judged",
    "prepare_report",
    "report_of",
    "report_passes",
    "sensitivity",
    "trace_report",
]

REPLACEMENTS = 6  # centers of every text that are replaced
BRIDGE_TEXTS = 1
GOOD_FIT = 0.5
OPTIONAL = ("positive control", "sentence", "bridge", "blocks")  # no verdict rests on them
OWN_MODULES = {
    "bridge": "bridge_paths",
    "positive control": "positive_control",
    "sentence": "sentence",
}  # what measures an item
DECIDES = {"rank": "nearness", "cover": "cover", "sight": "sight", "pull": "pull"}
FEWEST_TOKENS = 4  # of a text; for a verdict on capture far more
LENGTH = 256  # of the texts that come with the package
MEASURING = 2.0  # what is measured of a forward pass takes about as long as the pass
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
    positive: Answer | None  # of our own attention from the model's start; None where it was left out
    planted: Mapping[float, Answer]  # of a capture of this strength, planted at the end
    notes: tuple[str, ...]
    settings: Mapping[str, Any]

    def __str__(self) -> str:
        """Verdicts and the answer, a line each."""
        lines = [
            f"{one.word:>21}  {one.found!s:>26}  {one.hypothesis.statement}" for one in self.verdicts.values()
        ]
        return "\n".join([*lines, "", f"Answer: {self.answer.word}. {sensitivity(self)}"])


def trace_report(
    path: Any,
    texts: Sequence[str] | None,
    out: str | Path,
    *,
    name: str | None = None,
    names: Sequence[str] = (),
    tokenizer: Any = None,
    length: int | None = None,
    seed: int = 0,
    replacements: int = REPLACEMENTS,
    without: Sequence[str] = (),
    tell: Callable[[str], object] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> TraceReport:
    """Measure a checkpoint on several texts with all controls, and judge every hypothesis, into the folder
    `out`: report.md, report.json, pictures, and what was measured. A second call goes on where the first was
    interrupted, and measures nothing anew that would be the same.

    path          the folder or file of a checkpoint, as nucleate.trace takes it
    texts         8 or more for a verdict; all are cut to as many tokens as the shortest has, or to `length`;
                  None: the sixteen English texts that come with the package, and length 256
    name, names   of the model and of the texts, for the report
    tokenizer     where the tokenizer is, if not beside the weights; or one that is loaded
    replacements  centers of every text that are replaced, for pull
    without       items to leave out, of those on which no verdict rests: "positive control", "sentence",
                  "bridge", "blocks"
    tell          called with a line about what comes and how long it takes
    progress      called as progress(done, texts to run); returning False stops as Ctrl-C does
    """
    seed, replacements = _check_options(name, seed, replacements, without, tell, progress)
    folder = as_path("out", out)
    reading, names = prepare_report(path, texts, names, tokenizer, length)
    return report_of(reading, folder, name, names, seed, replacements, without, tell, progress)


def prepare_report(
    path: Any,
    texts: Sequence[str] | None,
    names: Sequence[str] = (),
    tokenizer: Any = None,
    length: int | None = None,
) -> tuple["Reading", Sequence[str]]:
    """The model and the tokens of a report, and the names of the texts; nothing is measured yet."""
    from nucleate.models.shipped_texts import ENGLISH, WRITTEN, shipped_texts
    from nucleate.models.trace import prepare_trace

    if texts is None:
        some = shipped_texts(ENGLISH + WRITTEN)
        texts, names = [one.text for one in some], [one.name for one in some]
        length = LENGTH if length is None else length
    try:
        few = isinstance(texts, str) or len(texts) < 2
    except Exception:  # objects may raise anything when asked for their length
        few = False  # refused below
    if few:
        raise InputError("A report needs two texts or more, as twins are of another text. Give a list.")
    names = _checked_names(names)
    reading = prepare_trace(path, texts, tokenizer, length)
    n = reading.ids.shape[-1]
    if n < FEWEST_TOKENS:
        raise InputError(
            f"A report needs texts of {FEWEST_TOKENS} tokens or more, but the shortest has {n}. Give longer"
            " ones."
        )
    return reading, names


def report_passes(reading: "Reading", replacements: int = REPLACEMENTS, without: Sequence[str] = ()) -> int:
    """How many forward passes a report needs, simulations counted as such."""
    texts = Texts(np.atleast_2d(reading.ids), np.atleast_2d(reading.ids))
    plan = _plan(reading.model, texts, 0, replacements)
    return sum(runs for key, (runs, _) in plan.items() if key not in without)


def announce(reading: "Reading", name: str | None, passes: int) -> str:
    """What is to be done, and about how long it takes here."""
    T, n = np.atleast_2d(reading.ids).shape
    words = in_words(MEASURING * passes * reading.seconds / T)
    name = name or reading.model.settings.name
    return f"{name}: {T} texts of {n} tokens, {passes} forward passes, {words} here"


def report_of(
    reading: "Reading",
    out: str | Path,
    name: str | None = None,
    names: Sequence[str] = (),
    seed: int = 0,
    replacements: int = REPLACEMENTS,
    without: Sequence[str] = (),
    tell: Callable[[str], object] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> TraceReport:
    """The same of a model and tokens that were prepared."""
    from nucleate.integrate.storage import check_place
    from nucleate.observe.capture import word_numbers
    from nucleate.tracing.words import write_words

    seed, replacements = _check_options(name, seed, replacements, without, tell, progress)
    tell = _silent if tell is None else tell
    folder, model, ids = as_path("out", out), reading.model, np.atleast_2d(reading.ids)
    kept = 0 if reading.tokenizer.first_token is None else 1
    some = Texts(ids, word_numbers(reading.tokens), kept)
    T, n = ids.shape
    _make_folder(folder / "items")
    plan = _plan(model, some, seed, replacements)
    plan = {key: item for key, item in plan.items() if key not in without}
    total = sum(runs for runs, _ in plan.values())
    files = {key: folder / "items" / f"{key.replace(' ', '-')}.npz" for key in plan}
    for file in (folder / "report.md", folder / "report.json", *files.values()):
        check_place(file)
    tell(announce(reading, name, total))
    items: dict[str, Numbers] = {}
    before = 0
    for key, (runs, measure) in plan.items():
        mark = _fingerprint(model, some, key, seed, replacements)
        found = _read(files[key], mark)
        if found is None:
            tell(f"{key}: {runs} forward passes")
            found = measure(_ticker(before, total, progress))
            _write(files[key], mark, found)
        before += runs
        items[key] = found
        _ticker(before - 1, total, progress)()
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
        _positive(items),
        _planted(items["pull"]),
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
        if progress is not None and progress(done, total) is False:
            raise KeyboardInterrupt

    return tick


def _silent(words: str) -> None:
    """Say nothing."""


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(
            f"The folder {shortened(str(folder.parent))} cannot be made: {why}. Choose another place."
        ) from None


def _check_options(
    name: Any, seed: Any, replacements: Any, without: Any, tell: Any, progress: Any
) -> tuple[int, int]:
    if name is not None and not (isinstance(name, str) and name.strip() and name.isprintable()):
        raise InputError(f"name must be a few words or None, but is {shortened(name)}. It names the model.")
    try:
        unknown = [without] if isinstance(without, str) else [key for key in without if key not in OPTIONAL]
    except Exception:  # objects may raise anything when asked for their items
        unknown = [without]
    if unknown:
        raise InputError(
            f"without must be a list of what can be left out, but has {shortened(unknown[0])}. Choose among"
            f" {', '.join(OPTIONAL)}."
        )
    function_or_none("tell", tell, "a line of words")
    function_or_none("progress", progress, "the numbers of texts done and of all")
    return whole_number("seed", seed, least=0), whole_number("replacements", replacements, least=1)


def _checked_names(names: Any) -> list[str]:
    try:
        found = [] if isinstance(names, str) else list(names)
    except Exception:  # objects may raise anything when asked for their items
        found = [None]
    if isinstance(names, str) or not all(isinstance(one, str) for one in found):
        raise InputError(f"names must be a list of the texts' names, but are {shortened(names)}.")
    return found


def capture_answer(values: Mapping[str, Any]) -> Answer:
    """The answer from rank, cover, sight and pull, (texts,) each."""
    return answer({DECIDES[name]: judge(DECIDES[name], value) for name, value in values.items()})


def _positive(items: Mapping[str, Numbers]) -> Answer | None:
    if "positive control" not in items:
        return None
    return capture_answer({name: items["positive control"][name][:, -1] for name in DECIDES})


def _planted(pull: Numbers) -> dict[float, Answer]:
    return {
        float(s): capture_answer({name: pull[f"planted_{name}"][:, i] for name in DECIDES})
        for i, s in enumerate(pull["planted_strengths"])
    }


def sensitivity(report: TraceReport) -> str:
    """How weak a planted capture is still answered so, in a sentence."""
    seen = [s for s, one in report.planted.items() if one.word == "capture" and s > 0.0]
    most = max(report.planted)
    if not seen:
        return (
            f"Even with every token moved {100 * most:.0f} % of the way to its center the answer would not be"
            " capture: here these measures cannot tell."
        )
    return (
        f"Were every token moved {100 * min(seen):.0f} % of the way to its center after the last block, the"
        " answer would be capture."
    )


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
    """The item if it is there, was made the same way and is as it was written."""
    if not file.is_file():
        return None
    try:
        stored = read_npz(file)
    except (InputError, OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error):  # damaged
        return None
    told = {name: str(stored.pop(name, "")) for name in ("fingerprint", "digest")}
    return stored if told == {"fingerprint": mark, "digest": _digest(stored)} else None


def _digest(numbers: Numbers) -> str:
    """Of the names, kinds, shapes and bytes of all arrays."""
    digest = hashlib.sha256()
    for name, value in sorted(numbers.items()):
        value = np.asarray(value)
        digest.update(f"{name} {value.dtype.str} {value.shape}\n".encode() + value.tobytes())
    return digest.hexdigest()


def _write(file: Path, mark: str, numbers: Numbers) -> None:
    from nucleate.integrate.storage import replacing

    with replacing(file) as part, open(part, "wb") as stream:
        marks = {"fingerprint": np.array(mark), "digest": np.array(_digest(numbers))}
        np.savez_compressed(stream, **marks, **numbers)  # type: ignore[arg-type]  # mypy takes any of them for allow_pickle


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
