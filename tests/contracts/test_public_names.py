"""The names of `import nucleate`: they resolve, say what they are, and stand on the pages."""

import ast
import dataclasses
import re
from typing import Any

import pytest
from support.project import SOURCE, blocks, page

import nucleate


def test_exports_are_exactly_the_names_in_all_and_each_resolves() -> None:
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    typed = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("nucleate")
        for alias in node.names
    }
    assert sorted(nucleate.__all__) == sorted({*typed, "__version__"}), (
        "what mypy sees and what Python finds must be the same names"
    )
    assert len(set(nucleate.__all__)) == len(nucleate.__all__)
    for name in nucleate.__all__:
        assert getattr(nucleate, name) is not None
        assert name in dir(nucleate)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'atention'"):
        nucleate.atention  # noqa: B018  # the access itself is the test


def test_records_come_from_the_same_place_as_the_functions_that_give_them() -> None:
    import nucleate.studies.result as result

    assert nucleate.Ensemble is result.Ensemble
    for record, function in (
        ("Atlas", "atlas"),
        ("Life", "life"),
        ("Merges", "merges"),
        ("Spectra", "spectra"),
    ):
        assert getattr(nucleate, record).__module__ == getattr(nucleate, function).__module__


@pytest.mark.parametrize("path", re.findall(r":: (nucleate\.[\w.]+\.\w+)$", page("docs/api.md"), flags=re.M))
def test_what_the_api_page_names_by_its_full_path_can_be_imported_so(path: str) -> None:
    module, _, name = path.rpartition(".")
    found: dict[str, Any] = {}
    exec(f"import {module} as module", found)
    assert getattr(found["module"], name).__module__ == module


def test_no_public_name_hides_a_room() -> None:
    rooms = {path.stem for path in SOURCE.iterdir()}
    assert rooms & set(nucleate.__all__) == {"plot"}


def test_every_public_name_is_on_the_api_page() -> None:
    text = page("docs/api.md")
    assert [name for name in nucleate.__all__ if f":: nucleate.{name}\n" not in text] == []


def test_every_public_name_has_an_example_on_the_api_page() -> None:
    """`test_pages.py` runs them."""
    examples = "\n".join(blocks(page("docs/api.md"), "python"))
    assert [name for name in nucleate.__all__ if not re.search(rf"nc\.{name}\b", examples)] == []


def test_the_glossary_has_every_field_of_every_public_record() -> None:
    text = page("docs/glossary.md")
    records = [
        (name, one) for name in nucleate.__all__ if dataclasses.is_dataclass(one := getattr(nucleate, name))
    ]
    fields = [f"{name}.{field.name}" for name, record in records for field in dataclasses.fields(record)]
    assert len(fields) > 10
    assert [field for field in fields if f"`{field}`" not in text] == []


def test_every_way_a_run_can_end_is_explained() -> None:
    from nucleate.integrate.status import STATUS

    text = page("docs/numerics.md")
    assert [status for status in STATUS if status != "running" and f'| `"{status}"` |' not in text] == []


def test_every_public_function_and_class_says_what_it_is() -> None:
    assert [name for name in nucleate.__all__ if not (getattr(nucleate, name).__doc__ or "").strip()] == []
