"""Which loads Locust can send: pure."""

from loadgen.load import Load, Open


def why_unfit(load: Load, *, workers: int) -> str | None:
    """Return in a few words why *workers* of Locust cannot send *load*; None if they can.

    Locust's users send one request after another: a closed load of a number of requests. What it
    could not do exactly is refused rather than bent.
    """
    shape = load.shape
    if isinstance(shape, Open):
        return "Locust sends a closed load; give tasks in place of a rate"
    reasons = {
        "Locust sends a number of requests; give it in place of a duration": (
            shape.requests is None
        ),
        f"{workers} workers need at least {workers} tasks, got {shape.tasks}": (
            workers > shape.tasks
        ),
        "Locust has no warm-up within a load; send a load before it": (
            load.warmup_requests > 0 or load.warmup_s > 0
        ),
        "Locust has no time-out for the first byte; drop it": (
            load.time_outs.first_byte_s is not None
        ),
        "Locust sends to http and https addresses, not to a unix socket": any(
            request.url.startswith("http+unix:") for request in load.requests
        ),
    }
    return next((reason for reason, applies in reasons.items() if applies), None)
