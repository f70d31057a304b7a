"""What the environment says about the running system and who may see the page."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from urllib.parse import urlsplit

CHAOS_URLS = "LAB_CHAOS_URLS"
CHAOS_TOKEN = "LAB_CHAOS_TOKEN"  # noqa: S105 - the name of a variable
CONTROL = "LAB_CONTROL"
WEB_PASSWORD = "LOCUST_WEB_PASSWORD"  # noqa: S105 - the name of a variable
_EXAMPLE = '{"rates": "http://127.0.0.1:5401/chaos"}'


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSettings:
    """Where the faults of the running system are controlled.

    Attributes:
        chaos_urls: address of each service's fault injector, by the service's name.
        chaos_token: bearer token of the injectors; None where they ask for none.
        control: path of the unix socket of a running `python -m lab up`; None without one.
        web_password: opens the web UI when it is bound to more than loopback; None: none is set.
    """

    chaos_urls: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    chaos_token: str | None = None
    control: str | None = None
    web_password: str | None = None


def read_settings(environ: Mapping[str, str]) -> PageSettings:
    """Return what *environ* says; an empty variable counts as unset.

    Raises:
        ValueError: `LAB_CHAOS_URLS` is no JSON object of http(s) addresses.
    """
    return PageSettings(
        chaos_urls=_chaos_urls(environ.get(CHAOS_URLS, "")),
        chaos_token=environ.get(CHAOS_TOKEN) or None,
        control=environ.get(CONTROL) or None,
        web_password=environ.get(WEB_PASSWORD) or None,
    )


def _chaos_urls(text: str) -> Mapping[str, str]:
    if not text:
        return MappingProxyType({})
    try:
        document = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{CHAOS_URLS} is not JSON ({error}); write e.g. {_EXAMPLE}") from error
    if not isinstance(document, dict):
        raise ValueError(  # noqa: TRY004 - the value of a variable is wrong, not a type here
            f"{CHAOS_URLS} must be an object, got {text[:80]}; write e.g. {_EXAMPLE}"
        )
    for name, url in document.items():
        if not _is_address(url):
            raise ValueError(f"{CHAOS_URLS}: {name} must be an http(s) address, got {url!r}")
    return MappingProxyType(document)


def _is_address(url: object) -> bool:
    if not isinstance(url, str):
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
