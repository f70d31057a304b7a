"""`python -m loadgen URL`: a load for people, with its figures as a table, JSON or CSV.

arguments   the command line; imports nothing of the engine
loads       arguments -> load
live        one line that says how far a load is
sending     a load sent, up to its end or an interrupt
figures     samples -> counts and latencies by class
comparison  rounds of two loads -> ratios with their spread
text        figures and comparisons as tables
documents   the same as JSON-ready documents
rows        one CSV row a request
cli         the command: all of these in their order
"""
