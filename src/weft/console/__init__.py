"""The console: web pages that show what nodes do, let an operator steer, and their API.

It runs in a process of its own and asks nodes over the Federate Protocol, as `weft status` does, so that what it costs a
node does not depend on who looks.  `asking` asks, `picture` makes one picture of what all answered, `pages` sends what has
changed, `app` has the routes and `door` stands before them; `child` is for those who start it.  Only what serves pages
needs the extra `weft-rti[console]`.
"""
