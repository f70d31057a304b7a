"""The environment and the command line, read once into one immutable object."""

import argparse
from collections.abc import Sequence
from typing import Literal, TypeVar

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict


class SettingsError(ValueError):
    """A setting is wrong; the message is one line that names it, its value and what is allowed."""


class ServiceSettings(BaseSettings):
    """What every service can be told: each field is the environment variable of the same name."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    # Not "host": some shells and build tools export HOST, which would open us to the network.
    listen_host: str = Field("127.0.0.1", min_length=1)
    port: int = Field(8000, ge=0, le=65535)  # 0: the system picks a free one
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    shutdown_s: int = Field(3, ge=0, le=60)  # for requests in flight, once asked to stop


_Settings = TypeVar("_Settings", bound=ServiceSettings)


def read_settings(settings_class: type[_Settings], program: str, argv: Sequence[str]) -> _Settings:
    """Return the settings of *program*: flags first, then the environment, then the defaults.

    Raises:
        SettingsError: a value is malformed or out of range.
        SystemExit: the flags are malformed (2), or help was asked for (0).
    """
    try:
        return settings_class.model_validate(_flags(program, argv))
    except ValidationError as error:
        raise SettingsError("; ".join(_in_one_line(error))) from error


def _flags(program: str, argv: Sequence[str]) -> dict[str, str]:
    parser = argparse.ArgumentParser(
        prog=f"python -m {program}",
        epilog="Everything else is set by environment variables.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--host", dest="listen_host", help="address to listen on (environment: LISTEN_HOST)"
    )
    parser.add_argument("--port", help="port to listen on, 0 for any free one (environment: PORT)")
    return {name: value for name, value in vars(parser.parse_args(argv)).items() if value}


def _in_one_line(error: ValidationError) -> list[str]:
    return [
        f"{'.'.join(map(str, each['loc'])).upper()}={each['input']!r}: {each['msg']}"
        if each["loc"]
        else each["msg"]
        for each in error.errors(include_url=False)
    ]
