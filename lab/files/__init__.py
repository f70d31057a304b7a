"""Reads experiment and system files: YAML in, validated values or one-line errors out.

Each module knows only those above it:

    errors          where and what is wrong, one line each
    source          bytes of a file -> text, within limits
    tree, grammar   text -> mappings, lists and scalars that know their place, or why not
    scalars, units, rates   one value -> text, number, duration, share, rate
    fields          a mapping's keys, each read once, unknown ones refused
    placeholders    what a template may leave open
    services        a system file
    beside          files that a file names
    extensions      faults and outcome rules of a user's own
    headers, bodies, rates, engine, load, outcome, sweep, clients, chaos, links, link_faults,
    process_faults, faults, timeline, bounds, reference
                    the parts of an experiment
    experiments     an experiment file as a whole
    ad_hoc          a fault that stands in no file
"""

from lab.files.ad_hoc import read_ad_hoc_fault
from lab.files.errors import FileError
from lab.files.experiments import read_experiment
from lab.files.services import read_system

__all__ = ["FileError", "read_ad_hoc_fault", "read_experiment", "read_system"]
