"""`python -m front --port N`."""

import console
from front.app import create_app
from front.settings import FrontSettings
from service_defaults.serving import run_service

if __name__ == "__main__":
    console.run(lambda: run_service("front", FrontSettings, create_app), program="front")
