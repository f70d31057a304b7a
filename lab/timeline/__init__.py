"""An experiment over time: a load that goes on while faults come and go.

phases       who is on when: stretches with the same faults, pure
clock        seconds of a timeline
conductor    puts each event's faults on and takes them off
breaker      what the circuit's state is, looked at a few times a second
sender       sends the open load, or the bursts
figures      what a run came to, row by row: pure
recovery     time to detect and to recover of each event: pure
runner       one run after another, each from the same known state
summary      medians and expectations
report, wording   what the tables say; `page` lays them out
work         `lab run` of such an experiment
"""

from lab.timeline.phases import phase_names, row_names

__all__ = ["phase_names", "row_names"]
