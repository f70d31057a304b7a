"""Two servers and what is wrong with them: one is strict and flaky, one falls ill for a while."""

from collections import deque
from collections.abc import Callable
from random import Random

from examples.resilience_demo.http_server import Reply

CRYPTO = "CryptoExchange"
WEATHER = "Weather"

ACCEPTED_PER_S = 8
FLAKY_SHARE = 0.07
ILL_FROM_S, ILL_UNTIL_S = 1.5, 4.5
_WINDOW_S = 1.0


class CryptoExchange:
    """Accepts 8 requests in any second, whatever its callers believe, and fails 7 % of those.

    The rest is 429 with Retry-After: 1.

    Args:
        clock: Returns monotonic seconds.
        random: Decides which requests fail.
    """

    def __init__(self, clock: Callable[[], float], random: Random) -> None:
        self._clock = clock
        self._random = random
        self._accepted_at_s: deque[float] = deque(maxlen=ACCEPTED_PER_S)
        self.trouble = f"{CRYPTO} accepts {ACCEPTED_PER_S}/s, {FLAKY_SHARE:.0%} of those get 503"

    async def __call__(self, target: str) -> Reply:
        """Answer a request."""
        now_s = self._clock()
        full = len(self._accepted_at_s) == ACCEPTED_PER_S
        if full and now_s - self._accepted_at_s[0] < _WINDOW_S:
            return Reply(status=429, headers={"Retry-After": "1"})
        self._accepted_at_s.append(now_s)
        if self._random.random() < FLAKY_SHARE:
            return Reply(status=503)
        return Reply(body={"asked": target, "price": round(self._random.uniform(100, 200), 2)})


class Weather:
    """Answers with 500 from second 1.5 to second 4.5 of its life, if it falls ill.

    Its life begins when it is made, and anew with `begin`.

    Args:
        clock: Returns monotonic seconds.
        falls_ill: Whether it does.
    """

    def __init__(self, clock: Callable[[], float], *, falls_ill: bool = True) -> None:
        self._clock = clock
        self._born_s = clock()
        self._falls_ill = falls_ill
        self.trouble = f"{WEATHER} is well"
        if falls_ill:
            self.trouble = f"{WEATHER} answers 500 from {ILL_FROM_S} s to {ILL_UNTIL_S} s"

    def begin(self) -> None:
        """Begin its life anew."""
        self._born_s = self._clock()

    async def __call__(self, target: str) -> Reply:
        """Answer a request."""
        age_s = self._clock() - self._born_s
        if self._falls_ill and ILL_FROM_S <= age_s < ILL_UNTIL_S:
            return Reply(status=500)
        return Reply(body={"asked": target, "sky": "clear"})
