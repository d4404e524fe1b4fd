"""Models as tables: every key says what the constructor says, and the way back loses nothing."""

import json
import tomllib
from typing import Any

import numpy as np
import pytest
from support.made_models import family, same_model

import nucleate as nc
from nucleate.attention import Attention, Frozen, Window
from nucleate.block import Block
from nucleate.checks import InputError
from nucleate.layers import Layers, Model
from nucleate.mlp import MLP, Potential
from nucleate.parse.model import draw_from, model_table, parse_model
from nucleate.parse.model_keys import BLOCK_KEYS, HEAD_KEYS, LAYERS_KEYS, MLP_KEYS, listed, plain_model
from nucleate.studies.points import stream

PLAIN = Attention(2.0)
A, W, B = [[1.0, 0.0, 0.0, 2.0], [0.0, -1.0, 0.0, 0.0]], [[1.0, 2.0]] * 4, [0.5, -0.5]

# every key of the grammar, and what it stands for in four dimensions
KEYS: dict[str, tuple[str, Model]] = {
    "beta": ("", PLAIN),
    "Q": ("Q = [1, 2, 3, 4]", Attention(2.0, np.diag([1.0, 2.0, 3.0, 4.0]))),
    "K": ('K = "-identity"', Attention(2.0, K=-np.eye(4))),
    "V": ("V = 0.5", Attention(2.0, V=0.5 * np.eye(4))),
    "V tied": (
        "Q = 2.0\nK = [1, 1, 1, -1]\nV = {tied = -0.5}",
        Attention(2.0, 2.0 * np.eye(4), np.diag([1.0, 1.0, 1.0, -1.0]), np.diag([-1.0, -1.0, -1.0, 1.0])),
    ),
    "mask": ('mask = "full"', Attention(2.0, mask="full")),
    "window": ("window = 3", Attention(2.0, mask=Window(3))),
    "weights": ('weights = "exponential"', Attention(2.0, weights="exponential")),
    "alibi": ("alibi = 0.25", Attention(2.0, position=nc.ALiBi(0.25))),
    "rope": ("rope = 100", Attention(2.0, position=nc.RoPE(100.0))),
    "frozen": (
        "frozen = {x = [[1, 0, 0, 0]], weight = [2]}",
        Attention(2.0, frozen=Frozen([[1.0, 0.0, 0.0, 0.0]], [2.0])),
    ),
    "heads": ("heads = 3", Block([PLAIN] * 3)),
    "heads, one by one": (
        'mask = "full"\n[[heads]]\nbeta = 1\n[[heads]]\nV = -1.0\n[[heads]]\nwindow = 2',
        Block(
            [
                Attention(1.0, mask="full"),
                Attention(2.0, V=-np.eye(4), mask="full"),
                Attention(2.0, mask=Window(2)),
            ]
        ),
    ),
    "norm": ('norm = "peri"', Block(PLAIN, norm="peri")),
    "tau": ('norm = "mix"\ntau = 1.5', Block(PLAIN, norm="mix", tau=1.5)),
    "alpha": ('norm = "ngpt"\nalpha = 0.2', Block(PLAIN, norm="ngpt", alpha=0.2)),
    "radius": ('norm = "pre"\nradius = 2', Block(PLAIN, norm="pre", radius=2.0)),
    "radius, one by one": ('norm = "pre"\nradius = [1, 2]', Block(PLAIN, norm="pre", radius=[1.0, 2.0])),
    "noise": ("noise = 20", Block(PLAIN, noise=20.0)),
    "exclude_self": ("exclude_self = true", Block(PLAIN, exclude_self=True)),
    "mlp": (f'mlp = {{W = {W}, a = {A}, b = {B}, activation = "gelu"}}', Block(PLAIN, MLP(W, A, "gelu", B))),
    "mlp, named": ("mlp = {W = 2.0, a = 1.0}", Block(PLAIN, MLP(2.0 * np.eye(4), np.eye(4)))),
    "mlp, potential": (
        f'heads = 0\nmlp = {{omega = {B}, a = {A}, activation = "tanh"}}',
        Block([], Potential(B, A, "tanh")),
    ),
    "layers": ("layers = {count = 3, dt = 0.5}", Layers([PLAIN] * 3, 0.5)),
    "layers, discrete": (
        'norm = "pre"\nlayers = {count = 2, discrete = true}',
        Layers([Block(PLAIN, norm="pre")] * 2, discrete=True),
    ),
    "layers, one by one": (
        "[layers]\ndt = 2\nblocks = [{beta = 1}, {heads = 2}]",
        Layers([Attention(1.0), Block([PLAIN, PLAIN])], 2.0),
    ),
    "layers, random": (
        "heads = 2\nlayers = {count = 3, redraw = 'symmetric', value = 'orthogonal', seed = 7}",
        nc.RandomLayers(3, 4, beta=2.0, heads=2, kind="symmetric", value="orthogonal", seed=7),
    ),
    "layers, uniform and identity": (
        'layers = {count = 2, redraw = "uniform", value = "identity", seed = 0}',
        nc.RandomLayers(2, 4, beta=2.0, kind="uniform", value="identity"),
    ),
    "layers, gaussian": (
        'layers = {count = 2, redraw = "gaussian", seed = 5}',
        nc.RandomLayers(2, 4, beta=2.0, seed=5),
    ),
}


