"""Reads experiment and system files: YAML in, validated values or one-line errors out.

errors          where and what is wrong, one line each
source          bytes of a file -> text, within limits
tree            text -> mappings, sequences and scalars that know their line and column
scalars, units  one value -> text, number, duration, share
fields          a mapping's keys, each read once, unknown ones refused
services        systems: services, templates, order of start
faults, cells, expectations, reference   parts of an experiment
experiments     the whole experiment file
"""

from lab.files.errors import FileError
from lab.files.experiments import read_experiment
from lab.files.services import read_system

__all__ = ["FileError", "read_experiment", "read_system"]
