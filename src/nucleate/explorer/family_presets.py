"""Scenes of the family: members that the field studies, each with what to look for."""

from typing import Any

__all__ = ["FAMILY_SCENES"]

# name, title, what to look for, scene
FAMILY_SCENES: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    (
        "family-kuramoto",
        "Kuramoto: oscillators on the circle",
        (
            "Exponential weights at β = 0 under the full mask: every token is pulled by the mean of all. They"
            " wait, then come together, and by t = 20 are at one place."
        ),
        {
            "n": 100,
            "d": 2,
            "beta": 0.0,
            "mask": "full",
            "t": 20.0,
            "clock": "linear",
            "family": {"weights": "exponential"},
        },
    ),
    (
        "family-usa",
        "USA: weights that are not normalised",
        (
            "Where tokens are crowded they pull harder, since nothing divides their weights by the sum. At"
            " t = 1 hardly a handful of clusters is left; with softmax weights nearly all tokens are still"
            " alone then."
        ),
        {
            "n": 200,
            "d": 3,
            "beta": 4.0,
            "mask": "full",
            "t": 20.0,
            "tolerance": 1e-6,
            "family": {"weights": "exponential"},
        },
    ),
    (
        "family-pre",
        "Pre-LN: tokens with a length",
        (
            "A token has a length, which grows like t, and the longer it is the more slowly it turns. So the"
            " tokens close in like 1/t², where those of Post-LN do exponentially; the other views show their"
            " directions."
        ),
        {
            "n": 32,
            "d": 3,
            "beta": 1.0,
            "mask": "full",
            "t": 1000.0,
            "tolerance": 1e-6,
            "family": {"norm": "pre"},
        },
    ),
    (
        "family-heads",
        "Eight heads, from β = 1 to β = 128",
        (
            "Dull heads pull tokens from afar, sharp ones from close by. Together they bring all tokens to"
            " one place before t = 100, where the sharpest head alone still has ten clusters or more."
        ),
        {
            "n": 100,
            "d": 2,
            "beta": 1.0,
            "mask": "full",
            "t": 100.0,
            "tolerance": 1e-6,
            "family": {"heads": [{"beta": 2.0**i} for i in range(8)]},
        },
    ),
    (
        "family-alibi",
        "ALiBi: near places count more",
        (
            "Scores fall by 0.5 for every place between two tokens, so that attention is a band along the"
            " diagonal: nothing passes forty places at once. In the end all tokens are at the first one"
            " nevertheless."
        ),
        {"n": 100, "d": 2, "beta": 4.0, "t": 1e4, "tolerance": 1e-6, "family": {"alibi": 0.5}},
    ),
    (
        "family-rope",
        "RoPE: queries and keys turn with their place",
        (
            "On the circle every place turns by one radian, so that whom a token hears comes again every"
            " 44 places, which are seven turns. Without it two clusters would be left by now; with it the"
            " tokens stay spread over nearly a radian."
        ),
        {"n": 100, "d": 2, "beta": 9.0, "t": 1000.0, "tolerance": 1e-6, "family": {"rope": 10_000.0}},
    ),
    (
        "family-noise",
        "Noise: Kuramoto at κ = 4",
        (
            "Twice the critical κ = 2: the tokens gather, yet noise keeps them apart. How closely they keep"
            " together is known: their mean has length 0.83, the solution of r = I₁(κr) / I₀(κr). Below κ = 2"
            " they stay all over the circle."
        ),
        {
            "n": 500,
            "d": 2,
            "beta": 0.0,
            "mask": "full",
            "t": 50.0,
            "frames": 201,
            "clock": "linear",
            "family": {"weights": "exponential", "noise": 4.0},
        },
    ),
    (
        "family-hardmax",
        "Hardmax: each follows one other",
        (
            "All attention goes to the nearest other token. Two that are nearest to each other meet, the"
            " rest follow; every cluster holds two tokens or more, and none of them merge."
        ),
        {
            "n": 100,
            "d": 3,
            "beta": 1.0,
            "mask": "full",
            "t": 100.0,
            "tolerance": 1e-6,
            "family": {"weights": "hardmax"},
        },
    ),
    (
        "family-layers",
        "Fifty layers with random weights",
        (
            "Every layer has eight heads with fresh Gaussian Q, K and V. Before the tenth layer all tokens"
            " are at one place, and each further layer carries that place somewhere else, by tens of degrees."
        ),
        {
            "n": 64,
            "d": 3,
            "beta": 1.0,
            "t": 50.0,
            "frames": 201,
            "clock": "linear",
            "tolerance": 1e-4,
            "family": {"heads": 8, "layers": {"count": 50, "redraw": "gaussian", "seed": 0}},
        },
    ),
)
