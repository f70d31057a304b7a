"""Settings of the rates service."""

from pydantic import Field, SecretStr

from service_defaults.settings import ServiceSettings


class RatesSettings(ServiceSettings):
    """Each field is the environment variable of the same name."""

    chaos_enabled: bool = False  # whether /chaos exists at all
    chaos_token: SecretStr | None = None  # unset: /chaos answers loopback addresses only
    rates_seed: int | None = Field(None, ge=0)  # of the rates' jitter; unset: different each time
