"""The load generator beside its peers: `python -m benchmarks.load`.

    target      nginx with one worker, the same for all
    tools       the tools that there are, and how each is called
    outputs     what the tools print, read
    reading     one run of one tool
    capture     when requests and replies were seen on the loopback
    tables      medians over the rounds, and ratios to wrk

The peers in Python are processes of their own, called like the other tools: `own_engine`,
`locust_users`, `httpx_tasks` and `aiohttp_tasks`, the last two on `closed_loop`.
"""
