"""Services and faults of a running lab as tables, from the document of `GET /status`."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

_STATE_STYLES = {"running": "green", "not ours": "dim", "paused": "yellow"}


def services_table(services: Sequence[Mapping[str, Any]]) -> Table:
    """Return a row a service: where it is, how it is."""
    table = _table("service", "state", "url", "pid", "chaos", "breaker")
    for service in services:
        state = service["state"]
        if service["exitCode"] is not None:
            state = f"{state} ({service['exitCode']})"
        table.add_row(
            Text(service["name"], style="bold"),
            Text(state, style=_STATE_STYLES.get(service["state"], "bold red")),
            Text(service["ready"] or service["url"]),
            Text(str(service["pid"] or "")),
            Text("/" + service["chaos"].partition("//")[2].partition("/")[2])
            if service["chaos"]
            else Text(""),
            Text(service["breaker"] or ""),
        )
    return table


def links_table(links: Sequence[Mapping[str, Any]]) -> Table:
    """Return a row a link that can be made sick: where its traffic goes in."""
    table = _table("link", "url")
    for link in links:
        table.add_row(Text(link["link"], style="bold"), Text(link["url"]))
    return table


def faults_table(faults: Sequence[Mapping[str, Any]]) -> Table:
    """Return a row per fault: what it is, since when, for how long still, what it has touched."""
    table = _table("fault", "kind", "service", "how", "since", "left", "touched")
    for fault in faults:
        table.add_row(
            Text(fault["id"], style="bold"),
            Text(fault["kind"]),
            Text(fault["service"]),
            Text(fields_in_words(fault["fields"])),
            Text(fault["since"][11:19]),
            Text(_left(fault)),
            Text("" if fault["touched"] is None else str(fault["touched"])),
        )
    return table


def fault_in_words(fault: Mapping[str, Any]) -> str:
    """Return one line that says all of a fault."""
    how = fields_in_words(fault["fields"])
    how = f" ({how})" if how else ""
    if fault["until"] == fault["since"]:
        end = "done"
    else:
        end = "until taken off" if fault["leftS"] is None else f"for {fault['leftS']:.0f} s"
    return f"{fault['id']}: {fault['kind']} on {fault['service']}{how}, {end}"


def fields_in_words(fields: Mapping[str, object]) -> str:
    """Return `failure=0.3, delayMs=500` and the like."""
    return ", ".join(f"{name}={value}" for name, value in fields.items())


def _left(fault: Mapping[str, Any]) -> str:
    left = "until taken off" if fault["leftS"] is None else f"{fault['leftS']:.0f} s"
    return f"{left}, has no effect" if fault["on"] is False else left


def _table(*headings: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table
