import pytest

from lab.links.toxics import Toxic, toxics_of


@pytest.mark.parametrize(
    ("document", "kind", "attributes"),
    [
        (
            {"kind": "latency", "delayMs": 200, "jitterMs": 50},
            "latency",
            {"latency": 200, "jitter": 50},
        ),
        ({"kind": "latency", "delayMs": 200}, "latency", {"latency": 200, "jitter": 0}),
        ({"kind": "bandwidth", "bytesPerS": 10_000}, "bandwidth", {"rate": 10}),
        (
            {"kind": "slice", "pieceBytes": 100, "everyMs": 5},
            "slicer",
            {"average_size": 100, "size_variation": 0, "delay": 5000},
        ),
        (
            {"kind": "slice", "pieceBytes": 100},
            "slicer",
            {"average_size": 100, "size_variation": 0, "delay": 10_000},
        ),
        ({"kind": "blackHole"}, "timeout", {"timeout": 0}),
        ({"kind": "reset"}, "reset_peer", {"timeout": 0}),
        ({"kind": "reset", "afterMs": 300}, "reset_peer", {"timeout": 300}),
        ({"kind": "limit", "bytes": 4096}, "limit_data", {"bytes": 4096}),
    ],
)
def test_a_fault_becomes_the_toxic_that_does_the_same(
    document: dict[str, object], kind: str, attributes: dict[str, int]
) -> None:
    for given, streams in (
        ({}, ("upstream", "downstream")),
        ({"direction": "both"}, ("upstream", "downstream")),
        ({"direction": "upstream"}, ("upstream",)),
    ):
        assert toxics_of(document | given) == tuple(
            Toxic(type=kind, stream=stream, toxicity=1.0, attributes=attributes)
            for stream in streams
        )


def test_a_share_of_connections_is_the_toxicity() -> None:
    document = {"kind": "blackHole", "direction": "downstream", "probability": 0.3}

    [toxic] = toxics_of(document) or ()

    assert toxic.as_wire("f1") == {
        "name": "f1",
        "type": "timeout",
        "stream": "downstream",
        "toxicity": 0.3,
        "attributes": {"timeout": 0},
    }


def test_refused_connects_are_no_toxic_but_the_proxy_disabled() -> None:
    assert toxics_of({"kind": "refuse"}) is None
