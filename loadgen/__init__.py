"""Sends a load over HTTP/1.1 and times every request.

The values, pure:

    load          what to send, how many and when
    outcomes      rules that put a reply into a class
    code          classes of a user's own, found by a reference
    url           where a URL connects and what it asks for there
    schedule      when the requests of an open load are due
    turns         whose turn it is among weighted requests
    prepared      a request's bytes, rendered once
    reply         replies read from bytes; `bodies` takes their content coding off
    classify      reply -> ending
    failures      all other endings, in words
    endings       each way to end, kept once
    samples       what is kept of each request
    statistics    nearest-rank percentiles and the summary of a run
    numbers       how a figure is written, so that no rounding says none or all
    report        what the generator saw of itself, and whether it was the limit

The engine:

    engine        sends a load: `run_load`
    tickets       where requests come from: a closed load's tickets, an open one's due moments
    dispatch      brings requests and connections together
    unjudged      replies that are still to be judged and recorded
    origins       the connections to one host
    connection    one request at a time, sent and answered
    deadlines     ends what takes too long
    alarm, watch, descriptors, event_loop: a finer clock, its own lateness, limits, the loop

    split         one load shared out among several generators
    worker        the engine as a process of its own, driven over its standard input and output
    driver        starts, drives and ends one: `start_worker`
    processes     one load sent by several of them: `run_load_in_processes`

    command/      `python -m loadgen URL`: all of this for people, on the command line
"""

from loadgen.driver import Worker, WorkerError, start_worker
from loadgen.engine import run_load
from loadgen.load import Closed, Load, Open, Request, TimeOuts
from loadgen.numbers import percent, significant
from loadgen.outcomes import (
    BodyPatternRule,
    CodeRule,
    HeaderRule,
    JsonFieldRule,
    OutcomeCode,
    OutcomeRule,
    Reply,
    StatusRule,
)
from loadgen.processes import run_load_in_processes
from loadgen.report import RunReport
from loadgen.samples import Sample, Samples
from loadgen.schedule import Stage
from loadgen.statistics import Summary, percentile, summarise

__all__ = [
    "BodyPatternRule",
    "Closed",
    "CodeRule",
    "HeaderRule",
    "JsonFieldRule",
    "Load",
    "Open",
    "OutcomeCode",
    "OutcomeRule",
    "Reply",
    "Request",
    "RunReport",
    "Sample",
    "Samples",
    "Stage",
    "StatusRule",
    "Summary",
    "TimeOuts",
    "Worker",
    "WorkerError",
    "percent",
    "percentile",
    "run_load",
    "run_load_in_processes",
    "significant",
    "start_worker",
    "summarise",
]
