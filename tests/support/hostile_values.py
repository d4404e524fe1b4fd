"""Values that a caller may pass by mistake, whatever was asked for, and a good call of every public function
to put them into."""

import datetime
import decimal
import fractions
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from support.folders import folder_of_this_process
from support.made_tokenizers import tokenizer_json
from support.made_transformers import tiny_llama

import nucleate as nc
from nucleate import plot

__all__ = ["HOSTILE", "RESULTS", "SLOW", "good_calls"]


class NoArray:
    """Says that it can be an array, and fails."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise RuntimeError("no array after all")


class NoText:
    """Cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no words")


class LongList(list[float]):
    """A list that does not know its length."""

    def __len__(self) -> int:
        raise RuntimeError("no length")


def _holding_itself() -> list[Any]:
    one: list[Any] = []
    one.append(one)
    return one


UNIT = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
HOSTILE: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "True": lambda: True,
    "NumPy's False": lambda: np.False_,
    "NaN": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "minus infinity": lambda: float("-inf"),
    "zero": lambda: 0,
    "minus one": lambda: -1,
    "a half": lambda: 0.5,
    "2^63": lambda: 2**63,
    "1e400": lambda: 10**400,
    "-1e400": lambda: -(10**400),
    "1e308": lambda: 1e308,
    "the smallest number": lambda: 5e-324,
    "complex": lambda: 1j,
    "Decimal NaN": lambda: decimal.Decimal("sNaN"),
    "a fraction": lambda: fractions.Fraction(1, 3),
    "an empty text": lambda: "",
    "a text": lambda: "north",
    "a number as text": lambda: "3",
    "a text with a null": lambda: "a\0b",
    "a text that is no UTF-8": lambda: "\ud83d",
    "a long text": lambda: "x" * 100_000,
    "bytes": lambda: b"\xff\xfe",
    "an empty list": list,
    "a ragged list": lambda: [[1.0], [1.0, 2.0]],
    "a list of None": lambda: [None, None],
    "a list of texts": lambda: ["a", "b"],
    "a list that holds itself": _holding_itself,
    "a list without a length": lambda: LongList([1.0]),
    "a deep list": lambda: [[[[[[1.0]]]]]],
    "a tuple of three": lambda: (1, 2, 3),
    "a dict": lambda: {"a": 1},
    "a set": lambda: {1.0, 2.0},
    "a generator": lambda: (i for i in range(3)),
    "a range": lambda: range(3),
    "a function": lambda: lambda *_: None,
    "a module": lambda: np,
    "an object": object,
    "an object that is no array after all": NoArray,
    "an object that cannot be shown": NoText,
    "a date": lambda: datetime.date(2024, 1, 1),
    "an array of dates": lambda: np.array([["2024-01-01", "2024-01-02"]], dtype="datetime64[D]"),
    "an array of spans of time": lambda: np.array([[1, 2]], dtype="timedelta64[s]"),
    "an array of texts": lambda: np.array([["a", "b"]]),
    "an array of objects": lambda: np.array([[object(), object()]], dtype=object),
    "an array of records": lambda: np.zeros(3, dtype=[("a", float), ("b", float)]),
    "an empty array": lambda: np.zeros((0, 2)),
    "an array of no axes": lambda: np.array(1.0),
    "an array of NaN": lambda: np.full((3, 2), np.nan),
    "an array with one NaN": lambda: np.array([[1.0, 0.0], [np.nan, 0.0], [-1.0, 0.0]]),
    "an array of zeros": lambda: np.zeros((3, 2)),
    "an array of booleans": lambda: np.ones((3, 2), dtype=bool),
    "an array of complex numbers": lambda: np.ones((3, 2), dtype=complex),
    "an array of huge numbers": lambda: np.full((3, 2), 1e308),
    "an array of five axes": lambda: np.ones((1, 1, 1, 3, 2)),
    "a masked array": lambda: np.ma.masked_array(UNIT, np.eye(3, 2, dtype=bool)),
    "a masked number": lambda: np.ma.masked,
    "a masked list": lambda: np.ma.masked_array([1, 0, 2], [False, True, False]),
    "a path": lambda: Path("nowhere"),
    "a model": lambda: nc.Attention(1.0),
    "tokens": lambda: UNIT,
}

