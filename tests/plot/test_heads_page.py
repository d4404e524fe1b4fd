"""The command, the pictures and the page."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_rgb
from support.made_checkpoints import Made, make
from typer.testing import CliRunner

from nucleate.checks import InputError
from nucleate.cli import main as cli
from nucleate.models.spectra import Spectra, spectra
from nucleate.plot.heads import REGIONS, head_map, head_spectrum, layer_figure
from nucleate.plot.style import contrast


@pytest.fixture
def found(tmp_path: Path) -> Spectra:
    return spectra(make("llama").write(tmp_path / "checkpoint"), draws=2)


def nucleate(*words: object) -> Any:
    return CliRunner().invoke(cli.app, [str(word) for word in words])


# --- pictures


def test_the_map_has_the_colour_and_the_sign_of_every_head(found: Spectra) -> None:
    ax = head_map(found)
    cells = ax.images[0].get_array()
    assert cells is not None
    assert cells.shape == (found.layers, found.heads_per_layer, 3)
    signs = {(int(text.get_position()[1]), int(text.get_position()[0])): text.get_text() for text in ax.texts}
    for head in found.heads:
        sign, colour = REGIONS[head.region]
        np.testing.assert_allclose(cells[head.layer, head.head], to_rgb(colour))
        assert signs[head.layer, head.head] == sign
    pyplot.close("all")


def test_signs_can_be_read_and_no_two_regions_share_sign_and_colour() -> None:
    assert len(set(REGIONS.values())) == len(REGIONS)
    assert len({sign for sign, _ in REGIONS.values()}) == len(REGIONS)
    # WCAG AA
    assert all(
        max(contrast(to_rgb(colour), (0, 0, 0)), contrast(to_rgb(colour), (1, 1, 1))) >= 4.5
        for _, colour in REGIONS.values()
    )


def test_a_head_shows_every_eigenvalue_and_the_top_in_another_shape(found: Spectra) -> None:
    head = found.heads[0]
    ax = head_spectrum(head)
    points = np.concatenate([np.asarray(dots.get_offsets()) for dots in ax.collections])  # (d_head, 2)
    shown = np.sort_complex(points[:, 0] + 1j * points[:, 1])
    np.testing.assert_allclose(shown, np.sort_complex(head.eigenvalues))
    top = np.asarray(ax.collections[1].get_offsets())
    assert len(top) == head.multiplicity
    np.testing.assert_allclose(top[:, 0], head.lambda_max)
    pyplot.close("all")


def test_a_layer_shows_all_its_heads_on_one_scale(found: Spectra) -> None:
    figure = layer_figure(found, 1)
    shown = [ax for ax in figure.axes if ax.get_visible()]
    assert [ax.get_title().split(":")[0] for ax in shown] == [
        f"head {i}" for i in range(found.heads_per_layer)
    ]
    assert len({ax.get_xlim() for ax in shown}) == 1
    assert shown[0].get_xlim()[1] > max(np.abs(head.eigenvalues).max() for head in found.layer(1))


def test_the_map_refuses_what_are_no_spectra() -> None:
    with pytest.raises(InputError, match=r"needs what nucleate\.spectra gives"):
        head_map(3)  # type: ignore[arg-type]  # that is what is refused


# --- the command


def test_the_command_prints_the_rows_and_every_head(found: Spectra, tmp_path: Path) -> None:
    done = nucleate("spectra", tmp_path / "checkpoint", "--draws", 2)
    assert done.exit_code == 0, done.output
    assert str(found) in done.stdout
    assert len(re.findall(r"^ +[01] +[0-3] ", done.stdout, flags=re.M)) == len(found.heads)


def test_a_folder_gets_everything(found: Spectra, tmp_path: Path) -> None:
    done = nucleate(
        "spectra",
        tmp_path / "checkpoint",
        "--draws",
        2,
        "--out",
        tmp_path / "report",
        "--out",
        tmp_path / "one.csv",
        "-q",
    )
    assert (done.exit_code, done.output) == (0, "")
    assert sorted(file.name for file in (tmp_path / "report").iterdir()) == [
        "heads.csv", "heads.png", "layer-0.png", "layer-1.png", "report.html", "spectra.json",
    ]  # fmt: skip
    assert (tmp_path / "one.csv").read_text() == (tmp_path / "report" / "heads.csv").read_text()
    assert json.loads((tmp_path / "report" / "spectra.json").read_text())["regions"] == found.regions


def test_the_page_stands_alone_and_has_every_head(tmp_path: Path) -> None:
    made = make("llama")
    made.write(tmp_path / "<b>&")
    assert nucleate("spectra", tmp_path / "<b>&", "--draws", 2, "--out", tmp_path / "a.html").exit_code == 0
    page = (tmp_path / "a.html").read_text()
    assert re.findall(r"(?:src|href)=\"(?!data:image/png;base64,)", page) == []
    assert "http" not in re.sub(r"base64,[^\"]*", "", page)
    assert page.count("<img ") == 3  # the map and two layers
    assert page.count("<tr><td>") + page.count("<tr class=negative><td>") == 8
    assert "&lt;b&gt;&amp;" in page
    assert "<b>&" not in page


@pytest.mark.parametrize("name", ["a.png", "a.svg", "a.pdf"])
def test_the_map_can_be_a_file(name: str, found: Spectra, tmp_path: Path) -> None:
    assert nucleate("spectra", tmp_path / "checkpoint", "--draws", 1, "--out", tmp_path / name).exit_code == 0
    assert (tmp_path / name).stat().st_size > 2000


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["nowhere"], "cannot be read"),
        (["checkpoint", "--out", "a.txt"], "must have one of"),
        (["checkpoint", "--out", "nowhere/a.json"], "there is no folder"),
        (["checkpoint", "--mapping", "lama"], "must be a .toml file or one of albert"),
        (["checkpoint", "--draws", "0"], "at least 1"),
        (["checkpoint", "--seed", "-1"], "at least 0"),
    ],
)
def test_bad_input_ends_with_code_2_and_a_reason(
    words: list[str], reason: str, found: Spectra, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = nucleate("spectra", *words)
    assert done.exit_code == 2
    assert reason in done.stderr
    assert "Traceback" not in done.output
    assert not isinstance(done.exception, InputError)


def test_many_heads_are_summed_up_by_layer_unless_asked_for(tmp_path: Path) -> None:
    made, rng = make("llama"), np.random.default_rng(0)
    heads = 52
    T = dict(made.tensors)
    for i in range(2):
        T |= {
            f"model.layers.{i}.self_attn.{name}_proj.weight": rng.standard_normal((2 * heads, 12))
            for name in "qkv"
        }
        T[f"model.layers.{i}.self_attn.o_proj.weight"] = rng.standard_normal((12, 2 * heads))
    path = Made(
        {**made.config, "num_attention_heads": heads, "num_key_value_heads": heads}, T, "llama"
    ).write(tmp_path)
    short, long = (nucleate("spectra", path, "--draws", 1, *more).stdout for more in ([], ["--heads"]))
    assert len(short.splitlines()) < 30
    assert len(long.splitlines()) > 104
