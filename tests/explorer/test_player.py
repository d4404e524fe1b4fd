"""The player inside a notebook."""

import json
import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from support.made_depth_runs import depth_run
from support.made_runs import many_runs, one_run

import nucleate as nc
from nucleate.checks import InputError
from nucleate.explorer.player import explore
from nucleate.explorer.prepared_trace import prepare_trace_view, trace_message


def test_a_frame_holds_the_page_and_the_run_and_reaches_nothing() -> None:
    run = one_run()
    player = run.explore(height=500)
    shown = player._repr_html_()
    (srcdoc,) = re.findall(r'srcdoc="([^"]*)"', shown)
    assert unescape(srcdoc) == player.page
    assert "connect-src 'none'" in player.page
    assert 'sandbox="allow-scripts allow-downloads"' in shown, "not of the notebook's own origin"
    assert not re.search(r'<(script|link|img)[^>]+(src|href)="https?:', player.page)
    assert f'"frames":{len(run.t)}' in player.page
    assert 'height="500"' in shown
    assert "a notebook shows it" in repr(player)


def test_of_several_runs_one_is_shown_and_of_a_life_its_run(tmp_path: Path) -> None:
    runs, life = many_runs(), nc.life(beta=9.0, n=3, seed=0)
    assert explore(runs, which=1).page != explore(runs, which=0).page
    player = explore(life)
    assert f'"n":{life.run.x.shape[-2]}' in player.page
    player.save(tmp_path / "life.html")
    assert (tmp_path / "life.html").read_text(encoding="utf-8") == player.page


def test_hidden_states_are_played_over_layers_with_their_words() -> None:
    run = depth_run((2,))
    player = run.explore(which=1)
    found = re.search(r'<script[^>]*id="recorded"[^>]*>(.*?)</script>', player.page, flags=re.S)
    assert found is not None
    begun = json.loads(found[1])["begun"]
    assert begun == json.loads(json.dumps(trace_message(prepare_trace_view(run, 1, player.title), 0)))
    assert begun["trace"]["readings"][0]["words"] == list(run.tokens[1])  # type: ignore[index]  # it has some
    assert "connect-src 'none'" in player.page


def test_what_it_cannot_play_is_refused_in_words() -> None:
    with pytest.raises(InputError, match="plays a Run or a Life, but got ndarray"):
        explore(np.ones((3, 2)))  # type: ignore[arg-type]  # the point
    with pytest.raises(InputError, match="There is no text 2"):
        explore(depth_run((2,)), which=2)
    with pytest.raises(InputError, match="height must be"):
        explore(one_run(), height=3)
    with pytest.raises(InputError, match="There is no run 9"):
        explore(many_runs(), which=9)
