"""A run over depth in words: one line for each layer."""

import numpy as np

from nucleate.checks import Array
from nucleate.integrate.run import Run
from nucleate.observe.activations import first_norm_ratio, sink_share
from nucleate.observe.cosines import consensus_gap, mean_cosine
from nucleate.observe.rank import effective_rank

__all__ = ["depth_columns", "depth_table"]

MOST_TOKENS_FOR_RANK = 1024  # singular values of more take longer than the forward pass


def depth_columns(run: Run) -> dict[str, Array]:
    """What is told of every layer, (L+1,) each, averaged over the texts; NaN where it is not measured."""
    x = run.x if run.x.ndim == 4 else run.x[None]  # (b, L+1, n, d)
    b, m, n, d = x.shape
    none = np.full(m, np.nan)  # (L+1,)
    if n < 2:
        return {"norm of token 1": none if run.norms is None else run.norms.reshape(b, m, n)[:, :, 0].mean(0)}
    others = x[:, :, 1:]  # (b, L+1, n-1, d)
    columns = {
        "mean cosine": mean_cosine(others).mean(0) if n > 2 else none,
        "effective rank": effective_rank(others).mean(0) if n <= MOST_TOKENS_FOR_RANK else none,
        "1 - |cos| with 1": consensus_gap(x).mean(0),
    }
    if run.norms is not None:
        columns["norm of 1 / median"] = first_norm_ratio(run.norms.reshape(b, m, n)).mean(0)
    weights = run.parts.get("weights")
    if weights is not None:
        share = sink_share(weights)[0].reshape(b, m - 1, -1).mean((0, 2))  # (L,)
        columns["weight on token 1"] = np.append(np.nan, share)
    return columns


def depth_table(run: Run) -> str:
    """One line per layer; layer 0 is before the first block."""
    columns = depth_columns(run)
    lines = ["layer" + "".join(f"  {name:>18}" for name in columns)]
    for layer in range(run.x.shape[-3]):
        told = [float(column[layer]) for column in columns.values()]
        lines.append(f"{layer:>5}" + "".join(f"  {_number(value):>18}" for value in told))
    return "\n".join(lines)


def _number(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.4g}"
