"""Folders that no other user can change: whose they may be, who may write on the way, and what of links."""

import os
import stat
from pathlib import Path

import pytest

from nucleate.kernels.private_folder import NotPrivate, own_folder, trusted_folder

SOMEBODY = 54321  # a user that is neither this one nor root


def belongs_to_somebody(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `path` look as if another user had made it."""
    real = os.lstat

    def lstat(one: str | os.PathLike[str]) -> os.stat_result:
        info = real(one)
        if os.fspath(one) != str(path):
            return info
        return os.stat_result([SOMEBODY if i == stat.ST_UID else value for i, value in enumerate(info)])

    monkeypatch.setattr(os, "lstat", lstat)


def test_what_is_missing_on_the_way_is_made_for_this_user_alone(tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        folder = trusted_folder(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    assert folder == (tmp_path / "a" / "b").resolve()
    for made in (folder, folder.parent):
        assert stat.S_IMODE(made.stat().st_mode) == 0o700


@pytest.mark.parametrize("whose", ["a", "a/b", "a/b/c"])
def test_another_users_folder_is_refused_wherever_it_is_on_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whose: str
) -> None:
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    belongs_to_somebody(tmp_path / whose, monkeypatch)
    with pytest.raises(NotPrivate, match="belongs to another user"):
        trusted_folder(tmp_path / "a" / "b" / "c")


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_a_folder_that_others_can_write_is_refused_wherever_it_is_on_the_way(
    tmp_path: Path, mode: int
) -> None:
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    for folder in (tmp_path / "a", tmp_path / "a" / "b" / "c"):
        folder.chmod(mode)
        with pytest.raises(NotPrivate, match="can be written by other users"):
            trusted_folder(tmp_path / "a" / "b" / "c")
        folder.chmod(0o755)
    trusted_folder(tmp_path / "a" / "b" / "c")


def test_a_sticky_folder_will_do_on_the_way_but_not_at_its_end(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp").chmod(0o1777)
    assert trusted_folder(tmp_path / "tmp" / "ours").is_dir()
    with pytest.raises(NotPrivate, match="can be written by other users"):
        trusted_folder(tmp_path / "tmp")


def test_links_are_followed_as_long_as_they_are_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scratch" / "deep").mkdir(parents=True)
    (tmp_path / "far").symlink_to(tmp_path / "scratch")
    (tmp_path / "cache").symlink_to("far/deep/../deep")
    assert trusted_folder(tmp_path / "cache" / "code") == (tmp_path / "scratch" / "deep" / "code").resolve()
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(NotPrivate, match="loop of links"):
        trusted_folder(tmp_path / "loop")
    (tmp_path / "scratch").chmod(0o777)  # where the links lead counts, not only where they lie
    with pytest.raises(NotPrivate, match="can be written by other users"):
        trusted_folder(tmp_path / "cache")
    (tmp_path / "scratch").chmod(0o755)
    belongs_to_somebody(tmp_path / "far", monkeypatch)
    with pytest.raises(NotPrivate, match="belongs to another user"):
        trusted_folder(tmp_path / "cache")


def test_a_file_on_the_way_is_an_error_of_the_disk(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        trusted_folder(tmp_path / "file" / "cache")


def test_a_folder_of_our_own_is_open_to_us_alone_and_emptied_if_others_could_write_into_it(
    tmp_path: Path,
) -> None:
    for mode, stays in ((0o700, True), (0o755, True), (0o770, False), (0o777, False)):
        folder = tmp_path / f"{mode:o}"
        folder.mkdir()
        (folder / "file").touch()
        folder.chmod(mode)
        assert own_folder(folder) == folder
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert (folder / "file").exists() == stays


def test_another_users_folder_and_a_link_are_never_our_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(NotPrivate, match="no folder of this user"):
        own_folder(tmp_path / "link")
    belongs_to_somebody(tmp_path / "real", monkeypatch)
    with pytest.raises(NotPrivate, match="no folder of this user"):
        own_folder(tmp_path / "real")
