"""The console: web pages that show what nodes do, let an operator steer, and their API.

It runs in a process of its own and asks nodes over the Federate Protocol, as `weft status` does, so that what it costs a
node does not depend on who looks.
"""
