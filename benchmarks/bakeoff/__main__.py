"""`python -m benchmarks.bakeoff --port N`."""

import console
from benchmarks.bakeoff.app import BakeoffSettings, create_app
from service_defaults.serving import run_service

if __name__ == "__main__":
    console.run(
        lambda: run_service("benchmarks.bakeoff", BakeoffSettings, create_app),
        program="benchmarks.bakeoff",
    )
