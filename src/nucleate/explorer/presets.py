"""Scenes worth a look: every figure of the paper, the whole life of a metastable state, members of the
family, and some that are simply beautiful."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from nucleate.explorer.family_presets import FAMILY_SCENES
from nucleate.explorer.scene import Scene, parse_scene
from nucleate.explorer.thumbnails import thumbnail_of
from nucleate.papers.causal_clustering.figure1.data import PANELS as FIGURE_1
from nucleate.papers.causal_clustering.figure1.data import Panel
from nucleate.papers.causal_clustering.figure1.item import PARAMETERS
from nucleate.papers.causal_clustering.figure6.data import PANELS as FIGURE_6

__all__ = ["ScenePreset", "presets"]

FIGURE_2 = {"n": 200, "d": 2, "beta": 64.0, "t": 150.0, "clock": "linear"}
FIGURE_2_SEED = 3  # what nucleate.papers.causal_clustering.figure2.data.chosen_seed finds


@dataclass(frozen=True)
class ScenePreset:
    """A scene with a name, a title, and a few sentences on what to look for."""

    name: str
    title: str
    explain: str
    scene: Scene

    def plain(self) -> dict[str, Any]:
        """As it goes over the wire."""
        plain = {"name": self.name, "title": self.title, "explain": self.explain, "scene": self.scene.plain()}
        return {**plain, "thumbnail": thumbnail_of(self.name, self.scene)}


@cache
def presets() -> tuple[ScenePreset, ...]:
    """All of them, in the order of the menu."""
    return (
        *(
            ScenePreset(name, title, explain, parse_scene(scene))
            for name, title, explain, scene in (*_opening(), *FAMILY_SCENES)
        ),
        *_figures(),
        *_others(),
    )


def _opening() -> list[tuple[str, str, str, dict[str, Any]]]:
    return [
        (
            "figure2",
            "Figure 2: tokens gather around centers",
            (
                "Two hundred tokens on the circle. Strong centers hardly move; the other Rényi centers hold"
                " for a while, and between t = 75 and t = 150 one of them is lost to an earlier one."
            ),
            {**FIGURE_2, "seed": FIGURE_2_SEED, "frames": 301},
        ),
        (
            "life",
            "The whole life, to t = 10⁶⁰",
            (
                "The run of Figure 2 carried on to its end. Clusters wait for tens of decades of time, then"
                " merge one by one, until all tokens are at the place of the first."
            ),
            {"n": 200, "d": 2, "beta": 64.0, "t": 1e60, "frames": 400, "seed": FIGURE_2_SEED},
        ),
    ]


def _figures() -> tuple[ScenePreset, ...]:
    made = [_panel("Figure 1", panel) for panel in FIGURE_1]
    listed: list[tuple[str, str, str, dict[str, Any]]] = [
        (
            "figure3",
            "Figure 3: who is consumed by centers",
            (
                "One of the runs behind Figure 3: watch the share of tokens within δ of a center. Rényi"
                " centers take nearly all of them, strong centers fewer."
            ),
            {**FIGURE_2, "frames": 76, "seed": 0},
        ),
        (
            "figure4",
            "Figure 4: two tokens attract each other",
            (
                "At β = 10 two tokens at distance x attract each other like h(x) = exp(β(cos x − 1)) sin x,"
                " most strongly near x = β^(−1/2) = 0.32. The second starts at 1.2, creeps, then falls to the"
                " first. Drag it and see how the time depends on the distance."
            ),
            {
                "n": 2,
                "d": 2,
                "beta": 10.0,
                "t": 1e3,
                "moved": {"0": [1.0, 0.0], "1": [0.3623577544766736, 0.9320390859672263]},
                "c": 1.0,
            },
        ),
        (
            "figure5",
            "Figure 5: a head at initialisation",
            (
                "V is the value matrix of an attention head as it is drawn before training: its eigenvalues"
                " fill a disc, so that the largest real part is clearly positive. The tokens, in 64"
                " dimensions, are seen in their three principal directions."
            ),
            {"n": 64, "d": 64, "beta": 4.0, "t": 100.0, "V": {"preset": "head", "seed": 0}},
        ),
    ]
    made += [ScenePreset(name, title, explain, parse_scene(scene)) for name, title, explain, scene in listed]
    return (*made, *(_panel("Figure 6", panel) for panel in FIGURE_6))


def _panel(figure: str, panel: Panel) -> ScenePreset:
    scene = {
        "n": PARAMETERS["n"],
        "d": 3,
        "beta": PARAMETERS["beta"],
        "t": PARAMETERS["T"],
        "seed": PARAMETERS["seed"],
        "frames": 240,
    }
    explain = (
        f"Thirty-two tokens on the sphere with {panel.written}. The spectrum beside it tells where they ought"
        " to end; at t = 5000 they may still be on the way."
    )
    name = f"{figure.lower().replace(' ', '')}-{panel.name}"
    V = {"matrix": [list(row) for row in panel.V]}
    return ScenePreset(name, f"{figure}, {panel.words}", explain, parse_scene({**scene, "V": V}))


def _others() -> tuple[ScenePreset, ...]:
    listed: list[tuple[str, str, str, dict[str, Any]]] = [
        (
            "planet",
            "A thousand tokens on a planet",
            (
                "The sphere at β = 40: a dust of tokens falls into 23 clusters by t = 30, and then clusters"
                " wander to earlier ones. At t = 1000 eleven are left."
            ),
            {"n": 1000, "d": 3, "beta": 40.0, "t": 1e3, "frames": 240, "tolerance": 1e-6},
        ),
        (
            "ten-thousand",
            "Ten thousand tokens",
            (
                "As many as the page takes, for the first moments of their life. That takes long to compute;"
                " the frames come as they are ready."
            ),
            {"n": 10_000, "d": 3, "beta": 60.0, "t": 5.0, "frames": 80, "tolerance": 1e-4},
        ),
        (
            "fireworks",
            "Repulsion",
            (
                "V = −I: every token flees those it attends to, and only the first one stays. The tokens"
                " spread over the sphere and never settle quite."
            ),
            {
                "n": 400,
                "d": 3,
                "beta": 9.0,
                "t": 200.0,
                "V": {"preset": "minus-identity"},
                "frames": 240,
                "tolerance": 1e-6,
            },
        ),
        (
            "democracy",
            "Full attention",
            (
                "Without the causal mask nobody is first: where two clusters meet both have moved, also the"
                " one with the first token, which no other can move under the causal mask."
            ),
            {"n": 200, "d": 2, "beta": 64.0, "t": 1000.0, "mask": "full", "frames": 240},
        ),
        (
            "gossip",
            "A sliding window",
            (
                "Each token sees only itself and the seven before it. The sequence forms a chain that is"
                " pulled to the first token, link by link."
            ),
            {"n": 200, "d": 3, "beta": 4.0, "t": 500.0, "mask": {"window": 8}, "frames": 240},
        ),
        (
            "snow",
            "A cap of snow",
            (
                "All tokens start in a cap of half a radian on a sphere. By t = 50 they are three clusters,"
                " and at the end two."
            ),
            {
                "n": 500,
                "d": 3,
                "beta": 100.0,
                "t": 1e4,
                "start": {"kind": "cap", "angle": 0.5},
                "frames": 240,
                "tolerance": 1e-6,
            },
        ),
        (
            "archipelago",
            "Twelve planted clusters",
            (
                "Clusters that are planted at the start last for many decades of time: of twelve, eight are"
                " left at t = 10⁸. Only those that lay within 0.7 of an earlier one are lost."
            ),
            {
                "n": 240,
                "d": 3,
                "beta": 100.0,
                "t": 1e8,
                "start": {"kind": "planted", "clusters": 12, "spread": 0.15},
                "frames": 240,
                "tolerance": 1e-6,
            },
        ),
        (
            "counterexample",
            "Conjecture 1 fails for this K",
            (
                "Two tokens with V = diag(1, 0.1) and K = diag(−1, 1) at β = 10. The second ends at an"
                " equilibrium far from both ends of the dominant eigenvector: for arbitrary Q and K the"
                " conjecture is false."
                " About half of all seeds show it, this one among them."
            ),
            {
                "n": 2,
                "d": 2,
                "beta": 10.0,
                "t": 1e3,
                "V": {"matrix": [[1.0, 0.0], [0.0, 0.1]]},
                "K": {"preset": "mirror"},
                "seed": 2,
            },
        ),
        (
            "sixteen",
            "Sixteen dimensions",
            (
                "A higher sphere has room for more centers: 47 of the 300 tokens are Rényi centers, and at"
                " t = 70 there are 46 clusters; at the end six. It is seen in the three directions in which"
                " the tokens reach farthest."
            ),
            {"n": 300, "d": 16, "beta": 12.0, "t": 1e3, "frames": 200, "tolerance": 1e-6},
        ),
        (
            "storm",
            "A random V",
            (
                "Nothing is symmetric here: V is a Gaussian matrix whose dominant eigenvalues, with this"
                " seed, are a complex pair: the tokens gather and then turn for ever."
            ),
            {
                "n": 300,
                "d": 3,
                "beta": 6.0,
                "t": 100.0,
                "V": {"preset": "gaussian", "seed": 1},
                "frames": 240,
                "tolerance": 1e-6,
            },
        ),
    ]
    return tuple(
        ScenePreset(name, title, explain, parse_scene(scene)) for name, title, explain, scene in listed
    )
