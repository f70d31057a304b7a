"""A link between two parts of a system: `front -> rates`."""

from lab.files.errors import Wrong, show, suggest
from lab.files.scalars import Parser, name
from lab.files.tree import Node
from lab.system import LOAD, Link, Service, System
from lab.templates import placeholders

LINK_EXAMPLE = "front -> rates"


def link_of(system: System) -> Parser[Link]:
    """Return a parser of the links of *system* that a proxy can be put in."""

    def parse(node: Node) -> Link:
        return read_link(name(node), system)

    return parse


def read_link(text: str, system: System) -> Link:
    """Return the link that *text* names.

    Raises:
        Wrong: it is no `SOURCE -> TARGET`, or no call of that system goes that way.
    """
    source, arrow, target = (part.strip() for part in text.partition("->"))
    if not arrow or not source or not target:
        raise Wrong(f"must be two names with -> between them, got {show(text)}")
    services = {service.name: service for service in system.services}
    for part, known in ((source, [LOAD, *services]), (target, list(services))):
        if part not in known:
            what = f"names {show(part)}, which is no service"
            raise Wrong(what, advice=suggest(part, known))
    _check_target(services[target])
    if source == LOAD:
        _check_load(services[target])
    else:
        _check_caller(services[source], target)
    return Link(source=source, target=target)


def _check_target(target: Service) -> None:
    if (target.url or "").startswith("https:"):
        raise Wrong(
            f"leads to {show(target.url or '')}, for which a proxy has no certificate",
            advice="name the service by an http URL, or remove the fault",
        )


def _check_load(target: Service) -> None:
    if not target.speaks_http:
        raise Wrong(
            f"leads to {show(target.name)}, to which no request can be sent",
            advice="name a service that speaks HTTP",
        )


def _check_caller(source: Service, target: str) -> None:
    """Refuse a link that the source would go round: its address would not be the proxy's."""
    if not source.run:
        raise Wrong(
            f"begins at {show(source.name)}, which the lab does not start",
            advice=f"it must be told the proxy's address: begin at {LOAD} or at a service with run",
        )
    mentioned = {each for one in (source.run, *source.env.values()) for each in placeholders(one)}
    if not mentioned & {f"{target}.url", f"{target}.port"}:
        raise Wrong(
            f"is not used: {show(source.name)} has neither {{{target}.url}} nor {{{target}.port}} "
            "in its run or env",
            advice="it must get the address of the proxy from there",
        )
