"""The texts that come with the package."""

import re
from pathlib import Path

import pytest

import nucleate.models
from nucleate.checks import InputError
from nucleate.models.shipped_texts import ANTIBODIES, ENGLISH, WRITTEN, shipped_texts


def test_every_text_says_where_it_is_from_and_has_a_few_hundred_words() -> None:
    texts = shipped_texts()
    assert tuple(text.name for text in texts) == ENGLISH
    for text in (*texts, *shipped_texts(WRITTEN)):
        assert 200 <= len(text.text.split()) <= 400, text.name
        assert re.search(r"Public domain\.$|^Written for", text.source), text.name
        assert not text.text.startswith("#")


def test_chains_of_antibodies_are_texts_of_their_own() -> None:
    chains = shipped_texts(ANTIBODIES)
    assert len(chains) == 5
    assert all(
        re.fullmatch(r"\[(HEAVY|LIGHT)\] \[HUMAN\] [ACDEFGHIKLMNPQRSTVWY]{90,130}", one.text)
        for one in chains
    )


def test_no_file_is_left_out_and_no_other_name_is_known() -> None:
    folder = Path(nucleate.models.__file__).parent / "texts"
    assert sorted(file.stem for file in folder.iterdir()) == sorted(ENGLISH + WRITTEN + ANTIBODIES)
    with pytest.raises(InputError, match="There is no text 'bible'"):
        shipped_texts(("bible",))
