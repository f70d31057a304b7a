"""A system kept up for a person to act on, and the commands that act on it from elsewhere.

    parsers          the command line of all of it
    sockets          where a running lab is found: one unix socket a system, stale ones removed
    live_faults      faults put on and taken off one by one, each for a while or until cleared
    live_system      what one may do to the services, what state they are in, what they wrote
    api              the same as HTTP; its docstring is the contract for other programs
    server           the API on a unix socket, inside the lab's own event loop
    client           the other end, for commands
    tables           services and faults as tables
    locust_ui        Locust's web UI beside the system
    locust_pages/    the Chaos page in that UI, and who may open it
    up_command       `lab up`
    remote_command   `lab status | chaos | fault | stop | start | … | logs`

Importing any of it but `parsers` is for a command that needs it.
"""
