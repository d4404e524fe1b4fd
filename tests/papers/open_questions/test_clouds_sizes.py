"""General V by d and number of tokens: late exponents planted in the data change the verdicts."""

from pathlib import Path

import numpy as np
import pytest
import xarray

from nucleate.papers import find
from nucleate.papers.core.cache import ItemWorkspace
from nucleate.papers.core.numbers import Number, share_of
from nucleate.papers.open_questions.clouds.data import again_seeds, table
from nucleate.papers.open_questions.clouds.item import LARGE
from nucleate.papers.open_questions.clouds.kind_runs import KIND_SETS
from nucleate.papers.open_questions.clouds.late_runs import (
    cannot_be_chaotic,
    late_again_seeds,
    late_table,
    one_late,
)
from nucleate.papers.open_questions.clouds.size_figures import draw_sizes
from nucleate.papers.open_questions.clouds.sizes import (
    SIZE_TABLES,
    run_sizes,
    size_late,
    size_limit,
    size_numbers,
    size_verdicts,
)
from nucleate.sphere import uniform

YES, NO, OPEN = "observed", "not observed", "undecided"
TRIALS = set(range(7001, 7101))


def planted(
    chaotic: dict[int, int] | None = None, of_d: tuple[int, int] = (0, 0), null_at: tuple[int, int] = (0, 0)
) -> dict[str, xarray.Dataset]:
    """Late exponents of -0.02 with errors; of 0.03 in the first so many of the long runs for a number of
    tokens, in so many of the V of d = 8 that have 128 tokens alone, and of d = 4; in one run that cannot be
    chaotic of a d and number of tokens."""
    rng, found = np.random.default_rng(5), {}
    for name, one in SIZE_TABLES.items():
        draws, n = late_table(one), one["late"]["n"]
        value = np.full((len(draws), n[-1]), -0.02)
        for i, draw in enumerate(draws):
            number, ends = draw.seed - one["late"]["first_seed"], [0, *n]
            for m in n:
                more = (chaotic or {}).get(m, 0) if name == "d8-long" else of_d[name == "d4"]
                hit = number < more and draw.d > 2 and draw.kind == "general"
                first = (draw.kind, number) == ("gradient", 0)
                hit |= first and null_at == (int(one["late"]["cells"][0][1]), m)
                begin = m // 2 if m // 2 in ends else 0  # the tokens that the mean for m is taken over
                value[i, begin:m] = 0.03 if hit else -0.02
        halves = [value + 1e-3 * rng.standard_normal(value.shape) for _ in range(2)]
        rows = zip(("first", "second"), halves, strict=True)
        found[name] = xarray.Dataset({half: (("run", "token"), own) for half, own in rows})
    return found


def numbers_of(found: dict[str, xarray.Dataset]) -> dict[str, Number]:
    return dict(size_numbers(found))


def words(chaotic: dict[int, int], of_d: tuple[int, int], null_at: tuple[int, int] = (0, 0)) -> list[str]:
    """More V with d = 8; with 256 tokens than with 64, than with 128; most V with 256."""
    return [one.word for one in size_verdicts(numbers_of(planted(chaotic, of_d, null_at)))]


def test_planted_shares_of_d_change_the_verdict() -> None:
    # of 48 V each, where 4 are chaotic with d = 4: 11 are hardly chance, 10 may be
    for of_d, word in (((7, 4), YES), ((6, 4), OPEN), ((0, 4), OPEN), ((0, 10), OPEN), ((0, 11), NO)):
        assert words({128: 4}, of_d)[0] == word, of_d
    numbers = numbers_of(planted({128: 4}, (8, 4)))
    assert numbers["d8"].count == (12, 48)
    assert numbers["d4"].count == (4, 48)
    # a run that cannot be chaotic, and is above the limit of the others, takes the meaning from both
    for of_d in ((8, 4), (0, 13)):
        for null_at in ((8, 128), (4, 128)):
            assert words({128: 4}, of_d, null_at)[0] == OPEN


def test_planted_shares_of_numbers_of_tokens_change_the_verdicts() -> None:
    assert words({64: 2, 128: 4, 256: 9}, (0, 0))[1:] == [YES, YES, OPEN]
    assert words({64: 2, 128: 5, 256: 9}, (0, 0))[1:] == [YES, OPEN, OPEN]
    assert words({64: 5, 128: 5, 256: 9}, (0, 0))[1:] == [OPEN, OPEN, OPEN]
    assert words({64: 9, 128: 8, 256: 4}, (0, 0))[1:] == [NO, OPEN, NO]
    assert words({64: 8, 128: 9, 256: 4}, (0, 0))[1:] == [OPEN, NO, NO]
    assert words({256: 18}, (0, 0))[1:] == [YES, YES, YES]
    assert [words({256: hits}, (0, 0))[3] for hits in (17, 7, 6)] == [OPEN, OPEN, NO]
    assert words({256: 18}, (0, 0), (8, 256))[1:] == [OPEN, OPEN, OPEN]
    assert words({256: 18}, (0, 0), (8, 64))[1:] == [OPEN, YES, YES]
    assert words({256: 4, 128: 9}, (0, 0), (8, 128))[1:] == [OPEN, OPEN, NO]


