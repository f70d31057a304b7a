"""rates_api."""
