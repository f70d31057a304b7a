"""The models as JSON Schema, with which editors complete and check files, and as tables of keys.

`python -m lab.spec.schema DOCS` writes both into the folder of the docs.
"""

import functools
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from lab.spec.clients import ClientKeys
from lab.spec.experiment import Experiment
from lab.spec.fault_documents import CHAOS_KEYS, LINK_KEYS
from lab.spec.faults import KINDS
from lab.spec.load import STEADY_STATE_EXAMPLE, LoadKeys, SteadyState, SteadyStateKeys
from lab.spec.models import Spec
from lab.spec.outcome import RULES
from lab.spec.system import Service, System
from lab.spec.timeline import Timeline

MODELS: Mapping[str, type[Spec]] = {"experiment": Experiment, "system": System}
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_NAMES_OF_VALUES = ("properties", "$defs", "patternProperties")  # below them, keys are names


def json_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of a file; *kind* is one of `MODELS`."""
    schema = _for_editors(MODELS[kind].model_json_schema(by_alias=True))
    if kind == "experiment":
        _allow_extensions(schema)
    return {"$schema": _DIALECT, **schema, "title": f"Resilience Lab: {kind} file"}


def _for_editors(schema: Any) -> Any:  # noqa: ANN401 - JSON is what it is
    """Return *schema* without what says nothing, and with its examples as YAML reads them."""
    if isinstance(schema, list):
        return [_for_editors(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    left_out = {"title", "default"}  # a default is a value of ours, not as a file writes it
    shown = {
        key: {name: _for_editors(each) for name, each in value.items()}
        if key in _NAMES_OF_VALUES
        else _for_editors(value)
        for key, value in schema.items()
        if key not in left_out
    }
    if "examples" in shown:
        shown["examples"] = [_as_yaml(each) for each in shown["examples"]]
    return shown


def _as_yaml(example: object) -> object:
    try:
        return YAML(typ="safe", pure=True).load(str(example))
    except YAMLError:  # `…` stands for the rest
        return example


def _allow_extensions(schema: dict[str, Any]) -> None:
    """Let faults and outcomes be of kinds that are not the lab's own; only reading knows them."""
    own_faults = _of_none(KINDS)
    for faults in (
        schema["properties"]["faults"]["additionalProperties"],
        schema["$defs"]["EventKeys"]["properties"]["faults"],
    ):
        faults["items"]["anyOf"].append(own_faults)
    schema["properties"]["outcome"]["anyOf"].append(_of_none((*RULES, "classes")))


def _of_none(kinds: Iterable[str]) -> dict[str, Any]:
    return {"type": "object", "not": {"anyOf": [{"required": [kind]} for kind in kinds]}}


def as_text(kind: str) -> str:
    """Return the JSON Schema of a file as the text of a file."""
    return json.dumps(json_schema(kind), indent=2, ensure_ascii=False) + "\n"


def with_tables(page: str) -> str:
    """Return a page of the docs with the tables between its markers as the models are now."""
    return _MARKED.sub(lambda found: f"{found[1]}\n{_TABLES[found[2]]()}\n{found[3]}", page)


def regenerate(docs: Path) -> None:
    """Write the schemas and the tables into the folder *docs*."""
    for kind in MODELS:
        (docs / "schema" / f"{kind}.json").write_text(as_text(kind), encoding="utf-8")
    page = docs / "experiments.md"
    page.write_text(with_tables(page.read_text(encoding="utf-8")), encoding="utf-8")


def key_table(model: type[Spec], *, besides: Iterable[str] = ()) -> str:
    """Return the keys of *model* as a Markdown table, but for those in *besides*."""
    left_out = set(besides)
    rows = [
        f"| `{key}` | {_default(model.model_fields[field])} | {_about(model.model_fields[field])} |"
        for key, field in model.file_keys().items()
        if key not in left_out
    ]
    return "\n".join(["| key | default | what it says |", "|---|---|---|", *rows])


def chaos_table() -> str:
    """Return the keys of a `chaos` fault as a Markdown table."""
    rows = [
        f"| `{key}` | `{key}: {_example(info)}` | {_about(info)} |"
        for key, info in _infos(CHAOS_KEYS).items()
        if key != "chaos"
    ]
    return "\n".join(["| key | for instance | what it says |", "|---|---|---|", *rows])


def link_table() -> str:
    """Return the faults of a link as a Markdown table: one row per kind, with its keys."""
    rows: list[str] = []
    for kind, model in LINK_KEYS.items():
        infos = _infos(model)
        further = ", ".join(f"`{key}`" for key in infos if key not in {"link", kind, "seed"})
        rows.append(f"| `{kind}: {_example(infos[kind])}` | {model.__doc__} | {further} |")
    return "\n".join(["| key | what happens | further keys |", "|---|---|---|", *rows])


def further_link_table() -> str:
    """Return the further keys of the faults of links as a Markdown table."""
    infos: dict[str, FieldInfo] = functools.reduce(
        lambda all_of_them, model: _infos(model) | all_of_them, LINK_KEYS.values(), {}
    )
    rows = [
        f"| `{key}` | `{key}: {_example(info)}` | {_about(info)} |"
        for key, info in infos.items()
        if key not in {*LINK_KEYS, "link"}
    ]
    return "\n".join(["| key | for instance | what it says |", "|---|---|---|", *rows])


def _infos(model: type[Spec]) -> dict[str, FieldInfo]:
    return {key: model.model_fields[field] for key, field in model.file_keys().items()}


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    if isinstance(info.default, SteadyState):
        return f"`{STEADY_STATE_EXAMPLE}`"
    if isinstance(info.default, float):
        return f"`{info.default:g} s`"
    return f"`{info.default}`" if isinstance(info.default, int | str) else "none"


def _example(info: FieldInfo) -> str:
    return str((info.examples or ["…"])[0])


def _about(info: FieldInfo) -> str:
    return (info.description or "").replace("|", "\\|")


_MARKED = re.compile(r"(<!-- keys of (\w+) -->)\n.*?\n(<!-- end of keys -->)", re.DOTALL)
_TABLES: Mapping[str, Callable[[], str]] = {
    "service": lambda: key_table(Service),
    "experiment": lambda: key_table(Experiment),
    "load": lambda: key_table(LoadKeys),
    "steady_state": lambda: key_table(SteadyStateKeys),
    "client": lambda: key_table(ClientKeys),
    "chaos": chaos_table,
    "link": link_table,
    "link_further": further_link_table,
    "timeline": lambda: key_table(Timeline),
}

if __name__ == "__main__":
    regenerate(Path(sys.argv[1]))
