"""The commands that act on a system that another terminal keeps up."""

import time
from collections.abc import Sequence

from console import say
from lab.errors import UsageError
from lab.reports.terminal import as_text
from lab.spec.problems import suggest
from lab.up.client import LabClient
from lab.up.tables import fault_in_words, faults_table, links_table, services_table
from loadgen.quantities import show

FOLLOW_EVERY_S = 0.25


def status_command(system: str | None) -> int:
    """Print the services and the faults of a running system."""
    with LabClient(system) as lab:
        status = lab.status()
    say(f"{status['system']}, up since {status['since'][:19]}Z")
    say(as_text(services_table(status["services"])))
    if status["links"]:
        say(as_text(links_table(status["links"])))
    say(as_text(faults_table(status["faults"])) if status["faults"] else "no fault is on")
    return 0


def fault_command(
    kind: str, service: str, fields: Sequence[str], *, lasting: str | None, system: str | None
) -> int:
    """Put a fault on a service of a running system."""
    document: dict[str, object] = {kind: service}
    for field in fields:
        name, equals, value = field.partition("=")
        if not equals or not name:
            raise UsageError(f"write field=value, got {show(field)}; e.g. failure=0.3 delay=500ms")
        if name in document or name == "for":
            raise UsageError(f"{name} is given twice, or as a field; give it once")
        document[name] = value
    if lasting is not None:
        document["for"] = lasting
    with LabClient(system) as lab:
        say(fault_in_words(lab.put_on(document)))
    return 0


def clear_command(kind: str, service: str, *, system: str | None) -> int:
    """Take the faults of one kind off a service, or a link, of a running system."""
    service = " -> ".join(part.strip() for part in service.split("->"))  # as a link is listed
    with LabClient(system) as lab:
        status = lab.status()
        names = [each["name"] for each in status["services"]]
        names += [each["link"] for each in status["links"]]
        if service not in names:
            raise UsageError(f"there is no service {show(service)}; {suggest(service, names)}")
        faults = [each for each in status["faults"] if each["service"] == service]
        of_kind = [each for each in faults if each["kind"] == kind]
        for fault in of_kind:
            lab.take_off(fault["id"])
            say(f"{fault['id']}: {kind} on {service} is off")
    if not of_kind:
        say(f"no {kind} fault is on at {service}")
    return 0


def verb_command(verb: str, service: str, *, system: str | None) -> int:
    """Stop, start, pause, resume, kill or restart a service of a running system."""
    with LabClient(system) as lab:
        now = lab.do(verb, service)
    pid = f", pid {now['pid']}" if now["pid"] else ""
    say(f"{service} is {now['state']}{pid}")
    return 0


def logs_command(service: str, *, lines: int, follow: bool, system: str | None) -> int:
    """Print the end of a service's log, and what is added to it until Ctrl-C."""
    with LabClient(system) as lab:
        part = lab.log(service)
        say("".join(part["text"].splitlines(keepends=True)[-lines:]), end="")
        while follow:
            time.sleep(FOLLOW_EVERY_S)
            part = lab.log(service, part["next"])
            say(part["text"], end="")
    return 0
