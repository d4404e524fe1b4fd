"""All heads of a model, each simulated alone: what Table 1 says of them against what happened."""

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nucleate.checks import whole_number
from nucleate.models.head_simulation import (
    HeadOutcome,
    head_outcome,
    open_heads,
    simulate_system,
    system_of,
)
from nucleate.models.table import OUTCOME_COLUMNS, region_words
from nucleate.sphere import uniform

__all__ = ["DEFAULT_TOKENS", "HeadOutcomes", "agreement_words", "simulate_all_heads"]

DEFAULT_TOKENS = 64


@dataclass(frozen=True)
class HeadOutcomes:
    """The heads of a model, layer by layer, all from one start.  `print` it to read it."""

    tokens: int
    seed: int
    heads: tuple[HeadOutcome, ...]

    @property
    def counts(self) -> dict[tuple[str, str], int]:
        """How many heads Table 1 puts where (region) and how many of these ended in which way."""
        return dict(sorted(Counter((head.region, head.ended) for head in self.heads).items()))

    @property
    def as_said(self) -> dict[bool | None, int]:
        """Of the heads in rows 1 to 3: how many ended as the table says, otherwise, or (None) are still on
        their way."""
        found = Counter(head.as_said for head in self.heads if head.region in ("1", "2", "3"))
        return {said: found[said] for said in (True, False, None)}

    def __str__(self) -> str:
        lines = [f"{self.tokens} tokens under each head alone, causal, start of seed {self.seed}", ""]
        lines.append(f"{'Table 1 says':<52}{'what happened':<28}{'heads':>7}{'of them still moving':>22}")
        last = ""
        for (region, ended), count in self.counts.items():
            moving = sum(
                head.region == region and head.ended == ended and not head.resting for head in self.heads
            )
            lines.append(
                f"{region_words(region) if region != last else '':<52}{ended:<28}{count:>7}{moving:>22}"
            )
            last = region
        return "\n".join([*lines, "", agreement_words(self)])

    def as_plain(self) -> dict[str, Any]:
        """Numbers, texts, lists and tables only."""
        heads = [
            asdict(head) | {name: getattr(head, name) for name in OUTCOME_COLUMNS} for head in self.heads
        ]
        return {"tokens": self.tokens, "seed": self.seed, "heads": heads}


def simulate_all_heads(
    model: Any,
    tokens: int = DEFAULT_TOKENS,
    t: float | None = None,
    seed: int = 0,
    mapping: str | Path | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> HeadOutcomes:
    """Let tokens move under every head of a model, one after the other, all from the same uniformly random
    start; only the outcome of each is kept.

    model     as for nucleate.spectra
    t         how long; unless given, for each head until it should be seen where its tokens go
    progress  called as progress(done, heads); returning False stops as Ctrl-C does, with a KeyboardInterrupt
    """
    tokens = whole_number("tokens", tokens, least=1, help="It is the number of tokens.")
    seed = whole_number("seed", seed, least=0)
    source, plan = open_heads(model, mapping)
    x0 = uniform(tokens, plan.d, seed)
    total, found = len(plan.layers) * plan.heads, []
    for layer in range(len(plan.layers)):
        for head in range(plan.heads):
            system = system_of(source, plan, layer, head)
            found.append(head_outcome(system, *simulate_system(system, x0, t, save=2)))
            if progress is not None and progress(len(found), total) is False:
                raise KeyboardInterrupt
        source.weights.forget()
    return HeadOutcomes(tokens, seed, tuple(found))


def agreement_words(found: HeadOutcomes) -> str:
    """How many heads did what the table says, in one sentence."""
    said = found.as_said
    if not sum(said.values()):
        return "no head is in rows 1 to 3, which say where tokens gather"
    return (
        f"of {sum(said.values())} heads in rows 1 to 3, which say where tokens gather: "
        f"{said[True]} did as the table says, {said[False]} did not, {said[None]} are still on their way"
    )
