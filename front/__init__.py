"""Currency converter: calls rates, raw or through policies, and falls back to the last good rate.

The way of a request:

    convert_request  /convert?from=USD&amount=100 -> a validated request
    rates            one call to rates -> a good rate, an unknown currency, or a failure
    rate_cache       the last good rate of each currency, in Redis
    converter        fresh if rates responds, else stale, else a problem

Beside it are rate (a rate, read strictly from JSON), stats (counts), settings and app.
"""

from front.app import create_app
from front.settings import FrontSettings

__all__ = ["FrontSettings", "create_app"]
