"""Who sends: the `clients` of an experiment."""

from collections.abc import Mapping
from types import MappingProxyType

from lab.experiment import EMPTY, Client
from lab.files.errors import Problems, Wrong
from lab.files.fields import Fields, entries, mapping, texts
from lab.files.headers import read_headers
from lab.files.placeholders import OWN, addresses, template
from lab.files.scalars import choice, line
from lab.files.services import environment
from lab.files.tree import Node, Scalar
from lab.system import System

NO_ENVIRONMENTS: Mapping[str, Mapping[str, str]] = MappingProxyType({})


def read_clients(node: Node, system: System, problems: Problems) -> tuple[Client, ...]:
    """Return the clients, each of which is a column of cells."""
    if not mapping(node).values:
        raise Wrong("must name at least one client, got {}")
    found = entries(
        node,
        problems,
        lambda key, value: _client(key, value, system, problems),
        example="{}",
    )
    return tuple(found.values())


def _client(own_name: str, node: Node, system: System, problems: Problems) -> Client:
    fields = Fields(node, problems, keys=("query", "headers", "env"))
    return Client(
        name=own_name,
        query=fields.read(
            "query",
            lambda node: texts(node, problems, line, example='"true"'),
            example='{raw: "true"}',
            default=EMPTY,
        ),
        headers=fields.read(
            "headers",
            lambda node: read_headers(node, problems),
            example="{accept-language: uk}",
            default=EMPTY,
        ),
        env=fields.read(
            "env",
            lambda node: _environments(node, system, problems),
            example='{front: {RETRIES: "0"}}',
            default=NO_ENVIRONMENTS,
        ),
    )


def _environments(
    node: Node, system: System, problems: Problems
) -> Mapping[str, Mapping[str, str]]:
    """Return extra environment by service; only a service that the lab starts can have some."""
    started = {service.name: service for service in system.services if service.run}
    known = choice(started, kind="service that the lab starts")

    def parse(key: str, value: Node) -> Mapping[str, str]:
        known(Scalar(place=mapping(node).key_places[key], text=key, is_text=True))
        own = template((*OWN, *addresses(started[key].needs)), services=started)
        return environment(value, problems, own)

    return MappingProxyType(entries(node, problems, parse, example='{RETRIES: "0"}'))
