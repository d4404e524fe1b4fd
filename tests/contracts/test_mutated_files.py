"""Files of results with any damage: refused in words that name them, or read as they were written.

Checksums notice damage. Where a stranger writes them anew, what is read may be other numbers, but nothing
breaks, and nothing else is opened. `make soak` does the full counts.
"""

import hashlib
import json
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.made_depth_runs import depth_run
from support.made_runs import many_runs, rich_run
from support.small_studies import contents, small
from support.soak import SOAK

import nucleate as nc
from nucleate.checks import InputError
from nucleate.explorer.stored_runs import open_folder
from nucleate.studies.durable_files import Damaged, read_block
from nucleate.studies.ensemble import ensemble
from nucleate.studies.partial_store import PartialStore
from nucleate.studies.store import _checksums_json

MUTANTS = 2000 if SOAK else 100  # of each kind
JUNK: list[Any] = [None, True, 0, -1, 2**31, 2**70, 0.5, 1e308, float("nan"), "", "x" * 200, "\0", "../../x"]
JUNK += [
    "NaN",
    "string",
    "numcodecs.pickle",
    [],
    [0],
    [[[]]],
    {},
    {"name": "zstd"},
    {"must_understand": False},
]


def mutated_bytes(data: bytes, dice: random.Random) -> bytes:
    """The same with a few bytes flipped, cut out, doubled or put in."""
    for _ in range(dice.choice([1, 1, 2, 5])):
        at, many = dice.randrange(len(data) + 1), dice.choice([1, 1, 4, 30])
        data = dice.choice(
            [
                data[:at] + bytes([data[at % len(data)] ^ (1 << dice.randrange(8))]) + data[at + 1 :]
                if data
                else b"x",
                data[:at] + data[at + many :],
                data[:at],
                data[:at] + data[at : at + many] + data[at:],
                data[:at] + dice.randbytes(many) + data[at:],
            ]
        )
    return data


def mutated_json(data: bytes, dice: random.Random) -> bytes:
    """The same with an entry somewhere inside replaced, taken out or added."""
    tree = json.loads(data)
    node = tree
    parents: list[tuple[Any, Any]] = []
    while isinstance(node, dict | list) and node and (not parents or dice.random() < 0.8):
        key = dice.choice(list(node)) if isinstance(node, dict) else dice.randrange(len(node))
        parents.append((node, key))
        node = node[key]
    holder, key = parents[-1]
    deed = dice.random()
    if deed < 0.2:
        del holder[key]
    elif deed < 0.3 and isinstance(holder, dict):
        holder[dice.choice(["more", "name", "x", ".."])] = dice.choice(JUNK)
    else:
        holder[key] = dice.choice(JUNK)
    return json.dumps(tree).encode()


def mutate(path: Path, dice: random.Random) -> str:
    """Change, take away or swap a file of a store, or of a run that is one file; which."""
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    file = dice.choice(files)
    if path.is_dir() and dice.random() < 0.05:
        file.unlink()
    elif path.is_dir() and dice.random() < 0.05:
        shutil.copyfile(dice.choice(files), path / "swap")
        (path / "swap").replace(file)
    elif file.suffix == ".json" and dice.random() < 0.7:
        file.write_bytes(mutated_json(file.read_bytes(), dice))
    else:
        file.write_bytes(mutated_bytes(file.read_bytes(), dice))
    return file.relative_to(path.parent).as_posix()


def copied(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target)
    else:
        shutil.copyfile(source, target)


def read_everything(path: Path) -> list[Any] | None:
    """All numbers and words that come out; None if it is refused, in words that name the file."""
    words = ""
    try:
        found = nc.load(path)
        if isinstance(found, nc.Run):
            if found.over_depth:
                arrays = [found.t, found.x, np.asarray(found.steps), found.norms, *found.parts.values()]
                return [
                    arrays,
                    found.status,
                    dict(found.settings),
                    dict(found.notes),
                    found.summary,
                    found.tokens,
                ]
            model = found.model
            arrays = [found.t, found.x, np.asarray(found.steps), model.beta, model.Q, model.K, model.V]
            return [arrays, found.status, dict(found.settings), dict(found.notes), found.summary]
        assert found.summary
        arrays = [found.in_memory().data[name].values for name in sorted(map(str, found.data.variables))]
        return [arrays, found.mean(found.observables[0]).values, found.study]
    except InputError as error:
        words = str(error)
    assert path.name in words or re.search("status must be|needs .* GiB|cannot be read: ", words), words
    return None


def same(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(one, two) for one, two in zip(a, b, strict=True))
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    return bool(a == b)


