"""Folders that no other user can change: what is read from them is our own.

Compiled code is run as it is found.  So another user must not be able to put any there: neither into the
folder itself, nor by a folder or a link of his on the way to it.
"""

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path

__all__ = ["NotPrivate", "own_folder", "trusted_folder"]

MAX_LINKS = 40  # followed on the way to a folder
WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class NotPrivate(Exception):
    """Another user could change what lies in a folder."""


def trusted_folder(path: Path) -> Path:
    """The folder of that path without links, made if it is not there.  It and all on the way to it belong to
    us or to the system, and others cannot write there; on the way a sticky folder such as /tmp will do, where
    nobody can move what is ours."""
    folder, left, links = Path("/"), [*reversed(Path(path).absolute().parts[1:])], 0
    mode = _mode(folder)
    while left:
        step = folder / left.pop()
        if step.name == "..":
            folder = folder.parent
            continue
        if not os.path.lexists(step):
            with suppress(FileExistsError):
                os.mkdir(step, 0o700)
        mode = _mode(step)
        if stat.S_ISLNK(mode):
            links += 1
            if links > MAX_LINKS:
                raise NotPrivate(f"{path} is a loop of links")
            target = Path(os.readlink(step))
            folder = Path("/") if target.is_absolute() else folder
            left += [part for part in reversed(target.parts) if part != "/"]
            continue
        if not stat.S_ISDIR(mode):
            raise NotADirectoryError(f"{step} is no folder")
        if mode & WRITABLE_BY_OTHERS and not mode & stat.S_ISVTX:
            raise NotPrivate(f"{step} can be written by other users")
        folder = step
    if _mode(folder) & WRITABLE_BY_OTHERS:
        raise NotPrivate(f"{folder} can be written by other users")
    return folder


def own_folder(path: Path) -> Path:
    """A folder for us alone in a trusted one, made if it is not there, and made anew if others could write
    into it."""
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
    info = os.lstat(path)
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid():
        raise NotPrivate(f"{path} is no folder of this user")
    if info.st_mode & WRITABLE_BY_OTHERS:
        shutil.rmtree(path)
        path.mkdir(mode=0o700)
    elif stat.S_IMODE(info.st_mode) != 0o700:
        path.chmod(0o700)
    return path


def _mode(path: Path) -> int:
    """The mode of a file, folder or link that belongs to us or to the system."""
    info = os.lstat(path)
    # inside a container root may be another number: whoever owns the whole system
    if info.st_uid not in (0, os.geteuid(), os.lstat("/").st_uid):
        raise NotPrivate(f"{path} belongs to another user")
    return info.st_mode