def parsed(text: str, d: int = 4, **named: Any) -> Model:
    return parse_model(tomllib.loads(f"beta = 2.0\n{text}"), d, **named)


@pytest.mark.parametrize("name", KEYS)
def test_a_key_says_what_the_constructor_says(name: str) -> None:
    text, model = KEYS[name]
    found = parsed(text)
    assert same_model(found, model)
    assert name == "beta" or not same_model(found, PLAIN)


def test_every_key_of_the_grammar_is_among_these() -> None:
    said = " ".join(text for text, _ in KEYS.values()) + "beta"
    random_mlp = ("hidden", "seed", "name")  # below
    every = [*HEAD_KEYS, *BLOCK_KEYS, *(key for key in MLP_KEYS if key not in random_mlp), *LAYERS_KEYS]
    assert [key for key in every if key not in said] == []


@pytest.mark.parametrize("runs", [None, 3])
@pytest.mark.parametrize("kind", family())
def test_the_table_of_a_model_makes_the_same_model(kind: str, runs: int | None) -> None:
    model = family(runs=runs)[kind]
    table = json.loads(json.dumps(model_table(model)))
    assert same_model(parse_model(table, 4), model)


@pytest.mark.parametrize("name", KEYS)
def test_the_plain_form_of_a_table_is_plain_and_stays_as_it_is(name: str) -> None:
    table = listed(plain_model("model", tomllib.loads(f"beta = 2.0\n{KEYS[name][0]}")))
    assert json.loads(json.dumps(table)) == table
    assert listed(plain_model("model", table)) == table


def test_a_random_mlp_depends_on_its_seed_alone_and_is_of_order_one() -> None:
    found = [parsed(f"mlp = {{hidden = 400, seed = {seed}}}", 50) for seed in (1, 1, 2)]
    one, again, other = (model.mlp for model in found if isinstance(model, Block))
    assert one.W.shape == (50, 400)
    assert np.array_equal(one.a, again.a)
    assert not np.array_equal(one.a, other.a)
    # 20,000 entries of variance 1/50 and 1/400: the standard error of a variance is 1 % of it
    assert abs(50 * one.a.var() - 1.0) < 0.05
    assert abs(400 * one.W.var() - 1.0) < 0.05


# Random matrices


def draws(runs: range, d: int = 4) -> Any:
    return draw_from(d, lambda *child: [stream(3, run, *child) for run in runs])


def test_heads_and_layers_draw_their_own_matrices_and_fewer_are_the_first_of_more() -> None:
    text = 'Q = {{random = "gaussian"}}\nheads = {}\nlayers = {{count = {}, redraw = true}}'
    many, few = (parsed(text.format(*shape), draw=draws(range(2))) for shape in ((3, 4), (2, 1)))
    assert isinstance(many, Layers)
    assert isinstance(few, Layers)
    every = np.array([[head.Q for head in block.heads] for block in many.blocks])  # (layer, head, run, d, d)
    assert every.shape == (4, 3, 2, 4, 4)
    assert len(np.unique(every)) == every.size
    assert np.array_equal(every[0, :2], np.array([head.Q for head in few.blocks[0].heads]))
    alone = parsed('Q = {random = "gaussian"}', draw=draws(range(1, 2)))
    assert isinstance(alone, Attention)
    assert alone.Q is not None
    assert np.array_equal(alone.Q, every[0, 0, 1:]), "run 1 is the same in any company"


def test_without_redraw_all_layers_share_the_matrices_of_a_run() -> None:
    model = parsed('V = {random = "orthogonal"}\nlayers = {count = 5, discrete = true}', draw=draws(range(2)))
    assert isinstance(model, Layers)
    assert len({id(block) for block in model.blocks}) == 1