def test_chances_of_tokens_are_of_the_same_v() -> None:
    numbers = numbers_of(planted({64: 2, 128: 4, 256: 9}))
    assert numbers["n128_more"].value == pytest.approx(0.5**5)
    assert numbers["n64_more"].value == pytest.approx(0.5**7)
    assert numbers["n128_both"].value == 4
    assert numbers["n256_by_n128"].count == (9, 24)
    assert numbers["n128_rise"].value == pytest.approx(0.05 * 5 / 24, abs=1e-3)
    assert [numbers[f"n{m}"].count for m in (32, 64, 128, 256)] == [(0, 24), (2, 24), (4, 24), (9, 24)]


def test_most_of_24_v_are_18_and_few_are_6() -> None:
    assert (share_of(18, 24, "").low or 0.0) > 0.5 > (share_of(17, 24, "").low or 0.0)
    assert (share_of(6, 24, "").high or 1.0) < 0.5 < (share_of(7, 24, "").high or 0.0)


def test_limits_are_of_the_d_and_the_number_of_tokens() -> None:
    found, least = planted({256: 9}, (3, 2), null_at=(8, 128)), np.log(2.0) / 300.0  # of half the window
    assert size_limit(found, 8, 128) == pytest.approx(0.03 + least, abs=1e-3)
    for d, m in ((4, 128), (8, 256), (8, 32)):
        assert size_limit(found, d, m) == pytest.approx(least, abs=1e-3)
    assert len(size_late(found, 8, 128)) == len(size_late(found, 4, 128)) == 48
    assert len(size_late(found, 8, 256)) == 24
    numbers = numbers_of(found)  # late exponents of 0.03 are above the one limit, not above both
    assert [numbers[f"d{d}_above_one"].count for d in (8, 4)] == [(3, 48), (2, 48)]
    assert [numbers[f"d{d}_above_both"].count for d in (8, 4)] == [(0, 48), (0, 48)]
    assert [numbers[f"n256_by_n{m}"].count for m in (64, 128)] == [(9, 24), (0, 24)]


def test_the_picture_counts_the_v_above_the_limit() -> None:
    left, right = draw_sizes(planted({32: 1, 64: 2, 128: 4, 256: 9}, (8, 3))).axes
    counts = [[text.get_text() for text in ax.texts] for ax in (left, right)]
    assert counts[0] == ["0 of 12", "3 of 48", "0 of 12", "12 of 48"]
    assert counts[1] == ["1 of 24", "2 of 24", "4 of 24", "9 of 24"]


def test_v_of_every_d_are_48_with_12_runs_that_cannot_be_chaotic() -> None:
    seeds: dict[int, list[int]] = {4: [], 8: []}
    for one in SIZE_TABLES.values():
        draws = late_table(one)
        nulls = [draw for draw in draws if cannot_be_chaotic(draw)]
        assert len(nulls) in (0, 12)
        for draw in draws:
            if draw not in nulls:
                assert (draw.kind, draw.beta) == ("general", 16.0)
                seeds[draw.d].append(draw.seed)
    assert sorted(seeds[8]) == list(range(85_001, 85_049))
    assert sorted(seeds[4]) == list(range(86_001, 86_049))


def test_no_seed_was_seen_before() -> None:
    item, seen = find("clouds"), {9001, *TRIALS}
    for p in (item.parameters, {**item.parameters, **LARGE}, {**item.parameters, **item.quick}):
        seen |= {draw.seed for name in p["sets"] for draw in table(p, name)} | set(again_seeds(p))
        seen |= {draw.seed for draw in late_table(p)} | set(late_again_seeds(p))
    for some in (*(one.parameters for one in KIND_SETS.values()), *SIZE_TABLES.values()):
        own = {draw.seed for draw in late_table(some)}
        assert some not in SIZE_TABLES.values() or own.isdisjoint(seen)
        seen |= own


def test_the_first_tokens_of_a_longer_run_start_where_those_of_the_shorter_one_do() -> None:
    assert (uniform(256, 8, 7003)[:128] == uniform(128, 8, 7003)).all()


def test_runs_are_those_of_their_tables_and_are_read_again(tmp_path: Path) -> None:
    window = {"t": 6.0, "since": 2.0, "tol": 1e-4}
    few = {"cells": [["general", 3, 16.0, 2]], "n": [8], **window, "first_seed": 7011}
    many = {"cells": [["gradient", 3, 16.0, 1]], "n": [4, 16], **window, "first_seed": 7021}
    workspace = ItemWorkspace("clouds", tmp_path, {"few": {"late": few}, "many": {"late": many}})
    found = run_sizes(workspace, lambda done, total: None)
    assert found["many"]["first"].shape == (1, 16)
    for i, draw in enumerate(late_table({"late": few})):
        alone = one_late(6.0, 2.0, 1e-4, draw)
        assert found["few"]["first"].values[i] == pytest.approx(alone["first"])
        assert found["few"]["second"].values[i] == pytest.approx(alone["second"])
    run_sizes(workspace, lambda done, total: None)
    assert workspace.computed == ["sizes-few-0000", "sizes-many-0000"]
