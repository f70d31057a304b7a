"""Faults by request, where a connection speaks HTTP/1.1.

From the wire to the faults:

framing    where the messages of a stream begin and end
heads      what the head of a message says
link       both directions of a connection: requests are judged, then passed or swallowed
replies    replies in order, upstream's and the proxy's own
exchange   a request, and the faults that hit it
touched    a reply of upstream's that is late, dripped or cut off
answers    the proxy's own replies, and the mark `X-Chaos`
"""

from fault_proxy.http11.link import HttpLink

__all__ = ["HttpLink"]
