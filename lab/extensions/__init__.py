"""What faults and outcome rules of your own are made of; see docs/extending.md.

    fault     what the class of a fault has to have
    target    what such a fault may do to its service

An outcome rule runs in the load generator: what its class has to have is `loadgen.OutcomeCode`.
"""

from lab.extensions.fault import CountingFault, FaultExtension, StillOn
from lab.extensions.target import Target
from loadgen import OutcomeCode, Reply

__all__ = ["CountingFault", "FaultExtension", "OutcomeCode", "Reply", "StillOn", "Target"]
