"""The Chaos page in Locust's web UI, and who may open that UI.

    settings     what the environment says: injectors, the lab's control socket, the password
    access       binding to loopback, same-origin requests, no CORS
    login        the password when the UI is bound elsewhere
    asking       one bounded JSON request over TCP or a unix socket
    injector     a service's `/chaos`, its fault held under a lease
    lab_control  the processes of a running `python -m lab up`
    timeline     outcomes and latencies of each second (pure)
    windows      when which fault was on (pure)
    watch        asks all of them once a second
    page         the page itself and the requests of its script
    web_ui       all of it added to the web UI: what a Locust file calls

Only `web_ui` imports Locust, which changes the process that imports it.
"""

__all__: list[str] = []
