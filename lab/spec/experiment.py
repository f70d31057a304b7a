"""An experiment file as a whole: every key of it, and what they become.

It has either conditions, each run with each client, or a timeline, run with each client.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from lab.spec.clients import ClientsField
from lab.spec.expectations import ExpectField, OverridesField, PublishedFigure
from lab.spec.fault_documents import LinkFault
from lab.spec.faults import FAULT_EXAMPLE, ConditionsField
from lab.spec.load import (
    REQUEST_EXAMPLE,
    STEADY_STATE_EXAMPLE,
    LoadField,
    SteadyState,
    SteadyStateField,
)
from lab.spec.models import Spec, made, reading_of, says
from lab.spec.outcome import OUTCOME_EXAMPLE, OutcomeField
from lab.spec.problems import Wrong
from lab.spec.quantities import BesideFile, Line, Name, Repeats, Warmup, beside, name
from lab.spec.system import Link, System, read_system
from lab.spec.timeline import TIMELINE_EXAMPLE, Timeline
from lab.spec.yaml_tree import MappingNode

_OF_A_TABLE = ("faults", "override", "warmup")  # what a timeline has no use for


class Experiment(Spec):
    """One experiment file, validated: every name in it exists, every number is in range."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["faults"]}, {"required": ["timeline"]}]}
    )
    path: SkipJsonSchema[Path]
    title: Annotated[Name, says("What a retry buys", "the heading of the report")]
    system: Annotated[
        System,
        made(
            lambda node, info: read_system(beside(name(node), reading_of(info).path.parent)),
            schema=str,
        ),
        says("../systems/rates.yaml", "the system file"),
    ]
    extensions: Annotated[
        tuple[Line, ...],
        Field(
            exclude=True,
            description="files with [faults and rules of your own](extending.md)",
            examples=["[my_faults.py]"],
        ),
    ] = ()
    load: Annotated[
        LoadField,
        says(f"{{request: {REQUEST_EXAMPLE!r}, requests: 200, tasks: 4}}", "[what is sent](#load)"),
    ]
    outcome: Annotated[
        OutcomeField, says(OUTCOME_EXAMPLE, "[how replies are told apart](#outcome)")
    ]
    clients: Annotated[
        ClientsField, says("{raw: {}}", "[what varies on the calling side](#clients-and-sweeps)")
    ]
    steady_state: Annotated[
        SteadyStateField,
        says(
            STEADY_STATE_EXAMPLE,
            "[requests that try the healthy system](#steady-state) before each cell, or `none`",
        ),
    ] = SteadyState()
    warmup: Annotated[Warmup, says("1", "loads before the first measured one, in each cell")] = 0
    repeats: Annotated[Repeats, says("5", "measured loads in each cell, up to 1000")] = 1
    conditions: Annotated[
        ConditionsField,
        says(
            f"{{none: [], sick: {FAULT_EXAMPLE}}}",
            "the rows of the table: names, each with a list of [faults](#faults) that "
            "are on together; `[]` is the healthy system",
            alias="faults",
        ),
    ] = ()
    timeline: Annotated[
        Timeline | None,
        says(
            TIMELINE_EXAMPLE,
            "[a sequence](#timeline) in place of `faults`, `warmup` and `override`",
        ),
    ] = None
    overrides: Annotated[
        OverridesField,
        says(
            "[{client: raw, requests: 8}]",
            "[other numbers for some cells](#override-and-reference)",
            alias="override",
        ),
    ] = ()
    reference: Annotated[
        BesideFile | None, says("published.csv", "[published figures](#override-and-reference)")
    ] = None
    published: SkipJsonSchema[tuple[PublishedFigure, ...]] = ()  # what is in that file
    expectations: Annotated[
        ExpectField,
        says(
            "[{fault: none, error: 0 %}]",
            "[bounds](#expect), which decide on the exit code",
            alias="expect",
        ),
    ] = ()

    @classmethod
    def key_problems(cls, node: MappingNode, *, is_complete: bool) -> Iterator[Wrong]:
        """Yield keys of a table beside a timeline, or that neither is there."""
        for key in _OF_A_TABLE:
            if key in node and "timeline" in node:
                what = f"{key} does not fit: a timeline has events instead"
                yield Wrong(what, name="", advice="remove it", at=key)
        if is_complete and not {"faults", "timeline"} & node.keys():
            example = f"{{none: [], sick: {FAULT_EXAMPLE}}}"
            yield Wrong("is missing", name="faults", advice=f"write e.g. faults: {example}")

    @property
    def name(self) -> str:
        """The file's name without its ending: the folder of its results."""
        return self.path.stem

    @property
    def links(self) -> tuple[Link, ...]:
        """The links that its faults make sick, in order."""
        events = self.timeline.events if self.timeline else ()
        groups = (*(each.faults for each in self.conditions), *(each.faults for each in events))
        faults = (fault for group in groups for fault in group)
        return tuple(sorted({fault.link for fault in faults if isinstance(fault, LinkFault)}))
