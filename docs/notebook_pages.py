"""Notebooks as pages of the documentation: a parser for Sphinx that makes Markdown of them."""

import json
from typing import Any

from docutils import nodes
from myst_parser.parsers.sphinx_ import MystParser


def markdown(notebook: dict[str, Any]) -> str:
    """The cells and their stored outputs, as MyST Markdown."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        parts += [_output(one) for one in cell.get("outputs", ())]
    return "\n\n".join(parts) + "\n"


def _output(one: dict[str, Any]) -> str:
    if one["output_type"] == "stream":
        return f"```text\n{''.join(one['text'])}\n```"
    data = one["data"]
    if "text/html" in data:
        return _raw(f'<div class="notebook-output">{"".join(data["text/html"])}</div>')
    if "image/png" in data:
        picture = f"data:image/png;base64,{data['image/png']}"
        return _raw(f'<img class="notebook-figure" alt="what the cell draws" src="{picture}">')
    return f"```text\n{''.join(data['text/plain'])}\n```"


def _raw(html: str) -> str:
    return f"````{{raw}} html\n{html}\n````"


class NotebookParser(MystParser):
    """Reads .ipynb."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """The page of a notebook."""
        super().parse(markdown(json.loads(inputstring)), document)


def setup(app: Any) -> dict[str, bool]:
    """Register the ending."""
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(NotebookParser)
    return {"parallel_read_safe": True}
