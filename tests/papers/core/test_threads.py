"""Work in threads."""

import pytest

from nucleate.papers.core.threads import in_threads


def test_work_in_threads_keeps_its_order_and_tells_when_it_is_over() -> None:
    assert in_threads(lambda i: i * i, range(10)) == [i * i for i in range(10)]
    stop = [False]

    def broken(i: int) -> int:
        raise KeyError(i)

    with pytest.raises(KeyError):
        in_threads(broken, range(3), stop)
    assert stop == [True]
