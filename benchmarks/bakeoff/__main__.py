"""`python -m benchmarks.bakeoff --port N`."""

import sys

from benchmarks.bakeoff.app import BakeoffSettings, create_app
from service_defaults import run_service

if __name__ == "__main__":
    sys.exit(run_service("benchmarks.bakeoff", BakeoffSettings, create_app))
