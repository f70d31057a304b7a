"""Who may make the service sick."""

import hmac
import ipaddress

from starlette.requests import Request


def refusal(request: Request, token: str | None) -> str | None:
    """Return why *request* may not touch the faults, or None if it may.

    With a *token* the caller must present it (`Authorization: Bearer …`), wherever it calls
    from; without one it must call from a loopback address.
    """
    if token is not None:
        expected = f"Bearer {token}".encode()
        presented = request.headers.get("authorization", "").encode()
        return None if hmac.compare_digest(presented, expected) else "the bearer token is wrong"
    if request.client is not None and _is_loopback(request.client.host):
        return None
    return "without a token only loopback addresses may call this"


def _is_loopback(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
