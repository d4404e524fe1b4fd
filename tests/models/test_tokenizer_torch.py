"""Our tokenizers beside those of transformers, on trained models that were fetched into .weights/."""

import ast
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.trained import ALBERT, IGLM, MINILM, SMOLLM2, joined_gemma, unpacked

import nucleate as nc
from nucleate.checks import InputError
from nucleate.models.shipped_texts import ANTIBODIES, shipped_texts
from nucleate.models.tokenizer import open_tokenizer

transformers: Any = pytest.importorskip("transformers", reason="comes with nucleate[torch]")
TEXTS = [
    *(one.text for one in shipped_texts()),
    "Hello  world 12345 don't\n\n\n  x 日本é😀 <|im_start|> <b>\t\tNaïve ﬁ",
    "   leading and trailing   ",
    "e\u0301 \u200b \u00a0 \0",
    "",
]


def test_minilm_reads_as_in_transformers(tmp_path: Path) -> None:
    path = unpacked(MINILM, tmp_path)
    theirs, ours = transformers.AutoTokenizer.from_pretrained(path), open_tokenizer(path)
    for text in TEXTS:
        assert ours.encode(text)[0].tolist() == theirs(text, truncation=False)["input_ids"]
    (path / "tokenizer.json").rename(path / "other.json")  # then vocab.txt is read, with the same result
    again = open_tokenizer(path)
    assert again.name.endswith("vocab.txt")
    for text in TEXTS:
        assert again.encode(text)[0].tolist() == ours.encode(text)[0].tolist()


def test_smollm2_reads_as_in_transformers(tmp_path: Path) -> None:
    path = unpacked(SMOLLM2, tmp_path)
    (file,) = path.glob("*.gguf")
    theirs = transformers.AutoTokenizer.from_pretrained(path, gguf_file=file.name)
    ours = open_tokenizer(path)
    for text in TEXTS:
        ids, _ = ours.encode(text)
        assert ids.tolist() == theirs(text)["input_ids"]
        assert ours.decode(ids) == text


def test_gemma_reads_as_in_transformers_behind_its_first_token(tmp_path: Path) -> None:
    path = joined_gemma(tmp_path)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path, gguf_file=path.name)
    ours = open_tokenizer(path)
    assert ours.first_token == 2
    for text in TEXTS:
        ids, _ = ours.encode(text)
        # transformers leaves out what the file says of <bos>
        assert ids[1:].tolist() == theirs(text, add_special_tokens=False)["input_ids"]
        assert ours.decode(ids[1:]) == text


def test_iglm_reads_amino_acids_and_chains(tmp_path: Path) -> None:
    path = unpacked(IGLM, tmp_path)
    with pytest.raises(InputError, match="no tokenizer"):
        open_tokenizer(path)
    unpacked((IGLM[0], "iglm/trained_models/vocab.txt"), tmp_path)
    shutil.copy(path.parent / "vocab.txt", path)
    theirs = transformers.BertTokenizerFast(str(path / "vocab.txt"), do_lower_case=False)
    for chain in shipped_texts(ANTIBODIES):
        ids, strings = open_tokenizer(path).encode(chain.text)
        first, second, letters = chain.text.split()
        assert strings == (first, second, *letters)
        assert ids.tolist() == theirs.convert_tokens_to_ids([first, second, *letters])


def test_molecules_are_cut_by_the_pattern_of_their_own_package(tmp_path: Path) -> None:
    path = unpacked(ALBERT, tmp_path)
    code = ast.parse(unpacked((ALBERT[0], "rxnmapper/smiles_utils.py"), tmp_path).read_text())
    (pattern,) = [
        ast.literal_eval(node.value)
        for node in code.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "SMI_REGEX_PATTERN"
    ]
    words = set((path / "vocab.txt").read_text().split("\n"))
    for text in (
        "CC(C)S.CN(C)C=O.Fc1cccnc1F.O=C([O-])[O-].[K+]>>CC(C)Sc1ncccc1F",
        "BrC[Zz]%10C/C=C\\Cl.[nH]1~*2",
    ):
        wanted = [word if word in words else "[UNK]" for word in re.findall(pattern, text)]
        assert open_tokenizer(path).encode(text)[1] == ("[CLS]", *wanted, "[SEP]")


def test_smollm2_is_traced_with_its_sink(tmp_path: Path) -> None:
    run = nc.trace(unpacked(SMOLLM2, tmp_path), shipped_texts(("gettysburg",))[0].text, length=64)
    assert run.norms is not None
    assert run.x.shape == (31, 64, 576)
    assert run.norms[15, 0] > 50.0 * sorted(run.norms[15, 1:])[31]
