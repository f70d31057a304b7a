"""`python -m examples.resilience_demo`: 100 requests to two sources that fail, line by line.

    http_server   as much of HTTP as the servers need
    servers       the two servers and what is wrong with them
    scenario      the sources with their policies, and when each request is made
    timeline      an event as a line
    summary       the table at the end, and what must add up in it
    round         the scenario played once
    caller        the scenario for whoever calls it over HTTP
    service       each server, and the caller of both, as a process of its own
    paint         colour, where it is wanted
    output        lines to standard output, until nobody takes them
    interrupt     Ctrl-C

The servers are real ones on loopback ports; nothing leaves the machine.
"""
