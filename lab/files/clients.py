"""Who sends: the `clients` of an experiment."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from lab.experiment import EMPTY, Client
from lab.files.errors import Problems, Wrong, show
from lab.files.fields import Fields, entries, mapping, texts
from lab.files.headers import read_headers
from lab.files.placeholders import OWN, addresses, template
from lab.files.scalars import choice, line
from lab.files.services import environment
from lab.files.sweep import SWEEP_EXAMPLE, Combination, read_sweep
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
        lambda key, value: _clients(key, value, system, problems),
        example="{}",
    )
    clients = [client for several in found.values() for client in several]
    names = Counter(name for client in clients for name in {client.name, client.sweep} if name)
    for client in clients:
        if names[client.name] > 1:
            raise Wrong(f"names {show(client.name)} twice", advice="rename one of the two")
    return tuple(clients)


def _clients(own_name: str, node: Node, system: System, problems: Problems) -> tuple[Client, ...]:
    """Return the client, or those that its sweep stands for."""
    fields = Fields(node, problems, keys=("query", "headers", "env", "sweep"))
    client = _client(own_name, fields, system, problems)
    if "sweep" not in fields:
        return (client,)
    combinations = fields.read(
        "sweep",
        lambda node: read_sweep(node, system, problems),
        example=SWEEP_EXAMPLE,
        default=(),
    )
    return tuple(_swept(client, each) for each in combinations)


def _swept(client: Client, combination: Combination) -> Client:
    env = {
        service: {**client.env.get(service, {}), **combination.env.get(service, {})}
        for service in dict.fromkeys((*client.env, *combination.env))
    }
    return replace(
        client,
        name=f"{client.name} {combination.name}",
        env=MappingProxyType(env),
        sweep=client.name,
        settings=combination.settings,
    )


def _client(own_name: str, fields: Fields, system: System, problems: Problems) -> Client:
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
