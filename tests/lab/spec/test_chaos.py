import json
from pathlib import Path

import pytest

from chaos.document import ChaosDocument, read_document
from lab.spec.fault_documents import ChaosFault
from lab.spec.reading import read_experiment
from tests.lab.spec.folder import EXPERIMENT, write_folder

WIDEST = (
    "delay: 10 min, jitter: 10 min, flap: 24 h, status: 599, fail_first: 1000000000, "
    "retry_after: 24 h, seed: 1000000000"
)


@pytest.mark.parametrize(
    "keys",
    [
        "hang: true",
        "hang: true, flap: 10 ms, match: {path: /rates}",
        "failure: 100 %, body: garbage, match: {method: OPTIONS}",
        WIDEST,
    ],
)
def test_what_the_grammar_lets_through_the_injector_takes(tmp_path: Path, keys: str) -> None:
    text = EXPERIMENT.replace("failure: 0.3", keys)

    (fault,) = read_experiment(write_folder(tmp_path, experiment=text)).conditions[1].faults

    assert isinstance(fault, ChaosFault)
    taken = read_document(b"", json.dumps(dict(fault.document)).encode())
    assert taken.has_effect
    assert taken.model_dump(by_alias=True, exclude_unset=True) == fault.document


def test_the_grammar_knows_every_field_of_the_injector_but_its_lease(tmp_path: Path) -> None:
    keys = f"{WIDEST}, failure: 1, hang: true, body: drip, match: {{path: /}}"
    text = EXPERIMENT.replace("failure: 0.3", keys)

    (fault,) = read_experiment(write_folder(tmp_path, experiment=text)).conditions[1].faults

    assert isinstance(fault, ChaosFault)
    assert {*fault.document, "ttlS"} == set(ChaosDocument().model_dump(by_alias=True))
