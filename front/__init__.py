"""Currency converter: asks rates, raw or through policies, and falls back to the last good rate.

The way of a request:

    convert_request    /convert?from=USD&amount=100 -> what is asked, validated
    rates       one call to rates -> a good rate, an unknown currency, or a failure
    rate_cache  the last good rate of each currency, in Redis
    converter   fresh if rates answers, else stale, else a problem
    rate        a rate and its strict reading from JSON
    stats       what happened so far
    settings, app    how it is told and put together
"""

from front.app import create_app
from front.settings import FrontSettings

__all__ = ["FrontSettings", "create_app"]
