"""`python -m rates_api --port N`."""

import console
from rates_api.app import RatesSettings, create_app
from service_defaults.serving import run_service

if __name__ == "__main__":
    console.run(lambda: run_service("rates_api", RatesSettings, create_app), program="rates_api")
