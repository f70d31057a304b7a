"""Sends a load to one URL and times every request.

    load          what to send, and how replies are classed
    classify      reply -> outcome, pure
    engine        sends a closed load: exactly n requests from c concurrent tasks
    samples       what is kept of each request
    statistics    nearest-rank percentiles and the summary of a run
    worker        the engine as a process of its own, driven over its standard input and output

`python -m loadgen URL` is the command line.
"""

from loadgen.engine import run_load
from loadgen.load import Load, OutcomeRule
from loadgen.samples import Sample, Samples
from loadgen.statistics import Summary, percentile, summarise

__all__ = [
    "Load",
    "OutcomeRule",
    "Sample",
    "Samples",
    "Summary",
    "percentile",
    "run_load",
    "summarise",
]
