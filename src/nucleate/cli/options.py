"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "Alibi",
    "Alpha",
    "CheckpointPath",
    "Device",
    "Discrete",
    "DryRun",
    "ExcludeSelf",
    "Heads",
    "LayerDt",
    "Layers",
    "Noise",
    "Norm",
    "Precision",
    "Quiet",
    "Radius",
    "Redraw",
    "Rope",
    "Tau",
    "Threads",
    "Weights",
]

FAMILY = "The family"  # the panel of what makes a model more than one softmax head

CheckpointPath = Annotated[
    Path,
    typer.Argument(
        help="A checkpoint: its folder, or its .safetensors or .gguf file.",
        show_default=False,
        readable=False,
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be done and how long it takes, and stop.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
Threads = Annotated[int | None, typer.Option(help="Number of threads.", show_default="all cores")]
Device = Annotated[
    str | None,
    typer.Option(
        help="cpu; gpu (an NVIDIA card: explicit and fixed steps, the extra gpu).",
        show_default="cpu, or what the study says",
    ),
]
Precision = Annotated[
    str | None,
    typer.Option(
        help="double; mixed (with --device gpu: pairs in single precision, for tolerances from 1e-6).",
        show_default="double, or what the study says",
    ),
]

Weights = Annotated[
    str | None,
    typer.Option(
        help="softmax; exponential (divided by the number of tokens seen); hardmax (the highest score).",
        show_default="softmax",
        rich_help_panel=FAMILY,
    ),
]
Alibi = Annotated[
    float | None,
    typer.Option(help="ALiBi: scores fall by this much for every place.", rich_help_panel=FAMILY),
]
Rope = Annotated[
    float | None,
    typer.Option(help="RoPE: queries and keys turn with their place; the base.", rich_help_panel=FAMILY),
]
Heads = Annotated[
    int | None,
    typer.Option(
        help="So many heads, whose outputs are added; random matrices differ.",
        show_default="1",
        rich_help_panel=FAMILY,
    ),
]
Norm = Annotated[
    str | None,
    typer.Option(
        help="post, pre, mix (with --tau), peri, ngpt (with --alpha) or sqrt.",
        show_default="post",
        rich_help_panel=FAMILY,
    ),
]
Tau = Annotated[
    float | None, typer.Option(help="The time at which --norm mix changes.", rich_help_panel=FAMILY)
]
Alpha = Annotated[
    float | None,
    typer.Option(help="The step of --norm ngpt.", show_default="1", rich_help_panel=FAMILY),
]
Radius = Annotated[
    float | None,
    typer.Option(
        help="The length of all tokens at the start, for --norm pre and peri.",
        show_default="1",
        rich_help_panel=FAMILY,
    ),
]
Noise = Annotated[
    float | None,
    typer.Option(help="kappa: noise of strength sqrt(2/kappa); needs --dt.", rich_help_panel=FAMILY),
]
ExcludeSelf = Annotated[
    bool,
    typer.Option(
        "--exclude-self",
        help="Each head's output loses its part along the token's own value.",
        rich_help_panel=FAMILY,
    ),
]
Layers = Annotated[int | None, typer.Option(help="Number of layers.", rich_help_panel=FAMILY)]
LayerDt = Annotated[
    float | None,
    typer.Option(help="How long a layer acts; with --layers.", show_default="1", rich_help_panel=FAMILY),
]
Discrete = Annotated[
    bool,
    typer.Option("--discrete", help="A layer is one step; with --layers.", rich_help_panel=FAMILY),
]
Redraw = Annotated[
    str | None,
    typer.Option(
        help=(
            "Q, K, V anew for every layer: gaussian, symmetric, orthogonal, uniform; or matrices, the random"
            " ones of --query, --key, --value."
        ),
        rich_help_panel=FAMILY,
    ),
]
