"""The picture of performance.md, images/performance-limit.png: how far from the limit everyone is.

    python docs/performance_history.py          draws docs/performance_history.json

The file holds one entry for each state of the package that was measured: CPU time of one core, everyone in
the same run, each the least of several rounds.  A new entry goes to its end.  The limit is the time that two
products of matrices, 4 d operations for every pair, take at the rate of BLAS on large matrices.
"""

import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib.figure import Figure

from nucleate import plot
from nucleate.plot.styles import CLUSTER_COLOURS, tidy

HERE = Path(__file__).parent
HISTORY, PICTURE, DPI = HERE / "performance_history.json", HERE / "images" / "performance-limit.png", 110
PEERS = {
    "torch": "torch attention",
    "JAX jit": "JAX jit",
    "JAX softmax": "JAX jit, softmax",
    "NumPy": "NumPy",
}
MARKS = ("s", "^", "v", "D")


def points(entries: list[dict[str, Any]]) -> dict[str, list[tuple[int, float]]]:
    """By name: where on the axis, and the time over the limit.  The limits are those of the last entry."""
    last = entries[-1]["rows"]
    place = {(row["n"], row["d"]): (i, row["limit_ms"]) for i, row in enumerate(last)}
    found: dict[str, list[tuple[int, float]]] = {}
    for entry in entries:
        for row in entry["rows"]:
            i, limit = place[row["n"], row["d"]]
            times = {f"nucleate, {entry['state']}": row["cpu_ms"]["identity"]}
            if entry is entries[-1]:
                times["nucleate, single precision"] = row["cpu_ms"].get("single")
                times |= {shown: row["cpu_ms"].get(name) for name, shown in PEERS.items()}
            for name, time in times.items():
                if time is not None:
                    found.setdefault(name, []).append((i, time / limit))
    return found


def draw() -> Figure:
    """Times over the limit, a column for each system."""
    entries = json.loads(HISTORY.read_text(encoding="utf-8"))["entries"]
    rows = entries[-1]["rows"]
    with plot.style():
        figure = Figure(figsize=(8.2, 4.4), layout="constrained")
        ax = figure.subplots()
        ours, others = 0, 0
        found = points(entries)
        for name in sorted(found, key=lambda name: not name.startswith("nucleate")):
            values = found[name]
            i, ratio = zip(*values, strict=True)
            if name.startswith("nucleate"):
                ax.plot(i, ratio, "o:", color=CLUSTER_COLOURS[ours], label=name)
                ours += 1
            else:
                ax.plot(i, ratio, MARKS[others], color="0.45", mfc="none", label=name)
                others += 1
        ax.axhline(1.0, color="0.2", linewidth=0.8, linestyle="--")
        ax.text(-0.45, 0.96, "limit in double precision", ha="left", va="top", fontsize=8)
        ax.set_yscale("log")
        ax.set_yticks([0.5, 1, 2, 5, 10, 20, 50], ["0.5", "1", "2", "5", "10", "20", "50"])
        ax.set_xticks(range(len(rows)), [f"n = {row['n']:,}\nd = {row['d']}" for row in rows])
        ax.set_xlim(-0.5, len(rows) - 0.5)
        ax.set_ylabel("CPU time over that of the two products")
        tidy(ax)
        figure.legend(loc="outside right upper", fontsize=8)
    return figure


if __name__ == "__main__":
    draw().savefig(PICTURE, dpi=DPI, pil_kwargs={"optimize": True})
    print(PICTURE)
