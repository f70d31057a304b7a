import re
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest
from pydantic.alias_generators import to_camel

import fault_proxy
from fault_proxy import AnyFault
from fault_proxy.faults.wire import read_fault

README = (Path(fault_proxy.__file__).parent / "README.md").read_text(encoding="utf-8")
TOLD_FOR_ALL = {"kind", "name", "seed", "ttl_s", "direction", "probability", "match"}


@pytest.mark.parametrize("fault", get_args(AnyFault), ids=lambda fault: fault.__name__)
def test_the_readme_tells_every_kind_with_its_fields(fault: type[AnyFault]) -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \|([^|]*)\|", README, flags=re.MULTILINE))
    kind = next(each.default for each in fields(fault) if each.name == "kind")
    own = {to_camel(each.name) for each in fields(fault) if each.name not in TOLD_FOR_ALL}

    assert set(re.findall(r"`(\w+)`", rows[kind])) == own


def test_the_faults_in_the_readme_are_taken() -> None:
    documents = re.findall(r"/faults -d '(.*)'", README)

    assert documents
    for document in documents:
        read_fault(document.encode())


def test_what_the_package_exports_exists_and_is_sorted() -> None:
    exported = fault_proxy.__all__

    assert exported == sorted(exported)
    assert all(hasattr(fault_proxy, name) for name in exported)