def test_redraw_by_name_for_every_run_is_redraw_of_three_random_matrices() -> None:
    short = parsed('layers = {count = 2, redraw = "symmetric"}', draw=draws(range(2)))
    spelled = parsed(
        "\n".join(f'{name} = {{random = "symmetric"}}' for name in "QKV")
        + "\nlayers = {count = 2, redraw = true}",
        draw=draws(range(2)),
    )
    assert same_model(short, spelled)


# Slips


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("headss = 2", "headss is not a key of [model]. Did you mean heads?"),
        ("heads = -1", "model.heads must be a whole number of at least 0"),
        ("heads = [{bta = 1}]", "bta is not a key of [model.heads[0]]. Did you mean beta?"),
        ("heads = []", "model.heads must be a list with at least one value"),
        ("heads = 100000", "at most 4096 heads are taken"),
        ("alibi = -1", "model.alibi must be finite and at least 0, but is -1.0. Near tokens count more"),
        ("rope = 0", "model.rope must be finite and greater than 0, but is 0.0. 10000 is usual."),
        ("alibi = 1\nrope = 10", "alibi and rope are both given"),
        ('weights = "softmin"', "model.weights is softmin. Did you mean softmax?"),
        ('norm = "preln"', "model.norm is preln. Did you mean pre?"),
        ("tau = 1", 'tau belongs to norm "mix", but norm is "post". Leave tau out.'),
        ('norm = "mix"', "tau is missing. Give tau=5.0."),
        ('norm = "pre"\nradius = 0', "model.radius must be finite and greater than 0"),
        ('norm = "pre"\nradius = [1, 0]', "A token of length zero has no direction."),
        ("radius = 2", "radius is given."),
        ('noise = 3\nnorm = "pre"', 'noise needs norm "post"'),
        ("noise = 0", "model.noise must be finite and greater than 0, but is 0.0. It is kappa"),
        ("exclude_self = 1", "model.exclude_self must be true or false, but is 1."),
        ("mlp = {}", "model.mlp needs W and a, omega and a, or hidden, but has nothing."),
        ("mlp = {hidden = 3, a = [[1.0]]}", "hidden and a, which do not go together"),
        ("mlp = {W = [[1.0]]}", "model.mlp.a is missing"),
        ("mlp = {W = [[1.0]], a = [[1.0]]}", "dimension 1"),
        ('mlp = {hidden = 3, activation = "rlu"}', "Did you mean relu?"),
        ("layers = {dt = 1}", "model.layers needs count or blocks, but has neither"),
        ("layers = {count = 0}", "model.layers.count must be a whole number of at least 1"),
        ("layers = {count = 2, dt = 0}", "model.layers.dt must be finite and greater than 0"),
        ("layers = {count = 2, blocks = [{beta = 1}]}", "has both"),
        ("layers = {count = 2, seed = 1}", "seed belongs to redraw"),
        (
            'layers = {count = 2, redraw = "gausian"}',
            "model.layers.redraw is gausian. Did you mean gaussian?",
        ),
        ('V = 2.0\nlayers = {count = 2, redraw = "gaussian"}', "V is given, but layers.redraw"),
        ("layers = {count = 2, discrete = true}\nnoise = 3", "Discrete layers have no noise"),
        ('V = {random = "gaussian"}', "V must be one matrix, but is drawn anew for every run"),
        ("V = [1, 2, 3]", "V acts on dimension 3, but d is 4. Both must be the same."),
        ('mask = "full"\nwindow = 3', 'mask is "full" and window is 3'),
    ],
)
def test_a_slip_is_answered_in_words(text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        parsed(text).check(nc.uniform(5, 4, 0))
    assert words in str(caught.value)


def test_rope_in_odd_dimensions_and_heads_of_different_dimensions_are_refused() -> None:
    with pytest.raises(
        InputError, match=r"RoPE turns planes, but d is 3, which is odd. Use an even dimension"
    ):
        parsed("rope = 100", d=3)
    with pytest.raises(InputError, match=r"V acts on dimension 2, but d is 3. Both must be the same."):
        parsed("heads = [{V = [1, 2]}, {V = [1, 2, 3]}]", d=3)


def test_a_head_needs_a_beta_and_no_heads_need_none() -> None:
    with pytest.raises(InputError, match=r"beta is missing: inverse temperature. Give beta = 1, say."):
        parse_model({}, 4)
    assert isinstance(parse_model({"heads": 0, "mlp": {"hidden": 2}}, 4), Block)
