"""Currency rates, made sick on purpose when asked to."""

from rates_api.app import create_app
from rates_api.settings import RatesSettings

__all__ = ["RatesSettings", "create_app"]
