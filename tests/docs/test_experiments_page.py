"""docs/experiments.md: each block is a part of a file that can be read, and no key is missing."""

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from lab.spec.clients import ClientKeys
from lab.spec.expectations import FIGURES, REFERENCE_COLUMNS, Expect, Override
from lab.spec.experiment import Experiment
from lab.spec.fault_documents import CHAOS_KEYS, LINK_KEYS
from lab.spec.faults import PROCESS_KINDS
from lab.spec.load import Body, Limits, LoadKeys, MixedRequest
from lab.spec.models import Spec
from lab.spec.outcome import BodyOutcome, HeaderOutcome, JsonOutcome, StatusOutcome
from lab.spec.reading import read_ad_hoc_fault, read_experiment
from lab.spec.system import Counter, Service, System, read_system
from lab.spec.timeline import EventKeys, Objective, Timeline

PAGE = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = FENCE.findall(PAGE)
PROSE = FENCE.sub("", PAGE)
SYSTEM = next(block for block in BLOCKS if "services:" in block)
WHOLE = next(block for block in BLOCKS if block.startswith("title:"))
TABLE_ONLY = ("faults", "warmup", "override", "reference", "expect")


def with_surroundings(block: str) -> dict[str, Any]:
    """Return the experiment of the page with the keys of *block* in place of its own."""
    yaml = YAML(typ="safe")
    whole: dict[str, Any] = yaml.load(WHOLE)
    part: dict[str, Any] = yaml.load(block)
    if "timeline" in part:
        whole = {key: value for key, value in whole.items() if key not in TABLE_ONLY}
        whole["load"] = {"request": whole["load"]["request"]}
    elif "expect" not in part and part != whole:  # those of the page are of its own rows and names
        whole = {key: value for key, value in whole.items() if key not in TABLE_ONLY[2:]}
    return whole | part


@pytest.mark.parametrize("block", [each for each in BLOCKS if each != SYSTEM])
def test_every_block_is_read_without_a_problem(tmp_path: Path, block: str) -> None:
    (tmp_path / "system.yaml").write_text(SYSTEM, encoding="utf-8")
    (tmp_path / "orders.csv").write_text("id,amount\na,1\nb,2\n", encoding="utf-8")
    with (tmp_path / "published.csv").open("w", encoding="utf-8") as file:
        csv.writer(file).writerow(REFERENCE_COLUMNS)
    written = io.StringIO()
    YAML(typ="safe").dump(with_surroundings(block), written)
    path = tmp_path / "experiment.yaml"
    path.write_text(written.getvalue(), encoding="utf-8")

    experiment = read_experiment(path)

    assert experiment.title == "What the converter's callers notice"


def test_the_system_of_the_page_is_read_beside_toxiproxy_too(tmp_path: Path) -> None:
    [line] = re.findall(r"^`(toxiproxy: \S+)` beside", PAGE, re.MULTILINE)
    (tmp_path / "system.yaml").write_text(SYSTEM + line, encoding="utf-8")

    system = read_system(tmp_path / "system.yaml")

    assert system.toxiproxy == "http://127.0.0.1:8474"
    assert len(system.services) == 4


def section(heading: str) -> str:
    """Return the prose below *heading*, up to the next one of its level or above."""
    level = len(heading) - len(heading.lstrip("#"))
    below = PROSE.partition(f"\n{heading}\n")[2]
    return re.split(rf"^#{{1,{level}}} ", below, maxsplit=1, flags=re.MULTILINE)[0]


def keys_of(*models: type[Spec]) -> list[str]:
    return [key for model in models for key in model.file_keys()]


OUTCOMES = (JsonOutcome, HeaderOutcome, StatusOutcome, BodyOutcome)
KEYS = {
    "## The system file": keys_of(System, Service, Counter),
    "## The experiment file": keys_of(Experiment),
    "### Load": keys_of(LoadKeys, MixedRequest, Body, Limits),
    "### Outcome": keys_of(*OUTCOMES),
    "### Clients and sweeps": [*keys_of(ClientKeys), "values"],
    "#### Process": [*PROCESS_KINDS, *keys_of(*PROCESS_KINDS.values())],
    "#### chaos": [*keys_of(CHAOS_KEYS), "path", "method"],
    "#### link": keys_of(*LINK_KEYS.values()),
    "### Timeline": keys_of(Timeline, EventKeys, Objective),
    "### Override and reference": [*keys_of(Override), *REFERENCE_COLUMNS],
    "### Expect": [*FIGURES, *keys_of(Expect)],
}


@pytest.mark.parametrize("heading", KEYS)
def test_every_key_of_the_grammar_stands_in_its_section(heading: str) -> None:
    named = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", section(heading)))))

    assert [key for key in KEYS[heading] if key not in named] == []


@pytest.mark.parametrize("kind", LINK_KEYS)
def test_the_row_of_a_link_fault_has_just_the_keys_that_go_with_it(kind: str) -> None:
    [further] = re.findall(rf"^\| `{kind}: [^`]+` \|[^|]*\|([^|]*)\|$", PAGE, re.MULTILINE)

    own = {"link", kind, "seed"}
    assert set(re.findall(r"`(\w+)`", further)) == LINK_KEYS[kind].file_keys().keys() - own


def test_a_process_fault_without_its_keys_is_as_with_the_defaults_of_the_page(
    tmp_path: Path,
) -> None:
    rows = re.findall(
        r"^\| `(\w+)` \|([^|]*)\|[^|]*\|[^|]*\|$", section("#### Process"), re.MULTILINE
    )
    defaults = {kind: dict(re.findall(r"`(\w+)` \(`([^`]+)`\)", keys)) for kind, keys in rows}
    (tmp_path / "system.yaml").write_text(SYSTEM, encoding="utf-8")
    system = read_system(tmp_path / "system.yaml")

    assert list(defaults) == list(PROCESS_KINDS)
    for kind in ("flap", "files"):
        assert defaults[kind]
        bare = {kind: "rates"}
        assert read_ad_hoc_fault(bare, system) == read_ad_hoc_fault(bare | defaults[kind], system)
