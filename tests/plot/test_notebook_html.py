"""Records in a notebook: a picture that is one, and words that nothing inside can turn into tags."""

import base64
import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from support.made_checkpoints import make
from support.made_depth_runs import depth_run
from support.made_runs import many_runs, one_run
from support.small_studies import small

import nucleate as nc


def records(folder: Path) -> dict[str, Any]:
    return {
        "a run on the circle": one_run(),
        "a run on the sphere": one_run(d=3),
        "runs": many_runs(),
        "a run over depth": depth_run(),
        "a life": nc.life(beta=9.0, n=3, seed=0),
        "an ensemble": nc.ensemble(small()),
        "an atlas": nc.atlas(np.diag([1.0, 0.5])),
        "spectra": nc.spectra(make("llama").write(folder / "checkpoint"), draws=2),
    }


def test_every_record_shows_a_small_picture_and_its_words(tmp_path: Path) -> None:
    for name, record in records(tmp_path).items():
        shown = record._repr_html_()
        (data,) = re.findall(r'src="data:image/png;base64,([^"]+)"', shown)
        with Image.open(io.BytesIO(base64.b64decode(data))) as picture:
            width, height = picture.size
            spread = np.asarray(picture.convert("L")).std()
        assert 200 <= width <= 640, name
        assert 150 <= height <= 640, name
        assert spread > 5.0, f"{name}: an empty picture"
        assert len(shown) < 200_000, name
        assert re.search(r"<div[^>]*>[^<]{10}", shown), f"{name}: no words"


def test_a_run_without_frames_says_so_in_words() -> None:
    run = one_run()
    shown = replace(run, t=run.t[:0], x=run.x[:0], status="time limit")._repr_html_()
    assert "<img" not in shown
    assert "time limit" in shown


def test_words_are_words() -> None:
    run = one_run()
    shown = replace(run, status="<script>alert(1)</script>")._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
