"""What each service has: settings from the environment, health, problems, logs, a clean shutdown.

One module each:

settings    the environment and the flags, read once into one immutable object
logs        structured lines: JSON unless a person is watching
problems    every error as application/problem+json
health      /alive and /health
serving     one process: port, server, signals, exit code
"""

from service_defaults.health import Check, health_router
from service_defaults.problems import ProblemError, install_problems, problem, problem_responses
from service_defaults.serving import run_service
from service_defaults.settings import ServiceSettings, SettingsError, read_settings

__all__ = [
    "Check",
    "ProblemError",
    "ServiceSettings",
    "SettingsError",
    "health_router",
    "install_problems",
    "problem",
    "problem_responses",
    "read_settings",
    "run_service",
]
