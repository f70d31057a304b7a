"""Currency rates, with faults injected on request."""

from rates_api.app import RatesSettings, create_app

__all__ = ["RatesSettings", "create_app"]
