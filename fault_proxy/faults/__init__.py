"""The faults: what can be asked for, and what it does.

From the outside in:

documents  one frozen dataclass a kind, validated when built
wire       documents to and from JSON
active     what is on: dice, leases, counters
effects    what a fault does to the bytes of one stream (pure)
hits       from a document to its effect on a connection (pure)
verdict    what the dice say of one request (pure)
"""
