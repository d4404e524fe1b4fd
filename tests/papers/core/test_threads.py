"""Work in threads."""

import pytest

from nucleate import Attention, simulate, uniform
from nucleate.papers.core.threads import in_threads


def test_work_in_threads_keeps_its_order_and_tells_when_it_is_over() -> None:
    assert in_threads(lambda i: i * i, range(10)) == [i * i for i in range(10)]
    stop = [False]

    def broken(i: int) -> int:
        raise KeyError(i)

    with pytest.raises(KeyError):
        in_threads(broken, range(3), stop)
    assert stop == [True]


def test_simulations_of_other_pieces_end_when_one_fails() -> None:
    ends: list[str] = []
    model, x = Attention(9.0), uniform(9, 3, seed=0)
    assert simulate(model, x, 1.0).done  # compiled

    def piece(i: int) -> None:
        if i == 0:
            raise KeyError(i)
        run = simulate(model, x, 1e9, max_steps=10**12, method="explicit", time_limit=60.0)
        ends.append(str(run.status))

    with pytest.raises(KeyError):
        in_threads(piece, range(2))
    assert ends in ([], ["cancelled"])  # not begun, or ended at once
