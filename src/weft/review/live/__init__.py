"""The audits while a run is being written: plain functions and classes on Arrow tables that know nothing of Spark.

frontier    up to when everything that each node did has been read
members     who takes part, where, what it was granted, whether it left
ordered     what the rows of one node tell by themselves: steps in logical time, vectors, deadlines
log         what must be looked at in one order of all nodes: grants, and causal order where no vectors were recorded
handovers   messages and federates: who was to get what, and did
addressing  whom messages should have been addressed to
asked       messages as they were sent, asked for and handed over
following   all of them together
"""
