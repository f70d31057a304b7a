"""What sends the load: the keys of a `load` that are about its engine."""

from lab.experiment import Experiment, LocustWorkers
from lab.files.errors import Problems, Wrong, show
from lab.files.fields import Fields, mapping
from lab.files.scalars import choice, line, whole
from lab.files.tree import Node
from lab.loads import load_for
from lab.plan import plan
from lab.templates import fill
from loadgen.locust_run import why_unfit

ENGINE_KEYS = ("engine", "workers", "remote_workers", "bind")
MAX_WORKERS = 1000
LAST_PORT = 65_535
_BIND_EXAMPLE = "192.168.1.4:5557"


def read_engine(fields: Fields) -> LocustWorkers | None:
    """Return the workers of Locust; None for the lab's own generator."""
    known = choice(("own", "locust"), kind="engine")
    engine = fields.read("engine", known, example="locust", default=None)
    if engine != "locust":
        if engine or "engine" not in fields:  # else it is misspelt, and the rest may be right
            _refuse(fields, ENGINE_KEYS[1:], "is for engine: locust; add that or leave it out")
        return None
    elsewhere = fields.read("remote_workers", whole(1, MAX_WORKERS), example="2", default=0)
    if "remote_workers" in fields:
        here = fields.read("workers", whole(0, MAX_WORKERS), example="2", default=0)
        host, port = fields.require("bind", _address, example=_BIND_EXAMPLE, stand_in=("", 0))
        return LocustWorkers(here=here, elsewhere=elsewhere, bind_host=host, bind_port=port)
    _refuse(fields, ("bind",), "is where remote_workers call; add those or leave it out")
    here = fields.require("workers", whole(1, MAX_WORKERS), example="2", stand_in=1)
    return LocustWorkers(here=here)


def _refuse(fields: Fields, keys: tuple[str, ...], why: str) -> None:
    for key in keys:
        if key in fields:
            fields.problems.add(fields.node.key_places[key], f"{key} {why}")


def _address(node: Node) -> tuple[str, int]:
    value = line(node)
    host, _, port = value.rpartition(":")
    if not host.strip("[]") or not port.isdecimal() or not 1 <= int(port) <= LAST_PORT:
        raise Wrong(f"must be an address and a port of this machine, got {show(value)}")
    return host.strip("[]"), int(port)


def check_engine(experiment: Experiment, node: Node, problems: Problems) -> None:
    """Note if Locust is to send a load that it cannot send; *node* is the file's `load`."""
    if (locust := experiment.load.locust) is None:
        return
    place = mapping(node).key_places["engine"]
    if experiment.timeline is not None:
        problems.add(place, "engine: locust has no timelines; leave engine out")
        return
    for cell in plan(experiment):
        load = load_for(experiment, cell, _Nowhere(experiment))
        if why := why_unfit(load, workers=locust.here + locust.elsewhere):
            problems.add(place, f"engine: locust cannot send {show(cell.name)}: {why}")
            return


class _Nowhere:
    """Stands in for the running system, whose addresses do not matter yet."""

    def __init__(self, experiment: Experiment) -> None:
        names = [service.name for service in experiment.system.services]
        self._values = {f"{name}.url": "http://127.0.0.1:1" for name in names}
        self._values |= {f"{name}.port": "1" for name in names}

    def expand(self, template: str) -> str:
        return fill(template, self._values)
