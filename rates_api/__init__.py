"""Currency rates, with faults injected on request."""

from rates_api.app import create_app
from rates_api.settings import RatesSettings

__all__ = ["RatesSettings", "create_app"]
