"""docs/adding-a-fault.md: the class of the page is all that a file, the wire and messages need."""

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from fault_proxy.faults.documents import ByteFault
from lab.spec.fault_documents import link_keys
from lab.spec.models import Reading, read
from lab.spec.problems import FileError
from lab.spec.yaml_tree import load
from tests.docs.snippets import snippets

PAGE = Path(__file__).parents[2] / "docs" / "adding-a-fault.md"
CELLS = dict(re.findall(r"^\| ([^|]+) \| `(.+)` \|$", PAGE.read_text("utf-8"), re.MULTILINE))


@pytest.fixture
def fault() -> type[ByteFault]:
    """Return the class that the page defines."""
    [snippet] = snippets(PAGE)
    names: dict[str, Any] = {"__name__": "tests.page"}
    exec(compile(snippet.code, str(PAGE), "exec"), names)  # noqa: S102 - our own page
    made: type[ByteFault] = names["LateEnd"]
    return made


def read_as_a_file(folder: Path, text: str, fault: type[ByteFault]) -> dict[str, object]:
    path = folder / "x.yaml"
    path.write_text(text)
    document = read(link_keys(fault), load(path), Reading(path=path)).document()
    return {"kind": TypeAdapter(fault).json_schema()["properties"]["kind"]["const"], **document}


def test_the_file_of_the_page_says_what_its_wire_says(
    tmp_path: Path, fault: type[ByteFault]
) -> None:
    wire = TypeAdapter(dict[str, Any]).validate_json(CELLS["on the wire of the proxy"])

    assert read_as_a_file(tmp_path, CELLS["in a file"], fault) == wire
    assert TypeAdapter(fault).validate_python(wire, by_alias=True).probability == 0.3


def test_a_value_out_of_range_is_told_as_on_the_page(
    tmp_path: Path, fault: type[ByteFault]
) -> None:
    text = CELLS["in a file"].replace("300ms", "11 min")

    with pytest.raises(FileError) as raised:
        read_as_a_file(tmp_path, text, fault)

    [problem] = raised.value.problems
    assert problem.message == CELLS["a value out of range"]