SLOW = (
    "ensemble",
    "life",
    "plot.",
    "trace",
    "simulate rk4",
    "explore",
    "Run.explore",
    "Run.plot",
    "Life.plot",
    "Ensemble.plot",
)
# Records that the functions hand out, and nobody makes by hand.
RESULTS = (
    "Atlas",
    "Capture",
    "Ensemble",
    "InputError",
    "Life",
    "Lyapunov",
    "Merges",
    "Run",
    "Spectra",
    "Study",
    "TraceReport",
)


# What a Block takes beside its heads.
BLOCK: dict[str, Any] = {
    "mlp": None,
    "norm": "mix",
    "noise": None,
    "exclude_self": False,
    "tau": 1.0,
    "alpha": 1.0,
    "radius": 1.0,
}


@cache
def good_calls() -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """A call of every public function that succeeds, with all its arguments named; "spectra", "trace_report"
    and "Study.read" alone find no file."""
    model, x = nc.Attention(4.0), nc.uniform(5, 2, seed=0)
    study = {
        "runs": 1,
        "start": {"n": 2, "d": 2},
        "times": {"t": 0.1, "save": 3},
        "grid": {"beta": [1.0, 2.0]},
        "observables": {"count": {"kind": "clusters", "radius": 0.1}},
    }
    run, whole, table = nc.simulate(model, x, 1.0, save=3), nc.life(4.0, 5), nc.Study.make(study)
    many = nc.ensemble(study)
    t, shares = [0.0, 1.0, 2.0], np.ones((4, 3))
    return {
        "Attention": (
            nc.Attention,
            {
                "beta": 1.0,
                "Q": np.eye(2),
                "K": np.eye(2),
                "V": np.eye(2),
                "mask": "causal",
                "frozen": None,
                "weights": "softmax",
                "position": None,
            },
        ),
        "ALiBi": (nc.ALiBi, {"slope": 0.1}),
        "RoPE": (nc.RoPE, {"base": 100.0}),
        "MLP": (nc.MLP, {"W": np.ones((2, 3)), "a": np.ones((3, 2)), "activation": "relu", "b": np.ones(3)}),
        "Potential": (nc.Potential, {"omega": np.ones(3), "a": np.ones((3, 2)), "activation": "tanh"}),
        "Block": (nc.Block, {"heads": model, **BLOCK}),
        "Layers": (nc.Layers, {"blocks": [model], "dt": 1.0, "discrete": False}),
        "RandomLayers": (
            nc.RandomLayers,
            {
                "count": 2,
                "d": 2,
                "beta": 1.0,
                "heads": 2,
                "kind": "gaussian",
                "value": "identity",
                "mask": "full",
                "weights": "softmax",
                "position": None,
                "seed": 0,
                **BLOCK,
                "dt": 1.0,
                "discrete": False,
            },
        ),
        "Frozen": (nc.Frozen, {"x": x, "weight": 1.0}),
        "Window": (nc.Window, {"w": 2}),
        "atlas": (nc.atlas, {"V": np.eye(2), "tol": 1e-10}),
        "center_mask": (nc.center_mask, {"x": x, "delta": 0.3, "strong": False, "metric": "geodesic"}),
        "renyi_centers": (nc.renyi_centers, {"x": x, "delta": 0.3, "strong": False, "metric": "geodesic"}),
        "clusters": (nc.clusters, {"x": x, "radius": 0.3}),
        "count_clusters": (nc.count_clusters, {"x": x, "radius": 0.3}),
        "consumed": (nc.consumed, {"x": x, "centers": [0, 1], "radius": 0.3}),
        "consumption": (nc.consumption, {"run": run, "centers": [0, 1], "radius": 0.3}),
        "consumption of a pair": (
            lambda t, x: nc.consumption((t, x), [0, 1], 0.3),
            {"t": run.t, "x": run.x},
        ),
        "displacement": (nc.displacement, {"run": run, "centers": [0, 1]}),
        "distance": (nc.distance, {"x": x, "y": x}),
        "drift": (
            nc.drift,
            {
                "model": model,
                "x": x,
                "kernel": "auto",
                "threads": 1,
                "device": "cpu",
                "precision": "double",
            },
        ),
        "drift of a batch": (lambda x: nc.drift(model, x), {"x": np.stack([x, x])}),
        "ensemble": (
            nc.ensemble,
            {
                "study": study,
                "store": None,
                "runs": 1,
                "threads": 1,
                "block": 1,
                "cluster": None,
                "device": "cpu",
                "precision": "double",
                "progress": None,
                "tell": None,
            },
        ),
        "expected_centers": (nc.expected_centers, {"delta": 0.3, "d": 2, "n": 5, "strong": True}),
        "interaction_energy": (nc.interaction_energy, {"model": model, "x": x}),
        "token_energies": (nc.token_energies, {"model": model, "x": x}),
        "life": (
            nc.life,
            {
                "beta": 4.0,
                "n": 5,
                "d": 2,
                "seed": 0,
                "t": 10.0,
                "radius": 0.1,
                "rtol": 1e-8,
                "atol": 1e-10,
                "progress": None,
                "time_limit": 10.0,
            },
        ),
        "limit_point": (nc.limit_point, {"atlas": nc.atlas(np.eye(2)), "x1": x[0]}),
        "load": (nc.load, {"path": _saved(run)}),
        "lost_centers": (nc.lost_centers, {"run": run, "centers": [0, 1], "radius": 0.3}),
        "lyapunov": (nc.lyapunov, {"model": model, "x": x, "t": 1.0, "since": 0.5, "tol": 1e-3}),
        "measure": (nc.measure, {"run": run, "function": lambda t, x: x.sum(), "name": None}),
        "merges": (nc.merges, {"run": run, "radius": 0.1}),
        "monte_carlo_centers": (
            nc.monte_carlo_centers,
            {"delta": 0.3, "d": 2, "n": 5, "strong": False, "runs": 3, "seed": 0},
        ),
        "predict_merges": (nc.predict_merges, {"model": model, "x": x, "t": 1.0, "radius": 0.1}),
        "retract": (nc.retract, {"x": x}),
        "simulate": (
            nc.simulate,
            {
                "model": model,
                "x0": x,
                "t": 1.0,
                "save": 3,
                "rtol": 1e-6,
                "atol": 1e-8,
                "method": "auto",
                "dt": None,
                "progress": None,
                "on_frames": None,
                "max_steps": 100,
                "time_limit": 10.0,
                "threads": 1,
                "device": "cpu",
                "precision": "double",
                "seed": None,
                "path_dt": None,
            },
        ),
        "simulate rk4": (lambda dt: nc.simulate(model, x, 1.0, save=3, method="rk4", dt=dt), {"dt": 0.1}),
        "spectra": (
            nc.spectra,
            {"model": "nowhere", "mapping": None, "draws": 2, "seed": 0, "partners": 2, "progress": None},
        ),
        "stationarity": (
            nc.stationarity,
            {"run": run, "centers": [0, 1], "limit": 0.1, "guaranteed": None},
        ),
        "tangent": (nc.tangent, {"x": x, "y": x}),
        "trace": (
            nc.trace,
            {
                "path": tokenizer_json(tiny_llama(folder_of_this_process() / "llama")),
                "texts": ["the cat", "the mat"],
                "tokenizer": None,
                "length": 3,
                "attention_weights": False,
                "logits": False,
                "precision": "double",
                "progress": None,
            },
        ),
        "trace_report": (
            nc.trace_report,
            {
                "path": "nowhere",
                "texts": ["the cat", "the mat"],
                "out": "report",
                "name": "tiny",
                "names": ["one", "two"],
                "tokenizer": None,
                "length": 3,
                "seed": 0,
                "replacements": 1,
                "without": ["blocks"],
                "tell": None,
                "progress": None,
            },
        ),
        "capture": (
            nc.capture,
            {"run": run, "share": 0.25, "frame": 0, "first": False, "same_word": False, "seed": 0},
        ),
        "consensus_gap": (nc.consensus_gap, {"x": x}),
        "cosine_histogram": (nc.cosine_histogram, {"x": x, "bins": 4, "first": True}),
        "mean_cosine": (nc.mean_cosine, {"x": x, "first": True}),
        "effective_rank": (nc.effective_rank, {"h": x}),
        "rank_one_residual": (nc.rank_one_residual, {"h": x}),
        "massive_activations": (nc.massive_activations, {"h": x}),
        "sink_share": (nc.sink_share, {"weights": np.tri(4)}),
        "score_centers": (
            nc.score_centers,
            {"scores": np.eye(4), "reach": 1.0, "strong": False, "first": True},
        ),
        "turn_shares": (nc.turn_shares, {"before": x, "attention": x, "mlp": x, "after": x[::-1]}),
        "Checkpoint": (
            nc.Checkpoint,
            {
                "name": "tiny",
                "architecture": "llama",
                "layers": 2,
                "d": 4,
                "heads": 2,
                "key_value_heads": 1,
                "head_dim": 2,
                "mlp_dim": 8,
                "vocabulary": 11,
                "causal": True,
                "norm_place": "pre",
                "positions": "rope",
            },
        ),
        "Run.from_hidden_states": (
            nc.Run.from_hidden_states,
            {
                "states": np.ones((3, 2, 4)),
                "tokens": ["a", "b"],
                "parts": {"mlp": np.ones((2, 2, 4))},
                "model": nc.Checkpoint("tiny", "llama", 2, 4),
            },
        ),
        "uniform": (nc.uniform, {"n": 5, "d": 2, "seed": 0, "runs": 2}),
        "uniform, one start": (lambda seed: nc.uniform(5, 2, seed), {"seed": 0}),
        "plot.angles": (
            plot.angles,
            {
                "run": run,
                "ax": None,
                "which": 0,
                "first": 3,
                "centers": (0,),
                "strong": (1,),
                "colour": "token",
                "radius": None,
                "log": None,
                "colorbar": True,
            },
        ),
        "plot.animate": (
            plot.animate,
            {"run": run, "path": "run.gif", "fps": 20.0, "which": 0, "progress": None},
        ),
        "plot.band": (
            plot.band,
            {
                "t": t,
                "values": shares,
                "ax": None,
                "label": "",
                "colour": "black",
                "quantiles": (0.1, 0.9),
                "linestyle": "-",
                "log": None,
            },
        ),
        "plot.circle": (plot.circle, {"x": x, "ax": None, "centers": (0,), "strong": (1,)}),
        "plot.consumption": (
            plot.consumption,
            {"t": t, "share": shares, "ax": None, "strong": None, "log": None},
        ),
        "plot.life": (plot.life, {"life": whole, "axes": None}),
        "plot.merge_tree": (plot.merge_tree, {"merges": whole, "ax": None, "end": None}),
        "plot.staircase": (plot.staircase, {"merges": whole, "ax": None, "end": None}),
        "plot.phase_diagram": (
            plot.phase_diagram,
            {
                "ensemble": many,
                "name": "count",
                "ax": None,
                "over": "beta",
                "where": None,
                "limits": (0.0, 1.0),
            },
        ),
        "plot.palette_of": (plot.palette_of, {"ax": Figure().add_subplot()}),
        "plot.picture": (plot.picture, {"run": run, "ax": None, "which": 0}),
        "plot.spectrum": (plot.spectrum, {"V": np.eye(2), "ax": None}),
        "plot.style": (plot.style, {"name": "light"}),
        "plot.text_histogram": (plot.text_histogram, {"x": x, "width": 64}),
        "plot.trajectories": (
            plot.trajectories,
            {"run": run, "ax": None, "which": 0, "colour": "token", "radius": None},
        ),
        "Run.check": (run.check, {"factor": 100.0, "time_limit": 10.0, "threads": 1}),
        "explore": (nc.explore, {"run": run, "which": 0, "height": 400}),
        "Run.explore": (run.explore, {"which": 0, "height": 400}),
        "Run.plot": (run.plot, {"ax": None, "which": 0}),
        "Run.save": (run.save, {"path": "run.npz"}),
        "Life.plot": (whole.plot, {"axes": None}),
        "Life.save": (whole.save, {"path": "life.npz"}),
        "Study.read": (nc.Study.read, {"path": "nowhere", "runs": 1}),
        "Study.make": (nc.Study.make, {"table": study, "folder": None}),
        "Study.with_device": (table.with_device, {"device": "cpu", "precision": "double"}),
        "Study.with_runs": (table.with_runs, {"runs": 3}),
        "Study.point": (table.point, {"index": 0}),
        "Study.coordinate": (table.coordinate, {"name": "beta"}),
        "Ensemble.band": (many.band, {"name": "count", "level": 0.95, "failed": False}),
        "Ensemble.mean": (many.mean, {"name": "count", "failed": False}),
        "Ensemble.plot": (many.plot, {"name": "count", "ax": None}),
        "Ensemble.quantiles": (many.quantiles, {"name": "count", "q": (0.1, 0.5), "failed": False}),
    }


def _saved(run: nc.Run) -> str:
    path = str(folder_of_this_process() / "run.npz")
    run.save(path)
    return path
