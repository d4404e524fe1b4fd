"""Requests of a page: thousands of malformed messages are refused in words."""

import pytest
from support.hostile_input import malformed_messages, refusal

from nucleate.explorer.page_requests import BadMessage, parse_request


def test_malformed_messages_are_refused_in_words() -> None:
    words = [told for message in malformed_messages(4000) if (told := refusal(message)) is not None]
    assert len(words) > 2800  # some mutations change nothing that matters
    assert all(0 < len(told) < 700 for told in words)


def test_duplicate_keys_wrong_values_and_numbers_that_are_none_are_refused() -> None:
    for message in (
        '{"do":"cancel","id":1,"id":2}',
        '{"do":"cancel","id":NaN}',
        '{"do":"run","id":1,"scene":{"beta":Infinity}}',
        '{"do":"cancel","id":1e999}',
        '{"do":"run","id":1,"scene":{},"aside":1}',
        '{"do":"matrix","name":"W","d":2,"text":"1"}',
        '{"do":"matrix","name":"V","d":65,"text":"1"}',
        '{"do":"matrix","name":"V","text":"1"}',
        '{"do":"matrix","name":"V","d":2,"text":2.0}',
        '{"do":"matrix","name":"V","d":2,"text":"1","scene":{}}',
    ):
        with pytest.raises(BadMessage):
            parse_request(message)
