"""Logical time: time stamps, queues of messages in time stamp order, grants, and how nodes agree on GALT."""
