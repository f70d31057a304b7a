"""The lab: runs experiments on a system and reports what a resilience policy buys and costs.

The way of the data, one package or module a step:

    files/          YAML -> Experiment (validated, immutable)
    experiment, fault_kinds, system   what those files say, as values
    plan            Experiment -> cells in order
    keeper/         owns every process that the lab starts, and outlives the lab just long enough
    running         a system brought up: ports, readiness, stop
    faults/         a fault is applied and reverted
    work            what is run: `matrix`, cells one after another, or `timeline/`
    runner          each cell: known state, steady state, fault, warm-up, runs, clean-up
    record, manifest     one row a run and a request, on disk at once; what the run was
    summary, verdicts    medians, spread; held against the published figures and expectations
    reports/        the table on the terminal and in Markdown
    conclusion      the last three in a row, and the exit code
    timeline/       a load over time while faults come and go, with a report of its own

Beside it, `up/` keeps a system running for a person to put faults on by hand.
"""
