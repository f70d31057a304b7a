"""docker-compose.yml as the tests look at it: anchors merged, variables at their defaults."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
COMPOSE_FILE = ROOT / "docker-compose.yml"
BINDING_FLAGS = ("--port", "--web-port", "--master-bind-port")
_VARIABLE = re.compile(r"\$\{\w+:-([^}]*)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One entry of `services`; *rules* is all of it, for looking at single keys."""

    name: str
    program: tuple[str, ...]  # entrypoint and command
    environment: Mapping[str, str]
    published: tuple[str, ...]  # address:port:port
    health_check: tuple[str, ...]  # a program and its arguments; empty: none
    needs: Mapping[str, str]  # name of a service: condition
    rules: Mapping[str, Any]

    @property
    def binds(self) -> tuple[int, ...]:
        """Return the ports that the program is told to listen on."""
        return tuple(
            int(value)
            for flag, value in zip(self.program, self.program[1:], strict=False)
            if flag in BINDING_FLAGS
        )

    @property
    def module(self) -> str | None:
        """Return X of `python -m X`, None for any other program."""
        return self.program[2] if self.program[:2] == ("python", "-m") else None


def read_services() -> dict[str, Service]:
    """Return the services by name, in the order of the file."""
    text = _VARIABLE.sub(r"\1", COMPOSE_FILE.read_text(encoding="utf-8"))
    services = YAML(typ="safe", pure=True).load(text)["services"]
    return {name: _service(name, rules) for name, rules in services.items()}


def _service(name: str, rules: Mapping[str, Any]) -> Service:
    check = rules.get("healthcheck", {}).get("test", ["CMD"])
    assert check[0] == "CMD", "no image promises a shell"
    needs = rules.get("depends_on", {})
    return Service(
        name=name,
        program=(*rules.get("entrypoint", ()), *rules["command"]),
        environment=rules.get("environment", {}),
        published=tuple(rules.get("ports", ())),
        health_check=tuple(check[1:]),
        needs={needed: how["condition"] for needed, how in needs.items()},
        rules=rules,
    )
