"""What mypy --strict says to a user's program: no error where it runs, one where it would not."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAD = """
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict, Union

from typing_extensions import TypeAliasType

from resilience import CircuitClosed, CircuitOpened, Event, ResilientClient

@dataclass
class Cat: ...

@dataclass
class Dog: ...

class Row(TypedDict):
    id: int

Pet = TypeAliasType("Pet", Cat | Dog)

opened: Callable[[CircuitOpened], None] = print
either: Callable[[CircuitOpened | CircuitClosed], int] = id
events: list[Event] = []
maybe: list[type[Event]] | None = None
days: dict[str, list[int]] = {}

async def program(client: ResilientClient, a_class: type[Cat]) -> None:
"""
# Each of these lines may end in what mypy says to it: a type that it reveals, or a kind of error.
PROGRAM = """
reveal_type(await client.get_json("s", "/", as_type=Cat))  # Cat
reveal_type(await client.get_json("s", "/", as_type=a_class))  # Cat
reveal_type(await client.get_json("s", "/", as_type=list[Cat]))  # list[Cat]
reveal_type(await client.get_json("s", "/", as_type=dict[str, int]))  # dict[str, int]
reveal_type(await client.get_json("s", "/", as_type=Row))  # TypedDict(Row, {'id': int})
reveal_type(await client.get_json("s", "/", as_type=dict))  # dict[Any, Any]
reveal_type(await client.get_json("s", "/", as_type=object))  # object
reveal_type(await client.get_json("s", "/", as_type=Cat | Dog))  # Any | Cat
reveal_type(await client.get_json("s", "/", as_type=Cat | None))  # Any | Cat
reveal_type(await client.get_json("s", "/", as_type=Union[Cat, Dog]))  # Any
reveal_type(await client.get_json("s", "/", as_type=Pet))  # Any
reveal_type(await client.get_json("s", "/", as_type=Literal["a"]))  # Any
reveal_type(await client.get_json("s", "/", as_type=Annotated[int, "positive"]))  # Any
pet: Cat | Dog = await client.get_json("s", "/", as_type=Cat | Dog)
dog: Dog = await client.get_json("s", "/", as_type=Cat)  # arg-type
reveal_type(await client.post_json("s", "/", json=1, as_type=Cat))  # Cat
reveal_type(await client.post_json("s", "/", json=1, as_type=Cat | Dog))  # Any | Cat
reveal_type(await client.put_json("s", "/", json=1, as_type=Cat))  # Cat
reveal_type(await client.put_json("s", "/", json=1, as_type=Cat | Dog))  # Any | Cat
reveal_type(await client.patch_json("s", "/", json=1, as_type=Cat))  # Cat
reveal_type(await client.patch_json("s", "/", json=1, as_type=Cat | Dog))  # Any | Cat
reveal_type(await client.delete_json("s", "/", as_type=Cat))  # Cat
reveal_type(await client.delete_json("s", "/", as_type=Cat | Dog))  # Any | Cat
reveal_type(await client.request_json("GET", "s", "/", as_type=Cat))  # Cat
reveal_type(await client.request_json("GET", "s", "/", as_type=Cat | Dog))  # Any | Cat
client.subscribe(events.append)
client.subscribe(lambda event: event.source)
client.subscribe(opened, kinds=[CircuitOpened])
client.subscribe(either, kinds=[CircuitOpened, CircuitClosed])
client.subscribe(events.append, kinds=(CircuitOpened, CircuitClosed))
client.subscribe(events.append, kinds=maybe)
client.subscribe(lambda event: event.break_s, kinds=[CircuitOpened])
client.subscribe(lambda event: event.source, kinds=[CircuitOpened, CircuitClosed])
client.subscribe(opened)  # arg-type
client.subscribe(opened, kinds=[CircuitClosed])  # arg-type
client.subscribe(opened, kinds=[CircuitOpened, CircuitClosed])  # list-item
client.subscribe(lambda event: event.brakes, kinds=[CircuitOpened])  # attr-defined
await client.get("s", "/", params={"days": 3, "deep": True, "share": 0.5, "unit": None})
await client.get("s", "/", params={"a": ["1", "2"], "b": ("x", 1), "c": [1, None], "d": "e"})
await client.get("s", "/", params=days)
await client.get("s", "/", params={"a": b"1"})  # dict-item
await client.get("s", "/", params={"a": {"b": "c"}})  # dict-item
await client.get("s", "/", follow_redirects=True)  # call-arg
""".strip().splitlines()

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[int, set[str]]:
    """Return what mypy says to each line of the program: types revealed and kinds of errors."""
    folder = tmp_path_factory.mktemp("program")
    file = folder / "program.py"
    file.write_text(HEAD + "\n".join(f"    {line}" for line in PROGRAM), encoding="utf-8")
    options = ["--strict", "--config-file=", f"--cache-dir={folder / 'cache'}"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(file)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.stderr == ""
    return {at: spoken_of(done.stdout, at + HEAD.count("\n") + 1) for at in range(len(PROGRAM))}


def spoken_of(output: str, line: int) -> set[str]:
    about = [each for each in output.splitlines() if f"program.py:{line}: " in each]
    types = {found[1] for each in about if (found := re.search(r'Revealed type is "(.*)"', each))}
    errors = {found[1] for each in about if (found := re.search(r": error: .*\[(.*)\]$", each))}
    return {each.replace("program.", "") for each in types | errors}


@pytest.mark.timeout(200)
@pytest.mark.parametrize("at", range(len(PROGRAM)), ids=PROGRAM)
def test_a_line_of_a_program_is_understood(said: dict[int, set[str]], at: int) -> None:
    _, _, expected = PROGRAM[at].partition("  # ")
    assert said[at] == ({expected} if expected else set())
