"""nucleate convert: PyTorch's pickled weights as safetensors, by torch's weights-only loader in a process of
its own.

That loader knows tensors and a few plain containers and refuses everything else.  There is no other way in: a
file it refuses is refused.
"""

import os
import subprocess
import sys
from pathlib import Path

from nucleate.checks import InputError, MissingPackageError, as_path, regular_file
from nucleate.integrate.storage import replacing
from nucleate.models.header import read_header

__all__ = ["convert"]

TIMEOUT_SECONDS = 600.0
NO_TORCH, REFUSED = 3, 4  # exit codes of the process
CODE = f"""
import sys
try:
    import torch
    from safetensors.torch import save_file
except ImportError as error:
    print(error, file=sys.stderr)
    raise SystemExit({NO_TORCH})
source, target = sys.argv[1:]
try:
    loaded = torch.load(source, map_location="cpu", weights_only=True)
except Exception as error:
    print(str(error).splitlines()[0] if str(error) else type(error).__name__, file=sys.stderr)
    raise SystemExit({REFUSED})
for key in ("state_dict", "model", "model_state_dict"):  # what training scripts wrap the weights in
    if isinstance(loaded, dict) and isinstance(loaded.get(key), dict):
        loaded = loaded[key]
tensors = {{}}
for name, tensor in (loaded.items() if isinstance(loaded, dict) else ()):
    if isinstance(name, str) and isinstance(tensor, torch.Tensor):
        # a clone: tied weights share memory, which safetensors refuses
        tensors[name] = tensor.detach().clone().contiguous()
if not tensors:
    print("it holds no tensors by name", file=sys.stderr)
    raise SystemExit({REFUSED})
save_file(tensors, target)
"""


def convert(source: str | Path, target: str | Path) -> int:
    """Write the tensors of a PyTorch file as safetensors; their number.  The same bits, no pickle code
    run."""
    source, target = Path(source), as_path("target", target)
    regular_file(source)
    if target.suffix != ".safetensors":
        raise InputError(
            f"{target} has the ending {target.suffix or '(none)'}, but must end in .safetensors. Name the new"
            " file so."
        )
    if target.exists() and target.samefile(source):
        raise InputError(
            f"{source} would be replaced by what is made of it. Give the old file another name first, such as"
            f" {source.with_suffix('.bin')}."
        )
    if target.exists():
        raise _exists(target)
    with replacing(target) as part:
        _in_a_process(source, part)
        count = len(read_header(part))
        try:
            os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))  # an empty file of our own
        except FileExistsError:
            raise _exists(target) from None
    return count


def _exists(target: Path) -> InputError:
    return InputError(f"{target} exists, so it is not replaced. Choose another name, or move it away.")


def _in_a_process(source: Path, target: Path) -> None:
    """Run torch's loader where it can do no harm to this process; -I keeps the current folder's modules
    out."""
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", CODE, str(source.resolve()), str(target.resolve())],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise InputError(
            f"{source} was not read within {TIMEOUT_SECONDS:g} seconds. The file is damaged, or the machine"
            " too busy."
        ) from None
    said = " ".join((done.stderr or "").split())[-300:]
    if done.returncode == NO_TORCH:
        raise MissingPackageError(
            f"To convert, torch and safetensors are needed ({said}). Install them: python -m pip install"
            ' "nucleate[torch,models]"'
        )
    if done.returncode == REFUSED:
        raise InputError(
            f"{source} cannot be converted: torch's weights-only loader says: {said}. It is not opened in any"
            " other way."
        )
    if done.returncode:
        raise InputError(
            f"{source} cannot be converted: the loader ended with code {done.returncode}. {said}"
        )
