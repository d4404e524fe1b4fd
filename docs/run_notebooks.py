"""Runs the notebooks of docs/notebooks, each from its first cell to its last in an interpreter of its own.

python docs/run_notebooks.py [NAME ...]            run them, and write what they print and draw into them
python docs/run_notebooks.py --check [NAME ...]    run them, and compare with what they hold; write nothing

No Jupyter is needed, and none of it is imported: a cell's output is what it prints, the value of its last
line and the figures that it leaves open, as in a notebook.
"""

import ast
import base64
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
FOLDER = HERE / "notebooks"
DPI = 80
MAX_HTML_CHARACTERS = 300_000  # beyond, such as a whole player, the words stand for it
TIME_LIMIT_SECONDS = 600
# A package that warns of another, as both kinds of warning at once, does not make a notebook fail.
WARNINGS = "error::UserWarning,default::DeprecationWarning"
STEPS = re.compile(r"\b\d+ (steps|frames)\b")


def executed(cells: list[str]) -> list[list[dict[str, Any]]]:
    """The outputs of cells of code, in order, in one namespace; the first error ends it."""
    import matplotlib

    matplotlib.use("Agg")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    return [_outputs(source, namespace, number) for number, source in enumerate(cells, 1)]


def _outputs(source: str, namespace: dict[str, Any], number: int) -> list[dict[str, Any]]:
    from matplotlib import pyplot

    tree, printed, value = ast.parse(source), io.StringIO(), None
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), namespace)
        if last is not None and not source.rstrip().endswith(";"):
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), namespace)
        elif last is not None:
            eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), namespace)
    found: list[dict[str, Any]] = []
    if printed.getvalue():
        found.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        html = value._repr_html_() if hasattr(value, "_repr_html_") else None
        if html is not None and len(html) <= MAX_HTML_CHARACTERS:
            data["text/html"] = _lines(html)
        result = {"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": data}
        found.append(result)
    for figure in map(pyplot.figure, pyplot.get_fignums()):
        drawn = io.BytesIO()
        figure.savefig(drawn, format="png", dpi=DPI, bbox_inches="tight")
        png = base64.b64encode(drawn.getvalue()).decode("ascii")
        data = {"image/png": png, "text/plain": ["<Figure>"]}
        found.append({"output_type": "display_data", "metadata": {}, "data": data})
    pyplot.close("all")
    return found


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def told(outputs: list[dict[str, Any]]) -> list[str]:
    """What can be compared between machines: every printed word, and which kinds of pictures there are.  How
    many steps a solver takes may differ by one or two where the processor rounds otherwise."""
    found = []
    for one in outputs:
        if one["output_type"] == "stream":
            found.append("".join(one["text"]))
        else:
            kinds = " ".join(sorted(one["data"]))
            found.append(f"{kinds}: {''.join(one['data']['text/plain'])}")
    return [STEPS.sub(r"\1", text) for text in found]


def source_of(cell: dict[str, Any]) -> str:
    """The text of a cell."""
    return "".join(cell["source"])


def run(path: Path) -> dict[str, Any]:
    """The notebook with the outputs of a run in a fresh interpreter, in an empty folder."""
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    with tempfile.TemporaryDirectory(prefix="notebook-") as folder:
        done = subprocess.run(
            [sys.executable, __file__, "--cells"],
            input=json.dumps([source_of(cell) for cell in code]),
            capture_output=True,
            text=True,
            cwd=folder,
            timeout=TIME_LIMIT_SECONDS,
            env={**os.environ, "PYTHONWARNINGS": WARNINGS},
            check=False,
        )
    if done.returncode:
        raise SystemExit(f"{path.name} fails.\n{done.stderr}")
    for number, (cell, outputs) in enumerate(zip(code, json.loads(done.stdout), strict=True), 1):
        cell["execution_count"], cell["outputs"] = number, outputs
    return notebook


def differences(stored: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """The cells whose outputs are not those that the notebook holds."""
    pairs = zip(stored["cells"], now["cells"], strict=True)
    return [
        f"{source_of(old)}\nholds {told(old['outputs'])}\nbut gives {told(new['outputs'])}"
        for old, new in pairs
        if old["cell_type"] == "code" and told(old["outputs"]) != told(new["outputs"])
    ]


def main(words: list[str]) -> None:
    """All notebooks, or those named."""
    if words == ["--cells"]:
        try:
            outputs = executed(json.load(sys.stdin))
        except Exception:  # a cell may raise anything; the parent shows it
            traceback.print_exc()
            sys.exit(1)
        json.dump(outputs, sys.stdout)
        return
    check, names = "--check" in words, [word for word in words if not word.startswith("-")]
    for path in sorted(FOLDER.glob("*.ipynb")):
        if names and path.stem not in names:
            continue
        began, stored = time.perf_counter(), json.loads(path.read_text(encoding="utf-8"))
        now = run(path)
        if check and (found := differences(stored, now)):
            sys.exit(f"{path.name} does not give what it holds:\n" + "\n\n".join(found))
        if not check:
            path.write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"{path.name}: {time.perf_counter() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
