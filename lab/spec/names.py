"""The one pass over the names in a valid experiment: is there such a service, client, class?

It goes over the models with the tree beside them, which knows where each name stands.
"""

from collections.abc import Iterable

from lab.links.toxics import UnsupportedError, toxics_of
from lab.spec.expectations import FIGURES, REQUEST_FIGURES, Names
from lab.spec.experiment import Experiment
from lab.spec.fault_documents import LinkFault
from lab.spec.faults import Fault, can_have
from lab.spec.models import Reading, mapping, sequence
from lab.spec.outcome import SPEED_FIGURES
from lab.spec.problems import Problems, Wrong, check_known, unknown_key
from lab.spec.quantities import line
from lab.spec.system import OWN, System, addresses, check_environment, check_link, check_template
from lab.spec.yaml_tree import MappingNode, Node
from loadgen.quantities import show


def check_names(
    experiment: Experiment, node: MappingNode, reading: Reading, problems: Problems
) -> None:
    """Note every name that the experiment's system, or the experiment itself, does not have.

    Args:
        experiment: valid in itself.
        node: the tree that it was read from.
        reading: holds its faults.
        problems: takes what is wrong.
    """
    system = experiment.system
    _check_load(experiment, mapping(node["load"]), problems)
    if isinstance(node.get("steady_state"), MappingNode):
        _check_request_lines([mapping(node["steady_state"])], system, problems)
    _check_clients(mapping(node["clients"]), system, problems)
    for fault, at in reading.faults:
        check_fault(fault, at, system, problems)
    if experiment.timeline is not None:
        _check_objective(experiment, mapping(node["timeline"]), problems)


def check_fault(fault: Fault, node: MappingNode, system: System, problems: Problems) -> None:
    """Note if *system* has no such service or link, or cannot have that fault on it."""
    with problems.at(fault.kind, node[fault.kind].place):
        if isinstance(fault, LinkFault):
            check_link(fault.link, system)
        else:
            suits, kind = can_have(fault.kind)
            known = [each.name for each in system.services if suits(each)]
            check_known(fault.service, known, kind=kind)
    if system.toxiproxy and isinstance(fault, LinkFault):
        with problems.at("fault", node.place):
            _check_toxiproxy(fault)


def _check_toxiproxy(fault: LinkFault) -> None:
    try:
        toxics_of(fault.document)
    except UnsupportedError as unsupported:
        raise Wrong(
            f"cannot be had of Toxiproxy: {unsupported}",
            advice="change it, or remove toxiproxy from the system file: the lab's own proxy can",
        ) from None


def _check_load(experiment: Experiment, node: MappingNode, problems: Problems) -> None:
    """Note requests to no service, and a load that does not fit what is sent when."""
    mixed = mapping(node["mix"]).values() if "mix" in node else ()
    _check_request_lines([node, *map(mapping, mixed)], experiment.system, problems)
    timeline = experiment.timeline
    fitting = {"requests", "for", "tasks", "rate"}
    if timeline is not None:
        fitting = {"requests", "tasks"} if timeline.bursts else set()
    for key in ("requests", "for", "tasks", "rate"):
        if key in node and key not in fitting:
            message = f"{key} does not fit: the timeline says how much is sent and when; remove it"
            problems.add(node.key_places[key], message)
    for key, other, example in (("requests", "for", "200"), ("tasks", "rate", "4")):
        if key in fitting and not {key, other} & fitting & node.keys():
            problems.add(node.place, f"{key} is missing; write e.g. {key}: {example}")


def _check_request_lines(nodes: Iterable[MappingNode], system: System, problems: Problems) -> None:
    known = addresses(each.name for each in system.services if each.speaks_http)
    for node in nodes:
        if "request" in node:
            with problems.at("request", node["request"].place):
                check_template(line(node["request"]), known)


def _check_clients(node: MappingNode, system: System, problems: Problems) -> None:
    """Note environments of services that the lab does not start, and their placeholders."""
    started = {service.name: service for service in system.services if service.run}
    kind = "service that the lab starts"
    for client in map(mapping, node.values()):
        for service, env in mapping(client["env"]).items() if "env" in client else ():
            with problems.at(show(service), env.place):
                check_known(service, started, kind=kind)
                own = (*OWN, *addresses(started[service].needs))
                check_environment(env, own, started, problems)
        for setting in mapping(client["sweep"]).values() if "sweep" in client else ():
            env = mapping(setting)["env"]
            with problems.at("env", env.place):
                check_known(line(env).partition(".")[0], started, kind=kind)


def _check_objective(experiment: Experiment, node: MappingNode, problems: Problems) -> None:
    objective = node.get("objective")
    if isinstance(objective, MappingNode) and "of" in objective:
        for each in sequence(objective["of"]):
            with problems.at("class", each.place):
                check_known(line(each), experiment.outcome.classes, kind="outcome class")


def check_bounds(node: MappingNode, names: Names, problems: Problems) -> None:
    """Note cells and figures that `override` and `expect` pick and the experiment does not have."""
    for entry in _entries(node.get("override")):
        _check_cell(entry, names, problems)
    picks = (names.row, "client", *(["request"] if names.requests else []))
    keys = (*picks, *names.figures)
    for entry in _entries(node.get("expect")):
        for key, place in entry.key_places.items():
            if key not in keys:
                problems.add(place, str(unknown_key(key, keys)))
        _check_cell(entry, names, problems)
        if "request" in entry and names.requests:
            _check_request(entry, names, problems)


def _check_cell(entry: MappingNode, names: Names, problems: Problems) -> None:
    for key, known in ((names.row, names.faults), ("client", names.clients)):
        if key in entry:
            with problems.at(key, entry[key].place):
                check_known(line(entry[key]), known, kind=key)


def _check_request(entry: MappingNode, names: Names, problems: Problems) -> None:
    with problems.at("request", entry["request"].place):
        check_known(line(entry["request"]), names.requests, kind="request of the mix")
    for key, place in entry.key_places.items():
        figure = FIGURES[key].figure if key in FIGURES else key
        if figure in SPEED_FIGURES and figure not in REQUEST_FIGURES:
            what = f"{key} is not measured for one request of the mix; bound it without request"
            problems.add(place, what)


def _entries(node: Node | None) -> list[MappingNode]:
    return [mapping(each) for each in sequence(node)] if node is not None else []
