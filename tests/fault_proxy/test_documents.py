import json

import pytest
from pydantic import ValidationError

from chaos.request_body import InvalidDocumentError
from fault_proxy import Delay, Latency, Match, Reset
from fault_proxy.faults.wire import as_wire, read_fault, read_renewal


def test_a_document_reads_as_it_is_written() -> None:
    fault = Delay(delay_ms=20, probability=0.5, match=Match(path="/rates"), seed=3, ttl_s=5)

    assert read_fault(json.dumps(as_wire(fault)).encode()) == fault


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ('{"kind": "latency", "delayMs": 1, "speed": 2}', "speed"),
        ('{"kind": "latency", "delay_ms": 1}', "delay_ms"),
        ('{"kind": "latency", "delayMs": -1}', "delayMs"),
        ('{"kind": "latency", "delayMs": "1"}', "delayMs"),
        ('{"kind": "latency", "delayMs": true}', "delayMs"),
        ('{"kind": "latency", "delayMs": NaN}', "body"),
        ('{"kind": "latency"}', "delayMs"),
        ('{"kind": "latency", "delayMs": 1, "probability": 1.1}', "probability"),
        ('{"kind": "latency", "delayMs": 1, "direction": "sideways"}', "direction"),
        ('{"kind": "latency", "delayMs": 1, "ttlS": 0}', "ttlS"),
        ('{"kind": "latency", "delayMs": 1, "name": "two words"}', "name"),
        ('{"kind": "limit", "bytes": 1.5}', "bytes"),
        ('{"kind": "refuse", "probability": 1}', "probability"),
        ('{"kind": "status", "status": 200}', "status"),
        ('{"kind": "status", "match": {"host": "a"}}', "match.host"),
        ('{"kind": "failFirst", "requests": 0}', "requests"),
        ('{"kind": "failFirst", "requests": 1, "requests": 2}', "requests"),
        ('{"kind": "gremlin"}', "kind"),
        ("{}", "kind"),
        ("[]", "body"),
        ("{", "body"),
        ("[" * 10_000, "body"),
        ("", "body"),
    ],
)
def test_what_is_wrong_with_a_document_is_told_by_field(body: str, field: str) -> None:
    with pytest.raises(InvalidDocumentError) as caught:
        read_fault(body.encode())

    assert field in caught.value.fields


@pytest.mark.parametrize("body", ["{}", '{"ttlS": 5, "probability": 1}', '{"ttlS": 1e9}'])
def test_a_renewal_is_a_lease_and_nothing_else(body: str) -> None:
    with pytest.raises(InvalidDocumentError):
        read_renewal(body.encode())


def test_a_document_is_validated_when_it_is_built() -> None:
    with pytest.raises(ValidationError):
        Latency(delay_ms=-1)
    with pytest.raises(ValidationError):
        Reset(after_bytes=-1)
