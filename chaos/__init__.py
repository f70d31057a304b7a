"""What a service adds to be made sick on purpose: ASGI middleware and /chaos.

One line for any Starlette or FastAPI application:

    app.add_middleware(ChaosMiddleware, enabled=True)

    access      who may ask for faults
    request_body  how long its body may be, and how strict its JSON is
    document    what one can ask for, validated; from a query or from JSON
    verdict     document, dice, arrival number -> what happens to this request (pure)
    fault       a document in force: dice, counters, lease, flapping
    injector    which fault is on now, and whom it concerns
    caller      read what comes in, and notice a hang-up
    case        one touched request: what has hit it, and waits that the fault's end cuts short
    cut         end a reply half-way, quietly
    reply       mark the reply, spoil its body
    control     the /chaos routes
    middleware  puts the verdicts into effect
    outcomes    what became of each request, counted
"""

from chaos.document import ChaosDocument
from chaos.middleware import ChaosMiddleware
from chaos.outcomes import Outcomes, OutcomesMiddleware
from chaos.verdict import Verdict, judge

__all__ = [
    "ChaosDocument",
    "ChaosMiddleware",
    "Outcomes",
    "OutcomesMiddleware",
    "Verdict",
    "judge",
]
