"""Running an experiment: cell after cell, each from the same state.

plan        the cells, and how much they send
loads       from a request in a file to a load of the generator
runner      known state, steady state, faults, warm-up, runs, clean-up
play        one run: its loads, the events of its timeline, looks at what goes on
checks      all that makes a run not count
reply_counts   a service's own count of its replies beside ours
engine      what sends the loads: `load_worker` or `locust_engine`
progress    what is said meanwhile
"""
