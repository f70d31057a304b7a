"""Settings of the converter: addresses, and every number of its policies."""

from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator
from redis.asyncio.connection import parse_url

from resilience import BreakerSettings, Policies, RetrySettings, Source
from service_defaults.settings import ServiceSettings

RATES = "rates"
RAW = "rates-raw"
HEALTH = "rates-health"


def _off_is_none(value: object) -> object:
    return None if value == "off" else value


_OrOff = BeforeValidator(_off_is_none)
_Limit = Annotated[float | None, _OrOff]  # seconds, or "off" for no limit at all


class FrontSettings(ServiceSettings):
    """Each field is the environment variable of the same name; `off` leaves a policy out."""

    rates_url: str = "http://127.0.0.1:5401"
    redis_url: str = "redis://127.0.0.1:6379/0"
    redis_timeout_s: float = Field(0.1, gt=0, le=60)  # of each use of Redis

    total_timeout_s: _Limit = 1.0  # of a resilient call, retries and waits included
    retries: int = Field(2, ge=0)  # after the first attempt; 0 leaves the policy out
    retry_delay_s: float = 0.05  # base of the exponential, jittered delays
    failure_ratio: Annotated[float | None, _OrOff] = 0.5  # opens the circuit; "off": no breaker
    minimum_throughput: int = 10  # calls in the window before the ratio is judged
    sampling_s: float = 5.0  # length of that window
    break_s: float = 5.0  # an open circuit rejects calls for this long
    attempt_timeout_s: _Limit = 0.3  # of each attempt of a resilient call
    raw_timeout_s: _Limit = 10.0  # of a raw call, which has no other policy

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        self.sources()
        parse_url(self.redis_url)
        return self

    def sources(self) -> tuple[Source, Source, Source]:
        """Return rates as the resilient, the raw and the health-checking caller see it.

        Raises:
            ValueError: a number is out of range, or two contradict each other.
        """
        return (
            Source(name=RATES, base_url=self.rates_url, policies=self._policies()),
            Source(
                name=RAW,
                base_url=self.rates_url,
                policies=Policies(total_timeout_s=self.raw_timeout_s),
            ),
            Source(name=HEALTH, base_url=self.rates_url),
        )

    def _policies(self) -> Policies:
        return Policies(
            total_timeout_s=self.total_timeout_s,
            retry=self._retry(),
            breaker=self._breaker(),
            attempt_timeout_s=self.attempt_timeout_s,
        )

    def _retry(self) -> RetrySettings | None:
        if not self.retries:
            return None
        return RetrySettings(max_retries=self.retries, base_delay_s=self.retry_delay_s)

    def _breaker(self) -> BreakerSettings | None:
        if self.failure_ratio is None:
            return None
        return BreakerSettings(
            failure_ratio=self.failure_ratio,
            minimum_throughput=self.minimum_throughput,
            sampling_s=self.sampling_s,
            break_s=self.break_s,
            counts_429=True,
        )
