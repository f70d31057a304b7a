"""What the files say: experiment and system files as frozen models, or one line per problem.

From what knows nothing to what knows all:

    problems       where and what is wrong, one line each; the nearest name
    yaml_tree      the bytes of a file -> mappings, lists and scalars that know their place
    models         the tree -> pydantic models; pydantic's errors in our words, at their place
    quantities     the types of single values: text, whole numbers, durations, shares, rates
    system         a system file: services, links, and the names in them
    load           what is sent: requests, mixes, bodies, how much of it and when
    outcome        how replies are told apart
    clients        who sends, and the sweeps of their settings
    faults         everything that can be done to a service or a link
    extensions     faults and outcome rules of a user's own
    timeline       a load over time, with faults that come and go
    expectations   other numbers for some cells, bounds on figures, published figures
    experiment     an experiment file as a whole
    names          the one pass over the names in it: is there such a service, client, class?
    reading        `read_experiment`, and a fault that stands in no file
    schema         the models as JSON Schema for editors, and as the tables of the docs
"""
