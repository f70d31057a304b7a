"""Links between the parts of a system, with a place on each where it can be made sick.

A caller that is led through a place gets its address instead of the service's; with no fault on,
every byte passes unchanged. Only the links that somebody wants to make sick are led through one.

    places         puts a place on each wanted link, and takes it away again
    routes         addresses as a caller sees them
    place          what a place can do
    proxy          a place of the lab's own: a `fault_proxy` process under the keeper
    toxiproxy      a place in a Toxiproxy server that runs already
    toxics         the faults of a link in Toxiproxy's terms
    toxiproxy_guard    a process that clears up there should the lab be killed
"""