def listed_and_shown(path: Path) -> None:
    """The explorer lists what is there, and opens it or says why not."""
    folder = open_folder(path.parent)
    for entry in folder.entries():
        words = ""
        try:
            folder.prepare(entry.name, 0)
        except InputError as error:
            words = str(error)
        assert str(path.parent) not in words


@pytest.mark.soak(mutants=MUTANTS)
@pytest.mark.parametrize("name", ["rich.npz", "rich.zarr", "many.npz", "many.zarr", "depth.npz"])
def test_a_damaged_run_is_refused_or_read_as_it_was_written(name: str, tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    source, path, dice = tmp_path / "whole" / name, tmp_path / name, random.Random(name)
    {"rich": rich_run, "many": many_runs, "depth": depth_run}[source.stem]().save(source)
    whole, refused = read_everything(source), 0
    for i in range(MUTANTS):
        copied(source, path)
        which = mutate(path, dice)
        found = read_everything(path)
        refused += found is None
        assert found is None or same(found, whole), (i, which)
        if i % 10 == 0:
            listed_and_shown(path)
    assert refused > MUTANTS / 2


def resealed(path: Path) -> None:
    """Write the checksums of a store anew, so that all match."""
    try:
        content = json.loads((path / "checksums/zarr.json").read_bytes())["attributes"]
        content = {key: value for key, value in content.items() if key not in ("format", "sha256")}
        files = (file for file in path.rglob("*") if file.is_file())
        names = {file.relative_to(path).as_posix(): file for file in files}
        del names["checksums/zarr.json"]
        content["files"] = {
            name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in names.items()
        }
        (path / "checksums/zarr.json").write_bytes(_checksums_json(content))
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        pass  # so damaged that nothing can be made of it


@pytest.mark.soak(mutants=MUTANTS)
@pytest.mark.parametrize("checksums", ["old checksums", "new checksums"])
def test_a_damaged_ensemble_is_refused_or_read_as_it_was_written(checksums: str, tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    source, path, dice = tmp_path / "whole/out.zarr", tmp_path / "out.zarr", random.Random(checksums)
    ensemble(small(runs=3, model={"beta": 4.0}, grid={"V": ["identity", "-identity"]}), source)
    whole, refused = read_everything(source), 0
    for i in range(MUTANTS):
        copied(source, path)
        which = mutate(path, dice)
        if checksums == "new checksums":
            resealed(path)
        found = read_everything(path)
        refused += found is None
        assert found is None or checksums == "new checksums" or same(found, whole), (i, which)
        if i % 10 == 0:
            listed_and_shown(path)
    assert refused > MUTANTS / 2


def interrupted(_: PartialStore) -> None:
    raise KeyboardInterrupt


@pytest.mark.soak(mutants=MUTANTS)
def test_a_damaged_block_is_noticed_and_a_forged_one_breaks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, dice = small(runs=4, grid={"beta": [4.0]}), random.Random(0)
    ensemble(study, tmp_path / "whole.zarr")
    with monkeypatch.context() as patch:
        patch.setattr(PartialStore, "finish", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ensemble(study, tmp_path / "out.zarr", block=4)
    (block,) = (tmp_path / "out.zarr.parts/blocks").glob("*.block")
    data = block.read_bytes()
    begin = data.index(b"\n", data.index(b"\n") + 1) + 1  # after the name of the format and the checksum
    for i in range(MUTANTS):
        block.write_bytes(mutated_bytes(data, dice))
        if block.read_bytes() != data:
            with pytest.raises(Damaged):
                read_block(block)
        forged = forge(data[begin:], dice)
        block.write_bytes(b"nucleate block 1\n%b\n%b" % (hashlib.sha256(forged).hexdigest().encode(), forged))
        outcome = outcome_of(lambda: read_block(block))
        if i % 20 == 0:
            copied(tmp_path / "out.zarr.parts", tmp_path / "again.zarr.parts")
            if outcome_of(lambda: ensemble(study, tmp_path / "again.zarr", tell=print)) is not None:
                assert outcome is None or nc.load(tmp_path / "again.zarr").data.sizes["run"] == 4
            for name in ("again.zarr", "again.zarr.parts"):
                shutil.rmtree(tmp_path / name, ignore_errors=True)
    assert contents(tmp_path / "whole.zarr")


def forge(body: bytes, dice: random.Random) -> bytes:
    head, _, arrays = body.partition(b"\n")
    return mutated_json(head, dice) + b"\n" + arrays


def outcome_of(call: Callable[[], object]) -> object:
    """What a call gives; None if it is refused or found damaged."""
    try:
        return call()
    except (InputError, Damaged):
        return None
